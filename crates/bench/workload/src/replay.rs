//! Requests in an order and at times that something recorded: a log, or a
//! browser.
//!
//! A log of ten million lines asks for some ten thousand different things.
//! Each is kept once; of a line remain eight bytes, which request and when.

use std::collections::HashMap;

use crate::{Base, Request, Skipped, TargetError};

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Milliseconds after the first of the replay.
    pub at_ms: u32,
    /// Which of [`Replay::requests`].
    pub index: u32,
}

/// What is sent, in which order and when.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Each once.
    pub requests: Vec<Request>,
    /// By time; among equals as recorded.
    pub order: Vec<Slot>,
    /// Whether there were times; without, every slot is at 0.
    pub timed: bool,
    /// What was read and is not sent.
    pub skipped: Skipped,
}

impl Replay {
    /// Begins a replay whose requests go where `base` says.
    pub fn builder(base: Base) -> Builder {
        Builder {
            base,
            ..Builder::default()
        }
    }

    /// How often each request is in the order: the weights of a load by popularity.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0u32; self.requests.len()];
        for slot in &self.order {
            if let Some(count) = counts.get_mut(slot.index as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// From the first request to the last, at recorded speed.
    pub fn duration_ms(&self) -> u32 {
        self.order.last().map_or(0, |slot| slot.at_ms)
    }
}

/// Collects requests one by one, each kept once.
#[derive(Debug)]
pub struct Builder {
    base: Base,
    replay: Replay,
    known: HashMap<Box<[u8]>, u32>,
    key: Vec<u8>,
    most_slots: usize,
    most_requests: usize,
    first_ms: Option<i64>,
    /// `at_ms` of the slot before, counted from [`Builder::ORIGIN`].
    last_at: u32,
    unsorted: bool,
    whole_seconds: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            base: Base::default(),
            replay: Replay::default(),
            known: HashMap::new(),
            key: Vec::new(),
            most_slots: Self::MOST_SLOTS,
            most_requests: Self::MOST_REQUESTS,
            first_ms: None,
            last_at: Self::ORIGIN,
            unsorted: false,
            whole_seconds: true,
        }
    }
}

impl Builder {
    /// Where the first request lies while times are collected: lines may be out of order, so
    /// that as much room is before it as behind.
    const ORIGIN: u32 = 1 << 31;
    /// 800 MB of order.
    const MOST_SLOTS: usize = 100_000_000;
    /// About a gigabyte.
    const MOST_REQUESTS: usize = 3_000_000;

    /// Sets how many requests and how many different ones are kept.
    #[must_use]
    pub fn limits(mut self, slots: usize, requests: usize) -> Self {
        self.most_slots = slots.min(Self::MOST_SLOTS);
        self.most_requests = requests.min(Self::MOST_REQUESTS);
        self
    }

    /// What was left out so far, to be added to.
    pub fn skipped(&mut self) -> &mut Skipped {
        &mut self.replay.skipped
    }

