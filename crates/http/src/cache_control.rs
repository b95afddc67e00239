//! `Cache-Control` of requests and of responses (RFC 9111 section 5.2, with
//! RFC 5861 and RFC 8246).
//!
//! Unknown directives are ignored. Where a field is wrong or contradicts
//! itself the more careful reading wins: an age that cannot be understood is 0,
//! of two ages the smaller counts, and a list of names that is not one stands
//! for the whole response.

use crate::list::{is_token, members, split_once, trim};

/// The largest age; anything above counts as this, so that sums do not wrap.
const LONGEST: u64 = 1 << 62;
/// With more names than this in `no-cache` or `private` the whole response is
/// meant.
const MOST_NAMES: usize = 64;
/// No directive known here has a longer name.
const LONGEST_NAME: usize = 24;

/// What the client asked for. Times are in seconds.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct RequestDirectives {
    /// Do not answer from the cache without validation.
    pub no_cache: bool,
    /// Store neither this request nor the response to it.
    pub no_store: bool,
    /// Answer from the cache or with 504.
    pub only_if_cached: bool,
    /// Leave the content as it is.
    pub no_transform: bool,
    /// The response must not be older; not understood: 0.
    pub max_age: Option<u64>,
    /// How long past its freshness the response may be; `u64::MAX`: any time.
    pub max_stale: Option<u64>,
    /// How long the response must still be fresh.
    pub min_fresh: Option<u64>,
    /// How long past its freshness the response may be when the origin fails.
    pub stale_if_error: Option<u64>,
}

/// What the origin allows. Times are in seconds.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct ResponseDirectives {
    /// Any cache may store it, even where it otherwise might not.
    pub public: bool,
    /// Shared caches may not store it, or not the fields named.
    pub private: Scope,
    /// Not to be used without validation, or not the fields named.
    pub no_cache: Scope,
    /// Not to be stored.
    pub no_store: bool,
    /// Not to be served stale.
    pub must_revalidate: bool,
    /// Not to be served stale by shared caches.
    pub proxy_revalidate: bool,
    /// Only to be stored by caches that know the status code; `no-store` then
    /// does not count (RFC 9111 section 5.2.2.3).
    pub must_understand: bool,
    /// Does not change while it is fresh (RFC 8246).
    pub immutable: bool,
    /// Leave the content as it is.
    pub no_transform: bool,
    /// Freshness lifetime; not understood: 0.
    pub max_age: Option<u64>,
    /// Freshness lifetime in shared caches; not understood: 0.
    pub s_maxage: Option<u64>,
    /// How long past its freshness it may be served while it is validated.
    pub stale_while_revalidate: Option<u64>,
    /// How long past its freshness it may be served when the origin fails.
    pub stale_if_error: Option<u64>,
}

/// What `private` or `no-cache` applies to.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The directive is absent.
    #[default]
    No,
    /// The whole response.
    Whole,
    /// Only these fields; names in lower case, each once, at least one.
    Fields(Vec<Box<str>>),
}

impl RequestDirectives {
    /// Reads all `Cache-Control` lines of a request.
    pub fn parse<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut found = Self::default();
        for value in values {
            for member in members(value) {
                let (name, argument) = directive(member);
                found.apply(name, argument);
            }
        }
        found
    }

    fn apply(&mut self, name: &[u8], argument: Option<&[u8]>) {
        let mut buffer = [0; LONGEST_NAME];
        match lower(name, &mut buffer) {
            b"no-cache" => self.no_cache = true,
            b"no-store" => self.no_store = true,
            b"only-if-cached" => self.only_if_cached = true,
            b"no-transform" => self.no_transform = true,
            b"max-age" => shorten(&mut self.max_age, delta(argument).or(Some(0))),
            b"max-stale" if argument.is_none() => shorten(&mut self.max_stale, Some(u64::MAX)),
            b"max-stale" => shorten(&mut self.max_stale, delta(argument)),
            b"min-fresh" => self.min_fresh = self.min_fresh.max(delta(argument)),
            b"stale-if-error" => shorten(&mut self.stale_if_error, delta(argument)),
            _ => {}
        }
    }
}

