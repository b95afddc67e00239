//! One process of an application, from its start to the end of its guard.
//!
//! ```text
//!  Starting ──answers──▶ Ready ──no longer wanted──▶ Draining ──idle──▶ Stopping ──▶ gone
//!     │                    │                                               ▲
//!     └── ended, too late ─┴─ ended ──▶ Failed ── its output is complete ──┴─────▶ gone
//! ```

use std::rc::Rc;
use std::time::{Duration, Instant};

use forebay_config::settings::{App as Settings, ServerAddress};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{JoinHandle, spawn_local};

use crate::event::{self, Event, What};
use crate::guard::report::Report;
use crate::launch::{Guarded, Launched};
use crate::output::{self, Log, Tail};
use crate::place::Place;
use crate::ready;
use crate::servers::ServerLoad;
use crate::status::{InstanceState, InstanceStatus};

/// What an ended process printed is in the pipe already; it is read within this time.
const LAST_WORDS: Duration = Duration::from_millis(250);
/// A guard that outlives the time it has by so much is ended.
const GUARD_LATE: Duration = Duration::from_secs(5);

/// Where a process is in its life.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Starting,
    Ready { since: Instant },
    Draining { since: Instant },
    Stopping { since: Instant },
    Failed(Failure),
}

/// How a process failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    since: Instant,
    /// Why, in words that go on after the process's name.
    pub(crate) text: String,
    /// Whether the log has it.
    pub(crate) told: bool,
}

/// One process.
#[derive(Debug)]
pub(crate) struct Instance {
    /// Unique for as long as Forebay runs.
    pub(crate) id: u64,
    /// What `{instance}` is replaced with: the lowest that was free.
    pub(crate) number: u32,
    /// The application's settings when it was started.
    pub(crate) generation: u64,
    pub(crate) place: Place,
    pub(crate) state: State,
    /// Why it is to be replaced.
    pub(crate) outworn: Option<String>,
    pub(crate) started: Instant,
    pub(crate) memory_bytes: u64,
    pub(crate) load: ServerLoad,
    pub(crate) tail: Tail,
    pid: Option<u32>,
    /// The guard has seen its end.
    ended: bool,
    guard: Option<Guarded>,
    open_pipes: u8,
    probe: JoinHandle<()>,
}

/// What an [`Instance`] is made of.
pub(crate) struct Parts<'a> {
    pub(crate) app: Rc<str>,
    pub(crate) id: u64,
    pub(crate) number: u32,
    pub(crate) generation: u64,
    pub(crate) place: Place,
    pub(crate) settings: &'a Settings,
}

impl Instance {
    /// Follows a process that was just started: its output goes to `log`, what happens to it to
    /// `events`. Within a `LocalRuntime`.
    pub(crate) fn follow(
        parts: Parts<'_>,
        launched: Launched,
        log: &Log,
        events: &UnboundedSender<Event>,
    ) -> Self {
        let (app, id, number) = (parts.app, parts.id, parts.number);
        let send = {
            let (app, events) = (Rc::clone(&app), events.clone());
            // The supervisor that does not listen any more is gone with all of this.
            move |what| {
                drop(events.send(Event {
                    app: Rc::clone(&app),
                    id,
                    what,
                }))
            }
        };
        let tail = Tail::default();
        let label: Rc<str> = format!("app {app} {number}").into();
        for pipe in [launched.stdout, launched.stderr] {
            let (send, tail, log) = (send.clone(), tail.clone(), log.clone());
            let label = Rc::clone(&label);
            spawn_local(async move {
                output::follow(pipe, label, log, tail).await;
                send(What::Silent);
            });
        }
        spawn_local(event::listen(launched.reports, send.clone()));
        // Other protocols than HTTP are asked for nothing: that they accept is enough.
        let http = parts.settings.protocol == forebay_config::settings::Protocol::Http;
        let path = parts.settings.ready.clone().filter(|_| http);
        let address = parts.place.address();
        let probe = spawn_local(async move {
            ready::ready(address, path).await;
            send(What::Ready);
        });
        Self {
            id,
            number,
            generation: parts.generation,
            place: parts.place,
            state: State::Starting,
            outworn: None,
            started: Instant::now(),
            memory_bytes: 0,
            load: ServerLoad::default(),
            tail,
            pid: None,
            ended: false,
            guard: Some(launched.guard),
            open_pipes: 2,
            probe,
        }
    }

