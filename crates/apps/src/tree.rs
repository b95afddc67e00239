//! Processes and their children, read from `/proc`: whom a guard has to end, and what memory an
//! application takes.

use std::collections::HashMap;

use rustix::process::Pid;

/// The processes of the system at one moment.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    children: HashMap<i32, Vec<Process>>,
    page_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    resident_pages: u64,
    /// It has ended and nobody has asked for its status yet.
    zombie: bool,
}

impl Tree {
    /// Reads `/proc`. What ends meanwhile is left out; without `/proc` the tree is empty.
    pub(crate) fn now() -> Self {
        let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_process = name
                .to_str()
                .is_some_and(|name| name.parse::<i32>().is_ok());
            if !is_process {
                continue;
            }
            let stat = std::fs::read(entry.path().join("stat")).unwrap_or_default();
            if let Some(process) = parse(&stat) {
                children.entry(process.parent).or_default().push(process);
            }
        }
        Self {
            children,
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// The children of `pid`, their children and so on, that have not ended.
    pub(crate) fn below(&self, pid: Pid) -> Vec<Pid> {
        let living = self
            .walk(pid.as_raw_nonzero().get())
            .filter(|process| !process.zombie);
        living
            .filter_map(|process| Pid::from_raw(process.pid))
            .collect()
    }

    /// Bytes that all of them have resident; pages that several share count for each.
    pub(crate) fn resident_below(&self, pid: Pid) -> u64 {
        let pages: u64 = self
            .walk(pid.as_raw_nonzero().get())
            .map(|process| process.resident_pages)
            .sum();
        pages * self.page_bytes
    }

    fn walk(&self, pid: i32) -> impl Iterator<Item = Process> {
        let mut pending = vec![pid];
        let mut found = Vec::new();
        while let Some(parent) = pending.pop() {
            for process in self.children.get(&parent).into_iter().flatten() {
                // A tree read while it changes could have a circle.
                if process.pid != pid && !found.contains(process) {
                    pending.push(process.pid);
                    found.push(*process);
                }
            }
        }
        found.into_iter()
    }
}

/// One line of `/proc/PID/stat` (proc_pid_stat(5)). The name, in parentheses, may itself contain
/// parentheses and spaces.
fn parse(stat: &[u8]) -> Option<Process> {
    let text = String::from_utf8_lossy(stat);
    let pid = text.split(' ').next()?.parse().ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // Field 24 of the line; state is the third, and the parent the fourth.
    let resident_pages = fields.nth(19)?.trim().parse().unwrap_or(0);
    Some(Process {
        pid,
        parent,
        resident_pages,
        zombie: matches!(state, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let stat = b"42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 1000 250 18446744073709551615\n";
        let expected = Process {
            pid: 42,
            parent: 7,
            resident_pages: 250,
            zombie: false,
        };
        assert_eq!(parse(stat), Some(expected));
    }

    #[test]
    fn half_a_line_is_no_process() {
        for stat in [&b""[..], b"42", b"42 (a", b"42 (a) S", b"42 (a) S x"] {
            assert_eq!(parse(stat), None);
        }
    }

    #[test]
    fn a_child_of_a_child_is_found_with_its_memory() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .spawn()
            .unwrap();
        let own = rustix::process::getpid();
        let pid = Pid::from_child(&child);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let tree = loop {
            let tree = Tree::now();
            // A process that is about to become another program has no memory for a moment.
            if tree.resident_below(pid) > 0 {
                break tree;
            }
            assert!(
                std::time::Instant::now() < deadline,
                "no grandchild with memory"
            );
            std::thread::yield_now();
        };
        let sleeping = tree.below(pid);
        let below = tree.below(own);
        assert!(below.contains(&pid) && below.contains(&sleeping[0]));
        for pid in sleeping {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_circle_ends() {
        let process = |pid, parent| Process {
            pid,
            parent,
            resident_pages: 1,
            zombie: false,
        };
        let tree = Tree {
            children: [
                (1, vec![process(2, 1)]),
                (2, vec![process(3, 2)]),
                (3, vec![process(2, 3)]),
            ]
            .into(),
            page_bytes: 1,
        };
        assert!(tree.below(Pid::from_raw(1).unwrap()).len() <= 3);
    }
}
