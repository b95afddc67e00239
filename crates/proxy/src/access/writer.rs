//! From the workers' buffers to the file.
//!
//! Each worker owns a buffer behind a lock that only the writing thread takes
//! besides it, for the moment of exchanging the full buffer for an empty one.
//! Buffers go round, so nothing is allocated in steady state. The thread lives
//! from [`AccessLog::start`] to [`AccessLog::close`] (or the drop of the log);
//! a worker's buffer until its [`WorkerLog`] is dropped and its lines are
//! written.

use super::clock::Clock;
use super::filter::TailFilter;
use super::format::Format;
use super::output::Output;
use super::record::Record;
use super::tail::{Tail, TailError, Tails};
use forebay_config::settings::{Log, LogTarget};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Thread};
use std::time::Duration;

/// How long a line waits at most before it is written.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long closing waits for an output that does not take the last lines.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Capacity a buffer starts with, unless its limit is lower.
const START_CAPACITY: usize = 1 << 20;

/// The access log of the process.
pub(crate) struct AccessLog {
    target: LogTarget,
    shared: Arc<Shared>,
    tails: Arc<Tails>,
    /// Absent when the log is off or closed.
    thread: Mutex<Option<WritingThread>>,
}

struct WritingThread {
    handle: Thread,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

/// What workers, the writing thread and the log's owner share.
struct Shared {
    format: Format,
    limit_bytes: usize,
    open: AtomicBool,
    buffers: Mutex<Vec<Arc<Mutex<Buffer>>>>,
    /// An output opened anew, for the writing thread to take.
    reopened: Mutex<Option<Output>>,
    lost: AtomicU64,
}

struct Buffer {
    lines: Vec<u8>,
    clock: Clock,
}

/// One worker's end of the log.
pub(crate) struct WorkerLog {
    shared: Arc<Shared>,
    buffer: Arc<Mutex<Buffer>>,
    /// The writing thread; absent when the log is off.
    writer: Option<Thread>,
    tails: Arc<Tails>,
    /// For the lines of tails: the one in the buffer is behind its lock.
    clock: RefCell<Clock>,
}

impl AccessLog {
    /// Opens the log and starts the thread that writes it.
    ///
    /// # Errors
    /// The file cannot be opened, or the thread not be started.
    pub(crate) fn start(settings: &Log) -> io::Result<Arc<Self>> {
        Self::start_with(settings, Tails::new()?)
    }

    /// Opens another log in the place of this one, which those who follow the exchanges live
    /// do not notice.
    ///
    /// # Errors
    /// As [`AccessLog::start`].
    pub(crate) fn restart(&self, settings: &Log) -> io::Result<Arc<Self>> {
        Self::start_with(settings, Arc::clone(&self.tails))
    }

    fn start_with(settings: &Log, tails: Arc<Tails>) -> io::Result<Arc<Self>> {
        let output = Output::open(&settings.access)?;
        let shared = Arc::new(Shared {
            format: Format::of(&settings.format)?,
            limit_bytes: settings.buffer_bytes,
            open: AtomicBool::new(output.is_some()),
            buffers: Mutex::default(),
            reopened: Mutex::default(),
            lost: AtomicU64::new(0),
        });
        let thread = output
            .map(|output| WritingThread::start(output, &shared))
            .transpose()?;
        Ok(Arc::new(Self {
            target: settings.access.clone(),
            shared,
            tails,
            thread: Mutex::new(thread),
        }))
    }

    /// Opens the file again under its name, after a rotation has renamed it.
    /// Lines logged from now on go to the new file.
    ///
    /// # Errors
    /// The file cannot be opened; the old one stays in use.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        if let LogTarget::File(_) = self.target {
            *self.shared.reopened.lock() = Output::open(&self.target)?;
        }
        Ok(())
    }

    /// A buffer for one more worker.
    pub(crate) fn worker(&self) -> WorkerLog {
        let writer = self
            .thread
            .lock()
            .as_ref()
            .map(|thread| thread.handle.clone());
        let capacity = if writer.is_some() {
            self.shared.limit_bytes.min(START_CAPACITY)
        } else {
            0
        };
        let lines = Vec::with_capacity(capacity);
        let buffer = Arc::new(Mutex::new(Buffer {
            lines,
            clock: Clock::new(),
        }));
        if writer.is_some() {
            self.shared.buffers.lock().push(Arc::clone(&buffer));
        }
        WorkerLog {
            shared: Arc::clone(&self.shared),
            buffer,
            writer,
            tails: Arc::clone(&self.tails),
            clock: RefCell::new(Clock::new()),
        }
    }

    /// Begins to show exchanges live; at most `capacity` lines wait for the reader.
    ///
    /// # Errors
    /// There are too many tails, or the filter names what does not exist.
    pub(crate) fn tail(&self, filter: TailFilter, capacity: usize) -> Result<Tail, TailError> {
        self.tails.open(filter, capacity)
    }

    /// How many follow the exchanges live.
    pub(crate) fn tail_count(&self) -> usize {
        self.tails.count()
    }

    /// Writes what is left and ends the thread. Returns after five seconds at
    /// the latest, should the output (a pipe that nobody reads) not take it.
    pub(crate) fn close(&self) {
        self.shared.open.store(false, Ordering::Release);
        if let Some(thread) = self.thread.lock().take() {
            thread.handle.unpark();
            // Nothing is ever sent: this ends with the thread or the time.
            let _ = thread.ended.recv_timeout(CLOSE_TIMEOUT);
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.close();
    }
}

