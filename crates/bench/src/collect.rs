//! From the threads' intervals to a phase of a report.

use std::collections::BTreeMap;

use forebay_engine::Interval;
use forebay_results::{ClientUse, Histogram, Phase, Point, Tally};

/// Points that a series has at most.
const MOST_POINTS: u64 = 600;

/// What all threads of all machines measured so far.
#[derive(Default)]
pub(crate) struct Collector {
    tally: Tally,
    /// By machine and thread.
    threads: BTreeMap<(u32, u32), Thread>,
    /// Stretches that are not complete, by number.
    stretches: BTreeMap<u64, Stretch>,
    series: Vec<Point>,
    width_ns: u64,
    longest_ns: u64,
}

#[derive(Default)]
struct Thread {
    open: u64,
    cpu_ns: u64,
    time_ns: u64,
    at_ns: u64,
    ended: bool,
}

#[derive(Default)]
struct Stretch {
    succeeded: u64,
    failed: u64,
    bytes_received: u64,
    whole: Histogram,
    open: u64,
}

/// What a view of a run under way shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) elapsed_ns: u64,
    pub(crate) open: u64,
    /// Share of its time that the busiest thread was on a processor, lately.
    pub(crate) busiest: f64,
}

impl Collector {
    /// For a run of about so many seconds.
    pub(crate) fn new(expected_seconds: u64) -> Self {
        Self {
            width_ns: expected_seconds.div_ceil(MOST_POINTS).max(1) * 1_000_000_000,
            ..Self::default()
        }
    }

    /// Takes what a thread measured.
    pub(crate) fn add(&mut self, machine: u32, interval: Interval) {
        let thread = self.threads.entry((machine, interval.thread)).or_default();
        thread.open = if interval.is_last { 0 } else { interval.open };
        thread.cpu_ns += interval.cpu_ns;
        thread.time_ns += interval.to_ns.saturating_sub(interval.from_ns);
        thread.at_ns = interval.to_ns;
        thread.ended = interval.is_last;
        self.longest_ns = self.longest_ns.max(interval.to_ns);
        if interval.to_ns > interval.from_ns {
            // Half-second intervals lie within a stretch by their middle.
            let middle = interval.from_ns.midpoint(interval.to_ns);
            let stretch = self.stretches.entry(middle / self.width_ns).or_default();
            let counts = &interval.tally.counts;
            stretch.succeeded += counts.succeeded;
            stretch.failed += counts.failures();
            stretch.bytes_received += counts.bytes_received;
            stretch.whole.merge(&interval.tally.latency.whole);
        }
        self.tally.merge(&interval.tally);
        self.close_stretches(false);
    }

