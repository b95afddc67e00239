//! The screen of `forebay top`: what it remembers, and how it is drawn.

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, LineGauge, Paragraph, Row, Sparkline, Table, Widget};
use serde_json::Value;

use super::figures::{Second, Seen};
use super::panel::{PANELS, Panel};
use crate::commands::show;

/// Lines that a list needs to be of use beside others.
const LIST_LINES: u16 = 7;
/// Figures of now are those of so many seconds, so that they can be read.
const NOW_S: usize = 3;

/// What is on the screen. Lives as long as the command.
pub(super) struct Screen {
    address: String,
    seen: Seen,
    /// Why there is nothing newer, and since when.
    failure: Option<(String, Instant)>,
    pub(super) paused: bool,
    focus: usize,
    /// To be printed, once.
    is_text: bool,
    /// Of each list.
    lists: [List; PANELS.len()],
    color: bool,
}

#[derive(Clone, Copy, Default)]
struct List {
    order: usize,
    reverse: bool,
    first: usize,
}

impl Screen {
    pub(super) fn new(address: String, seen: Seen) -> Self {
        Self {
            address,
            seen,
            failure: None,
            paused: false,
            focus: 0,
            is_text: false,
            lists: [List::default(); PANELS.len()],
            // See no-color.org.
            color: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        }
    }

    pub(super) fn show(&mut self, seen: Seen) {
        self.seen = seen;
        self.failure = None;
    }

    pub(super) fn fail(&mut self, why: String) {
        let since = self
            .failure
            .take()
            .map_or_else(Instant::now, |(_, since)| since);
        self.failure = Some((show::plain(&why), since));
    }

    /// Makes it a text to be printed: all lists, and no help with keys.
    pub(super) fn make_text(&mut self) {
        self.is_text = true;
    }

    /// To the next or last list.
    pub(super) fn turn(&mut self, by: isize) {
        let count = PANELS.len() as isize;
        self.focus = (self.focus as isize + by).rem_euclid(count) as usize;
    }

    /// Further down or up in the list.
    pub(super) fn scroll(&mut self, by: isize) {
        let panel = PANELS[self.focus];
        let most = panel.rows(&self.seen, 0, false).len().saturating_sub(1);
        let list = &mut self.lists[self.focus];
        list.first = list.first.saturating_add_signed(by).min(most);
    }

    /// Orders the list by the next figure.
    pub(super) fn sort(&mut self) {
        let list = &mut self.lists[self.focus];
        list.order = (list.order + 1) % PANELS[self.focus].orders().len();
        list.first = 0;
    }

    pub(super) fn reverse(&mut self) {
        let list = &mut self.lists[self.focus];
        list.reverse = !list.reverse;
        list.first = 0;
    }

