//! The limit on open files: every connection is one, and the usual soft
//! limit of 1024 would be the first thing a busy server runs into.

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};

/// Files that are open whatever the traffic: logs, listeners, epoll, idle
/// connections to origins beyond those in use.
const BASE: u64 = 1024;

/// Raises the limit to the hard limit, and as root past it when
/// `max_connections` clients need more. A limit that stays too low is warned
/// of, with what to change.
pub(crate) fn raise(max_connections: usize) {
    let wanted = wanted(max_connections);
    let limits = getrlimit(Resource::Nofile);
    if let Some(maximum) = limits.maximum
        && maximum < wanted
        && geteuid().is_root()
        && setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(wanted),
                maximum: Some(wanted),
            },
        )
        .is_ok()
    {
        return;
    }
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limits.maximum,
            ..limits
        },
    ) {
        tracing::warn!("the limit on open files cannot be raised: {error}");
    }
    if let Some(current) = getrlimit(Resource::Nofile).current
        && current < wanted
    {
        tracing::warn!("{}", shortage(current, max_connections));
    }
}

/// The limit as it is now; `None`: there is none.
pub(crate) fn soft_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// How many clients the hard limit allows, whoever runs this.
pub(crate) fn affordable_connections() -> usize {
    let maximum = getrlimit(Resource::Nofile).maximum;
    maximum.map_or(usize::MAX, |maximum| fitting(maximum) as usize)
}

fn fitting(files: u64) -> u64 {
    files.saturating_sub(BASE) / 2
}

/// A client's connection, and one to an origin for it.
fn wanted(max_connections: usize) -> u64 {
    (max_connections as u64)
        .saturating_mul(2)
        .saturating_add(BASE)
}

fn shortage(current: u64, max_connections: usize) -> String {
    format!(
        "at most {current} files can be open, but {max_connections} connections (max_connections of [server] and \
         of all [session.NAME] together) may need {}: set LimitNOFILE={0} in the systemd unit (or `ulimit -Hn`), \
         or at most {} connections",
        wanted(max_connections),
        fitting(current)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_says_what_to_set() {
        let text = shortage(4096, 65_536);
        assert!(text.contains("LimitNOFILE=132096"), "{text}");
        assert!(text.contains("at most 1536 connections"), "{text}");
    }

    #[test]
    fn the_largest_number_does_not_wrap() {
        assert_eq!(wanted(usize::MAX), u64::MAX);
    }
}
