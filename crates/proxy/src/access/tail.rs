//! Exchanges shown live, to whoever asks for them.
//!
//! ```text
//!  worker ──fits the filter?──▶ line ──▶ queue ──▶ reader
//!                                          └ full: dropped, counted, and the reader told
//! ```
//!
//! A tail lives from [`Tails::open`] until it is dropped. As long as there is none,
//! an exchange pays one relaxed load. A worker never waits for a reader: the lock of
//! a queue is held to put one line in or to take all lines out, nothing else.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use forebay_config::settings::LogFormat;
use parking_lot::{Condvar, Mutex};

use super::clock::Clock;
use super::filter::TailFilter;
use super::format::Format;
use super::record::Record;

/// How many tails there may be at once.
pub const MOST_TAILS: usize = 16;
/// Bytes that wait for a reader at most, whatever number of lines it asked for.
const QUEUE_BYTES: usize = 16 << 20;

/// All tails of the process. It outlives reloads of the access log.
pub(super) struct Tails {
    /// How many there are: all that an exchange looks at while there are none.
    count: AtomicUsize,
    queues: ArcSwap<Vec<Arc<Queue>>>,
    /// Held while the list is changed.
    changing: Mutex<()>,
    format: Format,
}

/// What one reader gets.
struct Queue {
    filter: TailFilter,
    /// Lines that wait at most.
    capacity: usize,
    waiting: Mutex<Waiting>,
    ready: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Lines dropped after the last of `lines`.
    dropped: u64,
}

/// A live view on the exchanges that end from now on. Dropped, it ends.
pub struct Tail {
    tails: Arc<Tails>,
    queue: Arc<Queue>,
    /// Taken out of the queue, still to be given out.
    taken: Waiting,
}

/// What a tail shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TailLine {
    /// An exchange: a line of the access log in its JSON format, without the line feed.
    Exchange(Vec<u8>),
    /// So many exchanges that fit the filter were lost here, because the reader was too slow.
    Dropped(u64),
}

/// Why there is no tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TailError {
    /// There are [`MOST_TAILS`] already.
    TooMany,
    /// The filter asks for what does not exist.
    Filter(String),
}

impl Tails {
    pub(super) fn new() -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            count: AtomicUsize::new(0),
            queues: ArcSwap::default(),
            changing: Mutex::new(()),
            format: Format::of(&LogFormat::Json)?,
        }))
    }

    /// Whether there are any.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Begins a tail of at most `capacity` (at least one) waiting lines.
    ///
    /// # Errors
    /// There are too many already, or the filter names what does not exist.
    pub(super) fn open(
        self: &Arc<Self>,
        filter: TailFilter,
        capacity: usize,
    ) -> Result<Tail, TailError> {
        let queue = Arc::new(Queue {
            filter: filter.ready().map_err(TailError::Filter)?,
            capacity: capacity.max(1),
            waiting: Mutex::default(),
            ready: Condvar::new(),
        });
        let _changing = self.changing.lock();
        let mut queues = self.queues.load().to_vec();
        if queues.len() >= MOST_TAILS {
            return Err(TailError::TooMany);
        }
        queues.push(Arc::clone(&queue));
        self.put(queues);
        Ok(Tail {
            tails: Arc::clone(self),
            queue,
            taken: Waiting::default(),
        })
    }

    fn close(&self, queue: &Arc<Queue>) {
        let _changing = self.changing.lock();
        let mut queues = self.queues.load().to_vec();
        queues.retain(|other| !Arc::ptr_eq(other, queue));
        self.put(queues);
    }

    fn put(&self, queues: Vec<Arc<Queue>>) {
        let count = queues.len();
        self.queues.store(Arc::new(queues));
        self.count.store(count, Relaxed);
    }

    /// Shows an exchange to all whom it concerns. Returns how many of them lost it.
    pub(super) fn show(&self, record: &Record<'_>, clock: &mut Clock) -> u64 {
        let mut line: Option<Vec<u8>> = None;
        let mut lost = 0;
        for queue in self.queues.load().iter() {
            if !queue.filter.fits(record) {
                continue;
            }
            let line = line.get_or_insert_with(|| {
                let mut line = Vec::with_capacity(512);
                self.format.append(record, clock, &mut line);
                line.pop();
                line
            });
            lost += u64::from(!queue.push(line));
        }
        lost
    }
}

impl Queue {
    /// False: it was full.
    fn push(&self, line: &[u8]) -> bool {
        let mut waiting = self.waiting.lock();
        let full = waiting.lines.len() >= self.capacity || waiting.bytes + line.len() > QUEUE_BYTES;
        // Once one is dropped all are until the reader comes, so that it learns where the gap is.
        if full || waiting.dropped > 0 {
            waiting.dropped += 1;
            return false;
        }
        waiting.bytes += line.len();
        waiting.lines.push_back(line.to_vec());
        drop(waiting);
        self.ready.notify_one();
        true
    }
}

impl Tail {
    /// The next line; `None` when there is none within `timeout`.
    pub fn recv(&mut self, timeout: Duration) -> Option<TailLine> {
        if let Some(line) = self.next_taken() {
            return Some(line);
        }
        self.take(timeout);
        self.next_taken()
    }

