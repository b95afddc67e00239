//! What is seen of a run while it goes on, on standard error.
//!
//! On a terminal: a few lines, drawn again in place. The cursor stays visible
//! and rests below them, so that whatever ends the program leaves the terminal
//! as it was. Elsewhere: a plain line each second, after ten each ten seconds.

mod block;
mod spark;
mod text;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use forebay_results::{Cause, Point, format};

use crate::args::Live;
use spark::Sparkline;

/// Fewer columns than this hold nothing useful.
const NARROWEST: usize = 30;
/// After so many seconds, lines come at this interval.
const EACH: u64 = 10;

/// A rung at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now<'a> {
    /// Since its measured time began.
    pub(crate) elapsed: Duration,
    /// Requests that came to an end.
    pub(crate) completed: u64,
    /// Those that failed.
    pub(crate) failed: &'a BTreeMap<Cause, u64>,
    /// Connections open.
    pub(crate) open: u64,
    /// Share of its time that the busiest thread of the load tester was on a processor.
    pub(crate) client_busiest: f64,
    /// The last stretch that is complete, about a second.
    pub(crate) last: Option<&'a Point>,
    /// Processors that the server uses, if it is observed.
    pub(crate) server_cores: Option<f64>,
}

impl Now<'_> {
    /// Requests that succeed a second: lately, or since the beginning while that is less than a
    /// stretch ago.
    fn rate(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        match self.last {
            Some(last) => Some(last.succeeded as f64 / last.seconds.max(1e-9)),
            None if seconds < 0.3 => None,
            None => {
                let failed: u64 = self.failed.values().sum();
                Some(self.completed.saturating_sub(failed) as f64 / seconds)
            }
        }
    }
}

/// What the moment is a part of.
#[derive(Clone, Debug, Default)]
struct Rung {
    name: String,
    /// Its number and how many there are.
    place: (usize, usize),
    duration: Option<Duration>,
    requests: Option<u64>,
}

impl Rung {
    /// How much of it is done, 0 to 1, if that is known.
    fn share(&self, now: &Now<'_>) -> Option<f64> {
        let share = match (self.requests, self.duration) {
            (Some(requests), _) => now.completed as f64 / requests.max(1) as f64,
            (None, Some(duration)) => now.elapsed.as_secs_f64() / duration.as_secs_f64().max(1e-9),
            (None, None) => return None,
        };
        Some(share.clamp(0.0, 1.0))
    }

    /// `500 connections (2 of 4)`
    fn title(&self) -> String {
        match self.place {
            (_, 0 | 1) => self.name.clone(),
            (number, of) => format!("{} ({number} of {of})", self.name),
        }
    }
}

/// How a view is shown.
enum Kind {
    Off,
    Lines {
        /// The second at which the next line is due.
        due: u64,
    },
    Block {
        has_colour: bool,
        /// Columns of what was drawn last, line by line.
        drawn: Vec<usize>,
    },
}

/// A view of a run.
pub(crate) struct View {
    kind: Kind,
    rung: Rung,
    rates: Sparkline,
    out: Box<dyn Write + Send>,
    /// Columns of the terminal.
    width: fn() -> usize,
}

impl View {
    /// Begins with the run's title, unless nothing is to be seen.
    pub(crate) fn new(mode: Live, title: &str) -> Self {
        let kind = match mode {
            Live::Off => Kind::Off,
            Live::Auto if is_drawable() => Kind::Block {
                has_colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
                drawn: Vec::new(),
            },
            Live::Auto | Live::Lines => Kind::Lines { due: 1 },
        };
        Self::with(kind, title, Box::new(io::stderr()), terminal_width)
    }

    fn with(kind: Kind, title: &str, out: Box<dyn Write + Send>, width: fn() -> usize) -> Self {
        let mut view = Self {
            kind,
            rung: Rung::default(),
            rates: Sparkline::default(),
            out,
            width,
        };
        if !matches!(view.kind, Kind::Off) {
            view.print(&format!("{}\n", format::plain(title)));
        }
        view
    }

    /// A rung begins: its name, its number among how many, and what it ends with.
    pub(crate) fn begin(
        &mut self,
        name: &str,
        place: (usize, usize),
        duration: Option<Duration>,
        requests: Option<u64>,
    ) {
        self.rung = Rung {
            name: format::plain(name),
            place,
            duration,
            requests,
        };
        self.rates = Sparkline::default();
        if let Kind::Lines { due } = &mut self.kind {
            *due = 1;
            let line = format!("{}\n", self.rung.title());
            self.print(&line);
        }
    }

    /// Shows the rung as it is now.
    pub(crate) fn update(&mut self, now: &Now<'_>) {
        if let Some(last) = now.last {
            self.rates
                .set(last.at, last.succeeded as f64 / last.seconds.max(1e-9));
        }
        match &mut self.kind {
            Kind::Off => {}
            Kind::Lines { due } => {
                let second = now.elapsed.as_secs();
                if second >= *due {
                    *due = if second < EACH {
                        second + 1
                    } else {
                        (second / EACH + 1) * EACH
                    };
                    let line = text::line(now);
                    self.print(&line);
                }
            }
            Kind::Block { has_colour, drawn } => {
                let width = (self.width)();
                let lines = block::lines(&self.rung, &self.rates, now, width.saturating_sub(1));
                let mut bytes = erase(drawn, width);
                *drawn = lines.iter().map(block::Line::columns).collect();
                lines
                    .iter()
                    .for_each(|line| line.write(*has_colour, &mut bytes));
                self.print(&bytes);
            }
        }
    }

    /// Says something that stays, above what is drawn.
    pub(crate) fn note(&mut self, text: &str) {
        self.clear();
        if !matches!(self.kind, Kind::Off) {
            self.print(&format!("{}\n", format::plain(text)));
        }
    }

    /// The rung is over; its figures are in the report.
    pub(crate) fn end(&mut self) {
        self.clear();
    }

    /// Takes what is drawn off the screen.
    fn clear(&mut self) {
        let width = (self.width)();
        if let Kind::Block { drawn, .. } = &mut self.kind {
            let bytes = erase(drawn, width);
            drawn.clear();
            self.print(&bytes);
        }
    }

    /// In one piece, so that nothing is seen half drawn. A terminal that is gone is no reason to
    /// end a run.
    fn print(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Moves the cursor up over what was drawn, also when the terminal became narrower and broke its
/// lines, and erases from there on.
fn erase(drawn: &[usize], width: usize) -> String {
    let rows: usize = drawn
        .iter()
        .map(|columns| columns.div_ceil(width.max(1)).max(1))
        .sum();
    if rows == 0 {
        return String::new();
    }
    format!("\r\x1b[{rows}A\x1b[J")
}

/// Whether standard error is a terminal that can be drawn on.
fn is_drawable() -> bool {
    let can = |term: std::ffi::OsString| !term.is_empty() && term != "dumb";
    io::stderr().is_terminal()
        && std::env::var_os("TERM").is_some_and(can)
        && terminal_width() >= NARROWEST
}

fn terminal_width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    // Some terminals, such as those of serial lines, do not know.
    size.map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|&columns| columns > 0)
        .unwrap_or(80)
}

#[cfg(test)]
mod tests;
