//! Self-contained HTML pages with cards, tables and charts: no network, no
//! other file, light and dark, readable without scripts and on paper.
//!
//! ```ignore
//! use forebay_results::page::*;
//! let html = Page::new("Ladder")
//!     .subtitle("20 KB page, without keep-alive")
//!     .cards([Card::new("fastest", "Forebay").note("147,300 requests/s")])
//!     .section("Requests a second")
//!     .paragraph("Median of three rounds.")
//!     .table(
//!         Table::new([Column::head("server"), Column::number("500"), Column::number("1,000")])
//!             .row([Cell::new("forebay"), Cell::new("147,300").strong().small("× 1.00")])
//!     )
//!     .line_chart(
//!         LineChart::new("Requests/s", Axis::new("connections", Unit::Count).scale(Scale::Steps),
//!                        Axis::new("requests/s", Unit::PerSecond))
//!             .series(Series::new("forebay", vec![(500.0, 147_300.0), (1000.0, 146_900.0)]).colour(0))
//!     )
//!     .bar_chart(
//!         BarChart::new("Memory", Axis::new("resident", Unit::Bytes), ["forebay", "varnish"])
//!             .series("peak", vec![Some(Bar::from(3e8)), Some(Bar { value: 5e8, spread: Some((4.8e8, 5.3e8)) })])
//!     )
//!     .details("forebay.toml", "[server]\nworkers = 1\n")
//!     .to_html();
//! ```
//!
//! Every method takes text, never markup; all of it is escaped. Methods take
//! `&mut self`, so a page can also be built in loops.

mod axis;
mod bars;
mod frame;
mod line;
mod markup;
mod path;
mod table;
mod ticks;

pub use axis::{Axis, Scale, Unit};
pub use bars::{Bar, BarChart};
pub use line::{LineChart, Series};
pub use markup::escape;
pub use table::{Cell, Column, Table, Tone};

use markup::add;

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");
/// From so many sections on there is a table of contents.
const CONTENTS_FROM: usize = 4;

/// A figure that stands out at the head of a page.
#[derive(Clone, Debug)]
pub struct Card {
    label: String,
    value: String,
    note: String,
    tone: Tone,
}

impl Card {
    /// A card: what it is, and the figure.
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            value: value.into(),
            note: String::new(),
            tone: Tone::Plain,
        }
    }

    /// A line below the figure.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// With a tone.
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

/// A page under construction.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    subtitle: String,
    footer: String,
    /// Titles of the sections, for the contents.
    sections: Vec<String>,
    body: String,
    /// Whether charts are being laid out side by side.
    in_charts: bool,
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            subtitle: String::new(),
            footer: String::new(),
            sections: Vec::new(),
            body: String::new(),
            in_charts: false,
        }
    }

    /// A line below the title.
    pub fn subtitle(&mut self, text: impl Into<String>) -> &mut Self {
        self.subtitle = text.into();
        self
    }

    /// A line at the end: what made the page, and when.
    pub fn footer(&mut self, text: impl Into<String>) -> &mut Self {
        self.footer = text.into();
        self
    }

    /// Begins a section; what follows belongs to it.
    pub fn section(&mut self, title: impl Into<String>) -> &mut Self {
        let title = title.into();
        self.sections.push(title.clone());
        let id = self.sections.len();
        self.put(format_args!("<h2 id=\"s{id}\">{}</h2>", escape(&title)))
    }

    /// A heading within a section.
    pub fn subsection(&mut self, title: &str) -> &mut Self {
        self.put(format_args!("<h3>{}</h3>", escape(title)))
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        self.put(format_args!("<p>{}</p>", escape(text)))
    }

    /// A paragraph that stands out: a warning, a finding.
    pub fn notice(&mut self, tone: Tone, text: &str) -> &mut Self {
        self.put(format_args!(
            "<p class=\"notice {}\">{}</p>",
            tone.class(),
            escape(text)
        ))
    }

    /// A list of sentences.
    pub fn list(&mut self, items: impl IntoIterator<Item = impl AsRef<str>>) -> &mut Self {
        let mut list = String::from("<ul>");
        for item in items {
            add(
                &mut list,
                format_args!("<li>{}</li>", escape(item.as_ref())),
            );
        }
        self.put(format_args!("{list}</ul>"))
    }

    /// Figures that stand out, side by side.
    pub fn cards(&mut self, cards: impl IntoIterator<Item = Card>) -> &mut Self {
        let mut out = String::from("<div class=\"cards\">");
        for card in cards {
            add(
                &mut out,
                format_args!(
                    "<div class=\"card {}\"><span>{}</span><b>{}</b><small>{}</small></div>",
                    card.tone.class(),
                    escape(&card.label),
                    escape(&card.value),
                    escape(&card.note),
                ),
            );
        }
        self.put(format_args!("{out}</div>"))
    }

    /// A table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        let mut out = String::new();
        table.render(&mut out);
        self.put(format_args!("{out}"))
    }

    /// A chart of lines. Charts that follow each other stand two abreast where there is room.
    pub fn line_chart(&mut self, chart: LineChart) -> &mut Self {
        self.charts();
        chart.render(&mut self.body);
        self
    }

    /// A chart of bars.
    pub fn bar_chart(&mut self, chart: BarChart) -> &mut Self {
        self.charts();
        chart.render(&mut self.body);
        self
    }

    /// Text as it is: a command line.
    pub fn code(&mut self, text: &str) -> &mut Self {
        self.put(format_args!("<pre>{}</pre>", escape(text)))
    }

    /// Text as it is, folded away below a line: a configuration.
    pub fn details(&mut self, summary: &str, text: &str) -> &mut Self {
        self.put(format_args!(
            "<details><summary>{}</summary><pre>{}</pre></details>",
            escape(summary),
            escape(text)
        ))
    }

    /// The whole page.
    pub fn to_html(&self) -> String {
        let mut out = String::with_capacity(self.body.len() + STYLE.len() + SCRIPT.len() + 4096);
        add(
            &mut out,
            format_args!(
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline';script-src 'unsafe-inline'\"><title>{0}</title><style>{STYLE}</style></head><body><header><h1>{0}</h1>",
                escape(&self.title),
            ),
        );
        if !self.subtitle.is_empty() {
            add(&mut out, format_args!("<p>{}</p>", escape(&self.subtitle)));
        }
        out.push_str("</header>");
        self.contents(&mut out);
        add(&mut out, format_args!("<main>{}", self.body));
        if self.in_charts {
            out.push_str("</div>");
        }
        out.push_str("</main>");
        if !self.footer.is_empty() {
            add(
                &mut out,
                format_args!("<footer>{}</footer>", escape(&self.footer)),
            );
        }
        add(
            &mut out,
            format_args!("<script>{SCRIPT}</script></body></html>\n"),
        );
        out
    }

    fn contents(&self, out: &mut String) {
        if self.sections.len() < CONTENTS_FROM {
            return;
        }
        out.push_str("<nav>");
        for (i, title) in self.sections.iter().enumerate() {
            add(
                out,
                format_args!("<a href=\"#s{}\">{}</a>", i + 1, escape(title)),
            );
        }
        out.push_str("</nav>");
    }

    fn charts(&mut self) {
        if !self.in_charts {
            self.body.push_str("<div class=\"charts\">");
            self.in_charts = true;
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) -> &mut Self {
        if self.in_charts {
            self.body.push_str("</div>");
            self.in_charts = false;
        }
        add(&mut self.body, text);
        self
    }
}

#[cfg(test)]
mod tests;
