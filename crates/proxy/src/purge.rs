//! Purging in the operator's words: URLs, prefixes, patterns, tags.
//!
//! What a URL stands for depends on the site it belongs to, so it is made keys of here.

use std::fmt;

use forebay_cache::Cache;
use forebay_cache::key::{self, Place};
use forebay_cache::purge::{Expression, Order, PurgeError, What};
use forebay_config::settings::{KeyPart, Policy};
use forebay_http::{Fields, uri};
use forebay_stats::Counter;

use crate::server::Handle;
use crate::snapshot::Snapshot;
use crate::worker::Shared;

/// What an operator wants purged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PurgeTarget {
    /// One URL with all its variants: `http://host/path?query`, or without the scheme.
    Url(String),
    /// Everything whose URL begins so; `/path` alone stands for every host.
    Prefix(String),
    /// Everything whose path and query match a regular expression.
    Regex {
        /// The expression; it need not match the whole.
        regex: String,
        /// Of this host only.
        host: Option<String>,
    },
    /// Everything that a ban expression holds for.
    Ban(String),
    /// Everything that carries one of these tags.
    Tags(Vec<String>),
    /// Everything.
    All,
}

/// A purge that an operator asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeOrder {
    /// What.
    pub target: PurgeTarget,
    /// Stale from now on, instead of gone.
    pub soft: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purged {
    /// In words.
    pub done: String,
    /// How many objects it hit, where that is known.
    pub objects: Option<u64>,
    /// How many objects it will be compared with, where it is not.
    pub may_touch: Option<u64>,
    /// An equal purge was in force, and this takes its place.
    pub merged: bool,
}

/// Why nothing was purged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPurged {
    /// The order makes no sense; the text says what to change.
    Invalid(String),
    /// It could not be written down.
    Failed(String),
}

impl fmt::Display for NotPurged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) | Self::Failed(why) => f.write_str(why),
        }
    }
}

impl From<PurgeError> for NotPurged {
    fn from(error: PurgeError) -> Self {
        match error {
            PurgeError::Refused(why) => Self::Invalid(why),
            journal @ PurgeError::Journal(_) => Self::Failed(journal.to_string()),
        }
    }
}

impl Handle {
    /// Purges all or none of it. When this returns, nothing asked for before is served as
    /// fresh, and the purges survive a crash. It waits for the disk.
    ///
    /// # Errors
    /// An order makes no sense, or they could not be written down.
    pub fn purge(&self, orders: &[PurgeOrder]) -> Result<Vec<Purged>, NotPurged> {
        carry_out(self.shared(), orders)
    }
}

/// [`Handle::purge`], for those within.
pub(crate) fn carry_out(shared: &Shared, orders: &[PurgeOrder]) -> Result<Vec<Purged>, NotPurged> {
    let snapshot = shared.snapshot.load();
    let cache = &shared.cache;
    let mut plain = Vec::with_capacity(orders.len());
    for order in orders {
        plain.push(Order {
            what: what(&order.target, &snapshot, cache)?,
            soft: order.soft,
        });
    }
    let done = cache.purges().purge_all(&plain)?;
    let all = stored(cache);
    let outcome = plain
        .iter()
        .zip(done)
        .zip(orders)
        .map(|((order, done), asked)| {
            shared.registry.shared().increment(counter(&asked.target));
            let objects = match &order.what {
                What::Key { hashes, .. } => {
                    Some(hashes.iter().map(|&hash| cache.purged_key(hash)).sum())
                }
                _ => None,
            };
            Purged {
                done: done.words,
                objects,
                may_touch: objects.is_none().then_some(all),
                merged: done.merged,
            }
        });
    Ok(outcome.collect())
}

fn counter(target: &PurgeTarget) -> Counter {
    match target {
        PurgeTarget::Url(_) => Counter::PurgesUrl,
        PurgeTarget::Prefix(_) => Counter::PurgesPrefix,
        PurgeTarget::Regex { .. } | PurgeTarget::Ban(_) => Counter::PurgesBan,
        PurgeTarget::Tags(_) => Counter::PurgesTag,
        PurgeTarget::All => Counter::PurgesAll,
    }
}

/// Objects in memory and on disk.
fn stored(cache: &Cache) -> u64 {
    let on_disk = cache.disk().map_or(0, |disk| {
        let directories = disk.status();
        directories.iter().map(|one| one.figures.entries).sum()
    });
    cache.objects().max(on_disk)
}

