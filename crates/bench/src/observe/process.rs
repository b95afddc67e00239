//! One process as `/proc` shows it: times, parent, children, open sockets.

use std::fs;
use std::io::ErrorKind;

use super::accounts::Cpu;

/// A process, told apart from a later one that was given the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) pid: u32,
    /// When it began, in ticks since the machine started.
    pub(super) began: u64,
}

/// A process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) id: Id,
    pub(super) parent: u32,
    pub(super) name: String,
    /// What it used itself, threads that ended included.
    pub(super) own: Cpu,
    /// What children used that it has waited for, and theirs.
    pub(super) reaped: Cpu,
}

/// Processes that are looked at; more than any server has workers.
const MAX_PROCESSES: usize = 4096;
/// Threads of a process whose children are looked for.
const MAX_THREADS: usize = 64;

/// Ticks of processor time as seconds.
pub(super) fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second().max(1) as f64
}

/// The process of this number, unless there is none or it has ended and waits to be reaped.
pub(super) fn read(pid: u32) -> Option<Reading> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse(&text)
}

/// The same process again, if it is still there.
pub(super) fn read_same(id: Id) -> Option<Reading> {
    read(id.pid).filter(|reading| reading.id == id)
}

/// Reads `/proc/PID/stat` (proc_pid_stat(5)). The name is in parentheses and may hold any bytes,
/// parentheses too.
fn parse(text: &str) -> Option<Reading> {
    let (pid, rest) = text.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The manual counts from 1; the third field, the state, is the first here.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let cpu = |user: usize| {
        Some(Cpu {
            user: number(user)?,
            system: number(user + 1)?,
        })
    };
    Some(Reading {
        id: Id {
            pid: pid.parse().ok()?,
            began: number(22)?,
        },
        parent: u32::try_from(number(4)?).ok()?,
        name: name.to_owned(),
        own: cpu(14)?,
        reaped: cpu(16)?,
    })
}

/// These processes and all that descend from them, without the load tester itself.
pub(super) fn with_descendants(first: Vec<Reading>) -> Vec<Reading> {
    let own = std::process::id();
    let mut all: Vec<Reading> = first.into_iter().filter(|r| r.id.pid != own).collect();
    let mut next = 0;
    while next < all.len() && all.len() < MAX_PROCESSES {
        let children = children(all[next].id.pid).unwrap_or_else(|| scan(all[next].id.pid));
        for child in children {
            if child != own && !all.iter().any(|known| known.id.pid == child) {
                all.extend(read(child));
            }
        }
        next += 1;
    }
    all
}

/// Children of a process; none when this kernel does not keep such lists.
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Some(found);
    };
    for thread in threads.flatten().take(MAX_THREADS) {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(text) => found.extend(text.split_ascii_whitespace().flat_map(str::parse::<u32>)),
            Err(error) if error.kind() == ErrorKind::NotFound && thread.path().exists() => {
                return None;
            }
            // The thread ended meanwhile.
            Err(_) => {}
        }
    }
    Some(found)
}

/// Children of a process, looked for among all processes.
fn scan(parent: u32) -> Vec<u32> {
    let is_child = |pid: &u32| read(*pid).is_some_and(|reading| reading.parent == parent);
    all().filter(is_child).collect()
}

/// The numbers of all processes.
pub(super) fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether the process holds one of these sockets; `None` when we may not see.
pub(super) fn holds(pid: u32, inodes: &[u64]) -> Option<bool> {
    let files = match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(files) => files,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
        Err(_) => return Some(false),
    };
    let is_one = |file: fs::DirEntry| {
        let link = fs::read_link(file.path()).ok()?;
        let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some(inodes.contains(&inode.parse().ok()?))
    };
    Some(files.flatten().any(|file| is_one(file).unwrap_or(false)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let text =
            "42 (a) R (b c) S 7 42 42 0 -1 4194560 1 2 3 4 11 12 13 14 20 0 1 0 9900 5 6 7\n";
        let reading = parse(text).unwrap();
        assert_eq!(reading.name, "a) R (b c");
        assert_eq!(
            reading.id,
            Id {
                pid: 42,
                began: 9900
            }
        );
        assert_eq!(reading.parent, 7);
        assert_eq!((reading.own.user, reading.own.system), (11, 12));
        assert_eq!((reading.reaped.user, reading.reaped.system), (13, 14));
        for cut in 0..text.len() - 10 {
            let _ = parse(&text[..cut]);
        }
        assert_eq!(parse("42 (a) S 7 42"), None);
    }

    #[test]
    fn a_child_is_found_and_the_load_tester_is_not() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & echo up; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 3];
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut line).unwrap();
        let found = with_descendants(read(shell.id()).into_iter().collect());
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1].parent, shell.id());
        assert_eq!(scan(shell.id()), [found[1].id.pid]);
        let own = with_descendants(read(std::process::id()).into_iter().collect());
        assert!(own.is_empty());
        let sleep = rustix::process::Pid::from_raw(found[1].id.pid as i32).unwrap();
        rustix::process::kill_process(sleep, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
        assert_eq!(read_same(found[0].id), None);
    }
}
