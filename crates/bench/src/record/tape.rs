//! What was recorded so far, in memory: one entry an exchange, bounded.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use forebay_workload::Target;

/// Exchanges that are recorded; more are no scenario that anybody reads.
const MOST_EXCHANGES: usize = 20_000;
/// Bodies that are kept, all together.
const MOST_BYTES: usize = 512 << 20;

/// An exchange that came to its end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Taken {
    /// When its request was there, since the recording began.
    pub(super) at: Duration,
    /// When the response was complete.
    pub(super) end: Duration,
    pub(super) method: String,
    /// What it went to, the target's own address also when the browser was shown another.
    pub(super) url: Target,
    /// The request's fields as the target got them.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) status: u16,
    /// The response's fields as the target sent them.
    pub(super) response: Vec<(String, String)>,
    /// The response's body; its beginning, when it is very long.
    pub(super) content: Vec<u8>,
}

impl Taken {
    /// The first value of a field of the request.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        value(&self.headers, name)
    }

    /// The first value of a field of the response.
    pub(super) fn response_header(&self, name: &str) -> Option<&str> {
        value(&self.response, name)
    }

    /// Media type of the response in lower case, without parameters.
    pub(super) fn media_type(&self) -> String {
        let value = self.response_header("Content-Type").unwrap_or_default();
        value
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    }

    /// `https://shop.example:8443`
    pub(super) fn origin(&self) -> String {
        let scheme = if self.url.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.url.authority)
    }

    /// The path without the query.
    pub(super) fn path(&self) -> &str {
        self.url.path.split('?').next().unwrap_or_default()
    }
}

fn value<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = fields
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// The recording.
#[derive(Debug)]
pub(super) struct Tape {
    began: Instant,
    /// The same moment on the clock on the wall.
    pub(super) began_at: SystemTime,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    taken: Vec<Taken>,
    bytes: usize,
    /// What could not be recorded, by host and in words, with how often.
    missed: BTreeMap<(String, String), u64>,
    /// Hosts that were only tunnelled to.
    tunnelled: BTreeMap<String, u64>,
}

impl Tape {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            began_at: SystemTime::now(),
            inner: Mutex::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the recording began.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Adds an exchange; returns how many there are.
    pub(super) fn add(&self, mut taken: Taken) -> usize {
        let mut inner = self.inner();
        if inner.taken.len() >= MOST_EXCHANGES {
            let words = format!("the recording is full with {MOST_EXCHANGES} requests; left out");
            *inner.missed.entry((String::new(), words)).or_default() += 1;
            return inner.taken.len();
        }
        if inner.bytes + taken.body.len() + taken.content.len() > MOST_BYTES {
            taken.content = Vec::new();
            let words = "the recording is large; response bodies no longer looked at for tokens";
            *inner
                .missed
                .entry((String::new(), words.into()))
                .or_default() += 1;
        }
        inner.bytes += taken.body.len() + taken.content.len();
        inner.taken.push(taken);
        inner.taken.len()
    }

    /// Something that happened with a host and cannot be recorded.
    pub(super) fn miss(&self, host: &str, words: String) {
        let mut inner = self.inner();
        let words = (host.to_owned(), words);
        // A browser may ask for very many different things that fail.
        if inner.missed.len() < 1000 || inner.missed.contains_key(&words) {
            *inner.missed.entry(words).or_default() += 1;
        }
    }

    /// A tunnel to a host was asked for.
    pub(super) fn tunnel(&self, host: String) {
        let mut inner = self.inner();
        if inner.tunnelled.len() < 1000 || inner.tunnelled.contains_key(&host) {
            *inner.tunnelled.entry(host).or_default() += 1;
        }
    }

    /// Everything until now, in the order in which the requests were sent.
    pub(super) fn taken(&self) -> Vec<Taken> {
        let mut taken = self.inner().taken.clone();
        taken.sort_by_key(|taken| taken.at);
        taken
    }

    /// What could not be recorded: the host, if it was one's, and words.
    pub(super) fn missed(&self) -> Vec<(String, String)> {
        let inner = self.inner();
        let times = |((host, words), count): (&(String, String), &u64)| match count {
            1 => (host.clone(), words.clone()),
            many => (host.clone(), format!("{words} ({many} times)")),
        };
        inner.missed.iter().map(times).collect()
    }

    /// Hosts that were tunnelled to.
    pub(super) fn tunnelled(&self) -> Vec<String> {
        self.inner().tunnelled.keys().cloned().collect()
    }
}
