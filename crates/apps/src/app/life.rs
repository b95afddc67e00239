//! What is done about an application's processes as time goes by: those that are late are ended,
//! those that are worn out marked, those that are drained ended, failures told.

use std::time::{Duration, Instant};

use forebay_config::settings::App as Settings;

use super::{App, Common};
use crate::instance::{Instance, State};
use crate::servers::Queue;

/// After a process was taken out of the pool's turns: a worker that had chosen it just before
/// has counted its request by then.
const SETTLE: Duration = Duration::from_millis(50);
/// Of what a failed process printed, in the message of its failure.
const LAST_LINES: usize = 10;

impl App {
    /// Does what is due. To be called after every event, and as often as [`App::is_lively`] asks.
    pub(crate) fn advance(&mut self, common: &mut Common, now: Instant) {
        self.not_before = self.not_before.filter(|&at| at > now);
        let mut queue = common.servers.queue(&self.name);
        if self.ending {
            queue = Queue::default();
            self.retire_all(common, now);
        }
        self.look_at_each(common, now);
        self.tell_failures(now);
        let name = &self.name;
        self.instances.retain(|one| {
            if one.is_gone() {
                tracing::debug!("app {name}: nothing is left of {}", one.name());
                common.directory.free(&one.place);
            }
            !one.is_gone()
        });
        if !self.ending {
            self.scale(queue, common, now);
        }
    }

    fn retire_all(&mut self, common: &Common, now: Instant) {
        for at in 0..self.instances.len() {
            match self.instances[at].state {
                State::Starting => self.instances[at].stop(now),
                State::Ready { .. } => {
                    self.drain(at, "not in the configuration any more", common, now)
                }
                _ => {}
            }
        }
    }

    fn look_at_each(&mut self, common: &Common, now: Instant) {
        for at in 0..self.instances.len() {
            let one = &mut self.instances[at];
            one.enforce_end(self.settings.stop_timeout, now);
            let load = common.servers.load(&self.name, &one.address());
            match one.state {
                State::Starting if now > one.started + self.settings.start_timeout => {
                    let limit = self.settings.start_timeout;
                    self.failed(at, format!("was not ready within {limit:?}"), common, now);
                }
                State::Ready { .. } => {
                    one.load = load.unwrap_or(one.load);
                    if one.outworn.is_none() {
                        one.outworn = outworn(one, &self.settings, self.generation);
                    }
                }
                State::Draining { since } => {
                    one.load.active = load.map_or(0, |load| load.active);
                    self.end_if_drained(at, since, common, now);
                }
                _ => {}
            }
        }
    }

    fn end_if_drained(&mut self, at: usize, since: Instant, common: &Common, now: Instant) {
        let one = &mut self.instances[at];
        let late = now > since + self.settings.stop_timeout;
        if !late && (one.load.active > 0 || now <= since + SETTLE) {
            return;
        }
        if late {
            tracing::warn!(
                "app {}: {} still has {} requests, and is told to end",
                self.name,
                one.name(),
                one.load.active
            );
        }
        common.servers.remove(&self.name, &one.address());
        one.stop(now);
    }

    fn tell_failures(&mut self, now: Instant) {
        for one in &mut self.instances {
            let Some((text, lines)) = one.failure_to_tell(now) else {
                continue;
            };
            let next = match self.not_before {
                _ if self.ending => String::new(),
                Some(at) => format!(
                    "; {} failures in a row: the next start is in {:.1?}",
                    self.backoff.failures(),
                    at.saturating_duration_since(now)
                ),
                None => "; it is started again".to_owned(),
            };
            tracing::error!("app {}: {} {text}{next}", self.name, one.name());
            let from = lines.len().saturating_sub(LAST_LINES);
            for line in &lines[from..] {
                tracing::error!("app {}: {} printed: {line}", self.name, one.name());
            }
        }
    }

    /// It gets no more requests, and ends when it has none.
    pub(super) fn drain(&mut self, at: usize, why: &str, common: &Common, now: Instant) {
        let one = &mut self.instances[at];
        tracing::info!("app {}: {} is taken out: {why}", self.name, one.name());
        common.servers.drain(&self.name, &one.address());
        one.state = State::Draining { since: now };
    }
}

/// Why a process is to be replaced, if it is.
fn outworn(one: &Instance, settings: &Settings, generation: u64) -> Option<String> {
    if one.generation != generation {
        return Some("it is replaced by one with the settings of now".into());
    }
    if let Some(limit) = settings.memory
        && one.memory_bytes > limit
    {
        let mib = |bytes: u64| bytes >> 20;
        return Some(format!(
            "it has {} MiB of memory, more than {} MiB",
            mib(one.memory_bytes),
            mib(limit)
        ));
    }
    let limit = settings.max_requests?;
    (one.load.requests >= limit).then(|| format!("it has served {limit} requests"))
}
