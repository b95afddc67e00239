//! The result of a load test, as it is kept in a file.

use serde::{Deserialize, Serialize};

use crate::{Histogram, Tally};

/// Everything of one run of `forebay bench`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Of this format; 1.
    pub format: u32,
    /// The program and its version.
    pub program: String,
    /// What was asked for, in words: `GET http://127.0.0.1:8080/`.
    pub title: String,
    /// The command line.
    pub command: Vec<String>,
    /// When it began, RFC 3339.
    pub started: String,
    /// Where the load came from; several with agents.
    pub machines: Vec<Machine>,
    /// One, or one for each rung of a ladder or step of a search.
    pub phases: Vec<Phase>,
    /// What a reader must know before believing the figures.
    pub warnings: Vec<String>,
    /// Which phase a search ended with, and what it says: `18,400 requests/s keep p99 < 20 ms`.
    pub finding: Option<String>,
}

/// A machine that sent load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name; for an agent, the address it was reached at.
    pub name: String,
    /// Operating system and kernel.
    pub system: String,
    /// Processor.
    pub processor: String,
    /// Cores.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Requests it completed.
    pub completed: u64,
    /// Why it left early, if it did.
    pub lost: Option<String>,
}

/// A stretch of load with the same settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// `500 connections`, `20,000 requests/s`.
    pub name: String,
    /// Connections, or virtual users.
    pub connections: u64,
    /// Requests a second that were due; absent at closed load.
    pub rate: Option<f64>,
    /// Whether connections were kept for further requests.
    pub keep_alive: bool,
    /// Requests under way at once on a connection.
    pub pipeline: u32,
    /// Threads of the load tester, on all machines.
    pub threads: u32,
    /// Measured time, without warm-up.
    pub seconds: f64,
    /// What was counted.
    pub tally: Tally,
    /// The names that belong to `tally.labels`.
    pub labels: Vec<String>,
    /// Over time, about one a second.
    pub series: Vec<Point>,
    /// The load tester's own use of the machine.
    pub client: ClientUse,
    /// The server's, when it runs on this machine.
    pub server: Option<ServerUse>,
}

impl Phase {
    /// Requests that succeeded, a second.
    pub fn requests_per_second(&self) -> f64 {
        per_second(self.tally.counts.succeeded, self.seconds)
    }

    /// Successful requests a minute, as webbench counts pages.
    pub fn pages_per_minute(&self) -> f64 {
        self.requests_per_second() * 60.0
    }

    /// Bytes read a second.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.tally.counts.bytes_received, self.seconds)
    }

    /// Requests under way on the mean (Little's law: rate times mean duration).
    pub fn concurrency(&self) -> f64 {
        per_second(self.tally.latency.whole.count(), self.seconds)
            * self.tally.latency.whole.mean_ns()
            / 1e9
    }

    /// Processors that the server kept busy on the mean, if it was observed.
    pub fn server_cores(&self) -> Option<f64> {
        let server = self.server.as_ref()?;
        let busy = server.user_seconds + server.system_seconds;
        (self.seconds > 0.0).then(|| busy / self.seconds)
    }

    /// Processors that the load tester kept busy on the mean.
    pub fn client_cores(&self) -> f64 {
        if self.seconds > 0.0 {
            self.client.cpu_seconds / self.seconds
        } else {
            0.0
        }
    }

    /// The labels and what was counted of each; none when there is one kind of request only.
    pub fn label_figures(&self) -> impl Iterator<Item = LabelFigures<'_>> {
        let named = self.labels.iter().zip(&self.tally.labels);
        named.map(|(name, tally)| LabelFigures { name, tally })
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// One moment of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Seconds since the measured time began; the end of the stretch the point stands for.
    pub at: f64,
    /// Length of the stretch in seconds.
    pub seconds: f64,
    /// Requests that succeeded in it.
    pub succeeded: u64,
    /// Requests that failed in it.
    pub failed: u64,
    /// Bytes read in it.
    pub bytes_received: u64,
    /// Connections open at its end.
    pub open: u64,
    /// Percentiles of the whole duration in it, in nanoseconds.
    pub p50_ns: u64,
    /// 90 %.
    pub p90_ns: u64,
    /// 99 %.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// What the load tester itself used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientUse {
    /// Processor time, user and system, in seconds.
    pub cpu_seconds: f64,
    /// Share of its busiest thread's time that it was on a processor, 0 to 1.
    pub busiest_thread: f64,
    /// Greatest resident memory, in bytes.
    pub resident_bytes: u64,
}

/// What the server used during the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerUse {
    /// Its command.
    pub name: String,
    /// Its processes at the end.
    pub pids: Vec<u32>,
    /// User time of all processes, in seconds.
    pub user_seconds: f64,
    /// System time of all processes, in seconds.
    pub system_seconds: f64,
    /// Processor time a completed request, in microseconds.
    pub cpu_us_per_request: f64,
    /// Greatest resident size of all processes together, in bytes.
    pub peak_resident_bytes: u64,
    /// Over time.
    pub samples: Vec<ServerSample>,
}

/// The server at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerSample {
    /// Seconds since the measured time began.
    pub at: f64,
    /// Processors in use since the sample before: 1.0 is one whole core.
    pub cores: f64,
    /// Resident memory of all processes, in bytes.
    pub resident_bytes: u64,
}

/// Figures of one label, for tables.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelFigures<'a> {
    /// The label.
    pub name: &'a str,
    /// What was counted.
    pub tally: &'a crate::LabelTally,
}

/// What a session load adds: pages that write, are redirected, and read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFigures {
    /// Sessions begun.
    pub sessions: u64,
    /// Sessions whose second page had what the first wrote.
    pub kept: u64,
    /// Sessions whose second page had nothing.
    pub lost: u64,
    /// Sessions whose second page had something else.
    pub wrong: u64,
    /// From the first page's request to the second page's last byte.
    pub between: Histogram,
}

impl SessionFigures {
    /// Adds everything of another.
    pub fn merge(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.kept += other.kept;
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.between.merge(&other.between);
    }
}