    /// A machine is gone: it is not waited for.
    pub(crate) fn lose(&mut self, machine: u32) {
        for ((of, _), thread) in &mut self.threads {
            if *of == machine {
                thread.open = 0;
                thread.ended = true;
            }
        }
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn latest(&self) -> Option<&Point> {
        self.series.last()
    }

    pub(crate) fn totals(&self) -> Totals {
        let busy = |thread: &Thread| thread.cpu_ns as f64 / thread.time_ns.max(1) as f64;
        Totals {
            elapsed_ns: self.longest_ns,
            open: self.threads.values().map(|thread| thread.open).sum(),
            busiest: self.threads.values().map(busy).fold(0.0, f64::max),
        }
    }

    /// Makes points of the stretches that every thread has passed.
    fn close_stretches(&mut self, all: bool) {
        let open: u64 = self.threads.values().map(|thread| thread.open).sum();
        let passed = self
            .threads
            .values()
            .filter(|thread| !thread.ended)
            .map(|thread| thread.at_ns)
            .min()
            .unwrap_or(self.longest_ns);
        while let Some((&number, _)) = self.stretches.first_key_value() {
            let end = (number + 1) * self.width_ns;
            // An interval may reach a little beyond the stretch it belongs to.
            if !all && end + self.width_ns / 4 > passed {
                return;
            }
            let Some(mut stretch) = self.stretches.remove(&number) else {
                return;
            };
            stretch.open = open;
            self.series.push(self.point(number, &stretch));
        }
    }

    fn point(&self, number: u64, stretch: &Stretch) -> Point {
        let from = number * self.width_ns;
        let end = (from + self.width_ns).min(self.longest_ns.max(from + 1));
        Point {
            at: end as f64 / 1e9,
            seconds: (end - from) as f64 / 1e9,
            succeeded: stretch.succeeded,
            failed: stretch.failed,
            bytes_received: stretch.bytes_received,
            open: stretch.open,
            p50_ns: stretch.whole.percentile_ns(50.0),
            p90_ns: stretch.whole.percentile_ns(90.0),
            p99_ns: stretch.whole.percentile_ns(99.0),
            max_ns: stretch.whole.max_ns(),
        }
    }

    /// The phase, when all is in.
    pub(crate) fn finish(mut self) -> Phase {
        self.close_stretches(true);
        self.drop_stub();
        let cpu: u64 = self.threads.values().map(|thread| thread.cpu_ns).sum();
        let totals = self.totals();
        Phase {
            seconds: self.longest_ns as f64 / 1e9,
            threads: self.threads.len() as u32,
            client: ClientUse {
                cpu_seconds: cpu as f64 / 1e9,
                busiest_thread: totals.busiest,
                resident_bytes: 0,
            },
            tally: self.tally,
            series: self.series,
            ..Phase::default()
        }
    }

    /// The last point of a run that ended just after a full second says nothing.
    fn drop_stub(&mut self) {
        if self.series.len() < 2 || self.series.last().is_none_or(|last| last.seconds >= 0.1) {
            return;
        }
        if let (Some(stub), Some(last)) = (self.series.pop(), self.series.last_mut()) {
            last.at = stub.at;
            last.seconds += stub.seconds;
            last.succeeded += stub.succeeded;
            last.failed += stub.failed;
            last.bytes_received += stub.bytes_received;
            last.max_ns = last.max_ns.max(stub.max_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(thread: u32, half: u64, succeeded: u64) -> Interval {
        let mut interval = Interval {
            thread,
            from_ns: half * 500_000_000,
            to_ns: (half + 1) * 500_000_000,
            open: 5,
            cpu_ns: 400_000_000,
            ..Interval::default()
        };
        interval.tally.counts.succeeded = succeeded;
        interval.tally.counts.completed = succeeded;
        for _ in 0..succeeded {
            interval.tally.latency.whole.record(1_000_000 * (half + 1));
        }
        interval
    }

    #[test]
    fn intervals_of_all_threads_become_one_point_a_second() {
        let mut collector = Collector::new(3);
        for half in 0..6 {
            for thread in 0..2 {
                let mut interval = interval(thread, half, 10 * (half + 1));
                interval.is_last = half == 5;
                collector.add(0, interval);
            }
        }
        let phase = collector.finish();
        let seen: Vec<_> = phase.series.iter().map(|p| (p.at, p.succeeded)).collect();
        assert_eq!(seen, [(1.0, 60), (2.0, 140), (3.0, 220)]);
        assert_eq!(phase.tally.counts.succeeded, 420);
        assert_eq!((phase.seconds, phase.threads), (3.0, 2));
        assert!((phase.client.busiest_thread - 0.8).abs() < 1e-9);
        assert!((phase.client.cpu_seconds - 4.8).abs() < 1e-9);
    }

    #[test]
    fn a_lost_machine_is_not_waited_for() {
        let mut collector = Collector::new(10);
        collector.add(0, interval(0, 0, 1));
        collector.add(1, interval(0, 0, 1));
        for half in 1..8 {
            collector.add(0, interval(0, half, 1));
        }
        assert_eq!(collector.latest(), None);
        collector.lose(1);
        collector.add(0, interval(0, 8, 1));
        assert_eq!(collector.series.len(), 4);
        assert_eq!(collector.totals().open, 5);
    }
}
