//! Pools: what their settings say together, and those that come from `[app.NAME]` and `php`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use crate::diagnostic::Diagnostic;
use crate::draft::{
    AppDraft, Balancing, Draft, HealthDraft, Php, PoolDraft, ServerDraft, ServiceDraft, Spanned,
    StickyDraft, TlsDraft,
};
use crate::nearest::nearest;
use crate::settings::{
    App, Balance, HashBy, HealthCheck, HostSent, OriginTls, Pool, PoolServer, Probe, Protocol,
    ServerAddress, Sticky,
};

/// Every pool, and who its servers are.
pub(super) struct Pools {
    pub(super) settings: BTreeMap<String, Pool>,
    /// In the order of the file, those that were made last.
    pub(super) names: Vec<String>,
    /// The pool of each `php` that names servers, by the servers and the site.
    php: Vec<(String, Vec<ServerAddress>, String)>,
}

/// Where the servers of a pool come from, beside `servers`.
enum Source<'a> {
    App(&'a AppDraft),
    Php(&'a [ServerAddress]),
}

/// All pools: those of the file, and those of applications and of `php`.
pub(super) fn pools(draft: &Draft, out: &mut Vec<Diagnostic>) -> Pools {
    let php = php_pools(draft);
    let mut pools = Pools {
        settings: BTreeMap::new(),
        names: Vec::new(),
        php: Vec::new(),
    };
    for (name, pool) in &draft.pools {
        let app = draft.apps.iter().find(|(app, _)| app.value == name.value);
        let own = php.iter().find(|(pool, ..)| *pool == name.value);
        let source = match (app, own) {
            (Some((_, app)), _) => Some(Source::App(app)),
            (None, Some((_, servers, _))) => Some(Source::Php(servers)),
            (None, None) => None,
        };
        pools.add(&name.value, self::pool((name, pool), source.as_ref(), out));
    }
    let none = PoolDraft::default();
    for (name, app) in &draft.apps {
        if !pools.settings.contains_key(&name.value) {
            let made = self::pool((name, &none), Some(&Source::App(app)), out);
            pools.add(&name.value, made);
        }
    }
    for (name, servers, _) in &php {
        if !pools.settings.contains_key(name) {
            let spanned = Spanned {
                value: name.clone(),
                span: 0..0,
            };
            let made = self::pool((&spanned, &none), Some(&Source::Php(servers)), out);
            pools.add(name, made);
        }
    }
    pools.php = php;
    pools
}

impl Pools {
    fn add(&mut self, name: &str, pool: Pool) {
        self.names.push(name.into());
        self.settings.insert(name.into(), pool);
    }

    /// The pool of a `php` of this site.
    pub(super) fn of_php(&self, site: &str, php: &Php) -> Option<String> {
        match php {
            Php::Pool(name) => Some(name.clone()),
            Php::Servers(servers) => {
                let mut own = self.php.iter();
                let found = own.find(|(_, known, of)| known == servers && of == site);
                found.map(|(name, ..)| name.clone())
            }
        }
    }

    /// Reports a name that no pool has.
    pub(super) fn exists(&self, name: &Spanned<String>, out: &mut Vec<Diagnostic>) -> bool {
        if self.settings.contains_key(&name.value) {
            return true;
        }
        let message = format!("there is no [pool.{}]", name.value);
        let expected = match self.names.as_slice() {
            [] => "the name of a [pool.NAME]".into(),
            names => format!("one of the pools: {}", names.join(", ")),
        };
        let names = self.names.iter().map(String::as_str);
        let diagnostic = Diagnostic::error(name.span.clone(), message).expected(expected);
        out.push(diagnostic.did_you_mean(nearest(&name.value, names)));
        false
    }
}

/// The pools that `php` of sites and path rules make: `SITE-php`, `SITE-php-2` and so on.
fn php_pools(draft: &Draft) -> Vec<(String, Vec<ServerAddress>, String)> {
    let mut found: Vec<(String, Vec<ServerAddress>, String)> = Vec::new();
    for (site, own) in &draft.sites {
        let paths = own.paths.iter().map(|path| &path.service);
        let all = std::iter::once(&own.service).chain(paths);
        for servers in all.filter_map(servers_of_php) {
            let of_site = found.iter().filter(|(_, _, of)| *of == site.value);
            let number = of_site.clone().count() + 1;
            if of_site.into_iter().any(|(_, known, _)| known == servers) {
                continue;
            }
            let name = match number {
                1 => format!("{}-php", site.value),
                _ => format!("{}-php-{number}", site.value),
            };
            found.push((name, servers.clone(), site.value.clone()));
        }
    }
    found
}

fn servers_of_php(service: &ServiceDraft) -> Option<&Vec<ServerAddress>> {
    match &service.php.as_ref()?.value {
        Php::Servers(servers) => Some(servers),
        Php::Pool(_) => None,
    }
}

fn pool(
    (name, draft): (&Spanned<String>, &PoolDraft),
    source: Option<&Source<'_>>,
    out: &mut Vec<Diagnostic>,
) -> Pool {
    servers_are_said((name, draft), source, out);
    let mut pool = draft.pool.clone();
    pool.servers = servers(&draft.servers, out);
    pool.protocol = draft.protocol.unwrap_or_default();
    pool.balance = balance((name, draft), out);
    pool.health = draft.health.as_ref().map(|own| health(own, &pool, out));
    pool.sticky = draft.sticky.as_ref().and_then(|own| sticky(own, out));
    pool.tls = tls((name, draft), out);
    match source {
        Some(Source::App(app)) => {
            pool.protocol = app.protocol.or(draft.protocol).unwrap_or_default();
            pool.max_connections = app.app.max_connections.or(pool.max_connections);
        }
        Some(Source::Php(addresses)) => {
            pool.protocol = Protocol::FastCgi;
            let servers = addresses.iter().cloned().map(PoolServer::at);
            pool.servers = servers.collect();
        }
        None => {}
    }
    let alone = source.is_none() && !draft.servers_written;
    joining((name, &pool), alone, out);
    pool
}

/// Back ends that join open their connections themselves: what is done to connections that are
/// opened to servers is not done to theirs. `alone`: the pool has no other servers.
fn joining((name, pool): (&Spanned<String>, &Pool), alone: bool, out: &mut Vec<Diagnostic>) {
    if pool.join_tokens.is_empty() {
        return;
    }
    let tls = pool.tls.is_some().then_some("tls");
    let proxy_protocol = pool.proxy_protocol.is_some().then_some("proxy_protocol");
    // Where there are other servers beside them, these are meant.
    let health = (alone && pool.health.is_some()).then_some("health");
    for key in [tls, proxy_protocol, health].into_iter().flatten() {
        let message = format!(
            "[pool.{}]: `{key}` has no effect on back ends that join (`join_tokens`)",
            name.value
        );
        let diagnostic = match alone {
            true => Diagnostic::error(name.span.clone(), message),
            false => Diagnostic::warning(name.span.clone(), message),
        };
        out.push(diagnostic.suggest(match key {
            "tls" => "leave `tls` out: they are reached over the connections that they have opened, which are as safe as the way to this Forebay",
            "proxy_protocol" => "leave `proxy_protocol` out: `Forwarded` and `X-Forwarded-For` say who the client is",
            _ => "leave `health` out: their connections say whether they are there",
        }));
    }
}

/// Servers come from one place.
fn servers_are_said(
    (name, draft): (&Spanned<String>, &PoolDraft),
    source: Option<&Source<'_>>,
    out: &mut Vec<Diagnostic>,
) {
    let header = format!("[pool.{}]", name.value);
    let message = match (draft.servers_written, source) {
        (true, Some(Source::App(_))) => {
            format!(
                "{header} has servers, and the processes of [app.{}]",
                name.value
            )
        }
        (true, Some(Source::Php(_))) => format!("{header} has servers, and those of `php`"),
        (false, None) if draft.pool.join_tokens.is_empty() => {
            let write = "servers = [\"127.0.0.1:9000\"]";
            out.push(crate::part::missing(name.span.clone(), &header, write));
            return;
        }
        _ => return,
    };
    let diagnostic = Diagnostic::error(name.span.clone(), message);
    out.push(diagnostic.expected("one of both, or another name"));
}

fn servers(drafts: &[Spanned<ServerDraft>], out: &mut Vec<Diagnostic>) -> Vec<PoolServer> {
    let mut servers: Vec<PoolServer> = Vec::new();
    for draft in drafts {
        // One without an address was reported when it was read.
        let Some(address) = draft.value.address.clone() else {
            continue;
        };
        if servers.iter().any(|server| server.address == address) {
            let message = format!("{address} stands twice in the pool");
            let diagnostic = Diagnostic::error(draft.span.clone(), message);
            out.push(diagnostic.expected("different servers (for a greater share: weight)"));
            continue;
        }
        let server = &draft.value;
        servers.push(PoolServer {
            address,
            weight: server.weight,
            priority: match server.backup {
                true => PoolServer::BACKUP,
                false => server.priority,
            },
            zone: server.zone.clone(),
            max_connections: server.max_connections,
        });
    }
    servers
}

fn balance((name, draft): (&Spanned<String>, &PoolDraft), out: &mut Vec<Diagnostic>) -> Balance {
    let by = draft.hash_by.as_ref().map(|by| ("hash_by", &by.span));
    let bound = draft.hash_bound.map(|_| ("hash_bound", &name.span));
    for (key, span) in [by, bound].into_iter().flatten() {
        if draft.balance != Balancing::Hash {
            let message = format!("`{key}` says nothing without balance = \"hash\"");
            let diagnostic = Diagnostic::error(span.clone(), message);
            out.push(diagnostic.suggest("write balance = \"hash\""));
        }
    }
    match draft.balance {
        Balancing::RoundRobin => Balance::RoundRobin,
        Balancing::LeastConnections => Balance::LeastConnections,
        Balancing::Latency => Balance::Latency,
        Balancing::Random => Balance::Random,
        Balancing::Hash => Balance::Hash {
            by: match &draft.hash_by {
                Some(by) => by.value.clone(),
                None => vec![HashBy::Url],
            },
            bound_percent: draft.hash_bound,
        },
    }
}

fn health(draft: &HealthDraft, pool: &Pool, out: &mut Vec<Diagnostic>) -> HealthCheck {
    let mut check = draft.check.clone();
    let Some(path) = &draft.path else {
        let host = draft.host.as_ref().map(|host| ("host", &host.span));
        let status = draft.statuses.as_ref().map(|own| ("status", &own.span));
        let body = draft.body.as_ref().map(|body| ("body", &body.span));
        for (key, span) in [host, status, body].into_iter().flatten() {
            let message = format!("`{key}` says nothing without a `path` that is asked for");
            out.push(Diagnostic::error(span.clone(), message).suggest("write path = \"/\""));
        }
        return check;
    };
    let host = match (&draft.host, &pool.host) {
        (Some(host), _) => host.value.clone(),
        (None, HostSent::Fixed(host)) => host.clone(),
        (None, _) => "localhost".into(),
    };
    let statuses = draft.statuses.as_ref().map(|own| own.value.clone());
    check.probe = Probe::Request {
        path: path.clone(),
        host,
        statuses: statuses.unwrap_or_else(|| vec![200..=399]),
        body: draft.body.as_ref().map(|body| body.value.clone()),
    };
    check
}

fn sticky(draft: &Spanned<StickyDraft>, out: &mut Vec<Diagnostic>) -> Option<Sticky> {
    let mut sticky = draft.value.sticky.clone();
    match &draft.value.cookie {
        Some(cookie) => sticky.cookie.clone_from(cookie),
        None if sticky.learn => {
            let message = "which cookie of the application is learned is not said";
            let diagnostic = Diagnostic::error(draft.span.clone(), message);
            out.push(diagnostic.suggest("write cookie = \"JSESSIONID\""));
            return None;
        }
        None => sticky.cookie = "forebay".into(),
    }
    if sticky.learn && sticky.lifetime.is_none() {
        sticky.lifetime = Some(Duration::from_secs(3600));
    }
    Some(sticky)
}

/// TLS when it is asked for, or all servers are written `https://…`.
fn tls(
    (name, draft): (&Spanned<String>, &PoolDraft),
    out: &mut Vec<Diagnostic>,
) -> Option<OriginTls> {
    let https = |server: &&Spanned<ServerDraft>| server.value.https;
    let encrypted = draft.servers.iter().find(https);
    let plain = draft.servers.iter().find(|server| !https(server));
    let Some(own) = &draft.tls else {
        if let (Some(_), Some(plain)) = (encrypted, plain) {
            let message = format!("[pool.{}] has servers with https and without", name.value);
            let diagnostic = Diagnostic::error(plain.span.clone(), message);
            out.push(diagnostic.expected("https:// for all of them, or for none"));
        }
        return encrypted.map(|_| OriginTls::default());
    };
    let mut tls = own.tls.clone();
    tls.certificate = certificate(own, out);
    if let Some(authorities) = &tls.authorities
        && !tls.verify
    {
        let message = format!(
            "verify = false: {} is never looked at",
            authorities.display()
        );
        out.push(Diagnostic::warning(name.span.clone(), message));
    }
    Some(tls)
}

/// A certificate and its key come together.
fn certificate(tls: &TlsDraft, out: &mut Vec<Diagnostic>) -> Option<(PathBuf, PathBuf)> {
    let lonely = |what: &str, other: &str, span: &Range<usize>| {
        Diagnostic::error(span.clone(), format!("a {what} without its {other}"))
            .suggest(format!("write {other} = \"/path/to/file.pem\""))
    };
    match (&tls.certificate, &tls.key) {
        (Some(certificate), Some(key)) => Some(((&certificate.value).into(), (&key.value).into())),
        (Some(certificate), None) => {
            out.push(lonely("certificate", "key", &certificate.span));
            None
        }
        (None, Some(key)) => {
            out.push(lonely("key", "certificate", &key.span));
            None
        }
        (None, None) => None,
    }
}

/// The applications, with what follows from what was left out.
pub(super) fn apps(draft: &Draft, out: &mut Vec<Diagnostic>) -> BTreeMap<String, App> {
    let mut apps = BTreeMap::new();
    for (name, own) in &draft.apps {
        let mut app = own.app.clone();
        let mut pools = draft.pools.iter();
        let pool = pools.find(|(pool, _)| pool.value == name.value);
        let pool = pool.map(|(_, pool)| pool);
        let protocol = own.protocol.or_else(|| pool?.protocol);
        app.protocol = protocol.unwrap_or_default();
        // How many processes are needed follows from it, wherever it was written.
        app.max_connections = app.max_connections.or_else(|| pool?.pool.max_connections);
        app.backoff_max = match own.backoff_max {
            Some(longest) => longest,
            None => app.backoff_max.max(app.backoff),
        };
        if app.backoff_max < app.backoff {
            let message = format!("[app.{}]: `backoff_max` is less than `backoff`", name.value);
            out.push(Diagnostic::error(name.span.clone(), message));
        }
        if app.ready.is_some() && app.protocol != Protocol::Http {
            let message = format!(
                "[app.{}]: `ready` says nothing where processes do not speak HTTP",
                name.value
            );
            let diagnostic = Diagnostic::error(name.span.clone(), message);
            out.push(diagnostic.suggest("leave it out: a process is ready when it accepts a connection; [pool.NAME.health] asks for a path in any protocol"));
        }
        never_grows(name, &app, out);
        placeholders(name, &app, out);
        apps.insert(name.value.clone(), app);
    }
    apps
}

/// More than one process is started when requests wait, and without a limit none does.
fn never_grows(name: &Spanned<String>, app: &App, out: &mut Vec<Diagnostic>) {
    let (least, most) = app.instances;
    let reached = least.max(1);
    if most > reached && app.max_connections.is_none() {
        let message = format!(
            "[app.{}]: there are never more than {reached} of {most} processes: without `max_connections` one takes all requests, and none waits for another",
            name.value
        );
        let diagnostic = Diagnostic::warning(name.span.clone(), message);
        out.push(diagnostic.suggest(
            "write max_connections = 5, or as many requests as a process works on at once",
        ));
    }
}

/// Braces have their meaning in shells and scripts too: only what looks like a slip is reported.
fn placeholders(name: &Spanned<String>, app: &App, out: &mut Vec<Diagnostic>) {
    const KNOWN: [&str; 3] = ["socket", "port", "instance"];
    let texts = app.command.iter().chain(app.environment.values());
    for text in texts {
        let parts = text.split('{').skip(1);
        let words = parts.filter_map(|part| part.split_once('}').map(|(word, _)| word));
        for word in words.filter(|word| !KNOWN.contains(word)) {
            if let Some(near) = nearest(word, KNOWN) {
                let message = format!(
                    "[app.{}]: `{{{word}}}` is not replaced; `{{{near}}}` would be",
                    name.value
                );
                out.push(Diagnostic::warning(name.span.clone(), message));
            }
        }
    }
}
