//! Which exchanges a live tail shows.
//!
//! All conditions that are given must hold; of several statuses or cache results
//! one must. Patterns know one sign, `*`, which stands for any run of characters:
//! a question mark is too common in URLs to mean something else.

use std::str::FromStr;

use super::record::Record;

/// Which exchanges to show. The default shows all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TailFilter {
    /// Statuses, of which one must be that of the response; empty: any.
    pub status: Vec<StatusFilter>,
    /// A pattern for the host asked for, in any case. One without a port fits every port.
    pub host: Option<String>,
    /// A pattern for the URL. One that begins with `/` or `*` is compared with path and query
    /// as the client sent them, any other with the host followed by them (`http://` may stand
    /// before it).
    pub url: Option<String>,
    /// What the cache did, of which one must hold (see [`CACHE_RESULTS`]); empty: anything.
    pub cache: Vec<String>,
    /// Only exchanges that took longer than this, in microseconds.
    pub slower_than_us: Option<u64>,
}

/// What the `cache` of a filter may name: the words of the log's field `cache`, and `none` for
/// requests that were refused before the cache was asked.
pub const CACHE_RESULTS: &[&str] = &[
    "hit",
    "stale",
    "revalidated",
    "stale-on-error",
    "coalesced",
    "miss",
    "hit-for-miss",
    "pass",
    "file",
    "none",
];

/// One status, or all of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusFilter {
    /// Exactly this one.
    Code(u16),
    /// Those whose first digit is this.
    Class(u16),
}

impl FromStr for StatusFilter {
    type Err = String;

    /// Reads `404` or `5xx`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is neither a status (404) nor a class of them (4xx)");
        let class = text.strip_suffix("xx").filter(|_| text.len() == 3);
        let (digits, is_class) = (class.unwrap_or(text), class.is_some());
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let number: u16 = digits.parse().map_err(|_| wrong())?;
        match number {
            1..=5 if is_class => Ok(Self::Class(number)),
            100..=999 if !is_class => Ok(Self::Code(number)),
            _ => Err(wrong()),
        }
    }
}

impl StatusFilter {
    fn fits(self, status: u16) -> bool {
        match self {
            Self::Code(code) => status == code,
            Self::Class(class) => status / 100 == class,
        }
    }
}

impl TailFilter {
    /// Makes the patterns ready to be compared.
    ///
    /// # Errors
    /// A cache result that does not exist, by its name.
    pub(super) fn ready(mut self) -> Result<Self, String> {
        for name in &self.cache {
            if !CACHE_RESULTS.contains(&name.as_str()) {
                let known = CACHE_RESULTS.join(", ");
                return Err(format!(
                    "there is no cache result {name:?}; there are {known}"
                ));
            }
        }
        if let Some(host) = &mut self.host {
            host.make_ascii_lowercase();
        }
        if let Some(url) = &mut self.url {
            *url = ready_url(url);
        }
        Ok(self)
    }

    /// Whether an exchange is shown; for filters that are ready.
    pub(super) fn fits(&self, record: &Record<'_>) -> bool {
        let none_or = |empty: bool, fits: bool| empty || fits;
        let statuses = &self.status;
        none_or(
            statuses.is_empty(),
            statuses.iter().any(|status| status.fits(record.status)),
        ) && none_or(
            self.cache.is_empty(),
            self.cache
                .iter()
                .any(|name| name == result_name(record.cache)),
        ) && self
            .slower_than_us
            .is_none_or(|limit| record.duration_us > limit)
            && self
                .host
                .as_ref()
                .is_none_or(|host| host_fits(host, record.host))
            && self.url.as_ref().is_none_or(|url| url_fits(url, record))
    }
}

