//! One request for one object, and what is wrong with the answer: its status, its length, its version, any byte.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::content;
use super::ledger::{From, Ledger};
use super::origin;
use crate::http::{Client, Head};

/// Under this name clients ask; addresses change from life to life.
pub(super) const HOST: &str = "crash.example";

/// Why a visit failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection was refused or broke: right when the server is killed, wrong at any other time.
    Broken(String),
    /// The answer is wrong: never right.
    Wrong(String),
}

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ask {
    pub(super) number: usize,
    /// Only this part.
    pub(super) range: Option<(usize, usize)>,
    /// Not from the origin.
    pub(super) only_if_cached: bool,
}

/// A right answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Version(u32),
    /// 504 to `only-if-cached`.
    NotStored,
}

/// Of all visits.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) answers: AtomicU64,
    pub(super) from_disk: AtomicU64,
    pub(super) from_origin: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// Asks, compares every byte, and tells the ledger.
pub(super) fn visit(
    client: &mut Client,
    ledger: &Ledger,
    tally: &Tally,
    ask: Ask,
) -> Result<Answer, Trouble> {
    let path = origin::path(ask.number);
    let (newest, least) = (ledger.newest(), ledger.least(ask.number));
    let mut body = Body::new(ledger, ask);
    let head = client
        .ask("GET", &path, &fields(ask), "", &mut |head, part| {
            body.look(head, part);
        })
        .map_err(|e| match body.wrong.take() {
            Some(wrong) => Trouble::Wrong(format!("{path}: {wrong}")),
            None => Trouble::Broken(format!("{path}: {e}")),
        })?;
    if head.status == 504 && ask.only_if_cached {
        return Ok(Answer::NotStored);
    }
    let version = body
        .end(&head)
        .and_then(|()| may_be(version(&head), least, ledger.current(ask.number)))
        .map_err(|wrong| Trouble::Wrong(format!("{path}: {wrong}: {head:?}")))?;
    tally.answers.fetch_add(1, Relaxed);
    tally.bytes.fetch_add(body.seen as u64, Relaxed);
    let from = source(&head);
    match from {
        From::Disk => tally.from_disk.fetch_add(1, Relaxed),
        From::Origin => tally.from_origin.fetch_add(1, Relaxed),
        From::Memory => 0,
    };
    // What was fetched and not stored says nothing of what lies in the cache.
    if from != From::Origin || is_stored(&head) {
        ledger.saw(ask.number, version, newest, from);
    }
    Ok(Answer::Version(version))
}

fn fields(ask: Ask) -> String {
    let mut fields = String::new();
    if let Some((start, end)) = ask.range {
        fields.push_str(&format!("Range: bytes={start}-{}\r\n", end - 1));
    }
    if ask.only_if_cached {
        fields.push_str("Cache-Control: only-if-cached\r\n");
    }
    fields
}

/// The version is in the `ETag`, behind the number.
fn version(head: &Head) -> Option<u32> {
    let tag = head.field("etag")?.trim_matches('"');
    tag.split_once('.')?.1.parse().ok()
}

/// What was purged must not come, and nothing that the origin does not have yet.
fn may_be(version: Option<u32>, least: u32, current: Option<u32>) -> Result<u32, String> {
    let version = version.ok_or("no version")?;
    if version < least {
        Err(format!(
            "version {version} was purged: at least {least} is due"
        ))
    } else if current.is_none_or(|current| version > current) {
        Err(format!("version {version} of {current:?}"))
    } else {
        Ok(version)
    }
}

fn is_stored(head: &Head) -> bool {
    let status = head.field("cache-status").unwrap_or_default();
    status.split(';').any(|part| part.trim() == "stored")
}

fn source(head: &Head) -> From {
    let status = head.field("cache-status").unwrap_or_default();
    if status.contains("detail=disk") {
        From::Disk
    } else if status.contains("; hit") {
        From::Memory
    } else {
        From::Origin
    }
}

/// A body as it comes.
struct Body<'a> {
    ledger: &'a Ledger,
    ask: Ask,
    seen: usize,
    wrong: Option<String>,
}

impl<'a> Body<'a> {
    fn new(ledger: &'a Ledger, ask: Ask) -> Self {
        Self {
            ledger,
            ask,
            seen: 0,
            wrong: None,
        }
    }

    /// From where to where it is, for the status it has.
    fn extent(&self, status: u16) -> Option<(usize, usize)> {
        match status {
            200 => Some((0, content::size(self.ask.number))),
            206 => self.ask.range,
            _ => None,
        }
    }

    fn look(&mut self, head: &Head, part: &[u8]) {
        // Texts of errors are not looked at; their status is.
        if let (Some((start, _)), Some(version)) = (self.extent(head.status), version(head)) {
            let filler = &self.ledger.filler;
            let differs = filler.differs(self.ask.number, version, start + self.seen, part);
            if let Some(place) = differs.filter(|_| self.wrong.is_none()) {
                self.wrong = Some(format!("byte {place} of version {version} is wrong"));
            }
        }
        self.seen += part.len();
    }

    fn end(&mut self, head: &Head) -> Result<(), String> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        let (start, end) = self
            .extent(head.status)
            .ok_or_else(|| format!("status {}", head.status))?;
        if self.seen != end - start {
            return Err(format!("{} bytes instead of {}", self.seen, end - start));
        }
        let size = content::size(self.ask.number);
        let range = format!("bytes {start}-{}/{size}", end - 1);
        match head.field("content-range") {
            Some(is) if head.status == 206 && is != range => Err(format!("not {range}")),
            None if head.status == 206 => Err("no Content-Range".into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_were_purged_or_do_not_exist_are_refused() {
        assert_eq!(may_be(Some(3), 3, Some(4)), Ok(3));
        assert!(may_be(Some(2), 3, Some(4)).is_err());
        assert!(may_be(Some(5), 3, Some(4)).is_err());
        assert!(may_be(None, 0, Some(4)).is_err());
    }
}
