//! The reference: one table of rows from which come the keys that exist, how
//! they are read and checked, `forebay explain`, and `docs/configuration.md`.

mod app;
mod disk;
mod explain;
mod limits;
mod markdown;
mod nested;
mod policy;
mod pool;
mod pool_parts;
mod rules;
mod rules_parts;
mod server;
mod server_tls;
mod service;
mod session;
mod setting;
mod site;
mod value;

pub use explain::{UnknownSetting, explain};
pub use markdown::markdown;
pub use setting::{Kind, Row};

use crate::diagnostic::Diagnostic;
use crate::draft::{ServiceDraft, Spanned};

pub(crate) use app::APP;
pub(crate) use disk::{DISK, PURGE};
pub(crate) use limits::{LIMITS, TIMEOUTS};
pub(crate) use policy::{CACHE, POLICY};
pub(crate) use pool::POOL;
pub(crate) use server::{ADMIN, LISTEN, LOG, SERVER};
pub(crate) use session::SESSION;
pub(crate) use setting::Setting;
pub(crate) use site::{PATH, SITE};
pub(crate) use value::Given;

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

/// What permissions are, in words.
const SOCKET_MODE: &str = "permissions such as \"0660\"";
/// Milliseconds of 365 days.
const YEAR: u64 = 365 * DAY;

/// One documented section of the file.
pub struct Section {
    /// Its name in [`Row::section`] and in full names of settings: `cache`, `site.path`.
    pub name: &'static str,
    /// How it is written: `[cache]`, `[[site.NAME.path]]`.
    pub header: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Whether the settings of the cache policy can stand in it.
    pub takes_policy: bool,
    /// Whether the settings of what is done with requests can stand in it.
    pub takes_service: bool,
    rows: fn() -> Vec<&'static Row>,
}

impl Section {
    /// Its own rows, without those that it shares with others.
    pub fn rows(&self) -> Vec<&'static Row> {
        (self.rows)()
    }

    /// Every key that may stand in it.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        let mut all = self.rows();
        if self.takes_service {
            all.extend(service_rows());
        }
        if self.takes_policy {
            all.extend(policy_rows());
        }
        all.into_iter().map(|row| row.name)
    }
}

const fn plain(
    name: &'static str,
    header: &'static str,
    doc: &'static str,
    rows: fn() -> Vec<&'static Row>,
) -> Section {
    Section {
        name,
        header,
        doc,
        takes_policy: false,
        takes_service: false,
        rows,
    }
}

/// Every section, in the order of the reference.
#[rustfmt::skip]
pub static SECTIONS: &[Section] = &[
    plain("server", "[server]", "The process as a whole.", || rows(SERVER)),
    plain("listen", "[[listen]]", "Where clients connect; once for each address, and at least once.", || rows(LISTEN)),
    plain("admin", "[admin]", "Metrics, status and administration.", || rows(ADMIN)),
    Section {
        takes_policy: true,
        ..plain("cache", "[cache]", "The memory tier. The cache policy that stands here is what every site starts from.", || rows(CACHE))
    },
    plain("cache.disk", "[cache.disk]", "The disk tier: objects that left memory, large objects, and everything over a restart.", || rows(DISK)),
    plain("purge", "[purge]", "Who may purge with the methods `PURGE` and `BAN`, as plug-ins of content management systems do. Without it: nobody.", || rows(PURGE)),
    plain("pool", "[pool.NAME]", "Servers that give the same answers.", || rows(POOL)),
    plain("pool.server", "[[pool.NAME.servers]]", "One server with settings of its own; also as a table in the list: `servers = [{ address = \"…\", weight = 2 }, \"…\"]`.", || rows(pool_parts::POOL_SERVER)),
    plain("pool.health", "[pool.NAME.health]", "Active health checks: each server is asked at intervals.", || rows(pool_parts::HEALTH)),
    plain("pool.eject", "[pool.NAME.eject]", "Outliers: servers whose answers fail too often are left out for a while.", || rows(pool_parts::EJECT)),
    plain("pool.sticky", "[pool.NAME.sticky]", "Requests of one user go to one server while it can be used.", || rows(pool_parts::STICKY)),
    plain("pool.tls", "[pool.NAME.tls]", "TLS to the servers.", || rows(pool_parts::TLS)),
    plain("app", "[app.NAME]", "Processes of an application, which Forebay starts, watches and ends. They are the servers of the pool of the same name; other settings of that pool can stand in [pool.NAME].", || rows(APP)),
    Section {
        takes_policy: true,
        takes_service: true,
        ..plain("site", "[site.NAME]", "Hosts that share what is done with their requests and a cache policy. A file without a site and with one pool has a site `default` for every host.", || rows(SITE))
    },
    Section {
        takes_policy: true,
        takes_service: true,
        ..plain("site.path", "[[site.NAME.path]]", "Requests of a site with settings of their own. A rule starts from all that its site says.", || rows(PATH))
    },
    plain("site.rewrite", "[[site.NAME.rewrite]]", "One change of address; also as a table in the list `rewrite`.", || rows(rules_parts::REWRITE)),
    plain("site.redirect", "[[site.NAME.redirect]]", "One redirection; also as a table in the list `redirect`.", || rows(rules_parts::REDIRECT)),
    plain("site.respond", "[site.NAME.respond]", "An answer without an origin; also as a table: `respond = { … }`.", || rows(rules_parts::RESPOND)),
    plain("site.auth", "[site.NAME.auth]", "User names and passwords (RFC 7617); also as a table: `auth = { … }`.", || rows(rules_parts::AUTH)),
    plain("site.cors", "[site.NAME.cors]", "Cross-origin requests, as the Fetch standard defines them. Preflights are answered here.", || rows(rules_parts::CORS)),
    plain("site.maintenance", "[site.NAME.maintenance]", "The maintenance switch: 503 with `Retry-After` for everybody.", || rows(rules_parts::MAINTENANCE)),
    plain("session", "[session.NAME]", "A store of sessions, which speaks memcached's and Tokyo Tyrant's protocols.", || rows(SESSION)),
    plain("limits", "[limits]", "Every quantity that a client or an origin can drive, and the answer when it is passed.", || rows(LIMITS)),
    plain("timeouts", "[timeouts]", "How long each side may take.", || rows(TIMEOUTS)),
    plain("log", "[log]", "The access log and the error log.", || rows(LOG)),
];

