//! The guard's own life: start the application, pass signals on, and leave nothing behind.
//!
//! ```text
//!  Running ──SIGTERM, or Forebay is gone──▶ Stopping: SIGTERM to the application
//!     │                                        │        (SIGKILL to all when its time is over)
//!     └── the application ended ──▶ Clearing ◀─┘
//!                                   SIGTERM to those it left, SIGKILL when their time is over
//!                                      └── no child left ──▶ end
//! ```

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::report::Report;
use super::signals::Signals;
use super::{Order, STEP};
use crate::tree::Tree;

/// From one SIGKILL to the next: processes that were being started escaped the one before.
const KILL_AGAIN: Duration = Duration::from_millis(20);
/// What an application leaves that ended by itself has at most so long.
const LEFT_BEHIND: Duration = Duration::from_secs(5);
/// When nothing is due.
const LONG: Duration = Duration::from_secs(3600);

/// Runs the application to its end, and gives its status (128 and more: the signal).
pub(super) fn guard(order: Order) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let run = |runtime: tokio::runtime::Runtime| {
        runtime.block_on(async { Guard::start(&order)?.run().await })
    };
    runtime.and_then(run).unwrap_or_else(|error| {
        eprintln!("forebay: the guard of an application fails: {error}");
        ExitCode::from(125)
    })
}

/// Lives as long as the application and whatever it has started.
struct Guard {
    /// Ends when Forebay does.
    lifeline: tokio::net::UnixStream,
    /// The same socket, to write to: the event loop does not know yet that it can be.
    reports: UnixStream,
    signals: Signals,
    application: Pid,
    stop_timeout: Duration,
    phase: Phase,
    /// How the application ended.
    ended: Report,
}

#[derive(Clone, Copy)]
enum Phase {
    Running,
    Stopping { kill_at: Instant },
    Clearing { kill_at: Instant },
}

impl Guard {
    fn start(order: &Order) -> io::Result<Self> {
        // First, so that a signal cannot end this process while it starts the application.
        let signals = Signals::catch()?;
        set_child_subreaper(Some(getpid()))?;
        set_parent_process_death_signal(Some(Signal::TERM))?;
        let lifeline = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?);
        lifeline.set_nonblocking(true)?;
        let application = spawn(order)?;
        let mut guard = Self {
            reports: lifeline.try_clone()?,
            lifeline: tokio::net::UnixStream::from_std(lifeline)?,
            signals,
            application,
            stop_timeout: order.stop_timeout,
            phase: Phase::Running,
            ended: Report::Exit(0),
        };
        guard.report(Report::Pid(
            application.as_raw_nonzero().get().unsigned_abs(),
        ));
        Ok(guard)
    }

    async fn run(mut self) -> io::Result<ExitCode> {
        let mut nothing = [0; 64];
        let mut forebay_there = true;
        while self.reap() {
            let due = self.due();
            tokio::select! {
                signal = self.signals.next() => match signal {
                    // Who has ended is asked for at the next turn.
                    Signal::CHILD => {}
                    Signal::TERM => self.stop(),
                    other => self.tell(other),
                },
                read = self.lifeline.read(&mut nothing), if forebay_there => {
                    if !matches!(read, Ok(1..)) {
                        forebay_there = false;
                        self.stop();
                    }
                }
                () = tokio::time::sleep_until(due) => kill_all(),
            }
        }
        let status = match self.ended {
            Report::Exit(status) => status,
            Report::Signal(signal) => 128 + signal,
            Report::Pid(_) => 0,
        };
        Ok(ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)))
    }

    /// Asks who has ended; as the subreaper also for children of children. False: nobody is left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.application => {
                    self.application_ended(status)
                }
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(rustix::io::Errno::INTR) => {}
                // ECHILD
                Err(_) => return false,
            }
        }
    }

    fn application_ended(&mut self, status: WaitStatus) {
        self.ended = match (status.exit_status(), status.terminating_signal()) {
            (Some(status), _) => Report::Exit(status),
            (None, Some(signal)) => Report::Signal(signal),
            // Stopped or continued, which was not asked for.
            (None, None) => return,
        };
        self.report(self.ended);
        let kill_at = match self.phase {
            Phase::Stopping { kill_at } | Phase::Clearing { kill_at } => kill_at,
            Phase::Running => Instant::now() + self.stop_timeout.min(LEFT_BEHIND),
        };
        self.phase = Phase::Clearing { kill_at };
        for pid in Tree::now().below(getpid()) {
            // It may have ended since it was seen.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// The application is to end, within its time.
    fn stop(&mut self) {
        if let Phase::Running = self.phase {
            let kill_at = Instant::now() + self.stop_timeout;
            self.phase = Phase::Stopping { kill_at };
            self.tell(Signal::TERM);
        }
    }

    fn tell(&self, signal: Signal) {
        if !matches!(self.phase, Phase::Clearing { .. }) {
            // If it has ended, it was not asked for its status yet: the number is still its own.
            let _ = kill_process(self.application, signal);
        }
    }

    fn due(&self) -> Instant {
        let now = Instant::now();
        match self.phase {
            Phase::Running => now + LONG,
            Phase::Stopping { kill_at } | Phase::Clearing { kill_at } if kill_at > now => kill_at,
            _ => now + KILL_AGAIN,
        }
    }

    /// Forebay may be gone; then nobody wants to know.
    fn report(&mut self, report: Report) {
        // The socket's buffer takes it: the lines are few and short.
        let _ = self.reports.write_all(report.line().as_bytes());
    }
}

fn kill_all() {
    for pid in Tree::now().below(getpid()) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Starts the step that becomes the application, in a process group of its own, so that what a
/// terminal sends reaches Forebay alone.
fn spawn(order: &Order) -> io::Result<Pid> {
    let stdin = match &order.listen {
        None => Stdio::null(),
        Some(path) => {
            let listener = UnixListener::bind(path).map_err(|error| {
                let text = format!("{} cannot be listened on: {error}", path.display());
                io::Error::new(error.kind(), text)
            })?;
            Stdio::from(OwnedFd::from(listener))
        }
    };
    let child = Command::new("/proc/self/exe")
        .arg(STEP)
        .args(order.arguments())
        .stdin(stdin)
        .process_group(0)
        .spawn()?;
    io::stdout().flush()?;
    Ok(Pid::from_child(&child))
}
