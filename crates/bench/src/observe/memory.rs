//! Resident memory of several processes together, shared pages counted once.
//!
//! One process: its resident size, the figure that `ps` shows. Several: the sum
//! of their proportional set sizes (`Pss` in `/proc/PID/smaps_rollup`), in which
//! a page that four workers share counts a quarter for each. The kernel walks
//! the page tables for that, about a millisecond for 100 MiB, under a lock that
//! the server's own `mmap` waits for. When it took more than 2 ms, or may not be
//! read, the sum is from then on an estimate: what each does not share with
//! anyone, and once the largest share. (Pages that are the same since a fork
//! count for each worker in the estimate.)

use std::fs;
use std::time::{Duration, Instant};

const LONGEST_WALK: Duration = Duration::from_millis(2);

/// How memory is read.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// A reading took too long, or was not allowed.
    estimates: bool,
}

impl Memory {
    /// Resident memory of these processes in bytes; those that ended count nothing.
    pub(super) fn resident_bytes(&mut self, pids: &[u32]) -> u64 {
        let sizes: Vec<Sizes> = pids.iter().filter_map(|&pid| sizes(pid)).collect();
        if sizes.len() < 2 {
            return sizes.first().map_or(0, |one| one.resident);
        }
        if !self.estimates {
            let began = Instant::now();
            let exact = proportional(pids);
            self.estimates = exact.is_none() || began.elapsed() > LONGEST_WALK;
            if let Some(bytes) = exact {
                return bytes;
            }
        }
        estimate(&sizes)
    }
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
        // The same process twice: each page of it is shared by no other, so Pss counts it twice.
        let twice = Memory::default().resident_bytes(&[own, own]);
        assert!(twice > resident / 2, "{twice} of {resident}");
        assert_eq!(Memory::default().resident_bytes(&[]), 0);
    }
}