    /// Where it is as a server of the pool.
    pub(crate) fn address(&self) -> ServerAddress {
        self.place.address()
    }

    /// Its number and, when it is known, its process id.
    pub(crate) fn name(&self) -> String {
        match self.pid {
            Some(pid) => format!("process {} (pid {pid})", self.number),
            None => format!("process {}", self.number),
        }
    }

    /// The guard, for as long as there is one.
    pub(crate) fn guard(&self) -> Option<rustix::process::Pid> {
        self.guard.as_ref().map(Guarded::pid)
    }

    /// Whether requests may be sent to it.
    pub(crate) fn is_serving(&self) -> bool {
        matches!(self.state, State::Ready { .. })
    }

    /// Whether it has been started and is not ready.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(self.state, State::Starting)
    }

    /// How long it has been ready; `None`: it never was.
    pub(crate) fn healthy(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Ready { since } => Some(now.saturating_duration_since(since)),
            _ => None,
        }
    }

    /// Takes note of what the guard says.
    pub(crate) fn said(&mut self, report: Report) {
        match report {
            Report::Pid(pid) => self.pid = Some(pid),
            Report::Exit(_) | Report::Signal(_) => self.ended = true,
        }
    }

    /// One of its pipes has ended.
    pub(crate) fn is_silent(&mut self) {
        self.open_pipes = self.open_pipes.saturating_sub(1);
    }

    /// It ended, or is of no use; what is left of it is told to end.
    pub(crate) fn fail(&mut self, text: String, now: Instant) {
        self.probe.abort();
        self.end_guard();
        self.state = State::Failed(Failure {
            since: now,
            text,
            told: false,
        });
    }

    /// Tells it to end.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.probe.abort();
        self.end_guard();
        if !matches!(self.state, State::Failed(_) | State::Stopping { .. }) {
            self.state = State::Stopping { since: now };
        }
    }

    fn end_guard(&self) {
        if let Some(guard) = &self.guard {
            guard.stop();
        }
    }

    /// The guard is gone. When it did not see the application's end, it was killed itself: what
    /// the application has started is ended by its process group.
    pub(crate) fn guard_gone(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.forget();
        }
        let pid = self.pid.filter(|_| !self.ended);
        let group = pid.and_then(|pid| i32::try_from(pid).ok());
        if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
            // The system has ended the application itself; it may have been all there was.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    /// A guard that should have ended by now is ended.
    pub(crate) fn enforce_end(&self, stop_timeout: Duration, now: Instant) {
        let since = match &self.state {
            State::Stopping { since } => *since,
            State::Failed(failure) => failure.since,
            _ => return,
        };
        if now > since + stop_timeout + GUARD_LATE
            && let Some(guard) = &self.guard
        {
            tracing::error!("{} and its guard do not end, and are killed", self.name());
            guard.kill();
        }
    }

    /// Its failure, once what it printed is known.
    pub(crate) fn failure_to_tell(&mut self, now: Instant) -> Option<(String, Vec<String>)> {
        let silent = self.open_pipes == 0;
        match &mut self.state {
            State::Failed(failure)
                if !failure.told && (silent || now > failure.since + LAST_WORDS) =>
            {
                failure.told = true;
                Some((failure.text.clone(), self.tail.lines()))
            }
            _ => None,
        }
    }

    /// Nothing of it is left, and everything was said.
    pub(crate) fn is_gone(&self) -> bool {
        let told = !matches!(&self.state, State::Failed(failure) if !failure.told);
        self.guard.is_none() && told
    }

    /// Whether something is going to happen to it soon.
    pub(crate) fn is_changing(&self) -> bool {
        !self.is_serving()
    }

    /// For those who ask.
    pub(crate) fn status(&self, now: Instant) -> InstanceStatus {
        InstanceStatus {
            number: self.number,
            pid: self.pid,
            state: match self.state {
                State::Starting => InstanceState::Starting,
                State::Ready { .. } => InstanceState::Ready,
                State::Draining { .. } => InstanceState::Draining,
                State::Stopping { .. } => InstanceState::Stopping,
                State::Failed(_) => InstanceState::Failed,
            },
            address: self.address().to_string(),
            memory_bytes: self.memory_bytes,
            active: self.load.active,
            requests: self.load.requests,
            uptime_seconds: now.saturating_duration_since(self.started).as_secs(),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.probe.abort();
    }
}
