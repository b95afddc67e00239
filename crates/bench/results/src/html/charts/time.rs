//! Charts over the measured time.

use super::{Lines, draw, put};
use crate::page::{Axis, LineChart, Page, Scale, Series, Unit};
use crate::{Phase, Point, ServerSample};

/// Charts over the measured time.
pub(in crate::html) fn over_time(page: &mut Page, phases: &[Phase]) {
    let x = Axis::new("time", Unit::Seconds).from(0.0);
    rates(page, phases, &x);
    latencies(page, phases, &x);
    let read = by_phase(phases, "read", &|point| {
        per_second(point, point.bytes_received)
    });
    let y = Axis::new("heads and bodies", Unit::BytesPerSecond);
    put(page, "Bytes read a second", &x, y, read);
    if let [phase] = phases {
        let open = points("open", phase, &|point| point.open as f64).colour(5);
        let y = Axis::new("at the end of each second", Unit::Count);
        put(page, "Open connections", &x, y, vec![open]);
    }
    server(page, phases, &x);
}

fn rates(page: &mut Page, phases: &[Phase], x: &Axis) {
    let y = Axis::new("succeeded/s", Unit::PerSecond);
    let mut chart = LineChart::new("Requests a second", x.clone(), y);
    if phases.len() == 1 {
        chart = chart.wide();
    }
    let succeeded = by_phase(phases, "succeeded", &|point| {
        per_second(point, point.succeeded)
    });
    let lines = alone(succeeded, 0);
    draw(page, lines.into_iter().fold(chart, LineChart::series));
    let mut all = phases.iter().flat_map(|phase| &phase.series);
    if all.any(|point| point.failed > 0) {
        let failed = by_phase(phases, "failed", &|point| per_second(point, point.failed));
        let y = Axis::new("failed/s", Unit::PerSecond);
        put(page, "Failures a second", x, y, alone(failed, 1));
    }
}

fn latencies(page: &mut Page, phases: &[Phase], x: &Axis) {
    let y = Axis::new("request to last byte", Unit::Nanoseconds).scale(Scale::Log);
    let [phase] = phases else {
        let lines = by_phase(phases, "p99", &|point| point.p99_ns as f64);
        return put(page, "p99 over time", x, y, lines);
    };
    let lines = vec![
        points("longest", phase, &|point| point.max_ns as f64).colour(9),
        points("p99", phase, &|point| point.p99_ns as f64).colour(1),
        points("p90", phase, &|point| point.p90_ns as f64).colour(4),
        points("p50", phase, &|point| point.p50_ns as f64).colour(0),
    ];
    put(page, "Latency over time", x, y, lines);
}

fn server(page: &mut Page, phases: &[Phase], x: &Axis) {
    let cores = sampled(phases, "cores", |sample| sample.cores);
    let y = Axis::new("cores in use", Unit::Cores);
    put(page, "Server: processors", x, y, alone(cores, 3));
    let resident = sampled(phases, "resident", |sample| sample.resident_bytes as f64);
    let y = Axis::new("resident", Unit::Bytes);
    put(page, "Server: memory", x, y, alone(resident, 6));
}

/// A line that is alone is filled and has the colour of its kind; several have the phases' colours.
fn alone(lines: Lines, colour: usize) -> Lines {
    if lines.len() > 1 {
        return lines;
    }
    lines
        .into_iter()
        .map(|line| line.colour(colour).filled())
        .collect()
}

fn sampled(phases: &[Phase], name: &str, figure: fn(&ServerSample) -> f64) -> Lines {
    let line = |phase: &Phase| {
        let samples = &phase.server.as_ref()?.samples;
        let points = samples.iter().map(|sample| (sample.at, figure(sample)));
        Some(Series::new(name_of(phase, phases, name), points.collect()))
    };
    phases.iter().filter_map(line).collect()
}

fn by_phase(phases: &[Phase], name: &str, value: &dyn Fn(&Point) -> f64) -> Lines {
    let line = |phase| points(name_of(phase, phases, name), phase, value);
    phases.iter().map(line).collect()
}

/// A single phase's line is named by what it shows, several by their phases.
fn name_of<'a>(phase: &'a Phase, phases: &[Phase], name: &'a str) -> &'a str {
    if phases.len() == 1 { name } else { &phase.name }
}

fn points(name: &str, phase: &Phase, value: &dyn Fn(&Point) -> f64) -> Series {
    Series::new(
        name,
        phase
            .series
            .iter()
            .map(|point| (point.at, value(point)))
            .collect(),
    )
}

fn per_second(point: &Point, count: u64) -> f64 {
    if point.seconds > 0.0 {
        count as f64 / point.seconds
    } else {
        f64::NAN
    }
}
