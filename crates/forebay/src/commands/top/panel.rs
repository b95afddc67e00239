//! The lists of `forebay top`: columns, rows, and the order of the rows.
//! Pure: figures in, texts out.

use std::cmp::Reverse;

use serde_json::Value;

use super::figures::{REASONS, Seen};
use crate::commands::show;

/// A list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Panel {
    /// The hottest objects.
    Urls,
    /// Servers of the pools, the slowest first.
    Origins,
    /// Why requests were forwarded.
    Misses,
}

/// In the order of the Tab key.
pub(super) const PANELS: [Panel; 3] = [Panel::Urls, Panel::Origins, Panel::Misses];

/// A row: its texts, and the figures that it can be ordered by.
pub(super) struct Row {
    pub(super) cells: Vec<String>,
    pub(super) is_bad: bool,
    order: Vec<u64>,
}

impl Panel {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Urls => "Hottest URLs",
            Self::Origins => "Origins",
            Self::Misses => "Misses by reason",
        }
    }

    /// What to say instead of rows.
    pub(super) fn nothing(self) -> &'static str {
        match self {
            Self::Urls => "nothing is stored",
            Self::Origins => "no pool is configured",
            Self::Misses => "no request was forwarded",
        }
    }

    /// Columns behind the first, which takes what is left: heading and width.
    pub(super) fn columns(self) -> &'static [(&'static str, u16)] {
        match self {
            Self::Urls => &[("hits", 11), ("size", 10), ("age", 11), ("in", 7)],
            Self::Origins => &[
                ("state", 6),
                ("active", 6),
                ("requests", 11),
                ("errors", 8),
                ("median", 8),
                ("99 %", 8),
            ],
            Self::Misses => &[("last minute", 12), ("since start", 13)],
        }
    }

    /// What the rows can be ordered by, in the order of the key.
    pub(super) fn orders(self) -> &'static [&'static str] {
        match self {
            Self::Urls => &["hits", "size", "age"],
            Self::Origins => &["99 %", "errors", "requests", "active"],
            Self::Misses => &["last minute", "since start"],
        }
    }

    /// The rows by one of [`Panel::orders`], the greatest first unless `reverse`.
    pub(super) fn rows(self, seen: &Seen, order: usize, reverse: bool) -> Vec<Row> {
        let mut rows = match self {
            Self::Urls => seen.objects.iter().map(url).collect(),
            Self::Origins => origins(&seen.status),
            Self::Misses => misses(seen),
        };
        let by = |row: &Row| row.order.get(order).copied().unwrap_or(0);
        if reverse {
            rows.sort_by_key(by);
        } else {
            rows.sort_by_key(|row| Reverse(by(row)));
        }
        rows
    }
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

fn text(value: &Value) -> String {
    show::plain(value.as_str().unwrap_or("?"))
}

fn url(object: &Value) -> Row {
    let (hits, size, age) = (
        number(object, "hits"),
        number(object, "size_bytes"),
        number(object, "age_s"),
    );
    Row {
        cells: vec![
            text(&object["url"]),
            show::count(hits),
            show::size(size as f64),
            show::seconds(age),
            text(&object["tier"]),
        ],
        is_bad: false,
        order: vec![hits, size, age],
    }
}

fn origins(status: &Value) -> Vec<Row> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut rows = Vec::new();
    for pool in list(&status["pools"]) {
        for server in list(&pool["servers"]) {
            rows.push(origin(&text(&pool["name"]), &server));
        }
    }
    rows
}

/// A time that was measured at all.
fn time(micros: u64) -> String {
    if micros > 0 {
        show::micros(micros)
    } else {
        "–".into()
    }
}

fn origin(pool: &str, server: &Value) -> Row {
    let [requests, errors, active, p50, p99] =
        ["requests", "errors", "active", "p50_us", "p99_us"].map(|key| number(server, key));
    let is_failed = server["failed"] == true;
    Row {
        cells: vec![
            format!("{pool}: {}", text(&server["server"])),
            if is_failed { "FAILED" } else { "up" }.into(),
            show::count(active),
            show::count(requests),
            show::count(errors),
            time(p50),
            time(p99),
        ],
        is_bad: is_failed,
        order: vec![p99, errors, requests, active],
    }
}

fn misses(seen: &Seen) -> Vec<Row> {
    let rows = REASONS.iter().zip(&seen.reasons);
    rows.filter(|(_, (_, all))| *all > 0)
        .map(|((_, words), (lately, all))| Row {
            cells: vec![
                (*words).into(),
                lately.map_or_else(|| "–".into(), show::count),
                show::count(*all),
            ],
            is_bad: false,
            order: vec![lately.unwrap_or(*all), *all],
        })
        .collect()
}
