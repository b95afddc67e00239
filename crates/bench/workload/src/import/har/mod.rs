//! HAR files: a recording of a browser becomes one flow.
//!
//! Each page is a group, the time in which its user read is a pause before the
//! next. Values that came with a response and went out again with a later
//! request (tokens of forms, mostly) are different for each user; they are
//! pointed out, for only a person can say which of them matter.

mod candidates;
mod request;

use super::notes::{Fate, Note, Notes};
use super::{ImportError, Imported, Options, Suggested, share};
use crate::har::{Entry, Har};
use crate::scenario::{Flow, Pause, Scenario, Step};

/// Shorter times between requests that belong to no page are the browser's, not its user's.
const SHORTEST_PAUSE_MS: u64 = 500;

/// Translates a recording.
///
/// # Errors
/// When it is no HAR file.
pub(super) fn import(text: &str, file: &str, options: Options) -> Result<Imported, ImportError> {
    let har = crate::har::read(text).map_err(|error| ImportError::Broken {
        file: file.into(),
        words: error.to_string(),
    })?;
    let mut notes = Notes::default();
    for words in &har.notes {
        remark(&mut notes, Fate::LeftOut, words.clone());
    }
    let mut scenario = Scenario {
        flow: flow(&har, options, &mut notes).into_iter().collect(),
        ..Scenario::default()
    };
    share::base(&mut scenario);
    share::headers(&mut scenario);
    servers(&mut scenario, &mut notes);
    candidates::point_out(text, &mut notes);
    Ok(Imported {
        scenario,
        notes: notes.finish(),
        suggested: Suggested::default(),
    })
}

/// A note about the recording as a whole.
fn remark(notes: &mut Notes, fate: Fate, words: impl Into<String>) {
    notes.add(Note {
        kind: "recording".into(),
        name: String::new(),
        path: String::new(),
        fate,
        words: words.into(),
    });
}

fn flow(har: &Har, options: Options, notes: &mut Notes) -> Option<Flow> {
    let kept: Vec<&Entry> = har
        .entries
        .iter()
        .filter(|entry| !(options.without_resources && is_resource(entry)))
        .collect();
    let resources = har.entries.len() - kept.len();
    if resources > 0 {
        remark(
            notes,
            Fate::LeftOut,
            format!("{resources} requests for pictures, scripts, style sheets and fonts"),
        );
    }
    let mut told = request::Told::default();
    let mut steps: Vec<Step> = Vec::new();
    let mut page: Option<&str> = None;
    let mut end_ms: Option<u64> = None;
    for entry in kept {
        let own = entry.page.as_deref();
        let gap_ms = end_ms.map_or(0, |end| entry.at_ms.saturating_sub(end));
        let pause_ms = if own != page {
            entry.think_ms.max(gap_ms)
        } else {
            gap_ms
        };
        let pauses =
            !steps.is_empty() && pause_ms >= SHORTEST_PAUSE_MS && (own != page || own.is_none());
        if pauses {
            steps.push(pause(pause_ms));
        }
        let step = request::step(entry, options, notes, &mut told);
        match (own, steps.last_mut()) {
            (Some(_), Some(group)) if own == page && !group.step.is_empty() => {
                group.step.push(step)
            }
            (Some(title), _) => steps.push(Step {
                name: title.into(),
                step: vec![step],
                ..Step::default()
            }),
            (None, _) => steps.push(step),
        }
        page = own;
        let end = entry.at_ms.saturating_add(entry.took_ms);
        end_ms = Some(end_ms.map_or(end, |known| known.max(end)));
    }
    told.notes(notes);
    if steps.is_empty() {
        remark(
            notes,
            Fate::LeftOut,
            "there is no request in it that can be sent",
        );
        return None;
    }
    Some(Flow {
        name: "recording".into(),
        weight: 1.0,
        iterations: None,
        pause: None,
        keep_cookies: false,
        stop_on_failure: false,
        step: steps,
    })
}

/// A day at most: whoever recorded had gone home.
fn pause(time_ms: u64) -> Step {
    let time_ms = time_ms.min(24 * 3600 * 1000);
    Step {
        pause: Some(Pause(format!("{time_ms}ms"))),
        ..Step::default()
    }
}

/// Whether it is something that a page embeds, by its type, or by its name when that is not known.
fn is_resource(entry: &Entry) -> bool {
    let mime = entry.mime.to_ascii_lowercase();
    let known = !matches!(mime.as_str(), "" | "application/octet-stream" | "x-unknown");
    if known {
        return [
            "image/",
            "font/",
            "audio/",
            "video/",
            "application/font",
            "application/x-font",
        ]
        .iter()
        .any(|kind| mime.starts_with(kind))
            || mime == "text/css"
            || mime.contains("javascript")
            || mime.contains("ecmascript")
            || mime == "application/vnd.ms-fontobject";
    }
    let path = entry
        .request
        .target
        .path
        .split('?')
        .next()
        .unwrap_or_default();
    let ending = path
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'));
    ending.is_some_and(|(_, ending)| {
        [
            "css", "js", "mjs", "png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico", "woff",
            "woff2", "ttf", "otf", "eot", "mp4", "webm", "map",
        ]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

/// Says which other servers the recording goes to: a test is rarely meant for them.
fn servers(scenario: &mut Scenario, notes: &mut Notes) {
    let mut others = std::collections::BTreeMap::<String, usize>::new();
    share::each(scenario, &mut |step| {
        if let Some(server) = step.url.as_deref().and_then(share::server) {
            *others.entry(server.to_owned()).or_default() += 1;
        }
    });
    for (server, count) in others {
        notes.add(Note {
            kind: "server".into(),
            name: server,
            path: String::new(),
            fate: Fate::Hint,
            words: format!(
                "{count} requests go there and not to `base`; take them out unless it is under test"
            ),
        });
    }
}

#[cfg(test)]
mod tests;
