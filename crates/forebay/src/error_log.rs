//! The error log: everything that is not an access, through `tracing`, to
//! the target and at the level of `[log]`. Both can change while it runs.
//!
//! A thread of its own writes it, so that a terminal or a pipe that takes no more holds nobody up:
//! lines wait for it, and when too many do they are dropped and counted.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use forebay_config::settings::{Log, LogTarget};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, reload};

/// Lines that wait to be written.
const WAITING: usize = 4096;
/// How long the end of the process waits for them.
const PATIENCE: Duration = Duration::from_secs(1);

/// The lines of this process, for [`flush`].
static LINES: OnceLock<Lines> = OnceLock::new();

/// Waits until what was logged is written, or a second has passed.
pub(crate) fn flush() {
    let Some(lines) = LINES.get() else { return };
    let begun = Instant::now();
    let (done, wait) = mpsc::sync_channel(1);
    while let Err(TrySendError::Full(_)) = lines.queue.try_send(Message::Flush(done.clone())) {
        if begun.elapsed() >= PATIENCE {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // Ends with the answer, or the time.
    let _ = wait.recv_timeout(PATIENCE.saturating_sub(begun.elapsed()));
}

/// The log of this process; one is made, and lives until the process ends.
#[derive(Clone)]
pub(crate) struct ErrorLog {
    lines: Lines,
    level: reload::Handle<LevelFilter, Registry>,
}

impl ErrorLog {
    /// Opens the log and makes it the one that `tracing` and panics go to.
    ///
    /// # Errors
    /// When the file cannot be opened, with its name, or the thread not be started.
    pub(crate) fn start(settings: &Log) -> Result<Self, String> {
        let lines = Lines::start(Sink::open(&settings.error)?)
            .map_err(|error| format!("the error log's thread cannot be started: {error}"))?;
        let _ = LINES.set(lines.clone());
        let (level, handle) = reload::Layer::new(filter(&settings.level));
        let layer = tracing_subscriber::fmt::layer()
            .with_target(false)
            .with_writer(lines.clone());
        let subscriber = tracing_subscriber::registry().with(level).with(layer);
        // Fails only when there is one already, which then goes on.
        let _ = tracing::subscriber::set_global_default(subscriber);
        log_panics();
        Ok(Self {
            lines,
            level: handle,
        })
    }

    /// Takes over target and level, and opens a file anew (it may have been
    /// renamed by a rotation).
    ///
    /// # Errors
    /// When the file cannot be opened; the old target stays.
    pub(crate) fn apply(&self, settings: &Log) -> Result<(), String> {
        let sink = Sink::open(&settings.error)?;
        *self
            .lines
            .next
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(sink);
        self.level
            .reload(filter(&settings.level))
            .map_err(|error| error.to_string())
    }
}

/// A panic is a fault of ours: it goes where the operator looks, in one line.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed").to_owned();
        let place = panic
            .location()
            .map_or_else(|| "an unknown place".into(), ToString::to_string);
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        tracing::error!("panic in thread {name} at {place}: {text}");
        // It may be the last that is heard of this process.
        flush();
    }));
}

/// The level by its name in the file; the checked settings have no others.
fn filter(level: &str) -> LevelFilter {
    level.parse().unwrap_or(LevelFilter::INFO)
}

/// What all threads log to.
#[derive(Clone)]
struct Lines {
    queue: SyncSender<Message>,
    /// Lines that found it full.
    lost: Arc<AtomicU64>,
    /// Where the next line goes, after a change.
    next: Arc<Mutex<Option<Sink>>>,
}

enum Message {
    Line(Vec<u8>),
    /// Everything before is written when this is answered.
    Flush(SyncSender<()>),
}

