//! `GET /api/v1/log`: which exchanges to follow, and the lines that say so.

use crate::control::{TailEvent, TailFilter};
use crate::query::Query;
use std::time::Duration;

/// What to follow, and for how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Follow {
    pub(crate) filter: TailFilter,
    /// Exchanges after which it ends; `None`: when the client goes.
    pub(crate) limit: Option<usize>,
}

impl Follow {
    /// Reads the parameters.
    ///
    /// # Errors
    /// What is wrong with one, in words.
    pub(crate) fn read(query: &Query) -> Result<Self, String> {
        Ok(Self {
            filter: TailFilter {
                status: words(query, "status")
                    .map(status)
                    .collect::<Result<_, _>>()?,
                host: query.get("host").map(str::to_owned),
                url: query.get("url").map(str::to_owned),
                cache: words(query, "cache").map(str::to_owned).collect(),
                slower_than: query.get("slower_than").map(duration).transpose()?,
            },
            limit: match query.get("limit") {
                Some(_) => Some(query.number("limit", 1, 1..=1_000_000_000)?),
                None => None,
            },
        })
    }
}

/// The members of a list with commas.
fn words<'a>(query: &'a Query, name: &str) -> impl Iterator<Item = &'a str> {
    let list = query.get(name).unwrap_or_default();
    list.split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

/// `404`, `5xx`
fn status(text: &str) -> Result<(u16, u16), String> {
    let class = text.strip_suffix("xx").filter(|class| class.len() == 1);
    let range = match class {
        Some(class) => class.parse::<u16>().ok().map(|c| (c * 100, c * 100 + 99)),
        None => text.parse::<u16>().ok().map(|status| (status, status)),
    };
    range
        .filter(|(from, to)| (100..=599).contains(from) && *to <= 599)
        .ok_or_else(|| "`status` must be of statuses, as 404, and classes, as 5xx".into())
}

/// `200ms`, `1.5s`, `250us`
fn duration(text: &str) -> Result<Duration, String> {
    let units = [
        ("ms", 1e-3),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("s", 1.0),
        ("m", 60.0),
    ];
    let seconds = units.iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * scale)
    });
    seconds
        .filter(|seconds| (0.0..=86_400.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "`slower_than` must be a time, as 200ms or 1.5s".into())
}

/// Appends the lines of an event; says how many exchanges they are.
pub(crate) fn write(event: &TailEvent, out: &mut Vec<u8>) -> usize {
    match event {
        TailEvent::Exchange(line) => {
            out.extend_from_slice(line.trim_ascii_end());
            out.push(b'\n');
            1
        }
        TailEvent::Dropped(count) => {
            out.extend_from_slice(format!("{{\"dropped\":{count}}}\n").as_bytes());
            0
        }
        TailEvent::Quiet | TailEvent::End => 0,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Follow, String> {
        Follow::read(&Query::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn filters_are_read() {
        let follow =
            read("status=5xx,404&host=*.a&url=/x*&cache=hit,%20miss,&slower_than=200ms&limit=3")
                .unwrap();
        assert_eq!(follow.limit, Some(3));
        assert_eq!(
            follow.filter,
            TailFilter {
                status: vec![(500, 599), (404, 404)],
                host: Some("*.a".into()),
                url: Some("/x*".into()),
                cache: vec!["hit".into(), "miss".into()],
                slower_than: Some(Duration::from_millis(200)),
            }
        );
        assert_eq!(read("").unwrap().filter, TailFilter::default());
        for (text, micros) in [("1.5s", 1_500_000), ("2m", 120_000_000), ("250us", 250)] {
            let filter = read(&format!("slower_than={text}")).unwrap().filter;
            assert_eq!(
                filter.slower_than,
                Some(Duration::from_micros(micros)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        for query in [
            "status=6xx",
            "status=99",
            "status=xx",
            "status=x5xx",
            "status=1000",
            "status=0xx",
            "slower_than=5",
            "slower_than=ms",
            "slower_than=-1s",
            "slower_than=nans",
            "slower_than=infs",
            "slower_than=9999999s",
            "limit=0",
            "limit=x",
        ] {
            assert!(read(query).is_err(), "{query}");
        }
    }

    #[test]
    fn each_event_is_a_line() {
        let mut out = Vec::new();
        let count: usize = [
            TailEvent::Exchange(b"{\"a\":1}\n".to_vec()),
            TailEvent::Dropped(7),
            TailEvent::Quiet,
        ]
        .iter()
        .map(|event| write(event, &mut out))
        .sum();
        assert_eq!((count, &out[..]), (1, &b"{\"a\":1}\n{\"dropped\":7}\n"[..]));
    }
}
