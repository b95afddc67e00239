//! The figures at the head of a report's page.

use crate::page::{Card, Tone};
use crate::{Phase, format, outline};

/// Of a single phase.
pub(super) fn phase_cards(phase: &Phase) -> Vec<Card> {
    let (counts, whole) = (&phase.tally.counts, &phase.tally.latency.whole);
    let mut cards = vec![
        Card::new(
            "requests a second",
            format::rate(phase.requests_per_second()),
        )
        .note(format!(
            "{} pages a minute",
            format::rate(phase.pages_per_minute())
        )),
        success_card(phase),
    ];
    if whole.count() > 0 {
        let time = |percent: f64| format::duration(whole.percentile_ns(percent) as f64);
        cards.push(
            Card::new("median latency", time(50.0))
                .note(format!("mean {}", format::duration(whole.mean_ns()))),
        );
        cards.push(Card::new("99 % within", time(99.0)).note(format!(
            "99.9 % {}, longest {}",
            time(99.9),
            time(100.0)
        )));
    }
    cards.push(
        Card::new("read a second", format::byte_rate(phase.bytes_per_second())).note(format!(
            "{} in all",
            format::size(counts.bytes_received as f64)
        )),
    );
    if let Some(percent) = counts.hit_percent() {
        cards.push(
            Card::new("out of the cache", format::percent(percent))
                .note(format!("{} misses", format::count(counts.misses))),
        );
    }
    cards.extend(server_cards(phase));
    cards
}

/// What the server used, where it was observed.
fn server_cards(phase: &Phase) -> Vec<Card> {
    let mut cards = Vec::new();
    if let Some(server) = &phase.server {
        let cores = format::significant(phase.server_cores().unwrap_or(0.0));
        cards.push(
            Card::new(
                "server CPU a request",
                outline::micros(server.cpu_us_per_request),
            )
            .note(format!("{cores} cores")),
        );
        cards.push(
            Card::new(
                "server memory",
                format::size(server.peak_resident_bytes as f64),
            )
            .note("peak resident"),
        );
    }
    cards
}

fn success_card(phase: &Phase) -> Card {
    let counts = &phase.tally.counts;
    let failures = counts.failures();
    let tone = if counts.completed == 0 || failures > 0 {
        Tone::Bad
    } else {
        Tone::Good
    };
    Card::new(
        "succeeded",
        format::success(counts.succeeded, counts.completed),
    )
    .note(format!(
        "{} of {} failed",
        format::count(failures),
        format::count(counts.completed)
    ))
    .tone(tone)
}

/// Of several phases: the best and the worst of them.
pub(super) fn ladder_cards(phases: &[Phase]) -> Vec<Card> {
    let mut cards = Vec::new();
    let rate = |a: &&Phase, b: &&Phase| a.requests_per_second().total_cmp(&b.requests_per_second());
    if let Some(best) = phases.iter().max_by(rate) {
        cards.push(
            Card::new(
                "most requests a second",
                format::rate(best.requests_per_second()),
            )
            .note(best.name.as_str()),
        );
    }
    let success = |a: &&Phase, b: &&Phase| {
        a.tally
            .counts
            .success_percent()
            .total_cmp(&b.tally.counts.success_percent())
    };
    if let Some(worst) = phases.iter().min_by(success) {
        let card = success_card(worst);
        let clean = worst.tally.counts.failures() == 0 && worst.tally.counts.completed > 0;
        cards.push(if clean {
            card.note("in every phase")
        } else {
            card.note(format!("worst: {}", worst.name))
        });
    }
    cards.extend(tail_cards(phases));
    let peak = phases
        .iter()
        .filter_map(|phase| Some(phase.server.as_ref()?.peak_resident_bytes))
        .max();
    if let Some(peak) = peak {
        cards.push(Card::new("server memory", format::size(peak as f64)).note("peak resident"));
    }
    cards
}

/// The phases with the shortest and the longest tail.
fn tail_cards(phases: &[Phase]) -> Vec<Card> {
    let mut cards = Vec::new();
    let slow = |a: &&Phase, b: &&Phase| {
        let p99 = |phase: &Phase| phase.tally.latency.whole.percentile_ns(99.0);
        p99(a).cmp(&p99(b))
    };
    for (label, phase) in [
        ("lowest p99", phases.iter().min_by(slow)),
        ("highest p99", phases.iter().max_by(slow)),
    ] {
        if let Some(phase) = phase.filter(|phase| phase.tally.latency.whole.count() > 0) {
            let p99 = phase.tally.latency.whole.percentile_ns(99.0);
            cards.push(Card::new(label, format::duration(p99 as f64)).note(phase.name.as_str()));
        }
    }
    cards
}
