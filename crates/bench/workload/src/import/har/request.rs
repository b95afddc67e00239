//! One recorded request as a step.

use std::collections::BTreeMap;

use super::super::Options;
use super::super::notes::{Fate, Note, Notes, shortened};
use super::remark;
use crate::har::Entry;
use crate::scenario::{Step, escape};

/// What is said once about all requests.
#[derive(Debug, Default)]
pub(super) struct Told {
    cookies: usize,
    credentials: usize,
    conditions: usize,
}

impl Told {
    pub(super) fn notes(&self, notes: &mut Notes) {
        if self.cookies > 0 {
            let words = format!(
                "the `Cookie` fields of {} requests; each user sends the cookies it was given",
                self.cookies
            );
            remark(notes, Fate::Changed, words);
        }
        if self.credentials > 0 {
            let words = format!(
                "{} requests have an `Authorization` field; it is in the scenario as recorded",
                self.credentials
            );
            remark(notes, Fate::Hint, words);
        }
        if self.conditions > 0 {
            let words = format!(
                "{} requests asked only whether something had changed; the conditions of the browser's cache are not sent",
                self.conditions
            );
            remark(notes, Fate::Changed, words);
        }
    }
}

/// The step of an entry.
pub(super) fn step(entry: &Entry, options: Options, notes: &mut Notes, told: &mut Told) -> Step {
    let request = &entry.request;
    let mut step = Step {
        url: Some(escape(&request.target.to_string())),
        ..Step::default()
    };
    step.headers = headers(entry, options, told);
    body(entry, &mut step, notes);
    let usual = if request.body.is_empty() {
        "GET"
    } else {
        "POST"
    };
    step.method = (request.method != usual).then(|| request.method.clone());
    // Below 300 the usual check says the same; a redirection must not become a page, nor a
    // recorded error a failure.
    step.expect.status = match entry.status {
        300..400 if entry.status != 304 => vec!["3xx".into()],
        400.. => vec![entry.status.to_string()],
        _ => Vec::new(),
    };
    step
}

fn headers(entry: &Entry, options: Options, told: &mut Told) -> BTreeMap<String, String> {
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in &entry.request.headers {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("Cookie") && !options.keep_cookies {
            told.cookies += 1;
            continue;
        }
        if is("If-None-Match") || is("If-Modified-Since") {
            told.conditions += 1;
            continue;
        }
        told.credentials += usize::from(is("Authorization"));
        let between = if is("Cookie") { "; " } else { ", " };
        let known = out
            .iter_mut()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        match known {
            Some((_, known)) => {
                known.push_str(between);
                known.push_str(&escape(value));
            }
            None => {
                out.insert(name.clone(), escape(value));
            }
        }
    }
    // An empty value would take away a field that others share.
    out.retain(|_, value| !value.is_empty());
    out
}

fn body(entry: &Entry, step: &mut Step, notes: &mut Notes) {
    let body = &entry.request.body;
    if body.is_empty() {
        return;
    }
    let Ok(text) = std::str::from_utf8(body) else {
        notes.add(Note {
            kind: "request".into(),
            name: shortened(
                &format!("{} {}", entry.request.method, entry.request.target.path),
                120,
            ),
            path: entry.page.clone().unwrap_or_default(),
            fate: Fate::LeftOut,
            words: format!(
                "its body of {} bytes is not text; save it as a file and name that as `body_file`",
                body.len()
            ),
        });
        return;
    };
    let is_form = entry.request.headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("Content-Type")
            && value
                .to_ascii_lowercase()
                .starts_with("application/x-www-form-urlencoded")
    });
    match form(text).filter(|_| is_form) {
        Some(form) => {
            step.headers
                .retain(|name, _| !name.eq_ignore_ascii_case("Content-Type"));
            step.form = form;
        }
        None => step.body = Some(escape(text)),
    }
}

/// The pairs of a form, when no name is there twice and all is UTF-8.
fn form(text: &str) -> Option<BTreeMap<String, String>> {
    let mut out = BTreeMap::new();
    for pair in text.split('&') {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (decoded(name)?, decoded(value)?);
        if name.is_empty() || out.insert(escape(&name), escape(&value)).is_some() {
            return None;
        }
    }
    Some(out)
}

/// Undoes the coding of forms.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}
