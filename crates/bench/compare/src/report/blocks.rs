//! What a report is made of, before it is Markdown or HTML.

use forebay_results::page::{BarChart, LineChart, Tone};

/// A piece of a report.
#[derive(Debug)]
pub(super) enum Block {
    /// Begins a section.
    Section(String),
    /// A heading within a section.
    Heading(String),
    Paragraph(String),
    /// A warning.
    Notice(String),
    List(Vec<String>),
    Table(Table),
    /// Drawn where charts can be.
    Lines(LineChart),
    /// Drawn where charts can be.
    Bars(BarChart),
    /// A command line.
    Code(String),
    /// Folded away where that is possible.
    Details {
        summary: String,
        text: String,
    },
}

/// A table; the first column names the rows.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<Entry>>,
    /// The columns hold text rather than figures.
    pub(super) textual: bool,
}

/// A cell.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) text: String,
    /// In small print: a spread, a ratio.
    pub(super) small: String,
    /// The best of its column.
    pub(super) strong: bool,
    pub(super) tone: Tone,
    /// What the pointer shows.
    pub(super) hint: String,
}

impl Entry {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            small: String::new(),
            strong: false,
            tone: Tone::Plain,
            hint: String::new(),
        }
    }

    /// Where there is no figure.
    pub(super) fn absent() -> Self {
        Self::new(forebay_results::format::ABSENT)
    }

    pub(super) fn small(mut self, small: impl Into<String>) -> Self {
        self.small = small.into();
        self
    }
}
