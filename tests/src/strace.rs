//! A disk that is slow or fails: strace tampers with system calls of single threads of the
//! program. Nothing here depends on how fast the machine is: a call that is held goes on when
//! the test says so, and what is under way can be awaited.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{DEADLINE, Forebay};

/// Writes of the thread of a directory.
pub const WRITES: &str = "pwritev,pwritev2";
/// Reads of stored records.
pub const READS: &str = "preadv,preadv2";

/// What becomes of the calls.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// They stand still until the strace is dropped; then they are carried out.
    Held,
    /// Each is carried out so much later.
    Late(Duration),
    /// They fail with this error, the n-th (from 1) and all after it.
    Fails(&'static str, usize),
}

/// An strace on some threads; when it is dropped they go on by themselves.
#[derive(Debug)]
pub struct Strace {
    child: Child,
    file: tempfile::NamedTempFile,
    /// It makes calls fail.
    fails: bool,
}

/// Without a call for so long the threads have nothing to do.
const SILENCE: Duration = Duration::from_millis(300);

impl Strace {
    /// Tampers with `calls` of the threads whose names begin with `threads`. Nothing, and a
    /// word about it, where the system does not let one process look at another.
    ///
    /// # Panics
    /// When strace is not installed, or there is no such thread.
    #[track_caller]
    pub fn attach(forebay: &Forebay, threads: &str, calls: &str, fault: Fault) -> Option<Self> {
        Self::attach_at(forebay, threads, calls, fault, &[])
    }

    /// The same for calls that have to do with these files only, where there are any.
    ///
    /// # Panics
    /// When strace is not installed, or there is no such thread.
    #[track_caller]
    pub fn attach_at(
        forebay: &Forebay,
        threads: &str,
        calls: &str,
        fault: Fault,
        files: &[&Path],
    ) -> Option<Self> {
        let deadline = Instant::now() + DEADLINE;
        // A thread that has just begun has no name yet.
        let ids = loop {
            let ids = threads_of(forebay.pid(), threads);
            if !ids.is_empty() {
                break ids;
            }
            assert!(Instant::now() < deadline, "no thread {threads}");
            std::thread::sleep(Duration::from_millis(5));
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let fails = matches!(fault, Fault::Fails(..));
        let fault = match fault {
            Fault::Held => "delay_enter=600s".to_owned(),
            Fault::Late(late) => format!("delay_enter={}us", late.as_micros()),
            Fault::Fails(error, from) => format!("error={error}:when={from}+"),
        };
        let mut command = Command::new("strace");
        // Long enough strings for the names of objects.
        command.args(["-qq", "-s", "400", "-e", "abbrev=none"]);
        command.args(["-e", &format!("trace={calls}")]);
        command.args(["-e", &format!("inject={calls}:{fault}"), "-o"]);
        command.arg(file.path());
        files.iter().for_each(|file| {
            command.arg("-P").arg(file);
        });
        ids.iter().for_each(|id| {
            command.args(["-p", id]);
        });
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("strace is installed");
        while !ids
            .iter()
            .all(|id| is_traced(forebay.pid(), id, child.id()))
        {
            if child.try_wait().unwrap().is_some() {
                eprintln!(
                    "\n*** NOT TESTED: strace may not attach to a process here; \
                     nothing is known about a slow or failing disk ***\n"
                );
                return None;
            }
            assert!(Instant::now() < deadline, "strace does not attach");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(Self { child, file, fails })
    }

    /// The calls so far, one a line; the last may be under way.
    pub fn calls(&self) -> String {
        let bytes = std::fs::read(self.file.path()).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until a call with this text has begun.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + DEADLINE;
        while !self.calls().contains(text) {
            assert!(Instant::now() < deadline, "no call with {text:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Strace {
    /// A call that is made to fail is another one in the meantime, which the system does not know:
    /// left alone in its middle it would say so (ENOSYS), and no disk does.
    fn wait_for_silence(&self) {
        let deadline = Instant::now() + DEADLINE / 2;
        let (mut seen, mut since) = (self.calls().len(), Instant::now());
        while since.elapsed() < SILENCE && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
            let now = self.calls().len();
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
        }
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        if self.fails && !std::thread::panicking() {
            self.wait_for_silence();
        }
        // What it holds is carried out, as if nobody had looked.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The threads whose names begin so.
fn threads_of(process: u32, name: &str) -> HashSet<String> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let named = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let comm = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        comm.starts_with(name)
            .then(|| entry.file_name().to_string_lossy().into_owned())
    });
    named.collect()
}

fn is_traced(process: u32, thread: &str, by: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/status"));
    let wanted = format!("TracerPid:\t{by}");
    status.is_ok_and(|status| status.lines().any(|line| line == wanted))
}
