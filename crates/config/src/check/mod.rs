//! The rules between settings: references that must exist, things that must
//! differ, and what follows from what was left out.

mod pool;
mod server_tls;
mod service;
mod session;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use crate::diagnostic::Diagnostic;
use crate::draft::{AdminDraft, CacheDraft, DiskDraft, Draft, SiteDraft, Spanned};
use crate::settings::{Admin, Cache, Disk, ListenAddress, Policy, Settings};
use crate::units::show_size;

/// The largest object by default: an eighth of the memory, and at most this.
const MAX_OBJECT: u64 = 64 << 20;

/// Applies the rules and fills in what follows. With `partial`, parts of the file could not be
/// parsed, and what is missing may stand in them.
pub(crate) fn settings(draft: Draft, partial: bool, out: &mut Vec<Diagnostic>) -> Settings {
    if !partial {
        something_to_do(&draft, out);
    }
    addresses(&draft, out);
    hosts(&draft.sites, out);
    heads(&draft, out);
    let cache = cache(&draft.cache, draft.policy.clone(), out);
    let apps = pool::apps(&draft, out);
    let pools = pool::pools(&draft, out);
    let sessions = session::sessions(&draft, out);
    let secured = server_tls::listeners(&draft, out);
    let sites = service::sites(&draft, &pools, partial, out);
    Settings {
        server: draft.server,
        listen: draft
            .listen
            .into_iter()
            .map(|listen| listen.value)
            .collect(),
        introduced: draft.introduced,
        secured,
        socket_modes: draft.socket_modes,
        admin: admin(draft.admin, out),
        purge: draft.purge,
        limits: draft.limits,
        timeouts: draft.timeouts,
        cache,
        pools: pools.settings,
        apps,
        sessions,
        sites,
        log: draft.log,
    }
}

/// A file that listens nowhere, or has nobody to ask, does nothing.
fn something_to_do(draft: &Draft, out: &mut Vec<Diagnostic>) {
    let written = &draft.written;
    let serves = written.listen || written.pool || written.app || written.site;
    if written.session && !serves {
        return;
    }
    if !written.listen {
        let write = "write\n[[listen]]\naddress = \"127.0.0.1:8080\"";
        out.push(Diagnostic::whole_file("no [[listen]]: clients cannot connect").suggest(write));
    }
    let mut sites = draft.sites.iter().map(|(_, site)| site);
    let answers = sites
        .any(|site| site.service.answers() || site.paths.iter().any(|path| path.service.answers()));
    if written.app || answers {
        return;
    }
    if !written.pool {
        let write = "write\n[pool.app]\nservers = [\"127.0.0.1:9000\"]";
        out.push(
            Diagnostic::whole_file("no [pool.NAME]: there is no origin to ask").suggest(write),
        );
    } else if draft.pools.is_empty() && out.is_empty() {
        let write = "write\n[pool.app]\nservers = [\"127.0.0.1:9000\"]";
        out.push(Diagnostic::whole_file("[pool] has no pool in it").suggest(write));
    }
}

/// Nobody can listen twice on one address.
fn addresses(draft: &Draft, out: &mut Vec<Diagnostic>) {
    let mut seen: Vec<(&ListenAddress, &str)> = Vec::new();
    let admin = draft.admin.addresses.iter().map(|admin| (admin, "[admin]"));
    let listeners = draft.listen.iter().map(|listen| (listen, "[[listen]]"));
    let sessions = draft.sessions.iter();
    let sessions = sessions.flat_map(|(_, session)| &session.addresses);
    let sessions = sessions.map(|session| (session, "[session.NAME]"));
    for (address, place) in listeners.chain(admin).chain(sessions) {
        let any_port = matches!(address.value, ListenAddress::Tcp(tcp) if tcp.port() == 0);
        match seen.iter().find(|(other, _)| *other == &address.value) {
            Some((_, other)) if !any_port => {
                let message = format!(
                    "`{}` is already the address of another {other}",
                    address.value
                );
                let expected = format!("an address of its own for each {place}");
                out.push(Diagnostic::error(address.span.clone(), message).expected(expected));
            }
            _ => seen.push((&address.value, place)),
        }
    }
}

