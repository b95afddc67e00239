//! The charts of a report. Where there are several phases, each is a line.

mod ladder;
mod latency;
mod time;

pub(super) use ladder::ladder;
pub(super) use latency::latency;
pub(super) use time::over_time;

use crate::page::{Axis, LineChart, Page, Series};

type Lines = Vec<Series>;

fn put(page: &mut Page, title: &str, x: &Axis, y: Axis, lines: Lines) {
    let chart = LineChart::new(title, x.clone(), y);
    draw(page, lines.into_iter().fold(chart, LineChart::series));
}

/// A chart without a point is left out.
fn draw(page: &mut Page, chart: LineChart) {
    if !chart.is_empty() {
        page.line_chart(chart);
    }
}