    /// Adds a request without a body at a time in Unix milliseconds. `headers` are sent with it
    /// and make it a request of its own.
    ///
    /// # Errors
    /// When the URL cannot be sent or nothing says where; the request is not counted then.
    pub fn push(
        &mut self,
        at_ms: Option<i64>,
        method: &str,
        url: &str,
        host: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Result<(), TargetError> {
        self.key.clear();
        // No part can hold a zero byte that means anything to HTTP.
        for part in [method, url, host.unwrap_or_default()] {
            self.key.extend_from_slice(part.as_bytes());
            self.key.push(0);
        }
        for (name, value) in headers {
            self.key.extend_from_slice(name.as_bytes());
            self.key.push(1);
            self.key.extend_from_slice(value.as_bytes());
            self.key.push(0);
        }
        if let Some(&index) = self.known.get(self.key.as_slice()) {
            self.slot(at_ms, index);
            return Ok(());
        }
        let (target, host) = self.base.place(url, host)?;
        let host = host.map(|host| ("Host".to_owned(), host));
        let own = headers
            .iter()
            .map(|&(name, value)| (name.into(), value.into()));
        let request = Request {
            method: method.into(),
            target,
            headers: host.into_iter().chain(own).collect(),
            body: Vec::new(),
        };
        self.intern(at_ms, request);
        Ok(())
    }

    /// Adds a whole request, which goes where the base says. One that goes nowhere is counted in
    /// [`Replay::skipped`], with its number in the place of a line's.
    pub fn push_request(&mut self, at_ms: Option<i64>, mut request: Request) {
        let moved = self.base.move_target(Some(request.target.clone()), "");
        match moved {
            Ok((target, host)) => {
                request.target = target;
                if let Some(host) = host.filter(|_| !request.has("Host")) {
                    request.headers.insert(0, ("Host".into(), host));
                }
            }
            Err(error) => {
                let skipped = &mut self.replay.skipped;
                let number = self.replay.order.len() as u64 + skipped.total() + 1;
                skipped.errors.add(number, || error.to_string());
                return;
            }
        }
        self.key.clear();
        self.key
            .extend_from_slice(request.target.place().as_bytes());
        self.key.push(u8::from(request.target.tls));
        request.write_to(false, &mut self.key);
        match self.known.get(self.key.as_slice()) {
            Some(&index) => self.slot(at_ms, index),
            None => self.intern(at_ms, request),
        }
    }

    /// Keeps a request under the key that has been written.
    fn intern(&mut self, at_ms: Option<i64>, request: Request) {
        let full = self.replay.requests.len() >= self.most_requests;
        let Some(index) = u32::try_from(self.replay.requests.len())
            .ok()
            .filter(|_| !full)
        else {
            self.replay.skipped.beyond_limit += 1;
            return;
        };
        self.replay.requests.push(request);
        self.known.insert(self.key.as_slice().into(), index);
        self.slot(at_ms, index);
    }

    fn slot(&mut self, at_ms: Option<i64>, index: u32) {
        if self.replay.order.len() >= self.most_slots {
            self.replay.skipped.beyond_limit += 1;
            return;
        }
        let at_ms = match at_ms {
            Some(at_ms) => self.at(at_ms),
            None => {
                self.replay.skipped.without_time += 1;
                self.last_at
            }
        };
        self.unsorted |= at_ms < self.last_at;
        self.last_at = at_ms;
        self.replay.order.push(Slot { at_ms, index });
    }

    fn at(&mut self, unix_ms: i64) -> u32 {
        self.replay.timed = true;
        self.whole_seconds &= unix_ms % 1_000 == 0;
        let first = *self.first_ms.get_or_insert(unix_ms);
        let at = unix_ms
            .saturating_sub(first)
            .saturating_add(i64::from(Self::ORIGIN));
        u32::try_from(at).unwrap_or_else(|_| {
            self.replay.skipped.out_of_time += 1;
            if at < 0 { 0 } else { u32::MAX }
        })
    }

    /// Puts the requests in order of time, beginning with 0.
    pub fn finish(self) -> Replay {
        let mut replay = self.replay;
        if self.unsorted {
            // Stable: among equals the order of the lines.
            replay.order.sort_by_key(|slot| slot.at_ms);
        }
        let first = replay.order.first().map_or(0, |slot| slot.at_ms);
        for slot in &mut replay.order {
            slot.at_ms -= first;
        }
        if replay.timed && self.whole_seconds {
            spread(&mut replay.order);
        }
        if !replay.timed {
            replay.skipped.without_time = 0;
        }
        replay.order.shrink_to_fit();
        replay.requests.shrink_to_fit();
        replay
    }
}

/// Spreads the requests of one second evenly over it. A log that knows only seconds would
/// otherwise be sent as a volley at the beginning of each.
fn spread(order: &mut [Slot]) {
    for second in order.chunk_by_mut(|one, other| one.at_ms == other.at_ms) {
        let count = second.len() as u64;
        for (place, slot) in second.iter_mut().enumerate() {
            let later = 1_000 * place as u64 / count;
            slot.at_ms = slot.at_ms.saturating_add(later as u32);
        }
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
