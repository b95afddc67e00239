//! Texts of many lines: reading them one by one, and what was wrong with
//! them, the first complaints in full, of the rest only the number.

use std::fmt;
use std::io::{self, BufRead};

/// How many complaints are kept in full.
const KEPT: usize = 20;

/// What is wrong with one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Counted from 1.
    pub line: u64,
    /// In words for the user.
    pub message: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// What is wrong with the lines of one text: the first twenty, and how many in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineErrors {
    /// The first, in the order of the lines.
    pub first: Vec<LineError>,
    /// All of them.
    pub total: u64,
}

impl LineErrors {
    /// Counts a complaint; the words are asked for only when they are kept.
    pub fn add(&mut self, line: u64, message: impl FnOnce() -> String) {
        self.total += 1;
        if self.first.len() < KEPT {
            self.first.push(LineError {
                line,
                message: message(),
            });
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

/// One line for each complaint that was kept, and one for the others.
impl fmt::Display for LineErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.first.iter().enumerate() {
            if place > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        match self.total - self.first.len() as u64 {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for LineErrors {}

/// Gives every line with its number, without its line break; of a line longer than `most` bytes
/// only that there was one. What lies within the reader's buffer is not copied.
pub(crate) fn each(
    reader: &mut impl BufRead,
    most: usize,
    mut take: impl FnMut(u64, Option<&[u8]>),
) -> io::Result<()> {
    // The part of a line that lay at the end of the buffer before.
    let mut begun: Vec<u8> = Vec::new();
    let mut too_long = false;
    let mut number = 1;
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let ended = buffer.is_empty();
        let found = memchr::memchr(b'\n', buffer);
        let part = &buffer[..found.unwrap_or(buffer.len())];
        too_long |= begun.len() + part.len() > most;
        if found.is_some() || ended {
            if too_long {
                take(number, None);
            } else if !begun.is_empty() {
                begun.extend_from_slice(part);
                take(number, Some(trimmed(&begun)));
            } else if found.is_some() {
                take(number, Some(trimmed(part)));
            }
            begun.clear();
            too_long = false;
            number += 1;
        } else if !too_long {
            begun.extend_from_slice(part);
        }
        if ended {
            return Ok(());
        }
        let used = part.len() + usize::from(found.is_some());
        reader.consume(used);
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The beginning of a text, for a message: at most 60 characters, without control characters.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const SHOWN: usize = 60;
    let start = &text[..text.len().min(4 * SHOWN)];
    let shown = String::from_utf8_lossy(start);
    let mut out: String = shown
        .chars()
        .take(SHOWN)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if shown.chars().nth(SHOWN).is_some() || start.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn twenty_complaints_are_kept_and_the_rest_counted() {
        let mut errors = LineErrors::default();
        for line in 1..=25 {
            errors.add(line, || format!("wrong {line}"));
        }
        let text = errors.to_string();
        assert!(text.starts_with("line 1: wrong 1\nline 2:"), "{text}");
        assert!(text.ends_with("line 20: wrong 20\nand 5 more"), "{text}");
    }

    fn lines_of(text: &[u8], buffer: usize, most: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut lines = Vec::new();
        let mut reader = io::BufReader::with_capacity(buffer, text);
        each(&mut reader, most, |number, line| {
            lines.push((number, line.map(<[u8]>::to_vec)));
        })
        .unwrap();
        lines
    }

    #[test]
    fn lines_are_the_same_however_small_the_buffer() {
        let text = b"one\r\n\nlonger than ten\nten bytes!\nlast";
        let some = |text: &[u8]| Some(text.to_vec());
        for buffer in [1, 2, 3, 4, 5, 7, 16, 100] {
            assert_eq!(
                lines_of(text, buffer, 10),
                [
                    (1, some(b"one")),
                    (2, some(b"")),
                    (3, None),
                    (4, some(b"ten bytes!")),
                    (5, some(b"last")),
                ],
                "{buffer}"
            );
        }
        assert_eq!(lines_of(b"", 4, 10), []);
        assert_eq!(lines_of(b"a\n", 4, 10), [(1, some(b"a"))]);
        assert_eq!(lines_of(b"elevenbytes", 4, 10), [(1, None)]);
    }

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt(b"a\x1b[2Jb\xff"), "a\u{fffd}[2Jb\u{fffd}");
        assert_eq!(excerpt(&[b'x'; 61]), format!("{}…", "x".repeat(60)));
        assert_eq!(excerpt(&[b'x'; 60]), "x".repeat(60));
        assert_eq!(excerpt("ä".repeat(500).as_bytes()).chars().count(), 61);
    }
}
