//! Texts with variables: `/item/${id}?r=${random:1:6}`.
//!
//! A template is read once, when the scenario is prepared. What is known then
//! (plain text, constants) becomes plain text, already coded for where it
//! goes; the rest is written for each request.

use std::collections::HashMap;

use super::coding::Coding;
use super::memory::Memory;
use super::table::Table;

/// A text with variables, ready to be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Written as it is.
    Text(String),
    /// Written as it is at that moment, coded.
    Value(Value, Coding),
}

/// What changes from request to request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A variable of the user's own.
    Slot(usize),
    /// A column of the current row of a data file.
    Column(usize, usize),
    /// The user's number, from 1.
    User,
    /// The iteration's number, from 1.
    Iteration,
    /// 64 bits in hex.
    Random,
    /// A number between two, inclusive.
    Between(i64, i64),
    /// A random UUID (RFC 9562, version 4).
    Uuid,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Name {
    /// Always the same text.
    Constant(String),
    /// Something else each time.
    Value(Value),
}

/// The names that a scenario defines; built-in ones are known without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// The names.
    pub(crate) known: HashMap<String, Name>,
    /// Whether there may be others, because data files have not been read.
    pub(crate) open: bool,
}

/// Names that exist without being defined.
const BUILT_IN: [&str; 4] = ["user", "iteration", "random", "uuid"];

impl Names {
    /// What `name` means, or why it means nothing: message, and the nearest known name.
    fn find(&self, name: &str) -> Result<Name, Wrong> {
        if let Some(found) = self.known.get(name) {
            return Ok(found.clone());
        }
        match name {
            "user" => return Ok(Name::Value(Value::User)),
            "iteration" => return Ok(Name::Value(Value::Iteration)),
            "random" => return Ok(Name::Value(Value::Random)),
            "uuid" => return Ok(Name::Value(Value::Uuid)),
            _ => {}
        }
        if let Some(range) = name.strip_prefix("random:") {
            return between(range).map(Name::Value).ok_or_else(|| {
                Wrong::new(format!("`${{{name}}}` has no range such as `random:1:6`"))
            });
        }
        if self.open {
            return Ok(Name::Constant(String::new()));
        }
        let known = self.known.keys().map(String::as_str).chain(BUILT_IN);
        Err(Wrong {
            message: format!("unknown variable `${{{name}}}`"),
            nearest: super::errors::nearest(name, known).map(|near| format!("${{{near}}}")),
        })
    }
}

fn between(range: &str) -> Option<Value> {
    let (low, high) = range.split_once(':')?;
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high).then_some(Value::Between(low, high))
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// In words.
    pub(crate) message: String,
    /// What was probably meant.
    pub(crate) nearest: Option<String>,
}

impl Wrong {
    fn new(message: String) -> Self {
        Self {
            message,
            nearest: None,
        }
    }
}

/// A piece of a text as written.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// Splits at `${name}`; `$${` is a plain `${`.
fn pieces(text: &str) -> Result<Vec<Piece<'_>>, Wrong> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let escaped = rest[..at].ends_with('$');
        let before = if escaped {
            &rest[..at - 1]
        } else {
            &rest[..at]
        };
        if !before.is_empty() {
            found.push(Piece::Text(before));
        }
        if escaped {
            found.push(Piece::Text("${"));
            rest = &rest[at + 2..];
            continue;
        }
        let Some(length) = rest[at..].find('}') else {
            return Err(Wrong::new(
                "`${` without a `}`; a plain `${` is written `$${`".into(),
            ));
        };
        found.push(Piece::Name(&rest[at + 2..at + length]));
        rest = &rest[at + length + 1..];
    }
    if !rest.is_empty() {
        found.push(Piece::Text(rest));
    }
    Ok(found)
}

/// `text` so that a scenario takes it as it is, without variables.
pub fn escape(text: &str) -> String {
    text.replace("${", "$${")
}

/// The names of the variables in a text.
pub(crate) fn names_in(text: &str) -> Vec<&str> {
    let found = pieces(text).unwrap_or_default();
    let name = |piece| match piece {
        Piece::Name(name) => Some(name),
        Piece::Text(_) => None,
    };
    found.into_iter().filter_map(name).collect()
}