impl WorkerLog {
    /// Whether lines go anywhere; when not, a record need not be made.
    #[inline]
    pub(crate) fn enabled(&self) -> bool {
        self.writer.is_some() || self.tails.any()
    }

    /// Shows the record to those who follow live. Returns how many of them lost it.
    pub(crate) fn show(&self, record: &Record<'_>) -> u64 {
        if self.tails.any() {
            self.tails.show(record, &mut self.clock.borrow_mut())
        } else {
            0
        }
    }

    /// Appends the record's line. Returns how many are lost: this one if the buffer was full or
    /// the log closed, and those that could not be written since the last call of any worker.
    pub(crate) fn write(&self, record: &Record<'_>) -> u64 {
        let Some(writer) = &self.writer else { return 0 };
        let lost = match self.shared.lost.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.shared.lost.swap(0, Ordering::Relaxed),
        };
        lost + u64::from(!self.append(record, writer))
    }

    fn append(&self, record: &Record<'_>, writer: &Thread) -> bool {
        if !self.shared.open.load(Ordering::Acquire) {
            return false;
        }
        let mut buffer = self.buffer.lock();
        let Buffer { lines, clock } = &mut *buffer;
        let before = lines.len();
        self.shared.format.append(record, clock, lines);
        let after = lines.len();
        if after > self.shared.limit_bytes {
            lines.truncate(before);
            return false;
        }
        drop(buffer);
        let half = self.shared.limit_bytes / 2;
        if before < half && after >= half {
            // Waking costs a system call, so only the line that crosses the
            // half does it. A wake-up while the thread writes is not lost.
            writer.unpark();
        }
        true
    }
}

impl WritingThread {
    fn start(output: Output, shared: &Arc<Shared>) -> io::Result<Self> {
        let (ending, ended) = mpsc::channel();
        let shared = Arc::clone(shared);
        let thread = thread::Builder::new()
            .name("access-log".into())
            .spawn(move || write_until_closed(output, &shared, ending))?;
        Ok(Self {
            handle: thread.thread().clone(),
            ended,
        })
    }
}

/// `_ending` is dropped when this returns, which tells [`AccessLog::close`].
fn write_until_closed(mut output: Output, shared: &Shared, _ending: Sender<()>) {
    let mut spare = Vec::with_capacity(shared.limit_bytes.min(START_CAPACITY));
    loop {
        let open = shared.open.load(Ordering::Acquire);
        // The list is copied so that a worker that joins need not wait for the disk.
        let buffers = shared.buffers.lock().clone();
        for buffer in buffers {
            std::mem::swap(&mut spare, &mut buffer.lock().lines);
            // Asked for after the lines are taken: what is logged after a
            // rotation must not end up in the old file.
            if let Some(reopened) = shared.reopened.lock().take() {
                output = reopened;
            }
            let lost = output.write(&spare);
            shared.lost.fetch_add(lost, Ordering::Relaxed);
            spare.clear();
        }
        forget_ended_workers(shared);
        if !open {
            return;
        }
        thread::park_timeout(INTERVAL);
    }
}

