//! What is counted, and how it is handed over.

use rustix::time::{ClockId, clock_gettime};

use forebay_results::{Cause, Lookup, Tally};

use super::Worker;
use super::connection::Flight;
use crate::driver::{Driver, Fault};
use crate::plan::Pace;
use crate::run::Interval;
use crate::session::Response;

/// Processor time of this thread, in nanoseconds.
pub(super) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl<D: Driver> Worker<D> {
    pub(super) fn measure<E>(
        &mut self,
        response: &Response,
        flight: &Flight<E>,
        verdict: Result<(), Fault>,
    ) {
        let whole = self.now - flight.from;
        let latency = &mut self.tally.latency;
        latency.whole.record(whole);
        latency
            .first_byte
            .record(flight.first_byte.max(flight.from) - flight.from);
        let counts = &mut self.tally.counts;
        counts.completed += 1;
        counts.body_bytes += response.body_bytes;
        match response.lookup {
            Lookup::Hit => counts.hits += 1,
            Lookup::Miss => counts.misses += 1,
            Lookup::Unknown => {}
        }
        if response.status != 0 {
            *counts.statuses.entry(response.status).or_default() += 1;
        }
        let label = self.tally.label(flight.label as usize);
        label.whole.record(whole);
        let verdict = match response.fault {
            Some(cause) => verdict.and(Err(Fault { cause, words: None })),
            None => verdict,
        };
        match verdict {
            Ok(()) => {
                self.tally.counts.succeeded += 1;
                self.tally.label(flight.label as usize).succeeded += 1;
            }
            Err(fault) => {
                if let Some(words) = &fault.words {
                    self.tally.fault(words);
                }
                self.count_failure(fault.cause, flight.label);
            }
        }
    }

    pub(super) fn count_failure(&mut self, cause: Cause, label: u32) {
        *self.tally.counts.failed.entry(cause).or_default() += 1;
        self.tally.label(label as usize).failed += 1;
    }

    /// A request that got no response. One that timed out took at least so long, and leaving it
    /// out would make the server look better.
    pub(super) fn count_lost<E>(&mut self, flight: &Flight<E>, cause: Cause) {
        self.tally.counts.completed += 1;
        self.count_failure(cause, flight.label);
        if cause == Cause::Timeout {
            let whole = self.now - flight.from;
            self.tally.latency.whole.record(whole);
            self.tally.label(flight.label as usize).whole.record(whole);
        }
    }

    pub(super) fn publish_if_due(&mut self) {
        if self.begun.is_none() || self.now < self.published {
            return;
        }
        if self.published == self.zero && !self.plan.warm_up.is_zero() && self.cpu_ns == 0 {
            // The warm-up is over: what was counted until now is not measured.
            self.tally = Tally::default();
            self.cpu_ns = thread_cpu_ns();
            if let Some(duration) = self.plan.duration {
                // A busy thread is late for this; the measured time is as long all the same.
                self.end = self.now + duration.as_nanos() as u64;
            }
            self.zero = self.now;
            self.published = self.now;
            self.announce();
        } else if self.now >= self.published + super::PUBLISH_NS {
            self.publish(false);
        }
    }

    /// Says that the measured time begins.
    pub(super) fn announce(&self) {
        let _ = self.sender.send(Interval {
            thread: self.number,
            open: self.connections.open(),
            ..Interval::default()
        });
    }

    fn publish(&mut self, is_last: bool) {
        let cpu = thread_cpu_ns();
        let interval = Interval {
            thread: self.number,
            from_ns: self.published.saturating_sub(self.zero),
            to_ns: self.now.saturating_sub(self.zero),
            tally: std::mem::take(&mut self.tally),
            open: self.connections.open(),
            cpu_ns: cpu.saturating_sub(self.cpu_ns),
            is_last,
        };
        self.cpu_ns = cpu;
        self.published = self.now;
        // Nobody listens any more when the run was abandoned.
        let _ = self.sender.send(interval);
    }

    /// The time is up. What is under way has neither succeeded nor failed; at open load it has
    /// waited since it was due, and so has what nobody began.
    pub(super) fn finish(&mut self) {
        let is_open = matches!(self.plan.pace, Pace::Open(_));
        for id in self.connections.ids() {
            let Some(connection) = self.connections.get(id) else {
                continue;
            };
            for flight in &connection.flights {
                self.tally.counts.unfinished += 1;
                if is_open {
                    self.tally
                        .latency
                        .whole
                        .record(self.now.saturating_sub(flight.from));
                }
            }
        }
        if let (Some(pacer), Some(begun)) = (&mut self.pacer, self.begun) {
            let elapsed = self.now.saturating_sub(begun);
            while let Some(due) = pacer.take(elapsed) {
                self.tally.counts.unfinished += 1;
                self.tally.latency.whole.record(elapsed - due);
            }
        }
        self.publish(true);
    }
}
