//! From the TOML document to the draft: which sections and keys there are, and
//! every value through its row. Rules between settings are applied afterwards.

use std::ops::Range;

use toml_edit::{Item, Table};

use crate::diagnostic::Diagnostic;
use crate::draft::{
    AppDraft, DiskDraft, Draft, ListenDraft, PathDraft, PoolDraft, SessionDraft, SiteDraft, Spanned,
};
use crate::nearest::nearest;
use crate::part::{Part, key_span, keys, missing, named, owners, part, repeated, single};
use crate::reference::{
    ADMIN, APP, CACHE, DISK, LIMITS, LISTEN, LOG, PATH, POLICY, POOL, PURGE, SECTIONS, SERVER,
    SESSION, SITE, Section, TIMEOUTS, section, set, set_service,
};
use crate::settings::{ListenAddress, SOCKET_MODE, When};
use crate::template::{self, Groups};

/// Reads the whole document over the defaults in `draft`.
pub(crate) fn document(root: &Table, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    for (key, item) in root {
        if section(key).is_none() {
            unknown_at_root(root, key, item, out);
        }
    }
    single(root, "server", out, |key, given, out| {
        set(SERVER, &mut draft.server, key, given, out)
    });
    single(root, "limits", out, |key, given, out| {
        set(LIMITS, &mut draft.limits, key, given, out)
    });
    single(root, "timeouts", out, |key, given, out| {
        set(TIMEOUTS, &mut draft.timeouts, key, given, out)
    });
    single(root, "log", out, |key, given, out| {
        set(LOG, &mut draft.log, key, given, out)
    });
    // Before the sites, which start from its policy.
    single(root, "cache", out, |key, given, out| {
        key == "disk"
            || set(CACHE, &mut draft.cache, key, given, out)
            || set(POLICY, &mut draft.policy, key, given, out)
    });
    disk(root, draft, out);
    single(root, "purge", out, |key, given, out| {
        set(PURGE, &mut draft.purge, key, given, out)
    });
    admin(root, draft, out);
    listeners(root, draft, out);
    pools(root, draft, out);
    apps(root, draft, out);
    sessions(root, draft, out);
    sites(root, draft, out);
}

fn unknown_at_root(root: &Table, key: &str, item: &Item, out: &mut Vec<Diagnostic>) {
    let span = key_span(root, key, item);
    if !item.is_table_like() && !item.is_array_of_tables() {
        let message = format!("the setting `{key}` stands in no section");
        let diagnostic =
            Diagnostic::error(span, message).expected("a section such as [cache] before it");
        out.push(match owners(key) {
            Some(owners) => diagnostic.suggest(format!("`{key}` belongs in {owners}")),
            None => diagnostic.did_you_mean(nearest(key, SECTIONS.iter().flat_map(Section::keys))),
        });
        return;
    }
    let names = SECTIONS
        .iter()
        .map(|section| section.name)
        .filter(|name| !name.contains('.'));
    let diagnostic = Diagnostic::error(span, format!("unknown section `{key}`"));
    let header = nearest(key, names)
        .and_then(section)
        .map(|section| section.header);
    out.push(diagnostic.did_you_mean(header));
}

/// `[cache.disk]`, within `[cache]`.
fn disk(root: &Table, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    let cache = root.get("cache").and_then(Item::as_table_like);
    let Some((cache, item)) = cache.and_then(|cache| Some((cache, cache.get("disk")?))) else {
        return;
    };
    let Some(part) = part(
        cache,
        "disk",
        item,
        "cache.disk".into(),
        "[cache.disk]",
        out,
    ) else {
        return;
    };
    let mut disk = DiskDraft::default();
    keys(&part, "cache.disk", out, |key, given, out| {
        set(DISK, &mut disk, key, given, out)
    });
    for (key, write) in [
        ("path", "path = \"/var/cache/forebay\""),
        ("size", "size = \"20GiB\""),
    ] {
        if !part.table.contains_key(key) {
            out.push(missing(part.span.clone(), "[cache.disk]", write));
        }
    }
    draft.cache.disk = Some(disk);
}

fn admin(root: &Table, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    let before = out.len();
    single(root, "admin", out, |key, given, out| {
        set(ADMIN, &mut draft.admin, key, given, out)
    });
    if let Some(item) = root.get("admin")
        && draft.admin.addresses.is_empty()
        && out.len() == before
    {
        out.push(missing(
            key_span(root, "admin", item),
            "[admin]",
            "address = \"127.0.0.1:8081\"",
        ));
    }
}

fn listeners(root: &Table, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    let Some(item) = root.get("listen") else {
        return;
    };
    draft.written.listen = true;
    for part in repeated(root, "listen", item, "listen", "[[listen]]", out) {
        let mut listen = ListenDraft::default();
        let before = out.len();
        keys(&part, "listen", out, |key, given, out| {
            set(LISTEN, &mut listen, key, given, out)
        });
        match listen.address {
            Some(address) => {
                if listen.proxy_protocol {
                    draft.introduced.push(address.value.clone());
                }
                match &address.value {
                    _ if listen.socket_mode == SOCKET_MODE => {}
                    ListenAddress::Unix(path) => {
                        draft.socket_modes.insert(path.clone(), listen.socket_mode);
                    }
                    ListenAddress::Tcp(_) => out.push(no_socket(&address)),
                }
                draft.secured.push((address.clone(), listen.tls));
                draft.listen.push(address);
            }
            None if out.len() == before => {
                out.push(missing(
                    part.span,
                    "[[listen]]",
                    "address = \"127.0.0.1:8080\"",
                ));
            }
            None => {}
        }
    }
}

