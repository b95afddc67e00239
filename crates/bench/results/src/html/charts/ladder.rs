//! Charts against the load of each phase: the curves of a ladder.

use super::{Lines, put};
use crate::page::{Axis, Page, Scale, Series, Unit};
use crate::{Phase, ServerUse};

/// What the phases differ by.
struct Rungs<'a> {
    phases: &'a [Phase],
    axis: Axis,
    by_rate: bool,
}

impl<'a> Rungs<'a> {
    /// A search for a limit varies the rate; a ladder the connections.
    fn of(phases: &'a [Phase]) -> Self {
        let by_rate = phases.iter().all(|phase| phase.rate.is_some());
        let axis = if by_rate {
            Axis::new("requests/s due", Unit::Count)
        } else {
            Axis::new("connections", Unit::Count).scale(Scale::Steps)
        };
        Self {
            phases,
            axis,
            by_rate,
        }
    }

    /// A figure of each phase against its load.
    fn along(&self, figure: impl Fn(&Phase) -> Option<f64>) -> Vec<(f64, f64)> {
        let place = |phase: &Phase| match phase.rate {
            Some(rate) if self.by_rate => rate,
            _ => phase.connections as f64,
        };
        let point = |phase| (place(phase), figure(phase).unwrap_or(f64::NAN));
        let mut points: Vec<_> = self.phases.iter().map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    fn percentile(&self, name: &str, percent: f64) -> Series {
        let points = self.along(|phase| {
            let ns = phase.tally.latency.whole.percentile_ns(percent);
            (ns > 0).then_some(ns as f64)
        });
        Series::new(name, points)
    }

    fn server(&self, name: &str, figure: fn(&ServerUse) -> f64) -> Series {
        Series::new(name, self.along(|phase| phase.server.as_ref().map(figure)))
    }

    fn put(&self, page: &mut Page, title: &str, y: Axis, lines: Lines) {
        put(page, title, &self.axis, y, lines);
    }
}

/// Charts against the load of each phase.
pub(in crate::html) fn ladder(page: &mut Page, phases: &[Phase]) {
    let rungs = Rungs::of(phases);
    let rate = rungs.along(|phase| Some(phase.requests_per_second()));
    let axis = Axis::new("succeeded/s", Unit::PerSecond);
    rungs.put(
        page,
        "Requests a second",
        axis,
        vec![Series::new("requests/s", rate)],
    );
    let percentiles = [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)];
    let lines = percentiles.map(|(name, percent)| rungs.percentile(name, percent));
    let axis = Axis::new("request to last byte", Unit::Nanoseconds).scale(Scale::Log);
    rungs.put(page, "Latency", axis, lines.to_vec());
    let success = rungs.along(|phase| Some(phase.tally.counts.success_percent()));
    let axis = success_axis(&success);
    rungs.put(
        page,
        "Success",
        axis,
        vec![Series::new("succeeded", success).colour(2)],
    );
    if phases.iter().any(|phase| phase.server.is_some()) {
        server(page, &rungs);
    }
}

fn server(page: &mut Page, rungs: &Rungs<'_>) {
    let cpu = rungs.server("CPU a request", |server| server.cpu_us_per_request);
    let axis = Axis::new("user and system", Unit::Microseconds);
    rungs.put(page, "Server: CPU a request", axis, vec![cpu.colour(3)]);
    let resident = rungs.server("resident", |server| server.peak_resident_bytes as f64);
    let axis = Axis::new("peak resident", Unit::Bytes);
    rungs.put(page, "Server: memory", axis, vec![resident.colour(6)]);
}

/// From just below the worst to 100 %, so that a failure in ten thousand is seen.
fn success_axis(points: &[(f64, f64)]) -> Axis {
    let worst = points.iter().map(|point| point.1).fold(100.0, f64::min);
    let below = ((100.0 - worst) * 1.15).max(0.01);
    Axis::new("succeeded", Unit::Percent)
        .from((100.0 - below).max(0.0))
        .to(100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::LineChart;

    #[test]
    fn one_failure_in_ten_thousand_is_seen() {
        let axis = success_axis(&[(1.0, 100.0), (2.0, 99.99)]);
        let chart = LineChart::new("", Axis::new("", Unit::Count), axis)
            .series(Series::new("", vec![(1.0, 100.0), (2.0, 99.99)]));
        let html = Page::new("").line_chart(chart).to_html();
        assert!(html.contains(">99.99 %<"), "{html}");
    }
}
