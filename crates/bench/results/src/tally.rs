//! What is counted while load runs. Each thread has its own; they are merged
//! exactly, within a process and between machines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Histogram;

macro_rules! causes {
    ($($variant:ident = $name:literal, $about:literal;)*) => {
        /// Why a request failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum Cause {
            $(#[doc = $about] $variant,)*
        }

        impl Cause {
            /// All causes, in the order in which reports list them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word in reports and assertions.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it means, for the reference.
            pub fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }
        }
    };
}

causes! {
    Connect = "connect", "no connection: refused, unreachable, or no local port left";
    Tls = "tls", "the TLS handshake failed, or the certificate did not match";
    Timeout = "timeout", "connecting, or the response, took longer than allowed";
    Reset = "reset", "the connection was closed or reset before the response was complete";
    Malformed = "malformed", "the response was not valid in its protocol";
    Status = "status", "the status was 400 or more, or not one that was expected";
    Check = "check", "a check on the response failed";
}

/// Whether a cache answered, by `Cache-Status`, `X-Cache` or `Age`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It had the response.
    Hit,
    /// It had to ask its origin.
    Miss,
    /// The response does not say.
    Unknown,
}

/// Plain counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Requests that came to an end: succeeded and failed.
    pub completed: u64,
    /// Requests without a fault.
    pub succeeded: u64,
    /// Requests that failed, by cause.
    pub failed: BTreeMap<Cause, u64>,
    /// Requests that were due or under way when the time was up; neither succeeded nor failed.
    pub unfinished: u64,
    /// Responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read, heads included.
    pub bytes_received: u64,
    /// Bytes of response bodies.
    pub body_bytes: u64,
    /// Connections opened.
    pub connects: u64,
    /// Responses out of a cache.
    pub hits: u64,
    /// Responses that a cache fetched.
    pub misses: u64,
}

impl Counts {
    /// All failed requests.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Succeeded of completed, in percent; 100 when nothing was completed.
    pub fn success_percent(&self) -> f64 {
        if self.completed == 0 {
            return 100.0;
        }
        100.0 * self.succeeded as f64 / self.completed as f64
    }

    /// Hits of hits and misses, in percent, where responses tell.
    pub fn hit_percent(&self) -> Option<f64> {
        let told = self.hits + self.misses;
        (told > 0).then(|| 100.0 * self.hits as f64 / told as f64)
    }

    /// Adds everything of another.
    pub fn merge(&mut self, other: &Self) {
        self.completed += other.completed;
        self.succeeded += other.succeeded;
        self.unfinished += other.unfinished;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.body_bytes += other.body_bytes;
        self.connects += other.connects;
        self.hits += other.hits;
        self.misses += other.misses;
        for (&cause, count) in &other.failed {
            *self.failed.entry(cause).or_default() += count;
        }
        for (&status, count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
    }
}

/// Durations of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Opening a connection, TLS included.
    pub connect: Histogram,
    /// From the moment a request was sent (at open load: was due) to the first byte of its response.
    pub first_byte: Histogram,
    /// From that moment to the last byte.
    pub whole: Histogram,
}

impl Latency {
    /// Adds everything of another.
    pub fn merge(&mut self, other: &Self) {
        self.connect.merge(&other.connect);
        self.first_byte.merge(&other.first_byte);
        self.whole.merge(&other.whole);
    }
}

/// Figures of the requests with one label: a step of a scenario, a command of a key-value load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LabelTally {
    /// Requests without a fault.
    pub succeeded: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Whole durations.
    pub whole: Histogram,
}

/// Everything that is counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Plain counts.
    pub counts: Counts,
    /// Durations.
    pub latency: Latency,
    /// By label, in the order in which the workload names them; empty when there is one only.
    pub labels: Vec<LabelTally>,
    /// Failed checks and other faults in words, with how often; at most [`Tally::MOST_FAULTS`].
    pub faults: BTreeMap<String, u64>,
    /// What a session load adds.
    pub sessions: Option<crate::SessionFigures>,
}

impl Tally {
    /// Different faults kept in words.
    pub const MOST_FAULTS: usize = 50;

    /// Notes a fault in words.
    pub fn fault(&mut self, text: &str) {
        if let Some(count) = self.faults.get_mut(text) {
            *count += 1;
        } else if self.faults.len() < Self::MOST_FAULTS {
            self.faults.insert(text.to_owned(), 1);
        }
    }

    /// The tally of a label.
    pub fn label(&mut self, label: usize) -> &mut LabelTally {
        if self.labels.len() <= label {
            self.labels.resize_with(label + 1, LabelTally::default);
        }
        &mut self.labels[label]
    }

    /// Adds everything of another.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.latency.merge(&other.latency);
        for (i, label) in other.labels.iter().enumerate() {
            let mine = self.label(i);
            mine.succeeded += label.succeeded;
            mine.failed += label.failed;
            mine.whole.merge(&label.whole);
        }
        for (text, count) in &other.faults {
            if self.faults.len() < Self::MOST_FAULTS || self.faults.contains_key(text) {
                *self.faults.entry(text.clone()).or_default() += count;
            }
        }
        if let Some(sessions) = &other.sessions {
            self.sessions.get_or_insert_default().merge(sessions);
        }
    }
}