/// Permissions were written where there is no file to have them.
pub(crate) fn no_socket(address: &Spanned<ListenAddress>) -> Diagnostic {
    let message = format!(
        "`{}` is no file that a `socket_mode` could be of",
        address.value
    );
    Diagnostic::error(address.span.clone(), message).expected("a `unix:` address")
}

fn pools(root: &Table, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    draft.written.pool = root.contains_key("pool");
    for (name, part) in named(root, "pool", out) {
        let mut pool = PoolDraft::default();
        keys(&part, "pool", out, |key, given, out| {
            set(POOL, &mut pool, key, given, out)
        });
        draft.pools.push((name, pool));
    }
}

fn apps(root: &Table, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    draft.written.app = root.contains_key("app");
    for (name, part) in named(root, "app", out) {
        let mut app = AppDraft::default();
        let before = out.len();
        keys(&part, "app", out, |key, given, out| {
            set(APP, &mut app, key, given, out)
        });
        if app.app.command.is_empty() && out.len() == before {
            let header = format!("[app.{}]", name.value);
            let write = "command = \"puma -b unix://{socket}\"";
            out.push(missing(name.span.clone(), &header, write));
        }
        draft.apps.push((name, app));
    }
}

fn sessions(root: &Table, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    draft.written.session = root.contains_key("session");
    for (name, part) in named(root, "session", out) {
        let mut session = SessionDraft::default();
        let before = out.len();
        keys(&part, "session", out, |key, given, out| {
            set(SESSION, &mut session, key, given, out)
        });
        if session.addresses.is_empty() && out.len() == before {
            let header = format!("[session.{}]", name.value);
            let write = "address = \"127.0.0.1:11211\"";
            out.push(missing(name.span.clone(), &header, write));
        }
        draft.sessions.push((name, session));
    }
}

fn sites(root: &Table, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    draft.written.site = root.contains_key("site");
    for (name, part) in named(root, "site", out) {
        let mut site = SiteDraft {
            hosts_written: part.table.contains_key("hosts"),
            policy: draft.policy.clone(),
            ..SiteDraft::default()
        };
        keys(&part, "site", out, |key, given, out| {
            key == "path"
                || set(SITE, &mut site, key, given, out)
                || set_service(&mut site.service, key, given, out)
                || set(POLICY, &mut site.policy, key, given, out)
        });
        if let Some(item) = part.table.get("path") {
            site.paths = paths(&part, (&name.value, item), &site, out);
        }
        draft.sites.push((name, site));
    }
}

fn paths(
    part: &Part<'_>,
    (name, item): (&str, &Item),
    site: &SiteDraft,
    out: &mut Vec<Diagnostic>,
) -> Vec<PathDraft> {
    let header = format!("[[site.{name}.path]]");
    let path = format!("site.{name}.path");
    let mut rules: Vec<PathDraft> = Vec::new();
    for part in repeated(part.table, "path", item, &path, &header, out) {
        let before = out.len();
        let rule = path_rule(&part, site, out);
        if rule.when == When::default() {
            if out.len() == before {
                out.push(missing(part.span, &header, "match = \"/img/*\""));
            }
            continue;
        }
        if rules
            .iter()
            .any(|earlier| covers(&earlier.when, &rule.when))
        {
            let what = rule.when.pattern.as_ref().or(rule.when.regex.as_ref());
            let message = format!(
                "an earlier {header} matches `{}` too; this one is never used",
                what.map_or("the same", String::as_str)
            );
            out.push(Diagnostic::warning(matching(&part), message));
        }
        rules.push(rule);
    }
    rules
}

fn path_rule(part: &Part<'_>, site: &SiteDraft, out: &mut Vec<Diagnostic>) -> PathDraft {
    // Its groups can be named in any text of the rule, also before it.
    let regex = part.table.get("regex").and_then(Item::as_str);
    let groups = regex.and_then(|regex| template::compile(regex).ok());
    let groups = groups.map_or_else(Groups::default, |regex| Groups::of(&regex));
    let mut rule = PathDraft {
        span: part.span.clone(),
        when: When::default(),
        policy: site.policy.clone(),
        service: site.service.inherited(groups),
    };
    keys(part, "site.path", out, |key, given, out| {
        set(PATH, &mut rule, key, given, out)
            || set_service(&mut rule.service, key, given, out)
            || set(POLICY, &mut rule.policy, key, given, out)
    });
    rule
}

/// Whether every request of `rule` is one of `earlier` already, as far as that can be seen.
fn covers(earlier: &When, rule: &When) -> bool {
    let path_alone = When {
        pattern: earlier.pattern.clone(),
        regex: earlier.regex.clone(),
        ..When::default()
    };
    let same_path = earlier.pattern == rule.pattern && earlier.regex == rule.regex;
    earlier == rule || (*earlier == path_alone && same_path)
}

/// Where the rule says which paths it is for.
fn matching(part: &Part<'_>) -> Range<usize> {
    let keys = ["match", "regex"].into_iter();
    let mut items = keys.filter_map(|key| part.table.get(key));
    let span = items.find_map(Item::span);
    span.unwrap_or(part.span.clone())
}
