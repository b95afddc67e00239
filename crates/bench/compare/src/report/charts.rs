//! A case in charts: the measure and processor time against clients, memory as bars.

use forebay_results::page::{Axis, Bar, BarChart, LineChart, Scale, Series, Unit};

use super::blocks::Block;
use crate::comparison::{CaseResult, Comparison, Contestant, Measure};
use crate::statistics::{Spread, Summary, summary};

/// The charts of a case. A server keeps its colour through the whole report.
pub(super) fn of(
    comparison: &Comparison,
    case: &CaseResult,
    servers: &[&Contestant],
) -> Vec<Block> {
    let unit = match case.measure {
        Measure::RequestsPerSecond => Unit::PerSecond,
        Measure::PagesPerMinute | Measure::SessionMs => Unit::Count,
    };
    let lines = |title: &str, axis: Axis, value: fn(&Summary) -> Option<Spread>| {
        let steps = Axis::new(case.measure.steps(), Unit::Count).scale(Scale::Steps);
        let mut chart = LineChart::new(title, steps, axis);
        for server in servers {
            chart = chart.series(series(comparison, case, server, value));
        }
        (!chart.is_empty()).then_some(Block::Lines(chart))
    };
    let name = case.measure.name();
    let measure = lines(
        &case.measure.caption(),
        Axis::new(name, unit).from(0.0),
        |s| Some(s.value),
    );
    let cpu = lines(
        "Processor time a request",
        Axis::new("µs a request", Unit::Microseconds).from(0.0),
        |s| s.cpu_us,
    );
    measure
        .into_iter()
        .chain(cpu)
        .chain(memory(case, servers))
        .collect()
}

fn series(
    comparison: &Comparison,
    case: &CaseResult,
    server: &Contestant,
    value: fn(&Summary) -> Option<Spread>,
) -> Series {
    let spreads: Vec<(f64, Spread)> = case
        .levels
        .iter()
        .filter_map(|level| {
            let summary = summary(level, &server.name, case.measure)?;
            Some((level.clients as f64, value(&summary)?))
        })
        .collect();
    let points = spreads.iter().map(|(x, s)| (*x, s.median)).collect();
    let band = spreads.iter().map(|(x, s)| (*x, s.least, s.most)).collect();
    let place = comparison
        .servers
        .iter()
        .position(|s| s.name == server.name);
    let series = Series::new(&server.name, points)
        .band(band)
        .colour(place.unwrap_or(0));
    if server.role.competes() {
        series
    } else {
        series.dashed()
    }
}

/// The most that each server took at any step.
fn memory(case: &CaseResult, servers: &[&Contestant]) -> Option<Block> {
    let peak = |server: &Contestant| {
        let values = case
            .levels
            .iter()
            .filter_map(|level| summary(level, &server.name, case.measure)?.resident_bytes);
        values.reduce(f64::max).map(Bar::from)
    };
    let bars: Vec<Option<Bar>> = servers.iter().map(|s| peak(s)).collect();
    bars.iter().any(Option::is_some).then(|| {
        let names = servers.iter().map(|s| s.name.clone());
        let axis = Axis::new("resident", Unit::Bytes);
        Block::Bars(BarChart::new("Greatest resident memory", axis, names).series("peak", bars))
    })
}
