//! What an application writes to its standard error, for the error log: line by line, and not
//! more of one request than its author will read.

use std::sync::Arc;

/// Bytes of one line that are logged.
const MOST_LINE_BYTES: usize = 2048;

/// Bytes of one response's complaints that are logged.
const MOST_BYTES: usize = 16 << 10;

/// The lines of one response; what has not ended is logged when it is dropped.
#[derive(Debug)]
pub(crate) struct Complaints {
    server: Arc<str>,
    line: Vec<u8>,
    logged_bytes: usize,
    left_out_bytes: u64,
}

impl Complaints {
    /// Of a server, whose address the lines begin with.
    pub(crate) fn new(server: &Arc<str>) -> Self {
        Self {
            server: Arc::clone(server),
            line: Vec::new(),
            logged_bytes: 0,
            left_out_bytes: 0,
        }
    }

    /// Takes what came, wherever it was split.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ended) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = MOST_LINE_BYTES.saturating_sub(self.line.len());
            let (kept, cut) = text.split_at(text.len().min(room));
            self.line.extend_from_slice(kept);
            self.left_out_bytes += cut.len() as u64;
            if ended {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii_end();
        if self.logged_bytes + text.len() > MOST_BYTES {
            self.left_out_bytes += text.len() as u64;
        } else if !text.is_empty() {
            self.logged_bytes += text.len();
            tracing::warn!("{} says: {}", self.server, printable(text));
        }
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        self.end_line();
        if self.left_out_bytes > 0 {
            let (server, bytes) = (&self.server, self.left_out_bytes);
            tracing::warn!("{server} says {bytes} bytes more about this request");
        }
    }
}

/// As text that cannot pass for another line or command a terminal.
fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars()
        .flat_map(|char| {
            let escaped = char.is_control().then(|| char.escape_default());
            let plain = escaped.is_none().then_some(char);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_logged_is_bounded() {
        let mut complaints = Complaints::new(&"app".into());
        complaints.add(b"one\ntw");
        assert_eq!(
            (complaints.logged_bytes, &complaints.line[..]),
            (3, &b"tw"[..])
        );
        complaints.add(b"o\n");
        assert_eq!((complaints.logged_bytes, complaints.left_out_bytes), (6, 0));
        complaints.add(&[b'x'; 5000]);
        assert_eq!(complaints.line.len(), MOST_LINE_BYTES);
        for _ in 0..100 {
            complaints.add(&[b'y'; 1000]);
            complaints.add(b"\n");
        }
        assert!(complaints.logged_bytes <= MOST_BYTES);
        assert_eq!(
            complaints.logged_bytes as u64 + complaints.left_out_bytes,
            6 + 5000 + 100_000
        );
    }

    #[test]
    fn control_bytes_are_shown_and_not_sent() {
        assert_eq!(
            printable(b"a\x1b[2Jb\tc\xff\xc3\xa9"),
            "a\\u{1b}[2Jb\\tc\u{fffd}\u{e9}"
        );
    }
}
