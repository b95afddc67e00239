//! What the browser's requests were for: pages, what pages load, calls of
//! scripts; which followed a redirection, and where the user paused.
//!
//! Pure.

use std::time::Duration;

use super::tape::Taken;

/// A shorter time without requests is the browser's, a longer one the user's.
const SHORTEST_PAUSE: Duration = Duration::from_millis(300);
/// A browser follows a redirection at once.
const LONGEST_FOLLOW: Duration = Duration::from_secs(5);
/// The longest name of a step.
const LONGEST_NAME: usize = 80;

/// Why a browser asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// To show it.
    Page,
    /// Because a page needs it: an image, a style, a script, a font.
    Resource,
    /// Because a script asked.
    Call,
}

/// What an exchange was for.
pub(super) fn kind(taken: &Taken) -> Kind {
    // Browsers say so to origins that they trust (https, localhost).
    match taken.header("Sec-Fetch-Dest") {
        Some("document" | "iframe" | "frame") => return Kind::Page,
        Some("empty") => return Kind::Call,
        Some(_) => return Kind::Resource,
        None => {}
    }
    let media = taken.media_type();
    let is_resource = ["image/", "font/", "audio/", "video/"]
        .iter()
        .any(|part| media.starts_with(part))
        || media == "text/css"
        || media.contains("javascript")
        || taken.path().ends_with("/favicon.ico");
    let wants_page = taken
        .header("Accept")
        .is_some_and(|accept| accept.contains("text/html"))
        && taken.header("X-Requested-With").is_none();
    match (is_resource, wants_page) {
        (true, _) => Kind::Resource,
        (false, true) => Kind::Page,
        (false, false) => Kind::Call,
    }
}

/// A step to be: an exchange and those that followed its redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    /// The exchange that the user or a page began.
    pub(super) first: usize,
    /// The last after all redirections.
    pub(super) last: usize,
    /// Redirections between them.
    pub(super) follow: u32,
    /// Its label.
    pub(super) name: String,
    /// What the user took before the next.
    pub(super) pause: Option<Duration>,
}

/// The visits in a recording, which is in the order of sending.
pub(super) fn visits(taken: &[Taken]) -> Vec<Visit> {
    let mut used = vec![false; taken.len()];
    let mut visits: Vec<Visit> = Vec::new();
    let mut page = None;
    let mut quiet_from = Duration::ZERO;
    for first in 0..taken.len() {
        if used[first] {
            continue;
        }
        let (last, follow) = followed(taken, first, &mut used);
        if let Some(before) = visits.last_mut() {
            let gap = taken[first].at.saturating_sub(quiet_from);
            before.pause = (gap > SHORTEST_PAUSE).then_some(gap);
        }
        let ends = taken[..=first]
            .iter()
            .chain([&taken[last]])
            .map(|taken| taken.end);
        quiet_from = ends.fold(quiet_from, Duration::max);
        visits.push(Visit {
            first,
            last,
            follow,
            name: name(&taken[first], &taken[last], &mut page),
            pause: None,
        });
    }
    visits
}

/// Goes on from a redirection to what the browser asked for then.
fn followed(taken: &[Taken], first: usize, used: &mut [bool]) -> (usize, u32) {
    let (mut last, mut follow) = (first, 0);
    used[first] = true;
    while let Some(next) = next(taken, last, used) {
        used[next] = true;
        last = next;
        follow += 1;
    }
    (last, follow)
}

fn next(taken: &[Taken], from: usize, used: &[bool]) -> Option<usize> {
    let redirect = &taken[from];
    if !matches!(redirect.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let to = redirect
        .url
        .join(redirect.response_header("Location")?)
        .ok()?;
    (from + 1..taken.len()).find(|&at| {
        let candidate = &taken[at];
        let is_same_method = candidate.method == redirect.method;
        let is_method = match redirect.status {
            307 | 308 => is_same_method,
            303 => candidate.method == "GET",
            _ => candidate.method == "GET" || is_same_method,
        };
        !used[at]
            && is_method
            && candidate.url.same_place(&to)
            && candidate.url.path == to.path
            && candidate.at >= redirect.at
            && candidate.at.saturating_sub(redirect.end) < LONGEST_FOLLOW
    })
}

/// A page by its path, what it loads by the page where redirections ended, a call by method and path.
fn name(taken: &Taken, last: &Taken, page: &mut Option<String>) -> String {
    let path = taken.path();
    let full = match (kind(taken), taken.method.as_str()) {
        (Kind::Page, "GET") => {
            *page = Some(last.path().to_owned());
            path.to_owned()
        }
        (Kind::Page, method) => {
            *page = Some(last.path().to_owned());
            format!("{method} {path}")
        }
        (Kind::Resource, _) => match page {
            Some(page) => format!("resources of {page}"),
            None => "resources".into(),
        },
        (Kind::Call, method) => format!("{method} {path}"),
    };
    full.chars().take(LONGEST_NAME).collect()
}

/// A pause as scenarios write it: `1500ms`, `2s`; in tenths of a second.
pub(super) fn pause(time: Duration) -> String {
    let tenths = (time.as_millis() + 50) / 100;
    if tenths.is_multiple_of(10) {
        format!("{}s", tenths / 10)
    } else {
        format!("{}ms", tenths * 100)
    }
}
