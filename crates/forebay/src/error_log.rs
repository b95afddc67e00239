//! The error log: everything that is not an access, through `tracing`, to
//! the target and at the level of `[log]`. Both can change while it runs.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use forebay_config::settings::{Log, LogTarget};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, reload};

/// The log of this process; one is made, and lives until the process ends.
#[derive(Clone)]
pub(crate) struct ErrorLog {
    target: Target,
    level: reload::Handle<LevelFilter, Registry>,
}

impl ErrorLog {
    /// Opens the log and makes it the one that `tracing` and panics go to.
    ///
    /// # Errors
    /// When the file cannot be opened, with its name.
    pub(crate) fn start(settings: &Log) -> Result<Self, String> {
        let target = Target(Arc::new(Mutex::new(Sink::open(&settings.error)?)));
        let (level, handle) = reload::Layer::new(filter(&settings.level));
        let lines = tracing_subscriber::fmt::layer()
            .with_target(false)
            .with_writer(target.clone());
        let subscriber = tracing_subscriber::registry().with(level).with(lines);
        // Fails only when there is one already, which then goes on.
        let _ = tracing::subscriber::set_global_default(subscriber);
        log_panics();
        Ok(Self {
            target,
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
        *self.target.0.lock().unwrap_or_else(PoisonError::into_inner) = sink;
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
    }));
}

/// The level by its name in the file; the checked settings have no others.
fn filter(level: &str) -> LevelFilter {
    level.parse().unwrap_or(LevelFilter::INFO)
}

/// Where lines go now; the same for all threads.
#[derive(Clone)]
struct Target(Arc<Mutex<Sink>>);

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
}

fn append_to(path: &Path) -> Result<File, String> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| format!("the error log {} cannot be opened: {error}", path.display()))
}

impl<'a> MakeWriter<'a> for Target {
    type Writer = Target;

    fn make_writer(&'a self) -> Target {
        self.clone()
    }
}

/// One call is one line.
impl Write for Target {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Sink::Off => {}
            Sink::Stdout => io::stdout().lock().write_all(line)?,
            Sink::Stderr => io::stderr().lock().write_all(line)?,
            Sink::File(file) => file.write_all(line)?,
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
    fn a_file_that_cannot_be_opened_is_named() {
        let target = LogTarget::File("/nonexistent/error.log".into());
        let Err(text) = Sink::open(&target) else {
            panic!("it was opened")
        };
        assert!(text.contains("/nonexistent/error.log"), "{text}");
    }
}
