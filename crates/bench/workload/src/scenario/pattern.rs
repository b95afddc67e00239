//! What is looked for in a response: texts and regular expressions, prepared
//! where they have no variables; and its body as JSON, read when first asked for.

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use super::memory::Memory;
use super::table::Table;
use super::template::Template;

/// Memory of one compiled expression.
const MAX_REGEX_BYTES: usize = 4 << 20;

/// A regular expression, perhaps with variables (which mean themselves in it).
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// Compiled once.
    Fixed(Regex),
    /// Compiled for each response; it costs much more.
    Made(Template),
}

impl Pattern {
    /// Prepares an expression.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn new(template: Template) -> Result<Self, String> {
        match template.fixed() {
            Some(text) => compile(text).map(Self::Fixed),
            None => compile(&template.sample("x")).map(|_| Self::Made(template)),
        }
    }

    /// The expression as it is now; `None` when the variables made it too large.
    pub(crate) fn now(&self, tables: &[Table], memory: &mut Memory) -> Option<Regex> {
        match self {
            // A clone shares the compiled program.
            Self::Fixed(regex) => Some(regex.clone()),
            Self::Made(template) => compile(&template.text(tables, memory)).ok(),
        }
    }

    /// Whether it matches, without a clone where none is needed.
    pub(crate) fn matches(&self, text: &[u8], tables: &[Table], memory: &mut Memory) -> bool {
        match self {
            Self::Fixed(regex) => regex.is_match(text),
            Self::Made(_) => self
                .now(tables, memory)
                .is_some_and(|regex| regex.is_match(text)),
        }
    }
}

fn compile(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(MAX_REGEX_BYTES).build();
    built.map_err(|error| {
        // The last line says why; those before repeat the expression with a caret.
        let words = error.to_string();
        let last = words.lines().last().unwrap_or_default().trim();
        last.strip_prefix("error: ").unwrap_or(last).to_owned()
    })
}

/// A text that is looked for.
#[derive(Clone, Debug)]
pub(crate) enum Needle {
    /// Prepared once.
    Fixed(Box<Finder<'static>>),
    /// With variables.
    Made(Template),
}

impl Needle {
    /// Prepares a text.
    pub(crate) fn new(template: Template) -> Self {
        match template.fixed() {
            Some(text) => Self::Fixed(Box::new(Finder::new(text).into_owned())),
            None => Self::Made(template),
        }
    }

    /// Whether the body has it.
    pub(crate) fn is_in(&self, body: &[u8], tables: &[Table], memory: &mut Memory) -> bool {
        match self {
            Self::Fixed(finder) => finder.find(body).is_some(),
            Self::Made(template) => {
                let text = template.text(tables, memory);
                memchr::memmem::find(body, text.as_bytes()).is_some()
            }
        }
    }
}

/// A body as JSON, read once at most.
#[derive(Debug)]
pub(crate) struct LazyJson<'a> {
    body: &'a [u8],
    read: Option<Option<Value>>,
}

impl<'a> LazyJson<'a> {
    /// Nothing is read yet.
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { body, read: None }
    }

    /// The document; `None` when the body is none.
    pub(crate) fn get(&mut self) -> Option<&Value> {
        self.read
            .get_or_insert_with(|| serde_json::from_slice(self.body).ok())
            .as_ref()
    }
}

/// The beginning of what was found, for words: at most 60 characters, in one line, without control bytes.
pub(crate) fn shortened(text: &[u8]) -> String {
    const MOST: usize = 60;
    // Four bytes are the longest character.
    let start = &text[..text.len().min(4 * MOST)];
    let text_start = String::from_utf8_lossy(start);
    let mut characters = text_start.chars();
    let mut out: String = characters
        .by_ref()
        .take(MOST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if characters.next().is_some() || start.len() < text.len() {
        out.push('…');
    }
    out
}
