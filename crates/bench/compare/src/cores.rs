//! Which cores are the servers' and which the load's.

use std::str::FromStr;

/// Lists of cores as `taskset` reads them: `0`, `0,2`, `0-3`. Both are empty where nothing is pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cores {
    pub(crate) server: String,
    pub(crate) client: String,
}

impl Cores {
    /// Half for the servers, half for load and origin; with one core nothing is pinned.
    pub(crate) fn halves(of: usize) -> Self {
        let list = |first: usize, last: usize| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        };
        match of {
            0 | 1 => Self::default(),
            _ => Self {
                server: list(0, of / 2 - 1),
                client: list(of / 2, of - 1),
            },
        }
    }

    /// The list without ranges, as `forebay bench` reads it: `0,1,2`.
    pub(crate) fn spelt_out(list: &str) -> String {
        let numbers = cores(list).unwrap_or_default();
        let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
        numbers.join(",")
    }

    /// How many workers a server gets, or threads the load.
    pub(crate) fn count(list: &str) -> usize {
        cores(list).map_or(1, |cores| cores.len().max(1))
    }
}

/// The cores of a list; `None` when it is not one.
fn cores(list: &str) -> Option<Vec<u16>> {
    let mut found = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
        if first > last || last > 4095 {
            return None;
        }
        found.extend(first..=last);
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

impl FromStr for Cores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = "cores are written SERVER:CLIENT, like 0:1 or 0-3:4-7";
        let (server, client) = text.split_once(':').ok_or(shape)?;
        if cores(server).is_none() || cores(client).is_none() {
            return Err(shape.into());
        }
        Ok(Self {
            server: server.into(),
            client: client.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted() {
        for (list, count) in [("0", 1), ("0,2", 2), ("0-3", 4), ("0-1,1-2", 3), ("", 1)] {
            assert_eq!(Cores::count(list), count, "{list}");
        }
    }

    #[test]
    fn ranges_are_spelt_out() {
        assert_eq!(Cores::spelt_out("0-2,5"), "0,1,2,5");
        assert_eq!(Cores::spelt_out(""), "");
    }

    #[test]
    fn halves_do_not_overlap() {
        let halves = |of| {
            let cores = Cores::halves(of);
            (cores.server, cores.client)
        };
        assert_eq!(halves(1), (String::new(), String::new()));
        assert_eq!(halves(2), ("0".into(), "1".into()));
        assert_eq!(halves(5), ("0-1".into(), "2-4".into()));
    }

    #[test]
    fn mistakes_are_refused() {
        for text in ["0", "a:1", "0:", "3-1:0", "0:99999"] {
            assert!(text.parse::<Cores>().is_err(), "{text}");
        }
    }
}