/// Drops the buffers that nobody but the list holds and that are empty.
fn forget_ended_workers(shared: &Shared) {
    shared
        .buffers
        .lock()
        .retain(|buffer| Arc::strong_count(buffer) > 1 || !buffer.lock().lines.is_empty());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::record::example as record;
    use super::*;
    use forebay_config::settings::LogFormat;
    use forebay_http::fields::Fields;
    use std::fs;
    use std::path::Path;

    fn settings(path: &Path) -> Log {
        Log {
            access: LogTarget::File(path.to_owned()),
            format: LogFormat::Custom("{connection} {target}".into()),
            ..Log::default()
        }
    }

    #[test]
    fn every_line_of_every_worker_is_in_the_file_after_closing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.log");
        let log = AccessLog::start(&settings(&path)).unwrap();
        thread::scope(|scope| {
            for worker in 0..4 {
                let own = log.worker();
                scope.spawn(move || {
                    for line in 0..1_000 {
                        assert_eq!(own.write(&record(worker, format!("/{line}").as_bytes())), 0);
                    }
                });
            }
        });
        log.close();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 4_000);
        for worker in 0..4 {
            let own = text
                .lines()
                .filter_map(|line| line.strip_prefix(&format!("{worker} /")));
            assert!(
                own.eq((0..1_000).map(|line| line.to_string())),
                "lines of worker {worker} are out of order"
            );
        }
    }

    #[test]
    fn a_full_buffer_drops_whole_lines_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.log");
        let small = Log {
            buffer_bytes: 64,
            ..settings(&path)
        };
        let log = AccessLog::start(&small).unwrap();
        let worker = log.worker();
        let too_long = record(1, &[b'x'; 64]);
        assert_eq!(worker.write(&too_long), 1, "longer than the whole buffer");
        assert_eq!(worker.write(&record(2, b"/short")), 0);
        log.close();
        assert_eq!(worker.write(&record(3, b"/late")), 1, "closed");
        assert_eq!(fs::read_to_string(&path).unwrap(), "2 /short\n");
    }

    #[test]
    fn after_a_rotation_lines_go_to_the_new_file() {
        let directory = tempfile::tempdir().unwrap();
        let (path, rotated) = (
            directory.path().join("access.log"),
            directory.path().join("access.log.1"),
        );
        let log = AccessLog::start(&settings(&path)).unwrap();
        let worker = log.worker();
        fs::rename(&path, &rotated).unwrap();
        log.reopen().unwrap();
        assert_eq!(worker.write(&record(1, b"/new")), 0);
        log.close();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1 /new\n");
        assert_eq!(fs::read_to_string(&rotated).unwrap(), "");
    }

    #[test]
    fn a_full_disk_costs_lines_and_nothing_else() {
        let log = AccessLog::start(&settings(Path::new("/dev/full"))).unwrap();
        let worker = log.worker();
        let lost: u64 = (0..3).map(|line| worker.write(&record(line, b"/"))).sum();
        log.close();
        let more = worker.write(&record(3, b"/"));
        assert_eq!(lost + more, 3 + 1, "they and the one that came too late");
    }

    #[test]
    fn an_ended_worker_leaves_its_lines_but_not_its_buffer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.log");
        let log = AccessLog::start(&settings(&path)).unwrap();
        let worker = log.worker();
        worker.write(&record(1, b"/last"));
        drop(worker);
        log.close();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1 /last\n");
        assert!(log.shared.buffers.lock().is_empty());
    }

    #[test]
    fn a_log_that_is_off_takes_no_lines_and_starts_no_thread() {
        let log = AccessLog::start(&Log::default()).unwrap();
        let worker = log.worker();
        assert!(!worker.enabled());
        let lost = worker.write(&record(1, b"/"));
        assert_eq!(lost, 0, "nothing was dropped that should have been written");
        assert!(log.thread.lock().is_none());
        log.reopen().unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let error = AccessLog::start(&settings(Path::new("/no/such/folder/access.log")))
            .err()
            .unwrap();
        assert!(
            error
                .to_string()
                .starts_with("/no/such/folder/access.log: "),
            "{error}"
        );
    }

    /// Prints what a line costs; run by hand, in release.
    #[test]
    #[ignore = "a measurement"]
    fn cost_of_a_line() {
        for format in [LogFormat::Combined, LogFormat::Json] {
            let log = AccessLog::start(&Log {
                format: format.clone(),
                ..settings(Path::new("/dev/null"))
            })
            .unwrap();
            let worker = log.worker();
            let mut fields = Fields::new();
            fields.push_named(b"Referer", b"https://shop.example/catalogue/shoes");
            fields.push_named(
                b"User-Agent",
                b"Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0",
            );
            let record = Record {
                client: Some("192.0.2.123".parse().unwrap()),
                host: b"shop.example",
                site: "shop",
                body_bytes: 6_144,
                duration_us: 42,
                fields: &fields,
                ..record(1, b"/static/images/product-12345.webp?width=640")
            };
            let start = std::time::Instant::now();
            let written = (0..1_000_000)
                .filter(|i| {
                    let record = Record {
                        unix_ms: i / 100,
                        ..record.clone()
                    };
                    worker.write(&record) == 0
                })
                .count();
            println!(
                "{format:?}: {} ns a line, {written} written",
                start.elapsed().as_nanos() / 1_000_000
            );
        }
    }
}
