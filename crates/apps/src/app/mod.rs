//! One application: its processes, and what happens to them. What is done about them as time goes
//! by is in `life.rs`, how many there are in `number.rs`.

mod life;
mod number;

use std::rc::Rc;
use std::time::{Duration, Instant};

use forebay_config::settings::App as Settings;
use tokio::sync::mpsc::UnboundedSender;

use crate::backoff::Backoff;
use crate::directory::Directory;
use crate::event::{Event, What};
use crate::guard::report::Report;
use crate::instance::{Instance, State};
use crate::launch::Inheritance;
use crate::output::Log;
use crate::scale::Need;
use crate::servers::Servers;
use crate::status::AppStatus;
use crate::tree::Tree;

/// What all applications share.
pub(crate) struct Common {
    pub(crate) servers: std::sync::Arc<dyn Servers>,
    pub(crate) directory: Directory,
    pub(crate) inheritance: Inheritance,
    pub(crate) log: Log,
    pub(crate) events: UnboundedSender<Event>,
    /// What moments are counted from.
    pub(crate) epoch: Instant,
    /// The next process's number for life.
    pub(crate) next_id: u64,
}

/// Lives from the configuration that names it first until its last process is gone.
pub(crate) struct App {
    pub(crate) name: Rc<str>,
    settings: Settings,
    instances: Vec<Instance>,
    /// Changes when processes must be replaced.
    generation: u64,
    wanted: usize,
    need: Need,
    backoff: Backoff,
    /// No process is started before.
    not_before: Option<Instant>,
    /// When a process was started last.
    last_start: Option<Instant>,
    restarts: u64,
    /// All of it is to end.
    ending: bool,
}

impl App {
    pub(crate) fn new(name: &str, settings: Settings) -> Self {
        Self {
            name: name.into(),
            wanted: settings.instances.0 as usize,
            settings,
            instances: Vec::new(),
            generation: 0,
            need: Need::default(),
            backoff: Backoff::default(),
            not_before: None,
            last_start: None,
            restarts: 0,
            ending: false,
        }
    }

    /// Takes new settings over. Its processes are replaced when they would be others.
    pub(crate) fn reload(&mut self, settings: Settings) {
        let before = std::mem::replace(&mut self.settings, settings);
        let now = &self.settings;
        let same = before.command == now.command
            && before.directory == now.directory
            && before.environment == now.environment
            && before.user == now.user
            && before.protocol == now.protocol;
        if self.ending || !same {
            self.ending = false;
            self.replace();
        }
    }

    /// All processes are to be replaced, one by one.
    pub(crate) fn replace(&mut self) {
        self.generation += 1;
        self.backoff.forget();
        self.not_before = None;
    }

    /// It is not in the configuration any more: its processes finish what they have.
    pub(crate) fn retire(&mut self) {
        self.ending = true;
    }

    /// Its processes end now; their connections have been let go.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.ending = true;
        self.instances.iter_mut().for_each(|one| one.stop(now));
    }

    /// Nothing is left of it, and nothing will be.
    pub(crate) fn is_gone(&self) -> bool {
        self.ending && self.instances.is_empty()
    }

    /// Whether it is to be looked at again soon.
    pub(crate) fn is_lively(&self) -> bool {
        let elastic = self.settings.instances.0 != self.settings.instances.1;
        elastic
            || self.not_before.is_some()
            || self.instances.len() < self.wanted
            || self.instances.iter().any(Instance::is_changing)
    }

    /// Whether the memory of its processes has a limit.
    pub(crate) fn watches_memory(&self) -> bool {
        self.settings.memory.is_some()
    }

    /// Something happened to one of its processes.
    pub(crate) fn happened(&mut self, event: &Event, common: &Common) {
        let now = Instant::now();
        let Some(at) = self.instances.iter().position(|one| one.id == event.id) else {
            return;
        };
        match event.what {
            What::Ready => self.ready(at, common, now),
            What::Silent => self.instances[at].is_silent(),
            What::Said(report) => {
                self.instances[at].said(report);
                if !matches!(report, Report::Pid(_)) {
                    self.ended(at, &report.words(), common, now);
                }
            }
            What::GuardGone => {
                self.ended(at, "ended together with its guard", common, now);
                self.instances[at].guard_gone();
            }
        }
    }

    fn ready(&mut self, at: usize, common: &Common, now: Instant) {
        let one = &mut self.instances[at];
        if !one.is_starting() {
            return;
        }
        match common.servers.add(&self.name, &one.address()) {
            Ok(()) => {
                one.state = State::Ready { since: now };
                let took = now.saturating_duration_since(one.started);
                tracing::info!(
                    "app {}: {} is ready after {took:.1?}",
                    self.name,
                    one.name()
                );
            }
            Err(error) => {
                tracing::error!("app {}: {} cannot be used: {error}", self.name, one.name());
                one.stop(now);
            }
        }
    }

    /// A process has ended, wanted or not.
    fn ended(&mut self, at: usize, how: &str, common: &Common, now: Instant) {
        let one = &mut self.instances[at];
        match one.state {
            State::Starting => self.failed(at, format!("{how} before it was ready"), common, now),
            State::Ready { .. } => self.failed(at, how.to_owned(), common, now),
            State::Draining { .. } => {
                common.servers.remove(&self.name, &one.address());
                one.stop(now);
            }
            State::Stopping { .. } | State::Failed(_) => {}
        }
    }

    fn failed(&mut self, at: usize, text: String, common: &Common, now: Instant) {
        let one = &mut self.instances[at];
        common.servers.remove(&self.name, &one.address());
        let healthy = one.healthy(now);
        one.fail(text, now);
        self.pause(healthy, now);
    }

    fn pause(&mut self, healthy: Option<Duration>, now: Instant) {
        let (first, most) = (self.settings.backoff, self.settings.backoff_max);
        let pause = self.backoff.failed(healthy, first, most);
        self.not_before = (!pause.is_zero()).then(|| now + pause);
        self.restarts += 1;
    }

    /// Looks how much memory each of its processes takes.
    pub(crate) fn weigh(&mut self, tree: &Tree) {
        for one in &mut self.instances {
            one.memory_bytes = one.guard().map_or(0, |guard| tree.resident_below(guard));
        }
    }

    /// For those who ask.
    pub(crate) fn status(&self, now: Instant) -> AppStatus {
        let mut instances: Vec<_> = self.instances.iter().map(|one| one.status(now)).collect();
        instances.sort_by_key(|one| one.number);
        AppStatus {
            name: self.name.to_string(),
            wanted: self.wanted as u32,
            bounds: self.settings.instances,
            restarts: self.restarts,
            failures: self.backoff.failures(),
            instances,
        }
    }
}
