//! The block of lines on a terminal, as text with styles, fitted to a width.
//!
//! Pure: numbers and a width in, lines out.

use std::fmt::Write as _;

use forebay_results::format;

use super::spark::Sparkline;
use super::{Now, Rung, text};

/// Columns of the words at the left.
const LABEL: usize = 10;
/// A longer bar says no more.
const LONGEST_BAR: usize = 60;
/// From here on the load tester may be what is measured.
const SATURATED: f64 = 0.9;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Warning,
}

impl Style {
    /// Parameters of SGR (ECMA-48 section 8.3.117).
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warning => "33",
        }
    }
}

/// A line that fits.
#[derive(Debug, Default)]
pub(super) struct Line {
    pieces: Vec<(Style, String)>,
    columns: usize,
    /// Columns it may have.
    width: usize,
}

impl Line {
    fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    fn labelled(label: &str, width: usize) -> Self {
        let mut line = Self::new(width);
        line.push(Style::Dim, &format!("  {label:LABEL$}"));
        line
    }

    /// Adds as much of `text` as fits. Each character that is shown here takes one column.
    fn push(&mut self, style: Style, text: &str) {
        let cut: String = text.chars().take(self.left()).collect();
        self.columns += cut.chars().count();
        self.pieces.push((style, cut));
    }

    /// Adds all of `text` behind a gap, or nothing.
    fn push_if_fits(&mut self, style: Style, text: &str) {
        let gap = if self.columns > LABEL + 2 { 3 } else { 0 };
        if gap + text.chars().count() <= self.left() {
            self.push(Style::Plain, &" ".repeat(gap));
            self.push(style, text);
        }
    }

    fn left(&self) -> usize {
        self.width - self.columns
    }

    /// Columns that it takes.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Appends it with its line end.
    pub(super) fn write(&self, has_colour: bool, out: &mut String) {
        for (style, text) in &self.pieces {
            let code = style.code();
            if has_colour && !code.is_empty() && !text.is_empty() {
                let _ = write!(out, "\x1b[{code}m{text}\x1b[0m");
            } else {
                out.push_str(text);
            }
        }
        out.push('\n');
    }
}

/// The lines of a moment: name and time, progress, rate, durations, requests, use of processors.
pub(super) fn lines(rung: &Rung, rates: &Sparkline, now: &Now<'_>, width: usize) -> Vec<Line> {
    let mut lines = vec![head(rung, now, width)];
    lines.extend(rung.share(now).map(|share| bar(share, width)));
    lines.push(rate(rates, now, width));
    lines.push(durations(now, width));
    lines.push(requests(now, width));
    lines.push(processors(now, width));
    lines
}

fn head(rung: &Rung, now: &Now<'_>, width: usize) -> Line {
    let mut line = Line::new(width);
    line.push(Style::Bold, &format!("  {}", rung.title()));
    let elapsed = format::length(now.elapsed.as_secs_f64().floor());
    line.push_if_fits(
        Style::Plain,
        &match (rung.requests, rung.duration) {
            (Some(_), _) | (None, None) => elapsed,
            (None, Some(duration)) => {
                format!("{elapsed} of {}", format::length(duration.as_secs_f64()))
            }
        },
    );
    line
}

fn bar(share: f64, width: usize) -> Line {
    let mut line = Line::new(width);
    let columns = width.saturating_sub(10).min(LONGEST_BAR);
    let full = (share * columns as f64) as usize;
    line.push(Style::Plain, "  ");
    line.push(Style::Good, &"━".repeat(full));
    line.push(Style::Dim, &"─".repeat(columns - full));
    line.push(
        Style::Plain,
        &format!(" {:>3.0} %", (share * 100.0).floor()),
    );
    line
}

fn rate(rates: &Sparkline, now: &Now<'_>, width: usize) -> Line {
    let mut line = Line::labelled("rate", width);
    let Some(rate) = now.rate() else {
        line.push(Style::Dim, "…");
        return line;
    };
    line.push(Style::Bold, &format!("{}/s", format::rate(rate)));
    if let Some(last) = now.last {
        let bytes = last.bytes_received as f64 / last.seconds.max(1e-9);
        line.push_if_fits(Style::Plain, &format::byte_rate(bytes));
    }
    let curve = rates.draw(line.left().saturating_sub(3));
    line.push_if_fits(Style::Good, &curve);
    line
}

fn durations(now: &Now<'_>, width: usize) -> Line {
    let mut line = Line::labelled("latency", width);
    let Some(last) = now.last else {
        line.push(Style::Dim, "…");
        return line;
    };
    for (name, ns) in [
        ("p50", last.p50_ns),
        ("p90", last.p90_ns),
        ("p99", last.p99_ns),
        ("max", last.max_ns),
    ] {
        line.push_if_fits(
            Style::Plain,
            &format!("{name} {}", format::duration(ns as f64)),
        );
    }
    line
}

fn requests(now: &Now<'_>, width: usize) -> Line {
    let mut line = Line::labelled("requests", width);
    line.push_if_fits(
        Style::Plain,
        &format!("{} done", format::count(now.completed)),
    );
    line.push_if_fits(Style::Plain, &format!("{} open", format::count(now.open)));
    if let Some(words) = text::failures(now.failed) {
        // How many failed matters more than why.
        let room = line.left().saturating_sub(3);
        let short = words.split(" (").next().unwrap_or_default();
        let fitting = if words.chars().count() <= room {
            words.as_str()
        } else {
            short
        };
        line.push_if_fits(Style::Bad, fitting);
    }
    line
}

fn processors(now: &Now<'_>, width: usize) -> Line {
    let mut line = Line::labelled("busy", width);
    let style = if now.client_busiest > SATURATED {
        Style::Warning
    } else {
        Style::Plain
    };
    let share = format::share(now.client_busiest);
    line.push_if_fits(style, &format!("load tester {share} of a core"));
    if let Some(cores) = now.server_cores {
        line.push_if_fits(Style::Plain, &format!("server {cores:.2} cores"));
    }
    line
}