/// A host belongs to one site.
fn hosts(sites: &[(Spanned<String>, SiteDraft)], out: &mut Vec<Diagnostic>) {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, site) in sites {
        let own = site
            .hosts
            .iter()
            .map(|host| (host.value.as_str(), &host.span));
        let claimed: Vec<(&str, &Range<usize>)> = match site.hosts_written {
            true => own.collect(),
            false => vec![("*", &name.span)],
        };
        for (host, span) in claimed {
            let Some(owner) = owners.insert(host, &name.value) else {
                continue;
            };
            owners.insert(host, owner);
            let what = if host == "*" {
                "every other host"
            } else {
                host
            };
            let message = match owner == name.value {
                true => format!("{what} stands twice in [site.{owner}]"),
                false => format!("[site.{owner}] already answers for {what}"),
            };
            let expected = "a host of one site only";
            out.push(Diagnostic::error(span.clone(), message).expected(expected));
        }
    }
}

/// A request line is part of a head.
fn heads(draft: &Draft, out: &mut Vec<Diagnostic>) {
    let limits = &draft.limits;
    if limits.request_line_bytes > limits.request_head_bytes {
        let message = format!(
            "`limits.request_line` ({}) is more than `limits.request_head` ({}), of which it is a part",
            show_size(limits.request_line_bytes as u64),
            show_size(limits.request_head_bytes as u64),
        );
        out.push(Diagnostic::whole_file(message).suggest("raise request_head"));
    }
}

/// What is reached from elsewhere is not left open to everybody.
fn admin(draft: AdminDraft, out: &mut Vec<Diagnostic>) -> Admin {
    let admin = Admin {
        addresses: draft
            .addresses
            .iter()
            .map(|address| address.value.clone())
            .collect(),
        read_tokens: draft.read_tokens,
        purge_tokens: draft.purge_tokens,
        admin_tokens: draft.admin_tokens,
        hosts: draft.hosts,
    };
    for address in draft.addresses.iter().filter(|_| !admin.has_tokens()) {
        if let ListenAddress::Tcp(tcp) = &address.value
            && !tcp.ip().to_canonical().is_loopback()
        {
            let message = format!("everybody who reaches {tcp} could administer this server");
            out.push(
                Diagnostic::error(address.span.clone(), message)
                    .expected("a loopback address, or tokens")
                    .suggest("write admin_tokens = [\"…\"] with a long random text"),
            );
        }
    }
    admin
}

fn cache(draft: &CacheDraft, policy: Policy, out: &mut Vec<Diagnostic>) -> Cache {
    let memory = draft.memory;
    let max_object_bytes = match &draft.max_object {
        None => default_max_object(memory),
        Some(share) => {
            let bytes = share.value.of(memory);
            if bytes > memory {
                let message = format!(
                    "`cache.max_object` is more than `cache.memory` ({})",
                    show_size(memory)
                );
                let expected = "a part of it, such as \"10%\"";
                out.push(Diagnostic::error(share.span.clone(), message).expected(expected));
            }
            bytes
        }
    };
    Cache {
        memory,
        max_object_bytes,
        hit_for_miss: draft.hit_for_miss,
        tag_fields: draft.tag_fields.clone(),
        disk: draft.disk.as_ref().map(|disk| self::disk(disk, out)),
        policy,
    }
}

/// The largest object on disk by default: an eighth of the size, and at most this.
const MAX_ON_DISK: u64 = 1 << 30;

/// The largest object on disk when nothing is said.
pub(crate) fn default_max_on_disk(size: u64) -> u64 {
    (size / 8).min(MAX_ON_DISK)
}

fn disk(draft: &DiskDraft, out: &mut Vec<Diagnostic>) -> Disk {
    let mut disk = draft.disk.clone();
    let size = disk.size_bytes;
    disk.max_object_bytes = match &draft.max_object {
        None => default_max_on_disk(size),
        Some(share) => share.value.of(size),
    };
    if let Some(share) = &draft.max_object
        && size > 0
        && disk.max_object_bytes > size / 4
    {
        let message = format!(
            "`cache.disk.max_object` is more than a quarter of `cache.disk.size` ({})",
            show_size(size)
        );
        let expected = "a smaller part of it, such as \"10%\"";
        out.push(Diagnostic::error(share.span.clone(), message).expected(expected));
    }
    for path in draft.path.iter().chain(&draft.more_paths) {
        let directory = PathBuf::from(&path.value);
        if disk.directories.contains(&directory) {
            let message = format!("`{}` stands twice in [cache.disk]", path.value);
            out.push(
                Diagnostic::error(path.span.clone(), message).expected("different directories"),
            );
        }
        disk.directories.push(directory);
    }
    disk
}

/// The largest object when nothing is said.
pub(crate) fn default_max_object(memory: u64) -> u64 {
    (memory / 8).min(MAX_OBJECT)
}
