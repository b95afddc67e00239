//! Sites: who answers, and what their settings say together.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Level};
use crate::draft::{Draft, Php, ServiceDraft, SiteDraft, Spanned};
use crate::settings::{Files, KeyPart, PathRule, Policy, Protocol, Rate, Service, Site};

use super::pool::Pools;

/// Settings that say nothing without `root`.
const OF_ROOT: &[&str] = &[
    "index",
    "try_files",
    "listing",
    "symlinks",
    "hidden_files",
    "precompressed",
    "cached_file",
    "file_check",
    "max_age",
    "types",
    "charset",
];

/// Every site with what it does; without a site, one for every host if it is clear which pool.
pub(super) fn sites(
    draft: &Draft,
    pools: &Pools,
    partial: bool,
    out: &mut Vec<Diagnostic>,
) -> Vec<Site> {
    if draft.sites.is_empty() && !draft.written.site && !partial {
        return default_site(draft, pools, out);
    }
    let mut sites = Vec::new();
    for (name, site) in &draft.sites {
        let pool = pool_of(name, site, pools, partial, out);
        key_without_path(name, &site.policy, out);
        sites.push(self::site((name, site), pool, (pools, partial), out));
    }
    if !partial
        && out
            .iter()
            .all(|diagnostic| diagnostic.level == Level::Warning)
    {
        unused_pools(draft, &sites, out);
    }
    sites
}

fn default_site(draft: &Draft, pools: &Pools, out: &mut Vec<Diagnostic>) -> Vec<Site> {
    let [pool] = pools.names.as_slice() else {
        if let Some(first) = pools.names.first() {
            let message = "no [site.NAME] says which of the pools answers";
            let write = format!("write\n[site.default]\npool = \"{first}\"");
            out.push(Diagnostic::whole_file(message).suggest(write));
        }
        return Vec::new();
    };
    vec![Site {
        name: "default".into(),
        hosts: Vec::new(),
        service: Service {
            pool: Some(pool.clone()),
            ..Service::default()
        },
        methods: Vec::new(),
        policy: draft.policy.clone(),
        paths: Vec::new(),
    }]
}

fn site(
    (name, draft): (&Spanned<String>, &SiteDraft),
    pool: Option<String>,
    (pools, partial): (&Pools, bool),
    out: &mut Vec<Diagnostic>,
) -> Site {
    let header = format!("[site.{}]", name.value);
    let place = Place {
        site: &name.value,
        header: &header,
        span: &name.span,
    };
    let own = service(&draft.service, pool.clone(), place, (pools, partial), out);
    let mut paths = Vec::new();
    let header = format!("[[site.{}.path]]", name.value);
    for path in &draft.paths {
        let place = Place {
            site: &name.value,
            header: &header,
            span: &path.span,
        };
        let pool = match path.service.written_of(&["pool"]) {
            Some(_) => named_pool(&path.service, pools, partial, out),
            None => pool.clone(),
        };
        paths.push(PathRule {
            when: path.when.clone(),
            policy: path.policy.clone(),
            service: service(&path.service, pool, place, (pools, partial), out),
        });
    }
    Site {
        name: name.value.clone(),
        hosts: draft.hosts.iter().map(|host| host.value.clone()).collect(),
        methods: draft.methods.clone(),
        policy: draft.policy.clone(),
        service: own,
        paths,
    }
}

/// Which section is looked at.
#[derive(Clone, Copy)]
struct Place<'a> {
    site: &'a str,
    header: &'a str,
    span: &'a Range<usize>,
}

fn service(
    draft: &ServiceDraft,
    pool: Option<String>,
    place: Place<'_>,
    (pools, partial): (&Pools, bool),
    out: &mut Vec<Diagnostic>,
) -> Service {
    needs(draft, out);
    let mut service = draft.service.clone();
    let php = draft.php.as_ref();
    service.cgi.php = php.and_then(|php| pools.of_php(place.site, &php.value));
    if let Some(Spanned {
        value: Php::Pool(name),
        span,
    }) = php
        && draft.written_of(&["php_pool"]).is_some()
        && !partial
    {
        let name = Spanned {
            value: name.clone(),
            span: span.clone(),
        };
        php_pool(&name, pools, out);
    }
    service.files = files(draft);
    let protocol = pool.as_ref().and_then(|pool| pools.settings.get(pool));
    let protocol = protocol.map(|pool| pool.protocol).unwrap_or_default();
    service.pool = pool;
    if let Some(extension) = &draft.cgi_extension {
        service.cgi.extension.clone_from(extension);
    } else if matches!(protocol, Protocol::Scgi | Protocol::Uwsgi) && service.cgi.php.is_none() {
        service.cgi.extension.clear();
    }
    script_root(&service, protocol, place, out);
    if draft.compress {
        let mut compress = draft.compressing.clone();
        if let Some(codings) = &draft.codings {
            compress.codings.clone_from(codings);
        }
        service.compress = Some(compress);
    }
    service.request_rate = draft.rate.map(|(requests, per)| Rate {
        requests,
        per,
        burst: draft.burst.unwrap_or(requests.saturating_sub(1)),
    });
    let own_rate = draft.written_of(&["request_rate", "request_burst"]);
    service.own_rate = own_rate.is_some();
    service.own_client_requests = draft.written_of(&["client_requests"]).is_some();
    service
}

fn files(draft: &ServiceDraft) -> Option<Files> {
    let mut files = draft.files.clone();
    files.root.clone_from(draft.root.as_ref()?);
    files.index = match (&draft.index, &draft.php) {
        (Some(index), _) => index.clone(),
        (None, Some(_)) => vec![draft.service.cgi.index.clone(), "index.html".into()],
        (None, None) => files.index,
    };
    Some(files)
}

