//! The reference: one table of rows from which come the keys that exist, how
//! they are read and checked, `forebay explain`, and `docs/configuration.md`.

mod disk;
mod explain;
mod limits;
mod markdown;
mod policy;
mod server;
mod setting;
mod site;
mod value;

pub use explain::{UnknownSetting, explain};
pub use markdown::markdown;
pub use setting::{Kind, Row};

use crate::diagnostic::Diagnostic;

pub(crate) use disk::{DISK, PURGE};
pub(crate) use limits::{LIMITS, TIMEOUTS};
pub(crate) use policy::{CACHE, POLICY};
pub(crate) use server::{ADMIN, LISTEN, LOG, SERVER};
pub(crate) use setting::Setting;
pub(crate) use site::{PATH, POOL, SITE};
pub(crate) use value::Given;

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;
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
    rows: fn() -> Vec<&'static Row>,
}

impl Section {
    /// Its own rows, without those of the cache policy.
    pub fn rows(&self) -> Vec<&'static Row> {
        (self.rows)()
    }

    /// Every key that may stand in it.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        let policy = if self.takes_policy { POLICY } else { &[] };
        let own = self.rows().into_iter();
        own.chain(rows(policy)).map(|row| row.name)
    }
}

/// Every section, in the order of the reference.
pub static SECTIONS: &[Section] = &[
    Section {
        name: "server",
        header: "[server]",
        doc: "The process as a whole.",
        takes_policy: false,
        rows: || rows(SERVER),
    },
    Section {
        name: "listen",
        header: "[[listen]]",
        doc: "Where clients connect; once for each address, and at least once.",
        takes_policy: false,
        rows: || rows(LISTEN),
    },
    Section {
        name: "admin",
        header: "[admin]",
        doc: "Metrics, status and administration.",
        takes_policy: false,
        rows: || rows(ADMIN),
    },
    Section {
        name: "cache",
        header: "[cache]",
        doc: "The memory tier. The cache policy that stands here is what every site starts from.",
        takes_policy: true,
        rows: || rows(CACHE),
    },
    Section {
        name: "cache.disk",
        header: "[cache.disk]",
        doc: "The disk tier: objects that left memory, large objects, and everything over a restart.",
        takes_policy: false,
        rows: || rows(DISK),
    },
    Section {
        name: "purge",
        header: "[purge]",
        doc: "Who may purge with the methods `PURGE` and `BAN`, as plug-ins of content management systems do. Without it: nobody.",
        takes_policy: false,
        rows: || rows(PURGE),
    },
    Section {
        name: "pool",
        header: "[pool.NAME]",
        doc: "Servers that give the same answers; at least one pool.",
        takes_policy: false,
        rows: || rows(POOL),
    },
    Section {
        name: "site",
        header: "[site.NAME]",
        doc: "Hosts that share a pool and a cache policy. A file without a site and with one pool has a site `default` for every host.",
        takes_policy: true,
        rows: || rows(SITE),
    },
    Section {
        name: "site.path",
        header: "[[site.NAME.path]]",
        doc: "Paths of a site with a cache policy of their own.",
        takes_policy: true,
        rows: || rows(PATH),
    },
    Section {
        name: "limits",
        header: "[limits]",
        doc: "Every quantity that a client or an origin can drive, and the answer when it is passed.",
        takes_policy: false,
        rows: || rows(LIMITS),
    },
    Section {
        name: "timeouts",
        header: "[timeouts]",
        doc: "How long each side may take.",
        takes_policy: false,
        rows: || rows(TIMEOUTS),
    },
    Section {
        name: "log",
        header: "[log]",
        doc: "The access log and the error log.",
        takes_policy: false,
        rows: || rows(LOG),
    },
];

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