impl ResponseDirectives {
    /// Reads all `Cache-Control` lines of a response.
    pub fn parse<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut found = Self::default();
        for value in values {
            for member in members(value) {
                let (name, argument) = directive(member);
                found.apply(name, argument);
            }
        }
        found
    }

    /// Takes in one directive; `false` when its name is not known.
    pub(crate) fn apply(&mut self, name: &[u8], argument: Option<&[u8]>) -> bool {
        let mut buffer = [0; LONGEST_NAME];
        match lower(name, &mut buffer) {
            b"public" => self.public = true,
            b"private" => self.private.widen(argument),
            b"no-cache" => self.no_cache.widen(argument),
            b"no-store" => self.no_store = true,
            b"must-revalidate" => self.must_revalidate = true,
            b"proxy-revalidate" => self.proxy_revalidate = true,
            b"must-understand" => self.must_understand = true,
            b"immutable" => self.immutable = true,
            b"no-transform" => self.no_transform = true,
            b"max-age" => shorten(&mut self.max_age, delta(argument).or(Some(0))),
            b"s-maxage" => shorten(&mut self.s_maxage, delta(argument).or(Some(0))),
            b"stale-while-revalidate" => {
                shorten(&mut self.stale_while_revalidate, delta(argument));
            }
            b"stale-if-error" => shorten(&mut self.stale_if_error, delta(argument)),
            _ => return false,
        }
        true
    }
}

impl Scope {
    /// Whether the directive is present at all.
    pub fn is_present(&self) -> bool {
        *self != Self::No
    }

    /// Adds what one more occurrence of the directive says: without an argument,
    /// or with one that is not a list of field names, the whole response.
    pub(crate) fn widen(&mut self, argument: Option<&[u8]>) {
        let mut names = match std::mem::take(self) {
            Self::No => Vec::new(),
            Self::Fields(names) => names,
            Self::Whole => return *self = Self::Whole,
        };
        let complete = argument.is_some_and(|list| add_names(&mut names, list));
        let listed = complete && !names.is_empty();
        *self = if listed {
            Self::Fields(names)
        } else {
            Self::Whole
        };
    }
}

/// Adds the names of a list; `false` when it has what is not a name, or too many.
fn add_names(names: &mut Vec<Box<str>>, list: &[u8]) -> bool {
    for name in list
        .split(|&b| b == b',')
        .map(trim)
        .filter(|name| !name.is_empty())
    {
        if names.len() == MOST_NAMES || !is_token(name) {
            return false;
        }
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        if !names.iter().any(|known| **known == *name) {
            names.push(name.into_boxed_str());
        }
    }
    true
}

/// Splits `name`, `name=token` or `name="string"`; the argument comes without
/// its quotes. White space before the `=` is an error, which an empty argument
/// stands for.
pub(crate) fn directive(member: &[u8]) -> (&[u8], Option<&[u8]>) {
    match split_once(member, b'=') {
        (name @ [.., b' ' | b'\t'], Some(_)) => (trim(name), Some(b"")),
        (name, Some([b'"', inside @ .., b'"'])) => (name, Some(inside)),
        parts => parts,
    }
}

/// Seconds of an argument (RFC 9111 section 1.2.2); `None` when it is absent or
/// anything but digits.
pub(crate) fn delta(argument: Option<&[u8]>) -> Option<u64> {
    let seconds = argument
        .filter(|digits| !digits.is_empty())?
        .iter()
        .try_fold(0_u64, |n, b| {
            b.is_ascii_digit()
                .then(|| n.saturating_mul(10).saturating_add(u64::from(b - b'0')))
        })?;
    Some(seconds.min(LONGEST))
}

/// Keeps the shorter of two times; no time changes nothing.
fn shorten(known: &mut Option<u64>, other: Option<u64>) {
    *known = match (*known, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
}

/// The name in lower case; a name too long to be known becomes empty, which is
/// not known either.
fn lower<'b>(name: &[u8], buffer: &'b mut [u8; LONGEST_NAME]) -> &'b [u8] {
    let length = if name.len() <= LONGEST_NAME {
        name.len()
    } else {
        0
    };
    let lower = &mut buffer[..length];
    lower.copy_from_slice(&name[..length]);
    lower.make_ascii_lowercase();
    lower
}

#[cfg(test)]
#[path = "cache_control_tests.rs"]
mod tests;
