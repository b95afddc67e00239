//! What is stored for a URL and what a request for it would get: for the operator.

use forebay_cache::glimpse::Glimpse;
use forebay_cache::purge::Verdict;
use forebay_cache::terms::{Doubt, Serving};
use forebay_http::cache_control::RequestDirectives;

use crate::purge::{Located, NotPurged, split};
use crate::server::Handle;
use crate::worker::unix_ms;

/// What is known about a URL.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// In its normal form.
    pub url: String,
    /// The site it belongs to.
    pub site: String,
    /// The cache key, in readable form.
    pub key: String,
    /// What is stored.
    pub variants: Vec<Inspection>,
    /// What a plain GET would get, and why.
    pub verdict: String,
}

/// A stored variant, and what may be done with it now.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// What lies there.
    pub object: Glimpse,
    /// Milliseconds since the origin made it.
    pub age_ms: u64,
    /// `fresh`, `grace`, `stale`, `invalid` or `purged`.
    pub freshness: &'static str,
    /// Why it is, or is not, served as it is.
    pub why: String,
}

impl Handle {
    /// Looks a URL up, as a request without special fields would be. It may wait for a disk.
    ///
    /// # Errors
    /// It is no URL, or no site has its host.
    pub fn inspect(&self, url: &str) -> Result<Inspected, NotPurged> {
        let snapshot = self.shared().snapshot.load();
        let (host, target) = split(url)
            .filter(|(host, _)| !host.is_empty())
            .ok_or_else(|| {
                NotPurged::Invalid(format!("`{url}` is no URL: write http://host/path?query"))
            })?;
        let host = host.to_ascii_lowercase();
        let place = Located::find(&snapshot, &host, target)?;
        let cache = &self.shared().cache;
        let now_ms = unix_ms();
        let keys = place.keys();
        let variants: Vec<Inspection> = keys
            .iter()
            .flat_map(|key| cache.glimpse(&cache.key(key)))
            .map(|object| Inspection::of(object, now_ms))
            .collect();
        let verdict = if place.policy.pass {
            "pass: this path is never cached".to_owned()
        } else if !place.is_keyed_by_url() {
            "the cache key has parts that a URL does not say (fields or cookies)".to_owned()
        } else {
            match variants.first() {
                None => "miss: nothing is stored".to_owned(),
                Some(first) if variants.len() == 1 => first.why.clone(),
                Some(_) => format!(
                    "one of {} variants, by the request's fields",
                    variants.len()
                ),
            }
        };
        Ok(Inspected {
            url: format!("http://{host}{target}"),
            site: place.site.to_owned(),
            key: String::from_utf8_lossy(&keys[0]).replace('\0', "␀"),
            variants,
            verdict,
        })
    }
}

impl Inspection {
    fn of(object: Glimpse, now_ms: u64) -> Self {
        let terms = object.terms;
        let left_s = terms.ttl_ms(now_ms) / 1000;
        let serving = terms.serving(now_ms, &RequestDirectives::default());
        let (freshness, why) = match (object.verdict, serving) {
            (Verdict::Gone, _) => ("purged", "miss: it was purged".to_owned()),
            (Verdict::Invalid, _) => (
                "invalid",
                "validated first: the resource was changed or its group invalidated".to_owned(),
            ),
            (_, Serving::Validate(Doubt::Response)) => (
                "invalid",
                "validated first: the response asks for that before every use".to_owned(),
            ),
            (Verdict::Soft, Serving::Fresh) => (
                "grace",
                "hit, fetched anew behind the answer: it was softly purged".to_owned(),
            ),
            (_, Serving::Fresh) => ("fresh", format!("hit: fresh for {left_s} s more")),
            (_, Serving::Grace) => (
                "grace",
                format!(
                    "hit, fetched anew behind the answer: stale for {} s",
                    -left_s
                ),
            ),
            _ => ("stale", format!("validated first: stale for {} s", -left_s)),
        };
        Self {
            age_ms: terms.age_ms(now_ms),
            freshness,
            why,
            object,
        }
    }
}
