//! What happened in an exchange, for `Cache-Status` (RFC 9211), the log and the counters.

use std::sync::Arc;

use forebay_cache::object::status_digits;
use forebay_stats::Counter;

/// How the cache took part. The words are those of the log and of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// Not decided: the request was refused.
    #[default]
    None,
    /// A fresh object.
    Hit,
    /// A stale object, refreshed behind the answer or accepted by the client.
    Stale,
    /// An object that the origin confirmed.
    Revalidated,
    /// An object in place of an origin that failed.
    StaleOnError,
    /// An object that another request was fetching.
    Coalesced,
    /// Fetched.
    Miss,
    /// Fetched, without others waiting: responses for this key are not shared.
    HitForMiss,
    /// Not a matter of the cache.
    Pass,
    /// A file, sent from where it lies.
    File,
}

impl Part {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Hit => "hit",
            Self::Stale => "stale",
            Self::Revalidated => "revalidated",
            Self::StaleOnError => "stale-on-error",
            Self::Coalesced => "coalesced",
            Self::Miss => "miss",
            Self::HitForMiss => "hit-for-miss",
            Self::Pass => "pass",
            Self::File => "file",
        }
    }

    pub(crate) fn counter(self) -> Option<Counter> {
        Some(match self {
            Self::None | Self::File => return None,
            Self::Hit => Counter::Hits,
            Self::Stale => Counter::HitsStale,
            Self::Revalidated => Counter::HitsRevalidated,
            Self::StaleOnError => Counter::StaleOnError,
            Self::Coalesced => Counter::Coalesced,
            Self::Miss => Counter::Misses,
            Self::HitForMiss => Counter::HitForMiss,
            Self::Pass => Counter::Passes,
        })
    }

    /// Whether the body came out of the cache.
    pub(crate) fn is_from_cache(self) -> bool {
        matches!(
            self,
            Self::Hit | Self::Stale | Self::Revalidated | Self::StaleOnError | Self::Coalesced
        )
    }
}

/// The record of one exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) part: Part,
    /// Why it was forwarded, as RFC 9211 section 2.2 names it; empty: it was not.
    pub(crate) forwarded: &'static str,
    /// Why it was forwarded, where RFC 9211 has no word of its own: purged, unreadable on disk.
    pub(crate) missed: Option<Counter>,
    /// The origin's status, if there was one.
    pub(crate) origin_status: u16,
    pub(crate) stored: bool,
    pub(crate) collapsed: bool,
    /// More about it: why it was not stored, how the origin failed.
    pub(crate) detail: &'static str,
    /// Status sent to the client.
    pub(crate) status: u16,
    /// When the client may ask again, for an error of ours that passes (`Retry-After`); 0: not said.
    pub(crate) retry_after_s: u64,
    /// Bytes of the response's body that were sent.
    pub(crate) body_bytes: u64,
    /// Of these, those that were read from disk.
    pub(crate) disk_bytes: u64,
    /// The object was brought from disk into memory for this request.
    pub(crate) recalled: bool,
    /// Another client may get another form of it, and its head does not say so.
    pub(crate) varies_by_coding: bool,
    pub(crate) first_byte_us: u64,
    pub(crate) upstream: Option<Arc<str>>,
    pub(crate) upstream_us: u64,
}

impl Outcome {
    /// The counter of the reason that the request was forwarded; `None`: it was not, or another
    /// request fetched the answer.
    #[inline]
    pub(crate) fn miss_reason(&self) -> Option<Counter> {
        if self.forwarded.is_empty() {
            return None;
        }
        self.reason_forwarded()
    }

    fn reason_forwarded(&self) -> Option<Counter> {
        if self.part == Part::Coalesced {
            return None;
        }
        if self.missed.is_some() {
            return self.missed;
        }
        if self.part == Part::HitForMiss {
            return Some(Counter::MissHitForMiss);
        }
        Some(match self.forwarded {
            "uri-miss" => Counter::MissUri,
            "vary-miss" => Counter::MissVary,
            "stale" => Counter::MissStale,
            "request" => Counter::MissRequest,
            "partial" => Counter::MissPartial,
            "bypass" => Counter::MissBypass,
            "method" => Counter::MissMethod,
            _ => Counter::MissOther,
        })
    }

