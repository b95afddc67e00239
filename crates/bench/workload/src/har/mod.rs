//! HAR 1.2, what a browser's developer tools save: every request with its
//! fields, its body, when it was sent and what came back.

mod convert;
mod file;

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::{Base, Replay, Request, time};
use file::{File, Page};

/// One request of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was sent, in Unix milliseconds.
    pub at_ms: u64,
    /// From the sending to the last byte of the response.
    pub took_ms: u64,
    /// Method, URL, fields and body; without `Host`, framing and what belongs to one connection.
    pub request: Request,
    /// The response's.
    pub status: u16,
    /// Media type of the response, without parameters; empty when it was not recorded.
    pub mime: String,
    /// The page that asked for it: its title, or its id when that is not of this page alone;
    /// none when the recording has no pages.
    pub page: Option<String>,
    /// From the end of everything of the page before to the first request of a new page: the
    /// time in which the user read. 0 within a page.
    pub think_ms: u64,
}

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Har {
    /// In the order in which they were sent.
    pub entries: Vec<Entry>,
    /// What was left out or changed, in words, one note for each kind with how often.
    pub notes: Vec<String>,
}

/// Why a text is no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HarError {
    /// Counted from 1.
    pub line: u64,
    /// In words for the user.
    pub message: String,
}

impl fmt::Display for HarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: not a HAR file: {}", self.line, self.message)
    }
}

impl std::error::Error for HarError {}

/// The requests of a recording in the order in which they were sent.
///
/// # Errors
/// When the text is not JSON or not a recording.
pub fn entries(text: &str) -> Result<Vec<Entry>, HarError> {
    read(text).map(|har| har.entries)
}

/// Reads a recording. Requests that never were on the wire (`data:` URLs, those answered by the
/// browser's own cache, those that were blocked) are left out and noted.
///
/// # Errors
/// When the text is not JSON or not a recording.
pub fn read(text: &str) -> Result<Har, HarError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: File = serde_json::from_str(text).map_err(|error| HarError {
        line: error.line() as u64,
        message: error.to_string(),
    })?;
    let mut notes = Notes::default();
    let labels = labels(&file.log.pages);
    let mut entries = Vec::with_capacity(file.log.entries.len());
    let mut last_ms = 0;
    for raw in &file.log.entries {
        let at_ms = time::rfc3339(raw.started.as_bytes()).and_then(|ms| u64::try_from(ms).ok());
        if at_ms.is_none() {
            notes.add("without a readable startedDateTime: taken to be sent with the one before");
        }
        last_ms = at_ms.unwrap_or(last_ms);
        if let Some(request) = raw.request(&mut notes) {
            entries.push(raw.entry(last_ms, request, &labels));
        }
    }
    // Some tools write entries in the order in which they ended.
    entries.sort_by_key(|entry| entry.at_ms);
    think(&mut entries);
    Ok(Har {
        entries,
        notes: notes.words(),
    })
}

/// A recording as a replay: each request at its time, the first at once.
pub fn replay(har: &Har, base: &Base) -> Replay {
    let mut builder = Replay::builder(base.clone());
    for entry in &har.entries {
        builder.push_request(Some(entry.at_ms as i64), entry.request.clone());
    }
    builder.finish()
}

/// What pages are called, by their ids. A page that was visited twice has one title and two ids.
fn labels(pages: &[Page]) -> HashMap<&str, &str> {
    let mut titles: HashMap<&str, u32> = HashMap::new();
    for page in pages {
        *titles.entry(&page.title).or_default() += 1;
    }
    let label = |page: &Page| titles.get(page.title.as_str()) == Some(&1) && !page.title.is_empty();
    let pages = pages.iter();
    pages
        .map(|page| {
            (
                page.id.as_str(),
                if label(page) {
                    page.title.as_str()
                } else {
                    &page.id
                },
            )
        })
        .collect()
}

/// Fills in the pauses before pages; requests of an earlier page may come between those of a
/// later one.
fn think(entries: &mut [Entry]) {
    let mut end_ms: Option<u64> = None;
    let mut known = HashSet::new();
    for entry in entries {
        if known.insert(entry.page.clone()) {
            entry.think_ms = end_ms.map_or(0, |end| entry.at_ms.saturating_sub(end));
        }
        let end = entry.at_ms.saturating_add(entry.took_ms);
        end_ms = Some(end_ms.map_or(end, |known| known.max(end)));
    }
}

/// Counts of what was left out.
#[derive(Default)]
struct Notes(Vec<(&'static str, u64)>);

impl Notes {
    fn add(&mut self, what: &'static str) {
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.0.push((what, 1)),
        }
    }

    fn words(self) -> Vec<String> {
        let line = |(what, count)| {
            let noun = if count == 1 { "entry" } else { "entries" };
            format!("{count} {noun} {what}")
        };
        self.0.into_iter().map(line).collect()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
