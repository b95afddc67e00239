//! Resident memory of several processes together, shared pages counted once.
//!
//! One process: its resident size, the figure that `ps` shows. Several: the sum
//! of their proportional set sizes (`Pss` in `/proc/PID/smaps_rollup`), in which
//! a page that four workers share counts a quarter for each. The kernel walks
//! the page tables for that, under a lock that the server's own `mmap` waits
//! for, so it is done only as often as it costs a five-hundredth of the time:
//! small families at each reading, large ones every few seconds. In between, the
//! sum of the resident sizes counts in the proportion found last. Where `Pss` may
//! not be read, the sum is an estimate: what each does not share with anyone, and
//! once the largest share. (Pages that are the same since a fork count for each
//! worker in the estimate.)

use std::fs;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// So much longer than a walk took is the time until the next.
const SELDOM: u32 = 500;

/// How memory is read.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Reading was refused.
    estimates: bool,
    /// Proportional to resident size at the last walk, and when the next is due.
    walked: Option<(f64, Instant)>,
}

impl Memory {
    /// Resident memory of these processes in bytes; those that ended count nothing.
    pub(super) fn resident_bytes(&mut self, pids: &[u32]) -> u64 {
        let sizes: Vec<Sizes> = pids.iter().filter_map(|&pid| sizes(pid)).collect();
        let sum: u64 = sizes.iter().map(|one| one.resident).sum();
        if sizes.len() < 2 || sum == 0 {
            return sum;
        }
        match self.walked {
            _ if self.estimates => estimate(&sizes),
            Some((share, due)) if Instant::now() < due => (sum as f64 * share) as u64,
            _ => self.walk(pids, sum).unwrap_or_else(|| estimate(&sizes)),
        }
    }

    /// Reads the proportional sizes; none, and never again, when that is refused.
    fn walk(&mut self, pids: &[u32], sum: u64) -> Option<u64> {
        let began = thread_time();
        let bytes = proportional(pids);
        let took = thread_time().saturating_sub(began);
        self.estimates = bytes.is_none();
        self.walked =
            bytes.map(|bytes| (bytes as f64 / sum as f64, Instant::now() + took * SELDOM));
        bytes
    }
}

/// Processor time of this thread: on a busy machine more time passes than a walk takes.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[derive(Clone, Copy)]
struct Sizes {
    resident: u64,
    shared: u64,
}

fn estimate(sizes: &[Sizes]) -> u64 {
    let alone: u64 = sizes
        .iter()
        .map(|s| s.resident.saturating_sub(s.shared))
        .sum();
    alone + sizes.iter().map(|s| s.shared).max().unwrap_or(0)
}

fn sizes(pid: u32) -> Option<Sizes> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut pages = text.split(' ').skip(1).flat_map(str::parse::<u64>);
    let page = rustix::param::page_size() as u64;
    Some(Sizes {
        resident: pages.next()? * page,
        shared: pages.next()? * page,
    })
}

/// Resident size of one process in bytes.
pub(super) fn resident_bytes(pid: u32) -> u64 {
    sizes(pid).map_or(0, |sizes| sizes.resident)
}

/// Sum of the proportional sizes; none when one may not be read.
fn proportional(pids: &[u32]) -> Option<u64> {
    let mut sum = 0;
    for pid in pids {
        match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
            Ok(text) => sum += pss_bytes(&text)?,
            // It ended meanwhile (ESRCH, ENOENT).
            Err(_) if sizes(*pid).is_none_or(|s| s.resident == 0) => {}
            Err(_) => return None,
        }
    }
    Some(sum)
}

fn pss_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proportional_size_is_found_among_its_kin() {
        let text =
            "55d-7ff ---p 0 00:00 0 [rollup]\nRss:  9000 kB\nPss:    1234 kB\nPss_Dirty: 1 kB\n";
        assert_eq!(pss_bytes(text), Some(1234 * 1024));
        assert_eq!(pss_bytes("Rss: 3 kB\n"), None);
        assert_eq!(pss_bytes("Pss: many kB\n"), None);
    }

    #[test]
    fn an_estimate_counts_the_largest_share_once() {
        let sizes =
            [(100, 60), (90, 60), (70, 50)].map(|(resident, shared)| Sizes { resident, shared });
        assert_eq!(estimate(&sizes), 40 + 30 + 20 + 60);
    }

    #[test]
    fn this_process_has_a_size() {
        let own = std::process::id();
        let resident = Memory::default().resident_bytes(&[own]);
        assert!(resident > 100_000, "{resident}");
        assert_eq!(Memory::default().resident_bytes(&[]), 0);
    }

    #[test]
    fn between_walks_the_last_proportion_holds() {
        let own = std::process::id();
        let resident = Memory::default().resident_bytes(&[own]);
        let far = Instant::now() + Duration::from_secs(3600);
        let mut memory = Memory {
            estimates: false,
            walked: Some((0.5, far)),
        };
        let half = memory.resident_bytes(&[own, own]);
        assert!(
            half.abs_diff(resident) < resident / 2,
            "{half} of {resident}"
        );
        let mut memory = Memory::default();
        memory.resident_bytes(&[own, own]);
        assert!(memory.walked.is_some() != memory.estimates, "{memory:?}");
    }
}
