//! The row of one setting: what it is called, takes, means, and how it is set.

use std::time::Duration;

use crate::address::Refused;
use crate::diagnostic::Diagnostic;
use crate::draft::{Share, Spanned};
use crate::units::{show_duration, show_size};

use super::value::{self, Given};

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Count,
    /// A whole number or `"unlimited"`.
    CountOrUnlimited,
    /// Bytes, or text such as `"64KiB"`.
    Size,
    /// A size or `"unlimited"`.
    SizeOrUnlimited,
    /// A size or a percentage of another one.
    SizeOrShare,
    /// Seconds, or text such as `"2m"`.
    Time,
    /// A time or `"off"`.
    TimeOrOff,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text; what it must be.
    Text(&'static str),
    /// A list of texts; what each must be.
    List(&'static str),
    /// A list of texts, or `"all"`; what each must be.
    ListOrAll(&'static str),
    /// A table of times by status.
    TimesByStatus,
    /// A percentage, in whole numbers.
    Percent,
    /// A percentage or `"off"`.
    PercentOrOff,
    /// A value of its own shape: several texts, a table, a section; in words.
    Shape(&'static str),
}

/// One documented setting.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The section it belongs to, as in [`super::Section::name`].
    pub section: &'static str,
    /// Its key.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// The least allowed number: bytes, milliseconds, or a count (of elements, for a list).
    pub min: u64,
    /// The greatest allowed number: bytes, milliseconds, or a count; `u64::MAX`: no bound.
    pub max: u64,
    /// What holds when it is absent, as it would be written in the file (or in words).
    pub default: &'static str,
    /// A value as it is written in the file, other than the default.
    pub example: &'static str,
    /// What it means.
    pub doc: &'static str,
}

impl Row {
    /// What the setting takes, in words: `a size such as "64KiB", from 1MiB`.
    pub fn expected(&self) -> String {
        let kind = match self.kind {
            Kind::Count => "a whole number".into(),
            Kind::CountOrUnlimited => "a whole number or \"unlimited\"".into(),
            Kind::Size => "a size such as \"64KiB\" or \"10MB\"".into(),
            Kind::SizeOrUnlimited => "a size such as \"64KiB\", or \"unlimited\"".into(),
            Kind::SizeOrShare => "a size such as \"8MiB\", or a percentage such as \"10%\"".into(),
            Kind::Time => "a time such as \"10s\" or \"2m\"".into(),
            Kind::TimeOrOff => "a time such as \"10s\" or \"2m\", or \"off\"".into(),
            Kind::Flag => "true or false".into(),
            Kind::Choice(words) => choice(words),
            Kind::Text(what) => what.into(),
            Kind::List(what) => format!("a list of {what}"),
            Kind::ListOrAll(what) => format!("a list of {what}, or \"all\""),
            Kind::TimesByStatus => "times by status, such as { 404 = \"10s\" }".into(),
            Kind::Percent => "a percentage such as \"20%\"".into(),
            Kind::PercentOrOff => "a percentage such as \"125%\", or \"off\"".into(),
            Kind::Shape(what) => what.into(),
        };
        match self.range() {
            Some(range) => format!("{kind}, {range}"),
            None => kind,
        }
    }

    /// What one element of a list is, in words; of anything else, what it takes.
    pub(crate) fn element(&self) -> String {
        match self.kind {
            Kind::List(what) | Kind::ListOrAll(what) => what.into(),
            _ => self.expected(),
        }
    }

    /// The allowed range in words, where there is one: `from 1 to 1024`, `at least 1MiB`.
    pub fn range(&self) -> Option<String> {
        if matches!(
            self.kind,
            Kind::List(_) | Kind::ListOrAll(_) | Kind::Shape(_)
        ) {
            return (self.min > 0).then(|| "not empty".into());
        }
        match (self.min, self.max) {
            (0, u64::MAX) => None,
            (min, u64::MAX) => Some(format!("at least {}", self.show(min))),
            (0, max) => Some(format!("at most {}", self.show(max))),
            (min, max) => Some(format!("from {} to {}", self.show(min), self.show(max))),
        }
    }

    fn show(&self, number: u64) -> String {
        match self.kind {
            Kind::Count | Kind::CountOrUnlimited => number.to_string(),
            Kind::Percent | Kind::PercentOrOff => format!("{number}%"),
            Kind::Time | Kind::TimeOrOff | Kind::TimesByStatus => {
                show_duration(Duration::from_millis(number))
            }
            _ => show_size(number),
        }
    }
}

/// `"a", "b" or "c"`
fn choice(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// The texts of a list.
type Texts = Vec<Spanned<String>>;

/// How a checked value gets into the section `T`.
pub(crate) enum Set<T> {
    Number(fn(&mut T, u64)),
    /// `None`: unlimited.
    Limit(fn(&mut T, Option<u64>)),
    Share(fn(&mut T, Spanned<Share>)),
    Time(fn(&mut T, Duration)),
    /// `None`: off.
    TimeOrOff(fn(&mut T, Option<Duration>)),
    Flag(fn(&mut T, bool)),
    /// Called with one of the words of [`Kind::Choice`] only.
    Choice(fn(&mut T, &str)),
    Text(fn(&mut T, Spanned<String>) -> Result<(), Refused>),
    /// What is refused goes to the last parameter.
    List(fn(&mut T, Texts, &mut Vec<Spanned<Refused>>)),
    /// `None`: all.
    ListOrAll(fn(&mut T, Option<Texts>, &mut Vec<Spanned<Refused>>)),
    TimesByStatus(fn(&mut T, Vec<(u16, Duration)>)),
    /// Reads the value itself; what is wrong goes to the last parameter.
    Shape(fn(&mut T, &Row, &Given<'_>, &mut Vec<Diagnostic>)),
}

/// A row and its setter.
pub(crate) struct Setting<T: 'static> {
    pub(crate) row: Row,
    set: Set<T>,
}

impl<T> Setting<T> {
    const fn new(name: &'static str, kind: Kind, set: Set<T>) -> Self {
        let row = Row {
            section: "",
            name,
            kind,
            min: 0,
            max: u64::MAX,
            default: "",
            example: "",
            doc: "",
        };
        Self { row, set }
    }

    pub(crate) const fn count(name: &'static str, set: fn(&mut T, u64)) -> Self {
        Self::new(name, Kind::Count, Set::Number(set))
    }

    pub(crate) const fn count_or_unlimited(
        name: &'static str,
        set: fn(&mut T, Option<u64>),
    ) -> Self {
        Self::new(name, Kind::CountOrUnlimited, Set::Limit(set))
    }

    pub(crate) const fn size(name: &'static str, set: fn(&mut T, u64)) -> Self {
        Self::new(name, Kind::Size, Set::Number(set))
    }

    pub(crate) const fn size_or_unlimited(
        name: &'static str,
        set: fn(&mut T, Option<u64>),
    ) -> Self {
        Self::new(name, Kind::SizeOrUnlimited, Set::Limit(set))
    }

    pub(crate) const fn size_or_share(name: &'static str, set: fn(&mut T, Spanned<Share>)) -> Self {
        Self::new(name, Kind::SizeOrShare, Set::Share(set))
    }

    pub(crate) const fn time(name: &'static str, set: fn(&mut T, Duration)) -> Self {
        Self::new(name, Kind::Time, Set::Time(set))
    }

    pub(crate) const fn time_or_off(name: &'static str, set: fn(&mut T, Option<Duration>)) -> Self {
        Self::new(name, Kind::TimeOrOff, Set::TimeOrOff(set))
    }

    pub(crate) const fn flag(name: &'static str, set: fn(&mut T, bool)) -> Self {
        Self::new(name, Kind::Flag, Set::Flag(set))
    }

    pub(crate) const fn choice(
        name: &'static str,
        words: &'static [&'static str],
        set: fn(&mut T, &str),
    ) -> Self {
        Self::new(name, Kind::Choice(words), Set::Choice(set))
    }

    pub(crate) const fn text(
        name: &'static str,
        what: &'static str,
        set: fn(&mut T, Spanned<String>) -> Result<(), Refused>,
    ) -> Self {
        Self::new(name, Kind::Text(what), Set::Text(set))
    }

    pub(crate) const fn list(
        name: &'static str,
        what: &'static str,
        set: fn(&mut T, Texts, &mut Vec<Spanned<Refused>>),
    ) -> Self {
        Self::new(name, Kind::List(what), Set::List(set))
    }

    pub(crate) const fn list_or_all(
        name: &'static str,
        what: &'static str,
        set: fn(&mut T, Option<Texts>, &mut Vec<Spanned<Refused>>),
    ) -> Self {
        Self::new(name, Kind::ListOrAll(what), Set::ListOrAll(set))
    }

    pub(crate) const fn times_by_status(
        name: &'static str,
        set: fn(&mut T, Vec<(u16, Duration)>),
    ) -> Self {
        Self::new(name, Kind::TimesByStatus, Set::TimesByStatus(set))
    }

    pub(crate) const fn percent(name: &'static str, set: fn(&mut T, u64)) -> Self {
        Self::new(name, Kind::Percent, Set::Number(set))
    }

    pub(crate) const fn percent_or_off(name: &'static str, set: fn(&mut T, Option<u64>)) -> Self {
        Self::new(name, Kind::PercentOrOff, Set::Limit(set))
    }

    pub(crate) const fn shape(
        name: &'static str,
        what: &'static str,
        set: fn(&mut T, &Row, &Given<'_>, &mut Vec<Diagnostic>),
    ) -> Self {
        Self::new(name, Kind::Shape(what), Set::Shape(set))
    }

    /// The section, the default, an example, and what it means.
    pub(crate) const fn row(
        mut self,
        section: &'static str,
        default: &'static str,
        example: &'static str,
        doc: &'static str,
    ) -> Self {
        self.row.section = section;
        self.row.default = default;
        self.row.example = example;
        self.row.doc = doc;
        self
    }

    /// Bytes, milliseconds, or a count; both ends included.
    pub(crate) const fn between(mut self, min: u64, max: u64) -> Self {
        self.row.min = min;
        self.row.max = max;
        self
    }

    /// Reads what was written and sets it; of a list, what is right of it.
    pub(crate) fn apply(&self, target: &mut T, given: &Given<'_>) -> Result<(), Vec<Diagnostic>> {
        let row = &self.row;
        let (mut wrong, mut refused) = (Vec::new(), Vec::new());
        match self.set {
            Set::Number(set) => set(target, value::number(row, given)?),
            Set::Limit(set) => set(target, value::limit(row, given)?),
            Set::Share(set) => set(target, value::share(row, given)?),
            Set::Time(set) => set(target, value::time(row, given)?),
            Set::TimeOrOff(set) => set(target, value::time_or_off(row, given)?),
            Set::Flag(set) => set(target, value::flag(row, given)?),
            Set::Choice(set) => set(target, &value::choice(row, given)?),
            Set::Text(set) => {
                let text = value::text(row, given)?;
                let span = text.span.clone();
                if let Err(value) = set(target, text) {
                    refused.push(Spanned { value, span });
                }
            }
            Set::List(set) => {
                let list = value::list(row, given, &mut wrong)?;
                set(target, list, &mut refused);
            }
            Set::ListOrAll(set) => {
                let list = value::list_or_all(row, given, &mut wrong)?;
                set(target, list, &mut refused);
            }
            Set::TimesByStatus(set) => set(target, value::times_by_status(row, given)?),
            Set::Shape(set) => set(target, row, given, &mut wrong),
        }
        wrong.extend(given.refused(row, refused));
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}
