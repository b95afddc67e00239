//! How many processes an application has: they are counted, started and given up.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

use super::{App, Common};
use crate::instance::{Instance, Parts};
use crate::launch;
use crate::place::Kind;
use crate::scale::{self, Serving, View};
use crate::servers::Queue;
use crate::user;

impl App {
    /// Looks at who waits and who works, and starts or drains processes accordingly.
    pub(super) fn scale(&mut self, queue: Queue, common: &mut Common, now: Instant) {
        let decision = scale::decide(&self.view(queue, common, now));
        if decision.wanted != self.wanted {
            tracing::info!(
                "app {}: {} processes are wanted, {} were ({} requests wait)",
                self.name,
                decision.wanted,
                self.wanted,
                queue.waiting
            );
            self.wanted = decision.wanted;
        }
        for id in decision.drain {
            if let Some(at) = self.instances.iter().position(|one| one.id == id) {
                let why = self.instances[at].outworn.clone();
                let why = why.as_deref().unwrap_or("not needed any more");
                self.drain(at, why, common, now);
            }
        }
        for _ in 0..decision.start {
            self.start(common, now);
        }
    }

    fn view(&mut self, queue: Queue, common: &Common, now: Instant) -> View {
        let now_ms = now.saturating_duration_since(common.epoch).as_millis() as u64;
        let (least, most) = self.settings.instances;
        let needed = self.needed(queue);
        self.need.note(needed, most as usize, now_ms);
        let serving = self.instances.iter().filter(|one| one.is_serving());
        let serving = serving.map(|one| Serving {
            id: one.id,
            outworn: one.outworn.is_some(),
            active: one.load.active,
        });
        let queue_time = self.settings.queue_time;
        let waits_too_long = queue.waiting > 0 && queue.longest >= queue_time;
        View {
            least: least as usize,
            most: most as usize,
            wanted: self.wanted,
            starting: self
                .instances
                .iter()
                .filter(|one| one.is_starting())
                .count(),
            serving: serving.collect(),
            overdue: waits_too_long && self.last_start.is_none_or(|start| now > start + queue_time),
            sufficed: self.need.sufficed(self.settings.idle_timeout, now_ms),
            may_start: self.not_before.is_none(),
        }
    }

    /// How many processes what is going on takes.
    fn needed(&self, queue: Queue) -> usize {
        let active: u64 = self.instances.iter().map(|one| one.load.active).sum();
        let requests = active as usize + queue.waiting;
        match self.settings.max_connections {
            Some(each) => requests.div_ceil(each.max(1)),
            // Without a limit one process takes everything; it is not for us to say that it
            // should not.
            None => usize::from(requests > 0),
        }
    }

    fn start(&mut self, common: &mut Common, now: Instant) {
        if self.not_before.is_some() {
            return;
        }
        self.last_start = Some(now);
        let number = self.free_number();
        match self.try_start(number, common) {
            Ok(one) => {
                tracing::debug!("app {}: {} was started", self.name, one.name());
                self.instances.push(one);
            }
            Err(error) => {
                self.pause(None, now);
                // Not at once, even after the first failure: there is nothing to wait for that
                // could have changed.
                let pause = self.not_before.get_or_insert(now + self.settings.backoff);
                tracing::error!(
                    "app {}: process {number} cannot be started: {error}; the next try is in {:.1?}",
                    self.name,
                    pause.saturating_duration_since(now)
                );
            }
        }
    }

    fn try_start(&self, number: u32, common: &mut Common) -> Result<Instance, String> {
        let settings = &self.settings;
        let user = match &settings.user {
            Some(name) => user::find(name)?,
            None => None,
        };
        let place = common
            .directory
            .place(
                Kind::of(settings),
                (&self.name, number),
                user.as_ref().map(|user| &user.run_as),
            )
            .map_err(|error| format!("it has no place to listen: {error}"))?;
        let launched = launch::launch(settings, number, &place, user.as_ref(), &common.inheritance)
            .map_err(|error| error.to_string())?;
        common.next_id += 1;
        let parts = Parts {
            app: Rc::clone(&self.name),
            id: common.next_id,
            number,
            generation: self.generation,
            place,
            settings,
        };
        Ok(Instance::follow(
            parts,
            launched,
            &common.log,
            &common.events,
        ))
    }

    fn free_number(&self) -> u32 {
        let taken: BTreeSet<u32> = self.instances.iter().map(|one| one.number).collect();
        (1..).find(|number| !taken.contains(number)).unwrap_or(0)
    }
}
