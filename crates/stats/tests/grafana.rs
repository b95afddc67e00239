//! The dashboard in `contrib/grafana` asks for nothing that `/metrics` does not show.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use forebay_stats::{counter, gauge, origin, timing};
use serde_json::Value;

const PATH: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/grafana/forebay.json"
);

fn dashboard() -> Value {
    serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap()
}

/// Every string of the document that is a query: of a panel, an annotation or a variable.
fn queries(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if name == "expr" || name == "query" => {
                        found.push(text.clone());
                    }
                    value => queries(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, found)),
        _ => {}
    }
}

/// The names of metrics in a query.
fn names(query: &str) -> impl Iterator<Item = &str> {
    let is_part = |byte: char| byte.is_ascii_alphanumeric() || byte == '_';
    query
        .split(move |byte| !is_part(byte))
        .filter(|word| word.starts_with("forebay_"))
}

/// Every name that a line of `/metrics` can begin with.
fn shown() -> BTreeSet<String> {
    let mut shown = BTreeSet::from(["forebay_build_info".to_owned()]);
    shown.extend(counter::ROWS.iter().map(|row| row.name.to_owned()));
    shown.extend(gauge::ROWS.iter().map(|row| row.name.to_owned()));
    shown.extend(origin::ROWS.iter().map(|row| row.name.to_owned()));
    let histograms = timing::ROWS.iter().map(|row| row.name);
    for name in histograms.chain([origin::FIRST_BYTE.0]) {
        shown.extend(["bucket", "sum", "count"].map(|part| format!("{name}_{part}")));
    }
    shown
}

#[test]
fn every_metric_of_the_dashboard_exists() {
    let (mut found, shown) = (Vec::new(), shown());
    queries(&dashboard(), &mut found);
    let asked: BTreeSet<&str> = found.iter().flat_map(|query| names(query)).collect();
    let unknown: Vec<&&str> = asked
        .iter()
        .filter(|name| !shown.contains(**name))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(asked.len() > 50, "it asks for {} metrics only", asked.len());
}

#[test]
fn every_label_of_the_dashboard_exists() {
    let labels: BTreeSet<&str> = counter::ROWS
        .iter()
        .map(|row| row.label)
        .chain(timing::ROWS.iter().map(|row| row.label))
        .filter_map(|label| label.split('=').next())
        .chain(["job", "instance", "pool", "server", "le"])
        .collect();
    let mut found = Vec::new();
    queries(&dashboard(), &mut found);
    for query in &found {
        for group in query.split("by (").skip(1) {
            for label in group.split(')').next().unwrap().split(',') {
                assert!(labels.contains(label.trim()), "{label} in {query}");
            }
        }
        for matcher in query.split(['{', ',']).filter(|part| part.contains("=")) {
            let label = matcher.split(['=', '~', '!']).next().unwrap();
            assert!(labels.contains(label.trim()), "{label} in {query}");
        }
    }
}

#[test]
fn panels_lie_beside_each_other_and_have_numbers_of_their_own() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
        let at = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{title} is too wide");
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(taken.insert((x, y)), "{title} lies over another");
            }
        }
    }
    let rows: Vec<&str> = panels
        .iter()
        .filter(|panel| panel["type"] == "row")
        .map(|panel| panel["title"].as_str().unwrap())
        .collect();
    assert_eq!(
        rows,
        [
            "Overview",
            "Traffic",
            "Hit ratio and misses",
            "Latency",
            "Origins",
            "Memory and disk",
            "Purges"
        ]
    );
}
