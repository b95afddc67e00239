//! One stretch of load with the same settings, and what it takes to run it.

use std::time::Duration;

use forebay_engine::{Arrivals, Pace, Plan};
use forebay_results::format;
use serde::{Deserialize, Serialize};

use crate::args::{Arrival, Shape};
use crate::work::Work;

/// A rung of a ladder, or a step of a search. It is sent to agents as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rung {
    /// Connections on all machines together.
    pub(crate) connections: u64,
    /// Requests a second that are due on all machines together.
    pub(crate) rate: Option<f64>,
    /// The measured time.
    pub(crate) duration: Option<Duration>,
    /// Requests of all machines together.
    pub(crate) requests: Option<u64>,
    /// What is measured before is dropped.
    pub(crate) warm_up: Duration,
}

/// One machine's part of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    /// Its number among `machines`.
    pub(crate) machine: u32,
    pub(crate) machines: u32,
    /// Threads of each machine; 0 leaves it to the options. All have as many, as requests are
    /// dealt out to threads.
    pub(crate) threads: u32,
}

impl Share {
    pub(crate) const WHOLE: Self = Self {
        machine: 0,
        machines: 1,
        threads: 0,
    };

    /// This machine's part of a number.
    fn of(self, total: u64) -> u64 {
        let (machine, machines) = (u64::from(self.machine), u64::from(self.machines));
        total / machines + u64::from(machine < total % machines)
    }
}

impl Rung {
    /// The rungs that the options ask for.
    pub(crate) fn all(shape: &Shape) -> Vec<Self> {
        shape
            .connections
            .iter()
            .map(|&connections| Self {
                connections,
                rate: shape.rate,
                duration: shape.measured(),
                requests: shape.requests,
                warm_up: shape.warmup,
            })
            .collect()
    }

    /// For reports.
    pub(crate) fn name(&self) -> String {
        match self.rate {
            Some(rate) => format!("{} requests/s", format::rate(rate)),
            None => format::counted(self.connections, "connection", "connections"),
        }
    }

    /// What the engine of one machine is told. `times` are of a log at its own speed.
    pub(crate) fn plan(
        &self,
        shape: &Shape,
        work: &Work,
        times: Option<&Arrivals>,
        share: Share,
    ) -> Plan {
        let users = share.of(self.connections).max(1);
        let threads = match share.threads {
            0 => shape.threads_for(users) as u32,
            threads => threads,
        };
        let pace = match (times, self.rate) {
            (Some(times), _) => Pace::Open(times.clone()),
            (None, Some(rate)) => Pace::Open(match shape.arrivals {
                Arrival::Constant => Arrivals::Constant(rate),
                Arrival::Poisson => Arrivals::Poisson(rate),
            }),
            (None, None) => Pace::Closed,
        };
        Plan {
            endpoints: work.endpoints.clone(),
            users: users.min(u64::from(u32::MAX)) as u32,
            threads,
            share: (share.machine * threads, share.machines * threads),
            cores: shape.cores.clone(),
            duration: self.duration,
            requests: self.requests,
            warm_up: self.warm_up,
            ramp: shape.ramp,
            pace,
            pipeline: shape.pipeline.min(1 << 16) as u32,
            timeout: shape.timeout,
            connect_timeout: shape.connect_timeout,
            sources: shape.source.clone(),
            open_early: work.keep_alive,
        }
    }
}