fn result_name(cache: &'static str) -> &'static str {
    if cache.is_empty() { "none" } else { cache }
}

/// Without the scheme, and with the host in lower case.
fn ready_url(url: &str) -> String {
    if url.starts_with(['/', '*']) {
        return url.to_owned();
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    host.to_ascii_lowercase() + path
}

fn host_fits(pattern: &str, host: &[u8]) -> bool {
    let without_port = || match host.iter().rposition(|&byte| byte == b':') {
        // A colon within brackets belongs to an IPv6 address.
        Some(colon) if !host.ends_with(b"]") => &host[..colon],
        _ => host,
    };
    fits(pattern.as_bytes(), host) || fits(pattern.as_bytes(), without_port())
}

fn url_fits(pattern: &str, record: &Record<'_>) -> bool {
    let pattern = pattern.as_bytes();
    if pattern.starts_with(b"/") || pattern.starts_with(b"*") {
        return fits(pattern, record.target);
    }
    fits(pattern, &[record.host, record.target].concat())
}

/// Whether `text` is what `pattern` describes. Takes at most as many steps as the product of the
/// lengths: a star that does not work out is only ever moved on, never tried again.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Where to go on when what follows the last star does not fit here.
    let mut retry: Option<(usize, usize)> = None;
    while seen < text.len() {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            retry = Some((at, seen));
        } else if pattern.get(at) == Some(&text[seen]) {
            (at, seen) = (at + 1, seen + 1);
        } else if let Some((after_star, from)) = retry {
            (at, seen) = (after_star, from + 1);
            retry = Some((at, seen));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&sign| sign == b'*')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::record::example;
    use super::*;

    #[test]
    fn a_star_stands_for_any_run() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("/a*", "/a", true),
            ("/a*", "/abc", true),
            ("/a*", "/b", false),
            ("*.css", "/x.css.css", true),
            ("*.css", "/x.css?v=1", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("/p?q=1", "/p?q=1", true),
            ("/p?q=1", "/pXq=1", false),
            ("a**b", "ab", true),
        ] {
            assert_eq!(
                fits(pattern.as_bytes(), text.as_bytes()),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_exponential_time() {
        let pattern = "*a".repeat(2_000) + "b";
        assert!(!fits(pattern.as_bytes(), "a".repeat(8_000).as_bytes()));
    }

    #[test]
    fn statuses_and_classes_are_read() {
        assert_eq!("404".parse(), Ok(StatusFilter::Code(404)));
        assert_eq!("5xx".parse(), Ok(StatusFilter::Class(5)));
        for wrong in [
            "", "xx", "9xx", "0xx", "40", "4x", "40x", "-404", "5xxx", "äx", "+404",
        ] {
            assert!(wrong.parse::<StatusFilter>().is_err(), "{wrong}");
        }
    }

    fn shown(filter: TailFilter, record: &Record<'_>) -> bool {
        filter.ready().unwrap().fits(record)
    }

    #[test]
    fn each_condition_is_looked_at() {
        let record = Record {
            host: b"shop.example:8080",
            status: 503,
            duration_us: 200,
            ..example(1, b"/a/b?c=d")
        };
        let all = TailFilter::default;
        let yes = [
            all(),
            TailFilter {
                status: vec![StatusFilter::Code(200), StatusFilter::Class(5)],
                ..all()
            },
            TailFilter {
                host: Some("SHOP.*".into()),
                ..all()
            },
            TailFilter {
                host: Some("shop.example".into()),
                ..all()
            },
            TailFilter {
                url: Some("/a/*".into()),
                ..all()
            },
            TailFilter {
                url: Some("http://Shop.example:8080/a/b?*".into()),
                ..all()
            },
            TailFilter {
                cache: vec!["miss".into(), "hit".into()],
                ..all()
            },
            TailFilter {
                slower_than_us: Some(199),
                ..all()
            },
        ];
        let no = [
            TailFilter {
                status: vec![StatusFilter::Class(4)],
                ..all()
            },
            TailFilter {
                host: Some("shop".into()),
                ..all()
            },
            TailFilter {
                url: Some("/b*".into()),
                ..all()
            },
            TailFilter {
                cache: vec!["none".into()],
                ..all()
            },
            TailFilter {
                slower_than_us: Some(200),
                ..all()
            },
            TailFilter {
                status: vec![StatusFilter::Code(503)],
                cache: vec!["miss".into()],
                ..all()
            },
        ];
        for filter in yes {
            assert!(shown(filter.clone(), &record), "{filter:?}");
        }
        for filter in no {
            assert!(!shown(filter.clone(), &record), "{filter:?}");
        }
    }

    #[test]
    fn a_refused_request_has_the_result_none() {
        let record = Record {
            cache: "",
            ..example(1, b"/")
        };
        let filter = TailFilter {
            cache: vec!["none".into()],
            ..TailFilter::default()
        };
        assert!(shown(filter, &record));
    }

    #[test]
    fn a_cache_result_that_does_not_exist_is_refused() {
        let filter = TailFilter {
            cache: vec!["hits".into()],
            ..TailFilter::default()
        };
        assert!(filter.ready().unwrap_err().contains("\"hits\""));
    }
}