impl Lines {
    fn start(sink: Sink) -> io::Result<Self> {
        let (queue, messages) = mpsc::sync_channel(WAITING);
        let lines = Self {
            queue,
            lost: Arc::default(),
            next: Arc::default(),
        };
        let (lost, next) = (Arc::clone(&lines.lost), Arc::clone(&lines.next));
        std::thread::Builder::new()
            .name("error-log".into())
            .spawn(move || write_all(sink, &messages, &lost, &next))?;
        Ok(lines)
    }
}

/// Writes lines as they come, until the last who could log is gone. What cannot be written is
/// lost: there is nowhere else to say so.
fn write_all(
    mut sink: Sink,
    messages: &Receiver<Message>,
    lost: &AtomicU64,
    next: &Mutex<Option<Sink>>,
) {
    for message in messages {
        if let Some(other) = next.lock().unwrap_or_else(PoisonError::into_inner).take() {
            sink = other;
        }
        match message {
            Message::Line(line) => {
                let _ = sink.write_line(&line);
            }
            Message::Flush(done) => drop(done.try_send(())),
        }
        let lost = lost.swap(0, Relaxed);
        if lost > 0 {
            let said = format!("{lost} lines of this log were lost: it is written too slowly\n");
            let _ = sink.write_line(said.as_bytes());
        }
    }
}

enum Sink {
    Off,
    Stdout,
    Stderr,
    File(File),
}

impl Sink {
    fn open(target: &LogTarget) -> Result<Self, String> {
        Ok(match target {
            LogTarget::Off => Self::Off,
            LogTarget::Stdout => Self::Stdout,
            LogTarget::Stderr => Self::Stderr,
            LogTarget::File(path) => Self::File(append_to(path)?),
        })
    }

    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Self::Off => Ok(()),
            Self::Stdout => io::stdout().lock().write_all(line),
            Self::Stderr => io::stderr().lock().write_all(line),
            Self::File(file) => file.write_all(line),
        }
    }
}

fn append_to(path: &Path) -> Result<File, String> {
    // Not for everyone's eyes, like the access log: addresses are personal.
    let mut options = OpenOptions::new();
    let opened = options.append(true).create(true).mode(0o640).open(path);
    opened.map_err(|error| format!("the error log {} cannot be opened: {error}", path.display()))
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Lines;

    fn make_writer(&'a self) -> &'a Lines {
        self
    }
}

/// One call is one line.
impl Write for &Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Line(line.to_vec())) {
            self.lost.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_levels_of_the_file_are_known() {
        for (name, level) in [
            ("error", LevelFilter::ERROR),
            ("warn", LevelFilter::WARN),
            ("info", LevelFilter::INFO),
            ("debug", LevelFilter::DEBUG),
        ] {
            assert_eq!(filter(name), level);
        }
    }

    #[test]
    fn a_pipe_that_nobody_reads_holds_up_nobody_and_what_is_lost_is_said() {
        let (reader, writer) = io::pipe().unwrap();
        let lines = Lines::start(Sink::File(File::from(std::os::fd::OwnedFd::from(writer))));
        let lines = lines.unwrap();
        let line = [&[b'x'; 1023][..], b"\n"].concat();
        // The pipe takes 64 KiB, the queue the rest and not all of it.
        for _ in 0..2 * WAITING {
            (&lines).write_all(&line).unwrap();
        }
        drop(lines);
        let mut text = String::new();
        io::Read::read_to_string(&mut { reader }, &mut text).unwrap();
        let whole = text.lines().filter(|line| line.len() == 1023).count();
        let lost = text
            .lines()
            .filter_map(|line| line.split_once(" lines of this log were lost"));
        let lost: usize = lost.map(|(count, _)| count.parse::<usize>().unwrap()).sum();
        assert!(lost > 0);
        assert_eq!(whole + lost, 2 * WAITING);
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let target = LogTarget::File("/nonexistent/error.log".into());
        let Err(text) = Sink::open(&target) else {
            panic!("it was opened")
        };
        assert!(text.contains("/nonexistent/error.log"), "{text}");
    }
}
