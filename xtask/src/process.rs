//! Servers that we start: their lives, their processor time, their memory; read from `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use crate::Outcome;

/// Length of the ticks in which `/proc` counts processor time; fixed by the kernel's interface.
const TICK_US: f64 = 10_000.0;
/// Descriptors that the largest comparison needs, with room to spare.
const DESCRIPTORS: u64 = 65_536;
/// How long a server may take to end after SIGTERM.
const STOP: Duration = Duration::from_secs(5);

/// A process that is stopped, with its children, when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
}

impl Running {
    /// Starts `command`, without input.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let line = crate::command::line(command);
        let child = command
            .stdin(Stdio::null())
            .spawn()
            .map_err(|e| format!("{line}: {e}"))?;
        Ok(Self { child })
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Whether it still runs.
    pub(crate) fn alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Processor time so far, in microseconds: user and system, all its threads and living children.
    pub(crate) fn cpu_us(&self) -> f64 {
        let ticks: u64 = tree(self.child.id())
            .into_iter()
            .filter_map(|pid| stat(pid).map(|s| s.ticks))
            .sum();
        ticks as f64 * TICK_US
    }

    /// Resident memory of the process and its children, in bytes; pages that they share count once for each.
    pub(crate) fn resident_bytes(&self) -> u64 {
        tree(self.child.id()).into_iter().filter_map(resident).sum()
    }

    /// SIGKILL to the process itself: it ends here and now, in the middle of whatever it does.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub(crate) fn kill(&mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// SIGTERM to the process itself; returns when it has ended.
    ///
    /// # Errors
    /// When it takes longer than `most`.
    pub(crate) fn end(&mut self, most: Duration) -> Outcome {
        signal(&[self.child.id()], Signal::TERM);
        let deadline = Instant::now() + most;
        while self.alive() {
            if Instant::now() > deadline {
                return Err(format!("it has not ended within {} s", most.as_secs()).into());
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// SIGTERM to all, and SIGKILL to those that have not ended in time.
    fn stop(&mut self) {
        if !self.alive() {
            // Its number may be somebody else's by now.
            return;
        }
        let pids = tree(self.child.id());
        signal(&pids, Signal::TERM);
        let deadline = Instant::now() + STOP;
        while Instant::now() < deadline
            && (self.alive() || pids.iter().skip(1).any(|&p| stat(p).is_some()))
        {
            sleep(Duration::from_millis(10));
        }
        if self.alive() {
            signal(&pids, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

fn signal(pids: &[u32], signal: Signal) {
    for pid in pids.iter().filter_map(|&p| Pid::from_raw(p.cast_signed())) {
        // Ended already: what we wanted.
        let _ = kill_process(pid, signal);
    }
}

/// A line of `/proc/PID/stat`, as far as we need it.
struct Stat {
    parent: u32,
    /// User and system time.
    ticks: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields are counted from the last parenthesis: the name before it may hold anything. A zombie counts as gone.
fn parse_stat(line: &str) -> Option<Stat> {
    let (_, fields) = line.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |i: usize| fields.get(i)?.parse::<u64>().ok();
    if *fields.first()? == "Z" {
        return None;
    }
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        ticks: number(11)? + number(12)?,
    })
}

fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// A process and its descendants, itself first.
fn tree(root: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let parents: BTreeMap<u32, u32> = pids
        .filter_map(|pid| Some((pid, stat(pid)?.parent)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(
            parents
                .iter()
                .filter(|&(_, &parent)| parent == pid)
                .map(|(&child, _)| child),
        );
        next += 1;
    }
    found
}

/// A port of loopback that nobody has right now.
///
/// # Errors
/// When there is none.
pub(crate) fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Allows us, and what we start, as many descriptors as we may have: a connection is one.
pub(crate) fn raise_descriptor_limit() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let wanted = Some(maximum.unwrap_or(DESCRIPTORS).max(DESCRIPTORS));
    let more = Rlimit {
        current: wanted,
        maximum: wanted,
    };
    if setrlimit(Resource::Nofile, more).is_err() {
        // The command that needs more reports it when it runs out.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        );
    }
}

/// How many descriptors a process that we start may have, as far as anybody needs them.
pub(crate) fn descriptor_limit() -> u64 {
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
        let line = "7 (cache) main) S 5 7 7 0 -1 4194560 1 0 0 0 321 12 9 9 20 0 4 0 100 1 2";
        let stat = parse_stat(line).unwrap();
        assert_eq!((stat.parent, stat.ticks), (5, 333));
        assert!(parse_stat("7 (x) Z 5 7 7 0 -1 0 1 0 0 0 3 1 9 9").is_none());
    }

    #[test]
    fn our_own_child_is_found_measured_and_stopped() {
        let mut running = Running::start(Command::new("sleep").arg("600")).unwrap();
        let pid = running.child().id();
        assert!(tree(std::process::id()).contains(&pid));
        assert!(running.resident_bytes() > 0);
        drop(running);
        assert!(stat(pid).is_none());
    }
}
