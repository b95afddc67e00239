//! Variables taken from responses.

use forebay_http::ResponseHead;
use memchr::memmem::Finder;
use regex::bytes::{Captures, Regex};

use super::act::Answer;
use super::cookies;
use super::json_path::{JsonPath, as_text};
use super::memory::Memory;
use super::pattern::{LazyJson, Pattern};
use super::table::Table;

/// An extraction, ready to be made.
#[derive(Clone, Debug)]
pub(crate) struct Extraction {
    /// The variable, for words.
    pub(crate) variable: String,
    /// Where its value goes.
    pub(crate) slot: usize,
    /// Where to look.
    pub(crate) place: Place,
    /// 1 is the first, 0 any by chance, -1 the last.
    pub(crate) occurrence: i32,
    /// When nothing is found; without, that is a fault.
    pub(crate) default: Option<String>,
    /// The place as the scenario writes it, for words.
    pub(crate) written: String,
}

/// Where an extraction looks.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// An expression on the body: its first group, or the whole match.
    Regex(Pattern),
    /// A path in a JSON body.
    Json(JsonPath),
    /// A field.
    Header(String),
    /// An expression on each `Name: value`.
    HeadRegex(Pattern),
    /// A cookie that is set.
    Cookie(String),
    /// Between two texts in the body.
    Between(Box<Finder<'static>>, Box<Finder<'static>>),
}

impl Extraction {
    /// Whether it looks at the body.
    pub(crate) fn needs_body(&self) -> bool {
        matches!(
            self.place,
            Place::Regex(_) | Place::Json(_) | Place::Between(..)
        )
    }

    /// Sets the variable; `false` when there is nothing to set it to.
    pub(crate) fn make(
        &self,
        answer: &Answer<'_>,
        json: &mut LazyJson<'_>,
        tables: &[Table],
        memory: &mut Memory,
    ) -> bool {
        match self
            .find(answer, json, tables, memory)
            .or_else(|| self.default.clone())
        {
            Some(value) => {
                memory.set(self.slot, &value);
                true
            }
            None => false,
        }
    }

    fn find(
        &self,
        answer: &Answer<'_>,
        json: &mut LazyJson<'_>,
        tables: &[Table],
        memory: &mut Memory,
    ) -> Option<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let body = answer.body;
        let chosen = match &self.place {
            Place::Regex(pattern) => {
                let regex = pattern.now(tables, memory)?;
                self.choose(matches(&regex, body), memory)
            }
            Place::Json(path) => {
                let found = path.find(json.get()?);
                return self.choose(found.into_iter(), memory).map(as_text);
            }
            Place::Header(name) => self.choose(answer.head.fields.named(name.as_bytes()), memory),
            Place::HeadRegex(pattern) => {
                let regex = pattern.now(tables, memory)?;
                let lines = lines(answer.head);
                let found = lines.iter().flat_map(|line| matches(&regex, line));
                return self.choose(found, memory).map(text);
            }
            Place::Cookie(name) => self.choose(cookies::set_by(answer.head, name), memory),
            Place::Between(left, right) => self.choose(between(left, right, body), memory),
        };
        chosen.map(text)
    }

    /// The find that `occurrence` asks for.
    fn choose<T>(&self, mut found: impl Iterator<Item = T>, memory: &mut Memory) -> Option<T> {
        match self.occurrence {
            nth @ 1.. => found.nth(nth as usize - 1),
            0 => {
                let mut all: Vec<T> = found.collect();
                let chosen = (!all.is_empty()).then(|| memory.rng.usize(..all.len()))?;
                Some(all.swap_remove(chosen))
            }
            from_end => {
                let mut all: Vec<T> = found.collect();
                let at = all.len().checked_sub(from_end.unsigned_abs() as usize)?;
                Some(all.swap_remove(at))
            }
        }
    }
}

fn lines(head: &ResponseHead) -> Vec<Vec<u8>> {
    let line = |field: forebay_http::fields::Field<'_>| [field.name, b": ", field.value].concat();
    head.fields.iter().map(line).collect()
}

/// The first group of each match, or the whole where there is none.
fn matches<'t>(regex: &Regex, text: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
    let value = |captures: Captures<'t>| {
        let group = captures.get(1).or_else(|| captures.get(0));
        group.map(|found| found.as_bytes())
    };
    regex.captures_iter(text).filter_map(value)
}

/// What stands between `left` and the next `right`.
fn between<'t>(
    left: &Finder<'_>,
    right: &Finder<'_>,
    text: &'t [u8],
) -> impl Iterator<Item = &'t [u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = left.find(rest)? + left.needle().len();
        let length = right.find(&rest[start..])?;
        let found = &rest[start..start + length];
        rest = &rest[start + length + right.needle().len()..];
        Some(found)
    })
}
