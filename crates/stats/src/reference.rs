//! `docs/metrics.md`, written from the tables.

use crate::expose::{BUILD_INFO, PERCENTILES};
use crate::{Row, counter, gauge, origin, pool, session, timing};
use std::fmt::Write;

const HEAD: &str = "\
# Metrics

What `GET /metrics` (Prometheus text format) and `GET /status` (JSON) on the
administration address show. This page is generated from the tables in
`crates/stats`; `UPDATE_DOCS=1 cargo test -p forebay-stats` writes it anew.

Every request that is routed to a pool counts in exactly one of `hits`,
`hits_stale`, `hits_revalidated`, `stale_on_error`, `coalesced`, `misses`,
`hit_for_miss` and `passes`. The `hit_ratio` of `/status` is the share of the
first five in all eight. What was forwarded to an origin, and not for another
request's sake, counts in exactly one of the reasons of
`forebay_cache_miss_reasons_total` too: all of `misses`, `hit_for_miss` and `passes`,
and those of `hits_revalidated` and `stale_on_error` that asked themselves.

";

/// The whole page.
pub fn reference_markdown() -> String {
    let mut out = String::from(HEAD);
    out.push_str("## Counters\n\nThey start at 0 with the process and only grow.\n\n");
    out.push_str(
        "| `/metrics` | `/status`, under `counters` | Unit | Meaning |\n|---|---|---|---|\n",
    );
    for row in counter::ROWS {
        // Writing to a String cannot fail.
        let name = labelled(row.name, row.label);
        let _ = writeln!(
            out,
            "| `{name}` | `{}` | {} | {} |",
            row.key, row.unit, row.help
        );
    }
    out.push_str("\n## Gauges\n\n| `/metrics` | `/status`, under `gauges` | Unit | Meaning |\n|---|---|---|---|\n");
    for row in gauge::ROWS {
        let _ = writeln!(
            out,
            "| `{}` | `{}` | {} | {} |",
            row.name, row.key, row.unit, row.help
        );
    }
    let (name, help) = BUILD_INFO;
    let _ = writeln!(
        out,
        "| `{}` | `version`, at the top | | {help} |",
        labelled(name, "version=\"…\"")
    );
    let keys = PERCENTILES.map(|(_, key)| format!("`{key}`")).join(", ");
    let _ = write!(
        out,
        "\n## Timings\n\nHistograms. In `/metrics` in seconds, with `_bucket`, `_sum` and `_count`; in `/status` in\n\
         microseconds: `count`, `mean_us`, {keys}. A figure is at most\n3.1 % above the exact one.\n\n\
         | `/metrics` | `/status`, under `timings` | Meaning |\n|---|---|---|\n"
    );
    for row in timing::ROWS {
        let _ = writeln!(
            out,
            "| `{}` | `{}` | {} |",
            labelled(row.name, row.label),
            row.key,
            row.help
        );
    }
    pools(&mut out);
    origins(&mut out);
    sessions(&mut out);
    out
}

fn pools(out: &mut String) {
    out.push_str("\n## Of each pool\n\nWith the label `pool`.\n\n");
    rows(out, pool::ROWS);
}

fn origins(out: &mut String) {
    out.push_str(
        "\n## Of each server of a pool\n\nWith the labels `pool` and `server`. A counter starts at 0 when the server comes into the\n\
         configuration. `/api/v1/status` shows them with the pools.\n\n",
    );
    rows(out, origin::ROWS);
    let (name, help) = origin::FIRST_BYTE;
    let _ = writeln!(out, "| `{name}` | seconds | {help} |");
}

fn sessions(out: &mut String) {
    out.push_str(
        "\n## Of each store of sessions\n\nWith the label `store`. Clients are told their own figures by the command `stats`.\n\n",
    );
    rows(out, session::ROWS);
}

fn rows<S>(out: &mut String, rows: &[Row<S>]) {
    out.push_str("| `/metrics` | Unit | Meaning |\n|---|---|---|\n");
    for row in rows {
        let (name, unit, help) = (row.name, row.unit, row.help);
        let _ = writeln!(out, "| `{name}` | {unit} | {help} |");
    }
}

fn labelled(name: &str, label: &str) -> String {
    if label.is_empty() {
        name.to_owned()
    } else {
        format!("{name}{{{label}}}")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_docs_is_the_one_the_tables_give() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let expected = reference_markdown();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == expected,
            "docs/metrics.md is not current; run with UPDATE_DOCS=1 to write it anew"
        );
    }
}
