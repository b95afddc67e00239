//! What `forebay top` asks of the server, and what it makes of the answers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::commands::client::Client;
use crate::exit::Failure;

/// Seconds of the past that are asked for: more than most screens are wide.
const PAST_S: usize = 300;
/// The list of the hottest is made by a walk through the index, so not each second.
const OBJECTS_EVERY: Duration = Duration::from_secs(5);
/// How many of them.
const OBJECTS: usize = 100;
/// Over how long the misses of "now" are counted.
const LATELY: Duration = Duration::from_secs(60);

/// The reasons for misses: key of the counter, and words.
pub(super) const REASONS: [(&str, &str); 11] = [
    ("miss_uri", "nothing was stored under the URL"),
    ("miss_vary", "only other variants were stored"),
    ("miss_stale", "the stored object was stale"),
    ("miss_request", "the request asked for it"),
    ("miss_partial", "only other ranges were stored"),
    ("miss_hit_for_miss", "the last response could not be stored"),
    ("miss_bypass", "the configuration says so"),
    ("miss_method", "the method"),
    ("miss_purged", "the object had been purged"),
    ("miss_disk_error", "the disk could not be read"),
    ("miss_other", "the object was still on its way"),
];

/// What was seen at one moment.
pub(super) struct Seen {
    /// `/api/v1/status`
    pub(super) status: Value,
    /// Since the start; `None`: nothing was asked for yet.
    pub(super) hit_ratio: Option<f64>,
    /// What happened in each of the last seconds, the oldest first.
    pub(super) past: Vec<Second>,
    /// The hottest objects.
    pub(super) objects: Vec<Value>,
    /// Of each of [`REASONS`]: misses lately, when that is known, and since the start.
    pub(super) reasons: Vec<(Option<u64>, u64)>,
}

/// A second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Second {
    pub(super) requests: u64,
    pub(super) hits: u64,
    /// Requests for which the cache could have been of use.
    pub(super) looked: u64,
    pub(super) errors: u64,
    pub(super) bytes_out: u64,
    pub(super) hit_p99_us: u64,
    pub(super) miss_p99_us: u64,
}

/// Asks again and again; keeps what need not be asked each time.
pub(super) struct Asker {
    client: Client,
    objects: Value,
    objects_at: Option<Instant>,
    /// Process and misses by reason, of the last minute.
    reasons: VecDeque<(Instant, Value, Vec<u64>)>,
}

impl Asker {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            objects: Value::Null,
            objects_at: None,
            reasons: VecDeque::new(),
        }
    }

    /// Asks for everything.
    ///
    /// # Errors
    /// When the server is not there or refuses.
    pub(super) fn ask(&mut self) -> Result<Seen, Failure> {
        let get = |target: &str| self.client.json("GET", target, None);
        let status = get("/api/v1/status")?;
        let counters = get("/api/v1/counters")?;
        let history = get(&format!("/api/v1/history?seconds={PAST_S}"))?;
        if self
            .objects_at
            .is_none_or(|at| at.elapsed() >= OBJECTS_EVERY)
        {
            // A server without this list still has figures.
            let target = format!("/api/v1/objects/hottest?limit={OBJECTS}");
            self.objects = get(&target).unwrap_or_else(|_| json!({}));
            self.objects_at = Some(Instant::now());
        }
        let pid = status["pid"].clone();
        let mut seen = of(status, &counters, &history, &self.objects);
        self.note_reasons(pid, &mut seen.reasons);
        Ok(seen)
    }

    /// Makes the counts since the start those of the last minute, too.
    fn note_reasons(&mut self, pid: Value, reasons: &mut [(Option<u64>, u64)]) {
        let now = Instant::now();
        let all = reasons.iter().map(|(_, all)| *all).collect();
        // Another process counts from 0.
        self.reasons
            .retain(|(at, of, _)| *of == pid && now.duration_since(*at) <= LATELY);
        self.reasons.push_back((now, pid, all));
        if let Some((_, _, first)) = self.reasons.front().filter(|_| self.reasons.len() > 1) {
            for ((lately, all), then) in reasons.iter_mut().zip(first) {
                *lately = Some(all.saturating_sub(*then));
            }
        }
    }
}

/// Puts answers together. What is not in them counts as 0 or is left out.
pub(super) fn of(status: Value, counters: &Value, history: &Value, objects: &Value) -> Seen {
    let count = |key: &str| counters["counters"][key].as_u64().unwrap_or(0);
    Seen {
        past: past(history),
        hit_ratio: counters["hit_ratio"].as_f64(),
        objects: objects["objects"].as_array().cloned().unwrap_or_default(),
        reasons: REASONS.iter().map(|(key, _)| (None, count(key))).collect(),
        status,
    }
}

fn past(history: &Value) -> Vec<Second> {
    let columns = &history["columns"];
    let count = columns["requests"].as_array().map_or(0, Vec::len);
    let seconds = (0..count).map(|row| {
        let get = |name: &str| columns[name][row].as_u64().unwrap_or(0);
        Second {
            requests: get("requests"),
            hits: get("hits"),
            looked: get("hits") + get("misses") + get("passes"),
            errors: get("errors"),
            bytes_out: get("bytes_out"),
            hit_p99_us: get("hit_p99_us"),
            miss_p99_us: get("miss_p99_us"),
        }
    });
    seconds.collect()
}

impl Second {
    /// The share of requests served from the cache, in thousandths.
    pub(super) fn hit_permille(&self) -> Option<u64> {
        (self.hits.min(self.looked) * 1_000).checked_div(self.looked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_without_requests_has_no_ratio() {
        let second = |hits, looked| Second {
            hits,
            looked,
            ..Second::default()
        };
        assert_eq!(second(0, 0).hit_permille(), None);
        assert_eq!(second(1, 4).hit_permille(), Some(250));
        assert_eq!(second(4, 4).hit_permille(), Some(1_000));
    }

    #[test]
    fn columns_of_different_length_and_kind_are_no_trouble() {
        let history = json!({"columns": {"requests": [1, 2], "hits": [1], "misses": "none"}});
        let past = past(&history);
        assert_eq!(past.len(), 2);
        assert_eq!((past[0].hits, past[1].hits, past[1].requests), (1, 0, 2));
    }
}