impl Template {
    /// Reads a text. Variables will be coded. Plain text and constants are coded at once as names
    /// and values of queries and forms; a pattern's own text is one; a URL's is left to its owner.
    ///
    /// # Errors
    /// Each variable that means nothing, or a `${` that is not closed.
    pub(crate) fn parse(text: &str, names: &Names, coding: Coding) -> Result<Self, Vec<Wrong>> {
        let mut template = Self::default();
        let mut wrong = Vec::new();
        for piece in pieces(text).map_err(|error| vec![error])? {
            match piece {
                Piece::Text(text) => template.push_text(&match coding {
                    Coding::Component | Coding::Form => coding.encoded(text),
                    _ => text.to_owned(),
                }),
                Piece::Name(name) => match names.find(name) {
                    Ok(Name::Constant(text)) => template.push_text(&match coding {
                        Coding::Component | Coding::Form | Coding::Pattern => coding.encoded(&text),
                        _ => text,
                    }),
                    Ok(Name::Value(value)) => template.0.push(Part::Value(value, coding)),
                    Err(error) => wrong.push(error),
                },
            }
        }
        if wrong.is_empty() {
            Ok(template)
        } else {
            Err(wrong)
        }
    }

    /// A template of plain text.
    pub(crate) fn of(text: &str) -> Self {
        let mut template = Self::default();
        template.push_text(text);
        template
    }

    /// Adds plain text.
    pub(crate) fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push(Part::Text(text.to_owned())),
        }
    }

    /// Adds another template.
    pub(crate) fn append(&mut self, other: Self) {
        for part in other.0 {
            match part {
                Part::Text(text) => self.push_text(&text),
                part @ Part::Value(..) => self.0.push(part),
            }
        }
    }

    /// The same with the plain text passed through `change`.
    pub(crate) fn map_text(mut self, change: impl Fn(&str) -> String) -> Self {
        for part in &mut self.0 {
            if let Part::Text(text) = part {
                *text = change(text);
            }
        }
        self
    }

    /// The text, if nothing in it changes.
    pub(crate) fn fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The plain text it begins with.
    pub(crate) fn beginning(&self) -> &str {
        match self.0.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// Takes `length` bytes (a part of [`Template::beginning`]) off the front.
    pub(crate) fn drop_beginning(&mut self, length: usize) {
        if let Some(Part::Text(text)) = self.0.first_mut() {
            text.replace_range(..length, "");
        }
    }

    /// Drops everything behind the first `#` that is written out.
    pub(crate) fn drop_fragment(&mut self) {
        let cut = self
            .0
            .iter()
            .enumerate()
            .find_map(|(index, part)| match part {
                Part::Text(text) => text.find('#').map(|at| (index, at)),
                Part::Value(..) => None,
            });
        if let Some((index, at)) = cut {
            self.0.truncate(index + 1);
            if let Some(Part::Text(text)) = self.0.last_mut() {
                text.truncate(at);
            }
        }
    }

    /// Whether a `?` is written out in it.
    pub(crate) fn has_query(&self) -> bool {
        let has = |part: &Part| matches!(part, Part::Text(text) if text.contains('?'));
        self.0.iter().any(has)
    }

    /// With `stand_in` for each variable, to try whether the rest is valid.
    pub(crate) fn sample(&self, stand_in: &str) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Value(..) => stand_in.to_owned(),
        };
        self.0.iter().map(text).collect()
    }

    /// Whether it asks for something of which `is` holds.
    pub(crate) fn uses(&self, is: impl Fn(Value) -> bool) -> bool {
        let found = |part: &Part| matches!(part, Part::Value(value, _) if is(*value));
        self.0.iter().any(found)
    }

    /// Appends the text as it is now.
    pub(crate) fn write(&self, tables: &[Table], memory: &mut Memory, out: &mut Vec<u8>) {
        for part in &self.0 {
            match part {
                Part::Text(text) => out.extend_from_slice(text.as_bytes()),
                Part::Value(value, coding) => memory.write(*value, *coding, tables, out),
            }
        }
    }

    /// The text as it is now.
    pub(crate) fn text(&self, tables: &[Table], memory: &mut Memory) -> String {
        if let Some(text) = self.fixed() {
            return text.to_owned();
        }
        let mut out = Vec::new();
        self.write(tables, memory, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