    fn next_taken(&mut self) -> Option<TailLine> {
        if let Some(line) = self.taken.lines.pop_front() {
            return Some(TailLine::Exchange(line));
        }
        let dropped = std::mem::take(&mut self.taken.dropped);
        (dropped > 0).then_some(TailLine::Dropped(dropped))
    }

    /// Takes all that waits, or waits for the first.
    fn take(&mut self, timeout: Duration) {
        let until = Instant::now().checked_add(timeout);
        let mut waiting = self.queue.waiting.lock();
        while waiting.lines.is_empty() && waiting.dropped == 0 {
            let Some(until) = until else {
                self.queue.ready.wait(&mut waiting);
                continue;
            };
            if self.queue.ready.wait_until(&mut waiting, until).timed_out() {
                break;
            }
        }
        // Buffers go round: what was given out becomes the queue.
        self.taken.bytes = 0;
        std::mem::swap(&mut *waiting, &mut self.taken);
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.tails.close(&self.queue);
    }
}

impl fmt::Debug for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tail")
            .field("filter", &self.queue.filter)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for TailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "{MOST_TAILS} readers follow the exchanges already"),
            Self::Filter(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for TailError {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::record::example;
    use super::*;

    const NOW: Duration = Duration::ZERO;
    const LONG: Duration = Duration::from_secs(20);

    fn tails() -> Arc<Tails> {
        Tails::new().unwrap()
    }

    fn show(tails: &Tails, target: &str) -> u64 {
        tails.show(&example(1, target.as_bytes()), &mut Clock::new())
    }

    fn target(line: Option<TailLine>) -> String {
        let Some(TailLine::Exchange(line)) = line else {
            panic!("no exchange: {line:?}");
        };
        let text = String::from_utf8(line).unwrap();
        assert!(text.starts_with('{') && text.ends_with('}'), "{text}");
        let (_, rest) = text.split_once("\"target\":\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }

    #[test]
    fn a_reader_gets_what_fits_in_its_order() {
        let tails = tails();
        let filter = TailFilter {
            url: Some("/a*".into()),
            ..TailFilter::default()
        };
        let mut tail = tails.open(filter, 10).unwrap();
        for path in ["/a1", "/b", "/a2"] {
            assert_eq!(show(&tails, path), 0);
        }
        assert_eq!(target(tail.recv(NOW)), "/a1");
        assert_eq!(target(tail.recv(NOW)), "/a2");
        assert_eq!(tail.recv(NOW), None);
    }

    #[test]
    fn what_is_lost_is_said_where_it_was_lost() {
        let tails = tails();
        let mut tail = tails.open(TailFilter::default(), 2).unwrap();
        let lost: u64 = (0..5).map(|n| show(&tails, &format!("/{n}"))).sum();
        assert_eq!(lost, 3);
        assert_eq!(target(tail.recv(NOW)), "/0");
        show(&tails, "/5");
        assert_eq!(target(tail.recv(NOW)), "/1");
        assert_eq!(tail.recv(NOW), Some(TailLine::Dropped(3)));
        assert_eq!(target(tail.recv(NOW)), "/5");
        assert_eq!(tail.recv(NOW), None);
    }

    #[test]
    fn bytes_are_bounded_as_well() {
        let tails = tails();
        let mut tail = tails.open(TailFilter::default(), usize::MAX).unwrap();
        let long = format!("/{}", "x".repeat(QUEUE_BYTES / 4));
        let lost: u64 = (0..10).map(|_| show(&tails, &long)).sum();
        assert_eq!(lost, 7);
        for _ in 0..3 {
            assert_eq!(target(tail.recv(NOW)).len(), long.len());
        }
        assert_eq!(tail.recv(NOW), Some(TailLine::Dropped(7)));
    }

    #[test]
    fn tails_are_counted_and_limited() {
        let tails = tails();
        assert!(!tails.any());
        let open = || tails.open(TailFilter::default(), 1);
        let mut all: Vec<Tail> = (0..MOST_TAILS).map(|_| open().unwrap()).collect();
        assert_eq!(open().err(), Some(TailError::TooMany));
        all.pop();
        assert!(open().is_ok());
        drop(all);
        assert!(!tails.any());
        assert_eq!(show(&tails, "/"), 0);
    }

    #[test]
    fn a_reader_that_waits_is_woken() {
        let tails = tails();
        let mut tail = tails.open(TailFilter::default(), 1).unwrap();
        let reader = std::thread::spawn(move || target(tail.recv(LONG)));
        show(&tails, "/woken");
        assert_eq!(reader.join().unwrap(), "/woken");
    }

    #[test]
    fn one_slow_reader_costs_the_others_nothing() {
        let tails = tails();
        let _slow = tails.open(TailFilter::default(), 1).unwrap();
        let mut quick = tails.open(TailFilter::default(), 100).unwrap();
        let lost: u64 = (0..50).map(|n| show(&tails, &format!("/{n}"))).sum();
        assert_eq!(lost, 49);
        for n in 0..50 {
            assert_eq!(target(quick.recv(NOW)), format!("/{n}"));
        }
    }
}
