//! The server under load, when it runs on this machine: its processor time and
//! its memory, read from `/proc`.
//!
//! An [`Observed`] is found before a phase (by the address it listens at, or by
//! pid), started when the measured time begins, sampled about once a second and
//! finished into a [`ServerUse`]. A reading of twenty processes takes about a
//! millisecond; nothing runs between readings.

mod accounts;
mod listeners;
mod machine;
mod memory;
mod own;
mod process;
mod search;

pub(crate) use search::Unseen;

use std::collections::BTreeMap;

use forebay_results::{ServerSample, ServerUse};

pub(crate) use machine::machine;
pub(crate) use own::own_resident_bytes;

use accounts::Accounts;
use memory::Memory;
use process::{Id, Reading};

/// A server: all processes that hold its socket, and all that descend from them.
#[derive(Debug)]
pub(crate) struct Observed {
    name: String,
    /// Processes that were seen alive at the last reading.
    alive: BTreeMap<u32, Id>,
    accounts: Accounts,
    memory: Memory,
    /// Time and processor seconds at the sample before.
    last: (f64, f64),
    peak_resident_bytes: u64,
    samples: Vec<ServerSample>,
}

impl Observed {
    /// The server of which these processes are the first.
    fn of(pids: &[u32]) -> Option<Self> {
        let readings: Vec<Reading> = pids.iter().filter_map(|&pid| process::read(pid)).collect();
        let is_child = |r: &&Reading| !pids.contains(&r.parent);
        let first = readings.iter().find(is_child).or(readings.first())?;
        let mut observed = Self {
            name: first.name.clone(),
            alive: readings.iter().map(|r| (r.id.pid, r.id)).collect(),
            accounts: Accounts::default(),
            memory: Memory::default(),
            last: (0.0, 0.0),
            peak_resident_bytes: 0,
            samples: Vec::new(),
        };
        observed.start();
        Some(observed)
    }

    /// Its processes at the last reading; none when it has ended.
    fn pids(&self) -> Vec<u32> {
        self.alive.keys().copied().collect()
    }

    /// Begins the measured time: what was used until now does not count. May be called again for
    /// the next phase.
    pub(crate) fn start(&mut self) {
        let readings = self.readings();
        self.accounts.begin(&readings);
        self.last = (0.0, 0.0);
        self.samples.clear();
        self.peak_resident_bytes = self.resident();
    }

    /// Takes a reading, `at_seconds` after the measured time began. Readings that are less than
    /// 50 ms apart are left out: processor time is counted in steps of 10 ms.
    pub(crate) fn sample(&mut self, at_seconds: f64) {
        let seconds = at_seconds - self.last.0;
        if seconds < 0.05 {
            return;
        }
        let used = self.read();
        let resident_bytes = self.resident();
        self.peak_resident_bytes = self.peak_resident_bytes.max(resident_bytes);
        self.samples.push(ServerSample {
            at: at_seconds,
            cores: (used - self.last.1).max(0.0) / seconds,
            resident_bytes,
        });
        self.last = (at_seconds, used);
    }

    /// Processors in use between the last two samples; 1.0 is one whole core.
    pub(crate) fn cores(&self) -> Option<f64> {
        self.samples.last().map(|sample| sample.cores)
    }

    /// Ends the measured time, in which `completed` requests were completed. A server that ended
    /// meanwhile has no pids in what is returned, and all the time it is known to have used.
    pub(crate) fn finish(mut self, completed: u64) -> ServerUse {
        let used_seconds = self.read();
        let resident = self.resident();
        let used = self.accounts.used();
        ServerUse {
            pids: self.pids(),
            name: self.name,
            user_seconds: process::seconds(used.user),
            system_seconds: process::seconds(used.system),
            cpu_us_per_request: if completed == 0 {
                0.0
            } else {
                used_seconds * 1e6 / completed as f64
            },
            peak_resident_bytes: self.peak_resident_bytes.max(resident),
            samples: self.samples,
        }
    }

    /// Brings the accounts up to date and returns the processor seconds since the start.
    fn read(&mut self) -> f64 {
        let readings = self.readings();
        self.accounts.update(&readings);
        let used = self.accounts.used();
        process::seconds(used.user + used.system)
    }

    /// All processes as they are now; those that ended leave `alive`, new children enter it.
    fn readings(&mut self) -> Vec<Reading> {
        let alive = std::mem::take(&mut self.alive);
        let known = alive.values().filter_map(|&id| process::read_same(id));
        let readings = process::with_descendants(known.collect());
        self.alive = readings.iter().map(|r| (r.id.pid, r.id)).collect();
        readings
    }

    fn resident(&mut self) -> u64 {
        self.memory.resident_bytes(&self.pids())
    }
}

#[cfg(test)]
mod tests;
