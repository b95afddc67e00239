//! What application processes print, line by line, to the log.
//!
//! A process must not wait for the log, and the supervisor neither: lines are handed to a thread
//! of their own, and when that is far behind they are counted instead. The last lines of each
//! process are remembered, to be shown when it fails.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

/// Longer lines are logged in pieces.
const LINE_BYTES: usize = 8 << 10;
/// Lines that may wait for the log, of all processes together.
const WAITING_LINES: usize = 2048;
/// Lines of a process that are remembered.
const TAIL_LINES: usize = 20;

/// Cuts what is read into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    open: Vec<u8>,
}

impl Lines {
    /// Takes what was read, and gives each line that is whole, without its end.
    pub(crate) fn take(&mut self, mut read: &[u8], mut each: impl FnMut(&[u8])) {
        while !read.is_empty() {
            let room = LINE_BYTES - self.open.len();
            let window = &read[..read.len().min(room)];
            let end = window.iter().position(|&byte| byte == b'\n');
            let (piece, next) = match end {
                Some(end) => (&window[..end], end + 1),
                None => (window, window.len()),
            };
            self.open.extend_from_slice(piece);
            read = &read[next..];
            if end.is_some() || self.open.len() == LINE_BYTES {
                each(trimmed(&self.open));
                self.open.clear();
            }
        }
    }

    /// What is left when there is no more.
    pub(crate) fn end(&mut self, mut each: impl FnMut(&[u8])) {
        if !self.open.is_empty() {
            each(trimmed(&self.open));
            self.open.clear();
        }
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The last lines of one process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail(Rc<RefCell<VecDeque<String>>>);

impl Tail {
    fn push(&self, line: &str) {
        let mut lines = self.0.borrow_mut();
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    }

    /// The lines, the oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.borrow().iter().cloned().collect()
    }
}

/// The way to the log; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    lines: SyncSender<String>,
    lost: Arc<AtomicU64>,
}

impl Log {
    /// Starts the thread that writes; it ends with the last clone.
    ///
    /// # Errors
    /// When there can be no thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (lines, receiver) = sync_channel(WAITING_LINES);
        let log = Self {
            lines,
            lost: Arc::default(),
        };
        let lost = Arc::clone(&log.lost);
        std::thread::Builder::new()
            .name("apps-log".into())
            .spawn(move || write(&receiver, &lost))?;
        Ok(log)
    }

    fn line(&self, line: String) {
        if self.lines.try_send(line).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }
}

fn write(lines: &Receiver<String>, lost: &AtomicU64) {
    while let Ok(line) = lines.recv() {
        tracing::info!("{line}");
        match lost.swap(0, Relaxed) {
            0 => {}
            lost => tracing::warn!(
                "{lost} lines that applications printed were lost: they print faster than the log is written"
            ),
        }
    }
}

/// Reads a pipe to its end. `label` says whose it is.
pub(crate) async fn follow(mut from: pipe::Receiver, label: Rc<str>, log: Log, tail: Tail) {
    let mut lines = Lines::default();
    let mut buffer = vec![0; LINE_BYTES];
    let each = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        tail.push(&line);
        log.line(format!("{label}: {line}"));
    };
    loop {
        match from.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => lines.take(&buffer[..read], each),
        }
    }
    lines.end(each);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut lines = Lines::default();
        let mut all = Vec::new();
        for piece in pieces {
            lines.take(piece, |line| all.push(line.to_vec()));
        }
        lines.end(|line| all.push(line.to_vec()));
        all
    }

    #[test]
    fn lines_are_whole_however_they_are_read() {
        let text = b"one\r\n\ntwo\nthree";
        let expected = vec![
            b"one".to_vec(),
            Vec::new(),
            b"two".to_vec(),
            b"three".to_vec(),
        ];
        for cut in 0..text.len() {
            assert_eq!(
                split(&[&text[..cut], &text[cut..]]),
                expected,
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn a_line_without_end_comes_in_pieces() {
        let long = vec![b'x'; 2 * LINE_BYTES + 5];
        let lengths: Vec<usize> = split(&[&long]).iter().map(Vec::len).collect();
        assert_eq!(lengths, [LINE_BYTES, LINE_BYTES, 5]);
    }

    #[test]
    fn the_tail_keeps_the_last_lines() {
        let tail = Tail::default();
        (0..30).for_each(|n| tail.push(&n.to_string()));
        let lines = tail.lines();
        assert_eq!(
            (lines.len(), lines[0].as_str(), lines[19].as_str()),
            (20, "10", "29")
        );
    }
}
