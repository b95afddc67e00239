//! Checks on a response, ready to be made.

use std::time::Duration;

use super::act::Answer;
use super::json_path::{JsonPath, as_text};
use super::memory::Memory;
use super::pattern::{LazyJson, Needle, Pattern, shortened};
use super::table::Table;
use super::template::Template;

/// What a step asks of its response's status.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statuses {
    /// First and last of each group; none for everything below 400.
    groups: Vec<(u16, u16)>,
}

impl Statuses {
    /// Adds `200` or `2xx`; `false` when it is neither.
    pub(crate) fn add(&mut self, text: &str) -> bool {
        let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        let group = match text.as_bytes() {
            [class @ b'1'..=b'9', b'x' | b'X', b'x' | b'X'] => {
                let first = u16::from(class - b'0') * 100;
                Some((first, first + 99))
            }
            _ if digits => text.parse().ok().map(|status| (status, status)),
            _ => None,
        };
        self.groups.extend(group.filter(|group| group.0 >= 100));
        group.is_some_and(|group| group.0 >= 100)
    }

    /// Whether the status passes.
    pub(crate) fn fits(&self, status: u16) -> bool {
        let fits = |(low, high): &(u16, u16)| (*low..=*high).contains(&status);
        match self.groups.is_empty() {
            true => status < 400,
            false => self.groups.iter().any(fits),
        }
    }

    /// `None` when the status passes, else what was expected.
    pub(crate) fn failure(&self, status: u16) -> Option<String> {
        if self.fits(status) {
            return None;
        }
        if self.groups.is_empty() {
            return Some(format!("status {status}, expected one below 400"));
        }
        let words = self.groups.iter().map(|(low, high)| match low == high {
            true => low.to_string(),
            false => format!("{}xx", low / 100),
        });
        let words: Vec<String> = words.collect();
        Some(format!("status {status}, expected {}", words.join(" or ")))
    }
}

/// One check besides that of the status.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    /// What is checked.
    pub(crate) kind: Kind,
    /// The expected as the scenario writes it, for words: so the same failure has the same words.
    pub(crate) written: String,
}

/// What is checked.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// In the body.
    Contains(Needle),
    /// Not in the body.
    Lacks(Needle),
    /// A regular expression that matches in the body.
    Matches(Pattern),
    /// The whole body.
    Body(Template),
    /// A field, and an expression that matches in one of its values.
    Header(String, Pattern),
    /// A path as written, and the value that one of its finds has.
    Json(String, JsonPath, Template),
    /// At most so long.
    Within(Duration),
}

impl Test {
    /// Whether it looks at the body.
    pub(crate) fn needs_body(&self) -> bool {
        !matches!(self.kind, Kind::Header(..) | Kind::Within(..))
    }

    /// `None` when the response passes, else what was found.
    pub(crate) fn failure(
        &self,
        answer: &Answer<'_>,
        json: &mut LazyJson<'_>,
        tables: &[Table],
        memory: &mut Memory,
    ) -> Option<String> {
        let body = answer.body;
        let expected = shortened(self.written.as_bytes());
        let begins = || match body {
            [] => "which is empty".to_owned(),
            _ => format!("which begins `{}`", shortened(body)),
        };
        match &self.kind {
            Kind::Contains(needle) => (!needle.is_in(body, tables, memory))
                .then(|| format!("no `{expected}` in the body, {}", begins())),
            Kind::Lacks(needle) => needle
                .is_in(body, tables, memory)
                .then(|| format!("`{expected}` in the body")),
            Kind::Matches(pattern) => (!pattern.matches(body, tables, memory))
                .then(|| format!("no match for `{expected}` in the body, {}", begins())),
            Kind::Body(template) => (template.text(tables, memory).as_bytes() != body)
                .then(|| format!("the body is `{}`, expected `{expected}`", shortened(body))),
            Kind::Header(name, pattern) => {
                header(answer, name, |value| pattern.matches(value, tables, memory))
                    .map(|found| format!("{found}, expected a match for `{expected}`"))
            }
            Kind::Json(path, compiled, template) => {
                let wanted = template.text(tables, memory);
                json_failure(json, path, compiled, &wanted)
                    .map(|found| format!("{found}, expected `{expected}`"))
            }
            Kind::Within(most) => {
                (answer.whole > *most).then(|| format!("took longer than {expected}"))
            }
        }
    }
}

/// `None` when a value of the field fits, else what was found.
fn header(answer: &Answer<'_>, name: &str, mut fits: impl FnMut(&[u8]) -> bool) -> Option<String> {
    let mut last = None;
    for value in answer.head.fields.named(name.as_bytes()) {
        if fits(value) {
            return None;
        }
        last = Some(value);
    }
    Some(match last {
        Some(value) => format!("field `{name}` is `{}`", shortened(value)),
        None => format!("no field `{name}`"),
    })
}

/// `None` when a find of the path is `wanted`, else what was found.
fn json_failure(
    json: &mut LazyJson<'_>,
    path: &str,
    compiled: &JsonPath,
    wanted: &str,
) -> Option<String> {
    let Some(document) = json.get() else {
        return Some("the body is not JSON".into());
    };
    let found = compiled.find(document);
    let Some(first) = found.first() else {
        return Some(format!("nothing at `{path}`"));
    };
    if found.iter().any(|value| as_text(value) == wanted) {
        return None;
    }
    Some(format!(
        "`{path}` is `{}`",
        shortened(as_text(first).as_bytes())
    ))
}