/// What is done with requests, which sites and path rules share: settings under their headings.
static SERVICE: [(&str, &[Setting<ServiceDraft>]); 7] = [
    ("Who answers", service::ANSWERS),
    ("Static files", service::FILES),
    ("Scripts", service::CGI),
    ("Compression", service::COMPRESS),
    ("Addresses", rules::ADDRESSES),
    ("Fields and errors", rules::HEADERS),
    ("Access and limits", rules::ACCESS),
];

/// The rows of what is done with requests, under their headings.
pub fn service_groups() -> impl Iterator<Item = (&'static str, Vec<&'static Row>)> {
    SERVICE
        .iter()
        .map(|(heading, settings)| (*heading, rows(settings)))
}

/// The rows of what is done with requests, which sites and path rules take.
pub fn service_rows() -> Vec<&'static Row> {
    service_groups().flat_map(|(_, rows)| rows).collect()
}

/// Sets `key` of what is done with requests; false when there is no such key.
pub(crate) fn set_service(
    target: &mut ServiceDraft,
    key: &str,
    given: &Given<'_>,
    out: &mut Vec<Diagnostic>,
) -> bool {
    let mut all = SERVICE.iter().flat_map(|(_, settings)| settings.iter());
    let Some(setting) = all.find(|setting| setting.row.name == key) else {
        return false;
    };
    target.written.push(Spanned {
        value: setting.row.name,
        span: given.span.clone(),
    });
    if let Err(wrong) = setting.apply(target, given) {
        out.extend(wrong);
    }
    true
}

/// The rows of the cache policy, which `[cache]`, sites and paths take.
pub fn policy_rows() -> Vec<&'static Row> {
    rows(POLICY)
}

/// The section of this name.
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

fn rows<T>(settings: &'static [Setting<T>]) -> Vec<&'static Row> {
    settings.iter().map(|setting| &setting.row).collect()
}

/// Sets what `key` of `settings` says to `given`; false when there is no such key.
pub(crate) fn set<T>(
    settings: &'static [Setting<T>],
    target: &mut T,
    key: &str,
    given: &Given<'_>,
    out: &mut Vec<Diagnostic>,
) -> bool {
    let Some(setting) = settings.iter().find(|setting| setting.row.name == key) else {
        return false;
    };
    if let Err(wrong) = setting.apply(target, given) {
        out.extend(wrong);
    }
    true
}

/// Whether a default is written as in the file, rather than in words.
fn is_toml(default: &str) -> bool {
    matches!(default, "true" | "false")
        || default.starts_with(['"', '[', '{'])
        || default.parse::<u64>().is_ok()
}

fn saturate(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
