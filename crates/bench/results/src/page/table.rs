//! Tables of a page.

use super::markup::{add, escape, px};

/// What a figure means to the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Good news.
    Good,
    /// Needs a look.
    Warning,
    /// Bad news.
    Bad,
    /// Less important than its neighbours.
    Quiet,
}

impl Tone {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Bad => "bad",
            Self::Quiet => "quiet",
        }
    }
}

/// A cell; made from text with `into()`.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    tone: Tone,
    strong: bool,
    hint: String,
    small: String,
    bar: Option<f64>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl Cell {
    /// A cell with text.
    pub fn new(text: impl Into<String>) -> Self {
        text.into().into()
    }

    /// With a tone.
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// Bold: the best of its column, for example.
    pub fn strong(mut self) -> Self {
        self.strong = true;
        self
    }

    /// What is shown while the pointer rests on it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// A second line in small print: a spread, a ratio.
    pub fn small(mut self, small: impl Into<String>) -> Self {
        self.small = small.into();
        self
    }

    /// A bar behind the figure, its length a share between 0 and 1.
    pub fn bar(mut self, share: f64) -> Self {
        self.bar = Some(share.clamp(0.0, 1.0));
        self
    }

    fn render(&self, out: &mut String, column: &Column) {
        let tag = if column.head {
            "th scope=\"row\""
        } else {
            "td"
        };
        let mut class = vec![self.tone.class()];
        if column.number {
            class.push("n");
        }
        if self.strong {
            class.push("strong");
        }
        add(out, format_args!("<{tag} class=\"{}\"", class.join(" ")));
        if !self.hint.is_empty() {
            add(out, format_args!(" title=\"{}\"", escape(&self.hint)));
        }
        if let Some(share) = self.bar {
            add(out, format_args!(" style=\"--bar:{}%\"", px(share * 100.0)));
        }
        add(out, format_args!(">{}", escape(&self.text)));
        if !self.small.is_empty() {
            add(out, format_args!("<small>{}</small>", escape(&self.small)));
        }
        out.push_str(if column.head { "</th>" } else { "</td>" });
    }
}

/// A column's heading and kind.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    number: bool,
    head: bool,
}

impl Column {
    /// Text, to the left.
    pub fn text(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            number: false,
            head: false,
        }
    }

    /// Figures, to the right.
    pub fn number(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            number: true,
            head: false,
        }
    }

    /// The name of a row, to the left; stays in sight when the table is scrolled.
    pub fn head(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            number: false,
            head: true,
        }
    }
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these columns and no rows yet.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            ..Self::default()
        }
    }

    /// A table of names and what belongs to them, without headings.
    pub fn pairs(rows: impl IntoIterator<Item = (impl Into<Cell>, impl Into<Cell>)>) -> Self {
        let mut table = Self::new([Column::head(""), Column::text("")]);
        table.rows = rows
            .into_iter()
            .map(|(name, value)| vec![name.into(), value.into()])
            .collect();
        table
    }

    /// With a title above it.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a row: a cell for each column.
    pub fn row(mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) -> Self {
        self.push(cells);
        self
    }

    /// Adds a row to a table at hand.
    pub fn push(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn render(&self, out: &mut String) {
        out.push_str("<div class=\"scroll\"><table>");
        if !self.caption.is_empty() {
            add(
                out,
                format_args!("<caption>{}</caption>", escape(&self.caption)),
            );
        }
        if self.columns.iter().any(|column| !column.name.is_empty()) {
            out.push_str("<thead><tr>");
            for column in &self.columns {
                let class = if column.number { " class=\"n\"" } else { "" };
                add(
                    out,
                    format_args!("<th scope=\"col\"{class}>{}</th>", escape(&column.name)),
                );
            }
            out.push_str("</tr></thead>");
        }
        out.push_str("<tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for (cell, column) in row.iter().zip(&self.columns) {
                cell.render(out, column);
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
    }
}
