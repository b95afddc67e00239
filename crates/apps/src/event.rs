//! What happens to a process, as the supervisor is told of it.

use std::rc::Rc;

use tokio::io::AsyncReadExt;

use crate::guard::report::Report;

/// Longest line of a guard.
const REPORT_BYTES: usize = 64;

/// Something that happened to a process.
#[derive(Debug)]
pub(crate) struct Event {
    /// Whose it is.
    pub(crate) app: Rc<str>,
    /// Its number for life.
    pub(crate) id: u64,
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// It can be used.
    Ready,
    /// The guard says so.
    Said(Report),
    /// The guard is gone.
    GuardGone,
    /// One of its two pipes has ended.
    Silent,
}

/// Hands on what a guard says, until it is gone.
pub(crate) async fn listen(mut reports: tokio::net::UnixStream, send: impl Fn(What)) {
    let mut text = Vec::new();
    while matches!(reports.read_buf(&mut text).await, Ok(1..)) && text.len() < 4 * REPORT_BYTES {
        while let Some(end) = text.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if let Some(report) = Report::read(line.trim_end()) {
                send(What::Said(report));
            }
        }
    }
    send(What::GuardGone);
}