fn what(target: &PurgeTarget, snapshot: &Snapshot, cache: &Cache) -> Result<What, NotPurged> {
    let invalid = |error: &dyn fmt::Display| NotPurged::Invalid(error.to_string());
    Ok(match target {
        PurgeTarget::Url(url) => of_url(url, snapshot, cache)?,
        PurgeTarget::Prefix(prefix) => {
            let (host, target) = split(prefix).ok_or_else(|| no_url(prefix))?;
            What::Prefix {
                host: (!host.is_empty()).then(|| host.to_ascii_lowercase().into_bytes().into()),
                prefix: target.as_bytes().into(),
            }
        }
        PurgeTarget::Regex { regex, host: None } => {
            What::Ban(Expression::all_of(&[("url", "~", regex)]).map_err(|error| invalid(&error))?)
        }
        PurgeTarget::Regex {
            regex,
            host: Some(host),
        } => What::Ban(
            Expression::all_of(&[
                ("host", "==", &host.to_ascii_lowercase()),
                ("url", "~", regex),
            ])
            .map_err(|error| invalid(&error))?,
        ),
        PurgeTarget::Ban(expression) => {
            What::Ban(Expression::parse(expression).map_err(|error| invalid(&error))?)
        }
        PurgeTarget::Tags(names) => {
            What::Tags(names.iter().map(|name| name.as_bytes().into()).collect())
        }
        PurgeTarget::All => What::All,
    })
}

/// A URL as its keys, where the keys of its site can be told from a URL alone; else as a ban.
fn of_url(url: &str, snapshot: &Snapshot, cache: &Cache) -> Result<What, NotPurged> {
    let (host, target) = split(url)
        .filter(|(host, _)| !host.is_empty())
        .ok_or_else(|| no_url(url))?;
    let host = host.to_ascii_lowercase();
    let place = Located::find(snapshot, &host, target)?;
    if !place.is_keyed_by_url() {
        return Expression::all_of(&[("host", "==", &host), ("url", "==", target)])
            .map(What::Ban)
            .map_err(|error| NotPurged::Invalid(error.to_string()));
    }
    Ok(What::Key {
        hashes: place.keys().iter().map(|key| cache.key(key).hash).collect(),
        shown: url.to_owned(),
    })
}

/// A URL, and the site and policy that it belongs to.
pub(crate) struct Located<'a> {
    host: &'a str,
    target: &'a str,
    pub(crate) site: &'a str,
    answerers: Vec<&'a [u8]>,
    pub(crate) policy: &'a Policy,
}

impl<'a> Located<'a> {
    /// `host` in lower case, with its port if that is not the usual one.
    pub(crate) fn find(
        snapshot: &'a Snapshot,
        host: &'a str,
        target: &'a str,
    ) -> Result<Self, NotPurged> {
        let name = uri::parse_host(host.as_bytes()).map_or(host.as_bytes(), |host| host.name);
        let site = snapshot
            .site(name)
            .ok_or_else(|| NotPurged::Invalid(format!("no site has the host {host}")))?;
        let path = uri::split_path(target.as_bytes()).0;
        Ok(Self {
            host,
            target,
            site: &snapshot.settings.sites[site].name,
            answerers: snapshot.locations.answerers(site),
            policy: snapshot.policy(site, path),
        })
    }

    /// Whether a URL alone says what its key is.
    pub(crate) fn is_keyed_by_url(&self) -> bool {
        let by_request = |part: &KeyPart| matches!(part, KeyPart::Header(_) | KeyPart::Cookie(_));
        !self.policy.key.iter().any(by_request)
    }

    /// The keys it may have: by who answers, of requests that came with TLS to a proxy before, and
    /// of others.
    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        for &answerer in &self.answerers {
            for secure in [false, true] {
                let place = Place {
                    site: self.site,
                    answerer,
                    host: self.host.as_bytes(),
                    secure,
                };
                let (mut key, none) = (Vec::new(), Fields::new());
                key::write(self.policy, &place, self.target.as_bytes(), &none, &mut key);
                keys.push(key);
            }
        }
        keys
    }
}

/// Host and target of `http://host/path`, `host/path` or `/path`, whose host is empty. The port
/// 80 of http and 443 of https is left out, as keys leave it out.
pub(crate) fn split(url: &str) -> Option<(&str, &str)> {
    let (rest, usual) = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (rest, ":80"),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (rest, ":443"),
        Some(_) => return None,
        None => (url, ":80"),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    let target = target.split('#').next().unwrap_or_default();
    let target = if target.is_empty() { "/" } else { target };
    let sound = target.starts_with('/') && target.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    let host = host.strip_suffix(usual).unwrap_or(host);
    let is_host = host.is_empty() || uri::parse_host(host.as_bytes()).is_some();
    (sound && is_host).then_some((host, target))
}

fn no_url(text: &str) -> NotPurged {
    NotPurged::Invalid(format!(
        "`{text}` is no URL: write http://shop.example/path?query, with what is not ASCII encoded"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        for (url, parts) in [
            ("http://a.example/b?c", Some(("a.example", "/b?c"))),
            ("HTTPS://a.example:443/b#d", Some(("a.example", "/b"))),
            ("http://a.example:80", Some(("a.example", "/"))),
            ("https://a.example:80/", Some(("a.example:80", "/"))),
            ("a.example:8080/x", Some(("a.example:8080", "/x"))),
            ("/news", Some(("", "/news"))),
            ("ftp://a/", None),
            ("http://a/b c", None),
            ("http://u@a/", None),
            ("http://a?x", None),
            ("no url", None),
        ] {
            assert_eq!(split(url), parts, "{url}");
        }
    }
}