    /// Appends the `Cache-Status` line of the cache of this name; see
    /// [`Outcome::end_cache_status`].
    pub(crate) fn write_cache_status(&self, name: &str, ttl_ms: Option<i64>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"Cache-Status: ");
        out.extend_from_slice(name.as_bytes());
        self.end_cache_status(ttl_ms, out);
    }

    /// Ends a `Cache-Status` line that has this cache's name: appends what is said of it.
    /// `ttl_ms` is that of the object served.
    pub(crate) fn end_cache_status(&self, ttl_ms: Option<i64>, out: &mut Vec<u8>) {
        if self.forwarded.is_empty() && self.part.is_from_cache() {
            out.extend_from_slice(b"; hit");
        }
        if !self.forwarded.is_empty() {
            out.extend_from_slice(b"; fwd=");
            out.extend_from_slice(self.forwarded.as_bytes());
        }
        if self.origin_status != 0 {
            out.extend_from_slice(b"; fwd-status=");
            out.extend_from_slice(&status_digits(self.origin_status));
        }
        if let Some(ttl_ms) = ttl_ms {
            out.extend_from_slice(b"; ttl=");
            let seconds = ttl_ms.div_euclid(1000);
            out.extend_from_slice(itoa::Buffer::new().format(seconds).as_bytes());
        }
        if self.stored {
            out.extend_from_slice(b"; stored");
        }
        if self.collapsed {
            out.extend_from_slice(b"; collapsed");
        }
        if !self.detail.is_empty() {
            out.extend_from_slice(b"; detail=");
            let token = self
                .detail
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            if token {
                out.extend_from_slice(self.detail.as_bytes());
            } else {
                out.push(b'"');
                out.extend_from_slice(self.detail.as_bytes());
                out.push(b'"');
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(outcome: &Outcome, ttl_ms: Option<i64>) -> String {
        let mut out = Vec::new();
        outcome.write_cache_status("forebay", ttl_ms, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn the_line_says_what_happened() {
        let hit = Outcome {
            part: Part::Hit,
            ..Outcome::default()
        };
        assert_eq!(
            line(&hit, Some(57_900)),
            "Cache-Status: forebay; hit; ttl=57\r\n"
        );
        let miss = Outcome {
            part: Part::Miss,
            forwarded: "uri-miss",
            origin_status: 200,
            detail: "no-store",
            ..Outcome::default()
        };
        assert_eq!(
            line(&miss, None),
            "Cache-Status: forebay; fwd=uri-miss; fwd-status=200; detail=no-store\r\n"
        );
        let stale = Outcome {
            part: Part::Stale,
            ..Outcome::default()
        };
        assert_eq!(
            line(&stale, Some(-1_500)),
            "Cache-Status: forebay; hit; ttl=-2\r\n"
        );
    }
    #[test]
    fn what_was_forwarded_has_one_reason() {
        let forwarded = |part, forwarded| Outcome {
            part,
            forwarded,
            ..Outcome::default()
        };
        for (outcome, reason) in [
            (forwarded(Part::Hit, ""), None),
            (forwarded(Part::Coalesced, "uri-miss"), None),
            (forwarded(Part::Miss, "uri-miss"), Some(Counter::MissUri)),
            (
                forwarded(Part::Revalidated, "stale"),
                Some(Counter::MissStale),
            ),
            (
                forwarded(Part::HitForMiss, "uri-miss"),
                Some(Counter::MissHitForMiss),
            ),
            (forwarded(Part::Pass, "method"), Some(Counter::MissMethod)),
            (forwarded(Part::Miss, "miss"), Some(Counter::MissOther)),
        ] {
            assert_eq!(outcome.miss_reason(), reason, "{outcome:?}");
        }
        let purged = Outcome {
            missed: Some(Counter::MissPurged),
            ..forwarded(Part::Miss, "stale")
        };
        assert_eq!(purged.miss_reason(), Some(Counter::MissPurged));
    }
}