/// Settings that say nothing without another one.
fn needs(draft: &ServiceDraft, out: &mut Vec<Diagnostic>) {
    let mut lacks = |keys: &[&str], there: bool, other: &str, write: &str| {
        if let Some(key) = draft.written_of(keys)
            && !there
        {
            let message = format!("`{}` says nothing without `{other}`", key.value);
            let diagnostic = Diagnostic::error(key.span.clone(), message);
            out.push(diagnostic.suggest(format!("write {write}")));
        }
    };
    lacks(
        OF_ROOT,
        draft.root.is_some(),
        "root",
        "root = \"/srv/site\"",
    );
    let types = &["compress_types", "compress_min"];
    lacks(types, draft.compress, "compress", "compress = true");
    let rate = draft.rate.is_some();
    lacks(
        &["request_burst"],
        rate,
        "request_rate",
        "request_rate = \"10/s\"",
    );
    let pages = !draft.service.error_pages.is_empty();
    let write = "error_pages = { 5xx = \"/srv/50x.html\" }";
    let intercept = draft.service.intercept_errors && !pages;
    lacks(&["intercept_errors"], !intercept, "error_pages", write);
    if let (Some(one), Some(_)) = (draft.written_of(&["php"]), draft.written_of(&["php_pool"])) {
        let message = "`php` and `php_pool` say the same in two ways";
        out.push(Diagnostic::error(one.span.clone(), message).expected("one of them"));
    }
}

/// A pool for scripts speaks FastCGI.
fn php_pool(name: &Spanned<String>, pools: &Pools, out: &mut Vec<Diagnostic>) {
    if !pools.exists(name, out) {
        return;
    }
    let protocol = pools.settings.get(&name.value).map(|pool| pool.protocol);
    if protocol != Some(Protocol::FastCgi) {
        let message = format!("[pool.{}] does not speak FastCGI", name.value);
        let diagnostic = Diagnostic::error(name.span.clone(), message);
        out.push(diagnostic.suggest("write protocol = \"fastcgi\" there"));
    }
}

/// A server that runs scripts must be told where they lie.
fn script_root(service: &Service, protocol: Protocol, place: Place<'_>, out: &mut Vec<Diagnostic>) {
    let runs_scripts = service.cgi.php.is_some()
        || protocol != Protocol::Http && !service.cgi.extension.is_empty();
    if !runs_scripts || service.cgi.root.is_some() || service.files.is_some() {
        return;
    }
    let message = format!("{}: where scripts lie is not said", place.header);
    let diagnostic = Diagnostic::error(place.span.clone(), message);
    out.push(diagnostic.suggest(
        "write root = \"/srv/site\" (cgi_root = \"…\" where the server sees them elsewhere; \
         cgi_extension = \"\" for an application without scripts)",
    ));
}

/// The pool that a section names.
fn named_pool(
    draft: &ServiceDraft,
    pools: &Pools,
    partial: bool,
    out: &mut Vec<Diagnostic>,
) -> Option<String> {
    let name = draft.pool.as_ref()?;
    if !partial {
        pools.exists(name, out);
    }
    Some(name.value.clone())
}

/// The site's pool, which may be left out when there is one only, or something else answers.
fn pool_of(
    name: &Spanned<String>,
    site: &SiteDraft,
    pools: &Pools,
    partial: bool,
    out: &mut Vec<Diagnostic>,
) -> Option<String> {
    if site.service.pool.is_some() {
        return named_pool(&site.service, pools, partial, out);
    }
    if site.service.answers() {
        return None;
    }
    if let [only] = pools.names.as_slice() {
        return Some(only.clone());
    }
    let path_answers =
        |path: &crate::draft::PathDraft| path.service.answers() || path.service.pool.is_some();
    if partial || site.paths.iter().any(path_answers) {
        return None;
    }
    let Some(first) = pools.names.first() else {
        let message = format!("nothing answers in [site.{}]", name.value);
        let diagnostic = Diagnostic::error(name.span.clone(), message);
        out.push(diagnostic.expected("`pool`, `root`, `php`, `redirect` or `respond`"));
        return None;
    };
    let message = format!(
        "`pool` is missing in [site.{}], and there are several pools",
        name.value
    );
    let expected = format!("one of the pools: {}", pools.names.join(", "));
    let diagnostic = Diagnostic::error(name.span.clone(), message).expected(expected);
    out.push(diagnostic.suggest(format!("write pool = \"{first}\"")));
    None
}

/// A key without the path is rarely meant: all pages would be one object.
fn key_without_path(name: &Spanned<String>, policy: &Policy, out: &mut Vec<Diagnostic>) {
    if !policy.key.contains(&KeyPart::Path) {
        let message = format!(
            "the cache key of [site.{}] has no \"path\": different pages get the same object",
            name.value
        );
        out.push(Diagnostic::warning(name.span.clone(), message));
    }
}

fn unused_pools(draft: &Draft, sites: &[Site], out: &mut Vec<Diagnostic>) {
    let services = sites.iter().flat_map(|site| {
        std::iter::once(&site.service).chain(site.paths.iter().map(|path| &path.service))
    });
    let used: Vec<&String> = services
        .flat_map(|service| service.pool.iter().chain(&service.cgi.php))
        .collect();
    let pools = draft.pools.iter().map(|(name, _)| ("pool", name));
    let apps = draft.apps.iter().map(|(name, _)| ("app", name));
    for (kind, name) in pools.chain(apps) {
        if !used.contains(&&name.value) {
            let message = format!("[{kind}.{}] is the pool of no site", name.value);
            out.push(Diagnostic::warning(name.span.clone(), message));
        }
    }
}
