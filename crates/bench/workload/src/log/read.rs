//! From the lines of a log to a replay.

use std::io::{self, BufRead, Read as _};

use super::{Entry, Fault, Format, LogError};
use crate::lines::{self, excerpt};
use crate::{Base, Builder, Replay};

/// The longest line that is read.
const MOST_LINE_BYTES: usize = 64 * 1024;
/// How much of a log is looked at to tell its format.
const SAMPLE_BYTES: u64 = 64 * 1024;

/// What becomes of the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// None: told from the log's beginning.
    pub format: Option<Format>,
    /// Where requests go.
    pub base: Base,
    /// Whether methods other than GET, HEAD and OPTIONS are sent, without their bodies.
    pub all_methods: bool,
    /// Whether `Referer` and `User-Agent` are sent as logged. Every combination is a request of
    /// its own then, which takes more memory.
    pub keep_fields: bool,
    /// The most requests that are kept; further ones are counted.
    pub most_slots: usize,
    /// The most different requests that are kept; further ones are counted.
    pub most_requests: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            base: Base::default(),
            all_methods: false,
            keep_fields: false,
            most_slots: usize::MAX,
            most_requests: usize::MAX,
        }
    }
}

/// Reads a whole log.
///
/// # Errors
/// When it cannot be read, or no line of it is in the format. Single lines that are not are
/// counted in [`Replay::skipped`].
pub fn read(mut reader: impl BufRead, options: &Options) -> Result<Replay, LogError> {
    let mut sample = Vec::new();
    reader
        .by_ref()
        .take(SAMPLE_BYTES)
        .read_to_end(&mut sample)?;
    let format = choose(&sample, options.format)?;
    let mut intake = Intake {
        format,
        options,
        builder: Replay::builder(options.base.clone())
            .limits(options.most_slots, options.most_requests),
        readable: 0,
    };
    let first = excerpt(
        sample
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default(),
    );
    let mut whole = io::Cursor::new(sample).chain(reader);
    lines::each(&mut whole, MOST_LINE_BYTES, |number, line| {
        intake.line(number, line)
    })?;
    let readable = intake.readable;
    let replay = intake.builder.finish();
    let error = replay.skipped.errors.first.first();
    match (readable, error) {
        (0, Some(error)) => Err(LogError::Format {
            format: Some(format),
            first,
            reason: error.message.clone(),
        }),
        (0, None) => Err(LogError::Empty),
        _ => Ok(replay),
    }
}

fn choose(sample: &[u8], named: Option<Format>) -> Result<Format, LogError> {
    const MAGIC: [(&[u8], &str); 4] = [
        (b"\x1f\x8b", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"BZh", "bzip2"),
        (b"\xfd7zXZ", "xz"),
    ];
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| sample.starts_with(magic)) {
        return Err(LogError::Compressed(what));
    }
    let text = sample.trim_ascii();
    if text.is_empty() && (sample.len() as u64) < SAMPLE_BYTES {
        return Err(LogError::Empty);
    }
    let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    named
        .or_else(|| Format::detect(sample))
        .ok_or_else(|| LogError::Format {
            format: None,
            first: excerpt(first),
            reason: String::new(),
        })
}

/// Takes the lines one by one.
struct Intake<'a> {
    format: Format,
    options: &'a Options,
    builder: Builder,
    readable: u64,
}

impl Intake<'_> {
    fn line(&mut self, number: u64, line: Option<&[u8]>) {
        let Some(line) = line else {
            let words = || format!("longer than {} KiB", MOST_LINE_BYTES / 1024);
            return self.builder.skipped().errors.add(number, words);
        };
        if line.trim_ascii().is_empty() {
            return;
        }
        match self.format.parse(line) {
            Ok(entry) => {
                self.readable += 1;
                self.entry(number, &entry);
            }
            Err(Fault::NoRequest) => {
                self.readable += 1;
                self.builder.skipped().no_request += 1;
            }
            Err(Fault::Unreadable(reason)) => {
                let words = || format!("{reason}: {}", excerpt(line));
                self.builder.skipped().errors.add(number, words);
            }
        }
    }

    fn entry(&mut self, number: u64, entry: &Entry<'_>) {
        let safe = matches!(&*entry.method, "GET" | "HEAD" | "OPTIONS");
        if !safe && (!self.options.all_methods || entry.method == "CONNECT") {
            return self.builder.skipped().method(&entry.method);
        }
        if self.format == Format::Squid && entry.url.ends_with('?') {
            self.builder.skipped().without_query += 1;
        }
        let kept = self.options.keep_fields;
        let referer = entry.referer.as_deref().filter(|_| kept);
        let agent = entry.user_agent.as_deref().filter(|_| kept);
        let fields = match (
            referer.map(|it| ("Referer", it)),
            agent.map(|it| ("User-Agent", it)),
        ) {
            (Some(referer), Some(agent)) => &[referer, agent][..],
            (Some(one), None) | (None, Some(one)) => &[one],
            (None, None) => &[],
        };
        let (method, host) = (&entry.method, entry.host.as_deref());
        let pushed = self
            .builder
            .push(entry.at_ms, method, &entry.url, host, fields);
        if let Err(error) = pushed {
            let errors = &mut self.builder.skipped().errors;
            errors.add(number, || error.to_string());
        }
    }
}
