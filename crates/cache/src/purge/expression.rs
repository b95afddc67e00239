//! The language of bans: `status == 404 && url ~ "^/news" && header.content-type ~ image`.
//!
//! What operators know from Varnish holds: conditions joined by `&&`, the fields `req.url`,
//! `req.http.host`, `obj.status` and `obj.http.NAME`, patterns that need not match the whole.
//! Expressions that mean the same by their form (order, spelling of fields, quotes, repeated
//! conditions) have the same text, so that equal bans are recognised.

use std::fmt;
use std::hash::{Hash, Hasher};

use rapidhash::quality::RapidHasher;
use regex::bytes::{Regex, RegexBuilder};

use super::parse;
use super::subject::Subject;

/// Bytes of an expression.
pub const MOST_BYTES: usize = 4096;
/// Conditions of an expression.
pub const MOST_CONDITIONS: usize = 16;
/// Bytes a compiled pattern may take, and again what its search may.
const PATTERN_BYTES: usize = 256 << 10;
/// Groups within groups in a pattern.
const PATTERN_DEPTH: u32 = 64;

/// Conditions that an object meets or does not.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Cheap ones first.
    conditions: Box<[Condition]>,
    text: Box<str>,
    hash: u64,
}

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// The byte of the text where the trouble begins.
    pub at: usize,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// One condition.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) field: Field,
    pub(crate) negated: bool,
    pub(crate) test: Test,
}

/// What of an object is looked at. In the order of what a look costs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Status,
    Host,
    Url,
    Header(Box<str>),
}

/// What it is compared with.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Status(Compare, u16),
    Text(Box<str>),
    Pattern(Box<Pattern>),
}

/// How a status is compared; `!=` is a negated `==`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Below,
    Above,
    AtMost,
    AtLeast,
}

/// A regular expression over bytes, and as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    text: Box<str>,
    regex: Regex,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// Where the trouble begins, what it is and what to write instead.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        Self::of(parse::conditions(text)?)
    }

    /// The expression of these conditions: field, operator and value, as they would be written
    /// but for quotes. For programs that would otherwise have to quote what users gave them.
    ///
    /// # Errors
    /// As [`Expression::parse`]; the place is the number of the condition.
    pub fn all_of(conditions: &[(&str, &str, &str)]) -> Result<Self, ExpressionError> {
        let read = conditions.iter().enumerate().map(|(at, condition)| {
            let (field, operator, value) = *condition;
            parse::condition(field, operator, value).map_err(|error| error.at(at))
        });
        Self::of(read.collect::<Result<_, _>>()?)
    }

    fn of(mut conditions: Vec<Condition>) -> Result<Self, ExpressionError> {
        if conditions.is_empty() || conditions.len() > MOST_CONDITIONS {
            let count = conditions.len();
            return Err(ExpressionError {
                at: 0,
                message: format!("{count} conditions: one to {MOST_CONDITIONS} are needed"),
            });
        }
        conditions.sort_by_cached_key(|one| (one.cost(), one.field.clone(), one.to_string()));
        conditions.dedup_by_key(|one| one.to_string());
        let texts: Vec<String> = conditions.iter().map(ToString::to_string).collect();
        let text = texts.join(" && ");
        if text.len() > MOST_BYTES {
            return Err(parse::too_long(text.len()));
        }
        let mut hasher = RapidHasher::new(0);
        hasher.write(text.as_bytes());
        Ok(Self {
            conditions: conditions.into(),
            text: text.into(),
            hash: hasher.finish(),
        })
    }

    /// Whether all conditions hold.
    pub fn matches(&self, subject: &Subject<'_>) -> bool {
        self.conditions.iter().all(|one| one.holds(subject))
    }

    /// The normal form: what means the same by its form has the same.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.text == other.text
    }
}

impl Eq for Expression {}

impl Hash for Expression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at byte {}: {}", self.at, self.message)
    }
}

impl std::error::Error for ExpressionError {}

impl Condition {
    /// A field that is not there is equal to nothing and matches nothing, so that the negated
    /// operators hold for it.
    fn holds(&self, subject: &Subject<'_>) -> bool {
        let found = match &self.field {
            Field::Status => self.test.status(subject.status),
            Field::Host => self.test.text(subject.host),
            Field::Url => self.test.text(subject.target),
            Field::Header(name) => subject.fields.any(name, &mut |value| self.test.text(value)),
        };
        found != self.negated
    }

    fn cost(&self) -> u8 {
        match (&self.field, &self.test) {
            (Field::Status, _) => 0,
            (Field::Header(_), Test::Text(_)) => 2,
            (_, Test::Text(_)) => 1,
            (Field::Header(_), _) => 4,
            _ => 3,
        }
    }
}

impl Test {
    fn status(&self, status: u16) -> bool {
        match self {
            Self::Status(compare, number) => compare.holds(status, *number),
            Self::Text(_) | Self::Pattern(_) => false,
        }
    }

    fn text(&self, value: &[u8]) -> bool {
        match self {
            Self::Text(text) => text.as_bytes() == value,
            Self::Pattern(pattern) => pattern.regex.is_match(value),
            Self::Status(..) => false,
        }
    }
}

impl Compare {
    fn holds(self, status: u16, number: u16) -> bool {
        match self {
            Self::Equal => status == number,
            Self::Below => status < number,
            Self::Above => status > number,
            Self::AtMost => status <= number,
            Self::AtLeast => status >= number,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Below => "<",
            Self::Above => ">",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
        }
    }
}

impl Pattern {
    /// Compiles a pattern over bytes. Hosts are compared without case.
    pub(crate) fn new(text: &str, any_case: bool) -> Result<Self, String> {
        let regex = RegexBuilder::new(text)
            .unicode(false)
            .case_insensitive(any_case)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .nest_limit(PATTERN_DEPTH)
            .build()
            .map_err(|error| explain(&error))?;
        let text = text.into();
        Ok(Self { text, regex })
    }
}

/// In one line, without the drawing that comes with it.
fn explain(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => {
            format!("the pattern takes more than {PATTERN_BYTES} bytes: repeat less in it")
        }
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            let why = last.strip_prefix("error: ").unwrap_or(last);
            format!("the pattern cannot be used: {why}")
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ", self.field)?;
        match (&self.test, self.negated) {
            (Test::Status(_, number), true) => write!(out, "!= {number}"),
            (Test::Status(compare, number), false) => write!(out, "{} {number}", compare.word()),
            (Test::Text(text), negated) => {
                let operator = if negated { "!=" } else { "==" };
                write!(out, "{operator} \"{}\"", parse::quoted_text(text))
            }
            (Test::Pattern(pattern), negated) => {
                let operator = if negated { "!~" } else { "~" };
                write!(
                    out,
                    "{operator} \"{}\"",
                    parse::quoted_pattern(&pattern.text)
                )
            }
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status => out.write_str("status"),
            Self::Host => out.write_str("host"),
            Self::Url => out.write_str("url"),
            Self::Header(name) => write!(out, "header.{name}"),
        }
    }
}