    fn paint(&self, color: Color) -> Style {
        if self.color {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }
}

/// Draws the screen.
pub(super) fn draw(out: &mut Buffer, screen: &Screen) {
    let [head, now, requests, ratio, room, lists, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(3),
        Constraint::Length(3),
        Constraint::Length(2),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(out.area);
    heading(out, screen, head);
    figures(out, screen, now);
    past(out, screen, requests, ratio);
    spaces(out, screen, room);
    let together = screen.is_text || lists.height / LIST_LINES >= PANELS.len() as u16;
    if together {
        for (number, area) in areas(screen, lists).into_iter().enumerate() {
            list(out, screen, number, area, true);
        }
    } else {
        list(out, screen, screen.focus, lists, false);
    }
    if screen.is_text {
        return;
    }
    let help = "q quit  p pause  Tab ←→ list  ↑↓ scroll  s order  r reverse";
    Paragraph::new(help)
        .style(Style::new().add_modifier(Modifier::DIM))
        .render(keys, out);
}

/// The hottest URLs get what the shorter lists leave.
fn areas(screen: &Screen, lists: Rect) -> [Rect; PANELS.len()] {
    let heights = PANELS.map(|panel| match panel {
        Panel::Urls => Constraint::Fill(1),
        _ => {
            let rows = panel.rows(&screen.seen, 0, false).len().max(1);
            let with_heads = u16::try_from(rows + 2).unwrap_or(u16::MAX);
            Constraint::Length(with_heads.min(lists.height / 3))
        }
    });
    Layout::vertical(heights).areas(lists)
}

fn heading(out: &mut Buffer, screen: &Screen, area: Rect) {
    let status = &screen.seen.status;
    let text = format!(
        "forebay {} at {}, up {}",
        show::plain(status["version"].as_str().unwrap_or("?")),
        screen.address,
        show::seconds(status["uptime_s"].as_u64().unwrap_or(0))
    );
    let state = match (&screen.failure, screen.paused) {
        (_, true) => Span::styled("PAUSED", Style::new().add_modifier(Modifier::REVERSED)),
        (Some((why, since)), _) => Span::styled(
            format!("{why} (since {})", show::seconds(since.elapsed().as_secs())),
            screen.paint(Color::Red).add_modifier(Modifier::BOLD),
        ),
        (None, _) if status["draining"] == true => Span::raw("draining"),
        (None, _) => Span::styled("live", screen.paint(Color::Green)),
    };
    let line = if screen.failure.is_some() && !screen.paused {
        Line::from(state)
    } else {
        Line::from(vec![Span::raw(text), Span::raw("  "), state])
    };
    line.render(area, out);
}

fn figures(out: &mut Buffer, screen: &Screen, area: Rect) {
    let past = &screen.seen.past;
    let lately = &past[past.len().saturating_sub(NOW_S)..];
    let last = past.last().copied().unwrap_or_default();
    let sum = |get: fn(&Second) -> u64| lately.iter().map(get).sum::<u64>();
    let mean = |get: fn(&Second) -> u64| sum(get) / (lately.len() as u64).max(1);
    let worst = |get: fn(&Second) -> u64| match lately.iter().map(get).max() {
        None | Some(0) => "–".to_owned(),
        Some(micros) => show::micros(micros),
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let first = Line::from(vec![
        Span::styled(format!("{} req/s", show::count(last.requests)), bold),
        Span::raw("   hits "),
        Span::styled(
            show::ratio(sum(|s| s.hits) as f64, sum(|s| s.looked) as f64),
            bold,
        ),
        Span::raw(format!(
            " ({} since the start)   to clients ",
            screen
                .seen
                .hit_ratio
                .map_or_else(|| "–".into(), |ratio| show::ratio(ratio, 1.0))
        )),
        Span::styled(
            format!("{}/s", show::size(mean(|s| s.bytes_out) as f64)),
            bold,
        ),
    ]);
    let errors = mean(|s| s.errors);
    let second = Line::from(vec![
        Span::raw(format!(
            "99 % of hits within {}, of misses {}   {} connections   ",
            worst(|s| s.hit_p99_us),
            worst(|s| s.miss_p99_us),
            show::count(screen.seen.status["connections"].as_u64().unwrap_or(0))
        )),
        Span::styled(
            format!("{errors} 5xx/s"),
            if errors > 0 {
                screen.paint(Color::Red)
            } else {
                Style::new()
            },
        ),
    ]);
    Paragraph::new(vec![first, second]).render(area, out);
}

/// The last seconds, as many as the screen is wide.
fn past(out: &mut Buffer, screen: &Screen, requests: Rect, ratio: Rect) {
    let width = usize::from(out.area.width);
    let past = &screen.seen.past;
    let shown = &past[past.len().saturating_sub(width)..];
    // New figures come in from the right.
    let padding = width - shown.len();
    let bars = |values: Vec<Option<u64>>| {
        std::iter::repeat_n(None, padding)
            .chain(values)
            .collect::<Vec<_>>()
    };
    let most = shown
        .iter()
        .map(|second| second.requests)
        .max()
        .unwrap_or(0);
    Sparkline::default()
        .block(Block::new().title(format!("requests/s, at most {}", show::count(most))))
        .data(bars(
            shown.iter().map(|second| Some(second.requests)).collect(),
        ))
        .style(screen.paint(Color::Cyan))
        .absent_value_symbol(" ")
        .render(requests, out);
    Sparkline::default()
        .block(Block::new().title("hit ratio, up to 100 %"))
        .data(bars(shown.iter().map(Second::hit_permille).collect()))
        .max(1_000)
        .style(screen.paint(Color::Green))
        .absent_value_symbol(" ")
        .render(ratio, out);
}

fn spaces(out: &mut Buffer, screen: &Screen, area: Rect) {
    let [memory, disk] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    space(
        out,
        screen,
        memory,
        "memory",
        &screen.seen.status["memory"],
        &screen.seen.status["objects"],
    );
    match &screen.seen.status["disk"] {
        Value::Object(_) => {
            let state = &screen.seen.status["disk"];
            space(out, screen, disk, "disk", state, &state["objects"]);
        }
        _ => Paragraph::new("disk    none").render(disk, out),
    }
}

fn space(
    out: &mut Buffer,
    screen: &Screen,
    area: Rect,
    name: &str,
    state: &Value,
    objects: &Value,
) {
    let bytes = |key: &str| state[key].as_u64().unwrap_or(0) as f64;
    let (used, limit) = (bytes("used_bytes"), bytes("limit_bytes"));
    let ratio = if limit > 0.0 {
        (used / limit).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let label = format!(
        "{name:<7} {:>10} of {:<10} {:>12} objects ",
        show::size(used),
        show::size(limit),
        show::count(objects.as_u64().unwrap_or(0))
    );
    LineGauge::default()
        .label(label)
        .ratio(ratio)
        .filled_symbol("█")
        .unfilled_symbol("░")
        .filled_style(screen.paint(if ratio > 0.98 {
            Color::Yellow
        } else {
            Color::Cyan
        }))
        .unfilled_style(Style::new().add_modifier(Modifier::DIM))
        .render(area, out);
}

/// A list; `together` with all others, or alone.
fn list(out: &mut Buffer, screen: &Screen, number: usize, area: Rect, together: bool) {
    let (panel, own) = (PANELS[number], screen.lists[number]);
    let rows = panel.rows(&screen.seen, own.order, own.reverse);
    let block = Block::new()
        .borders(Borders::TOP)
        .title(title(screen, number, together));
    if rows.is_empty() {
        return Paragraph::new(panel.nothing())
            .block(block)
            .render(area, out);
    }
    let mut widths = vec![Constraint::Min(12)];
    widths.extend(
        panel
            .columns()
            .iter()
            .map(|(_, width)| Constraint::Length(*width)),
    );
    let heads = panel
        .columns()
        .iter()
        .map(|(name, _)| Cell::from(Line::from(*name).right_aligned()));
    let head = Row::new(std::iter::once(Cell::from("")).chain(heads))
        .style(Style::new().add_modifier(Modifier::DIM));
    let lines = rows.into_iter().skip(own.first).map(|row| {
        let cells = row
            .cells
            .into_iter()
            .enumerate()
            .map(|(place, text)| match place {
                0 => Cell::from(text),
                _ => Cell::from(Line::from(text).right_aligned()),
            });
        let style = if row.is_bad {
            screen.paint(Color::Red)
        } else {
            Style::new()
        };
        Row::new(cells.collect::<Vec<_>>()).style(style)
    });
    let table = Table::new(lines, widths).header(head).block(block);
    Widget::render(table, area, out);
}

/// The names of the lists, with the one that keys are for, and its order.
fn title(screen: &Screen, number: usize, together: bool) -> Line<'static> {
    let bold = |style: Style| style.add_modifier(Modifier::BOLD);
    let style = |own: usize| {
        if own == screen.focus {
            bold(screen.paint(Color::Cyan))
        } else {
            Style::new()
        }
    };
    let (panel, own) = (PANELS[number], screen.lists[number]);
    let order = panel.orders().get(own.order).copied().unwrap_or_default();
    let arrow = if own.reverse { "↑" } else { "↓" };
    let mut parts: Vec<Span> = Vec::new();
    for (other, name) in names(number, together) {
        let text = if other == screen.focus {
            format!("[{name}] ")
        } else {
            format!(" {name}  ")
        };
        parts.push(Span::styled(text, style(other)));
    }
    parts.push(Span::raw(format!("by {order} {arrow} ")));
    Line::from(parts)
}

/// The list's own name, or all where it stands alone.
fn names(number: usize, together: bool) -> Vec<(usize, &'static str)> {
    let all = PANELS.iter().map(|panel: &Panel| panel.title()).enumerate();
    if together {
        return all.skip(number).take(1).collect();
    }
    all.collect()
}
