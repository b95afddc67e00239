//! Processes that we start. Each is ended, with its children and by their
//! numbers, when its guard is dropped: at the end, on an error, on a panic.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use crate::{command, interrupt};

/// Descriptors that the largest comparison needs, with room to spare.
const DESCRIPTORS: u64 = 65_536;
/// How long a process may take to end after SIGTERM.
const STOP: Duration = Duration::from_secs(5);
/// How often a process is looked at while we wait for it.
const LOOK: Duration = Duration::from_millis(10);

/// A process that is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
}

impl Running {
    /// Starts `command`, without input, in a group of its own: Ctrl-C reaches us alone.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let line = command::line(command);
        let child = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|e| format!("{line}: {e}"))?;
        Ok(Self { child })
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// After `limit`, or when we are asked to stop.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended() {
                return Ok(status);
            }
            interrupt::check()?;
            if Instant::now() > deadline {
                return Err(format!("not done after {} s", limit.as_secs()));
            }
            sleep(LOOK);
        }
    }

    /// SIGTERM to it alone, unless it has ended.
    pub(crate) fn ask_to_end(&mut self) {
        if self.ended().is_none() {
            signal([self.child.id()].iter(), Signal::TERM);
        }
    }

    /// SIGTERM to it and its children, and SIGKILL to those that have not ended in time.
    fn stop(&mut self) {
        let pids = if self.ended().is_some() {
            return;
        } else {
            tree(self.child.id())
        };
        // The first process ends its children in its own way; some take their loss for a crash.
        signal(pids.first().into_iter(), Signal::TERM);
        let deadline = Instant::now() + STOP;
        while Instant::now() < deadline
            && (self.ended().is_none() || pids.iter().skip(1).any(|&p| parent(p).is_some()))
        {
            sleep(LOOK);
        }
        if self.ended().is_none() {
            signal(pids.first().into_iter(), Signal::KILL);
            let _ = self.child.wait();
        }
        let left = pids.iter().skip(1).filter(|&&p| parent(p).is_some());
        signal(left, Signal::KILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

fn signal<'a>(pids: impl Iterator<Item = &'a u32>, signal: Signal) {
    for pid in pids.filter_map(|&p| Pid::from_raw(p.cast_signed())) {
        // Ended already: what we wanted.
        let _ = kill_process(pid, signal);
    }
}

/// The parent of a process; `None` when there is no such process any more. A zombie counts as gone.
fn parent(pid: u32) -> Option<u32> {
    parse_parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields are counted from the last parenthesis: the name before it may hold anything.
fn parse_parent(line: &str) -> Option<u32> {
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.next()?.parse().ok()
}

/// A process and its descendants, itself first.
fn tree(root: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let parents: BTreeMap<u32, u32> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        let children = parents.iter().filter(|&(_, &p)| p == pid);
        found.extend(children.map(|(&child, _)| child));
        next += 1;
    }
    found
}

/// A port of loopback that nobody has right now.
///
/// # Errors
/// When there is none.
pub(crate) fn free_port() -> Result<u16, String> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| format!("no free port on 127.0.0.1: {e}"))
}

/// Allows us, and what we start, as many descriptors as we may have: a connection is one. Returns how many.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let wanted = Some(maximum.unwrap_or(DESCRIPTORS).max(DESCRIPTORS));
    // More than the hard limit is for root only; then the hard limit.
    for limit in [wanted, maximum] {
        let limits = Rlimit {
            current: limit,
            maximum: limit,
        };
        if setrlimit(Resource::Nofile, limits).is_ok() {
            break;
        }
    }
    getrlimit(Resource::Nofile)
        .current
        .unwrap_or(DESCRIPTORS)
        .min(DESCRIPTORS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        assert_eq!(parse_parent("7 (cache) main) S 5 7 7 0"), Some(5));
        assert_eq!(parse_parent("7 (x) Z 5 7 7 0"), None);
    }

    #[test]
    fn a_guard_ends_its_process_and_the_children_of_that() {
        let mut shell = Command::new("sh");
        // The shell says when it has its child.
        shell
            .args(["-c", "sleep 600 & echo ready; wait"])
            .stdout(Stdio::piped());
        let mut running = Running::start(&mut shell).unwrap();
        let mut line = String::new();
        let stdout = running.child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
        let pids = tree(running.pid());
        assert_eq!(pids.len(), 2, "{pids:?}");
        running.child.kill().unwrap();
        let child = pids.last().copied().unwrap();
        assert!(parent(child).is_some());
        let mut sleeper = Running::start(Command::new("sleep").arg("600")).unwrap();
        let pid = sleeper.pid();
        assert!(sleeper.ended().is_none());
        drop(sleeper);
        assert!(parent(pid).is_none());
        signal([child].iter(), Signal::KILL);
    }
}
