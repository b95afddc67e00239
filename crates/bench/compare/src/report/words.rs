//! The conclusions, made from the figures: who is first where, from how many
//! clients on, what it costs, and who failed requests.

use forebay_results::format;

use super::cases::causes;
use super::growth;
use crate::comparison::{CaseResult, Comparison, Contestant, LevelResult, Measure};
use crate::servers::Role;
use crate::statistics::{Summary, ratio, summary};

/// All of them, a sentence or two each.
pub(super) fn all(comparison: &Comparison) -> Vec<String> {
    let mut words = Vec::new();
    for case in &comparison.cases {
        words.extend(places(comparison, case));
        words.extend(files(comparison, case));
        words.extend(growth::words(comparison, case));
        words.extend(processor_time(comparison, case));
        words.extend(memory(comparison, case));
    }
    words.push(failures(comparison));
    words.extend(saturation(comparison));
    words
}

/// At one step: the first cache, those within noise of it, and the next after these.
#[derive(Debug, PartialEq)]
struct Place {
    clients: u64,
    first: Vec<String>,
    /// The first's figure.
    value: f64,
    /// Name, and how many times as much the first does.
    next: Option<(String, f64)>,
}

fn place(servers: &[&Contestant], level: &LevelResult, measure: Measure) -> Option<Place> {
    let mut ranked: Vec<(f64, &str)> = servers
        .iter()
        .filter_map(|s| {
            let value = summary(level, &s.name, measure)?.value.median;
            Some((value, s.name.as_str()))
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    if measure.less_is_better() {
        ranked.reverse();
    }
    let &(value, leader) = ranked.first()?;
    let mut place = Place {
        clients: level.clients,
        first: vec![leader.to_owned()],
        value,
        next: None,
    };
    for (_, name) in ranked.into_iter().skip(1) {
        // A ratio that cannot be told is no tie. One that contradicts the medians, as it may when a server missed
        // rounds, decides nothing.
        let ratio = ratio(level, leader, name, measure);
        if ratio.is_some_and(|r| r.within_noise() || (r.median < 1.0) != measure.less_is_better()) {
            place.first.push(name.to_owned());
        } else if place.next.is_none() {
            place.next = ratio.map(|r| (name.to_owned(), r.median));
        }
    }
    Some(place)
}

fn caches(comparison: &Comparison) -> Vec<&Contestant> {
    comparison
        .contestants()
        .filter(|s| s.role.competes())
        .collect()
}

/// Who is first at the last step, for a headline.
pub(super) fn first_at_the_end(
    comparison: &Comparison,
    case: &CaseResult,
) -> Option<(u64, String)> {
    let caches = caches(comparison);
    let mut places = case
        .levels
        .iter()
        .filter_map(|level| place(&caches, level, case.measure));
    places
        .next_back()
        .map(|place| (place.clients, joined(&place.first)))
}

/// Steps with the same first are told together.
fn places(comparison: &Comparison, case: &CaseResult) -> Vec<String> {
    let caches = caches(comparison);
    if caches.len() < 2 {
        return Vec::new();
    }
    // One that has nobody beside it is not first.
    let places: Vec<Place> = case
        .levels
        .iter()
        .filter_map(|level| place(&caches, level, case.measure))
        .filter(|place| place.next.is_some() || place.first.len() > 1)
        .collect();
    let same = |a: &Place, b: &Place| {
        let sorted = |place: &Place| {
            let mut names = place.first.clone();
            names.sort();
            names
        };
        sorted(a) == sorted(b)
    };
    let runs: Vec<&[Place]> = places.chunk_by(same).collect();
    let count = runs.len();
    let sentences: Vec<String> = runs
        .into_iter()
        .enumerate()
        .filter_map(|(i, run)| {
            let (start, end) = (run.first()?, run.last()?);
            let whence = if count == 1 {
                format!("at every number of {}", case.measure.steps())
            } else if i + 1 == count {
                format!(
                    "from {} {} on",
                    format::count(start.clients),
                    case.measure.steps()
                )
            } else if start.clients == end.clients {
                format!(
                    "at {} {}",
                    format::count(start.clients),
                    case.measure.steps()
                )
            } else {
                format!(
                    "from {} to {} {}",
                    format::count(start.clients),
                    format::count(end.clients),
                    case.measure.steps()
                )
            };
            Some(format!("{whence} {}", leads(end, case.measure)))
        })
        .collect();
    if sentences.is_empty() {
        return Vec::new();
    }
    vec![format!("{}: {}.", case.name, sentences.join("; "))]
}

/// `forebay is first (147,300 requests/s at 3,000, 1.21 × nginx-disk)`.
fn leads(place: &Place, measure: Measure) -> String {
    let figure = format!(
        "{} {} at {}",
        format::rate(place.value),
        measure.name(),
        format::count(place.clients)
    );
    let next = place
        .next
        .as_ref()
        .map_or_else(String::new, |(name, ratio)| {
            format!(", {} × {name}", format::significant(*ratio))
        });
    match place.first.as_slice() {
        [one] => format!("{one} is first ({figure}{next})"),
        several => format!(
            "{} are first, within noise of each other ({figure}{next})",
            joined(several)
        ),
    }
}

/// Servers of files beside the first cache, at the first and the last step.
fn files(comparison: &Comparison, case: &CaseResult) -> Option<String> {
    let caches = caches(comparison);
    let files: Vec<&Contestant> = comparison
        .contestants()
        .filter(|s| s.role == Role::Files)
        .collect();
    let mut parts = Vec::new();
    let ends = [case.levels.first(), case.levels.last()];
    for level in ends.into_iter().flatten() {
        let cache = place(&caches, level, case.measure)?.first.first()?.clone();
        let best = place(&files, level, case.measure)?.first.first()?.clone();
        let ratio = ratio(level, &best, &cache, case.measure)?;
        let part = format!(
            "at {} clients {best} does {} × what {cache} does",
            format::count(level.clients),
            format::significant(ratio.median)
        );
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    Some(format!(
        "{}, files without a cache: {}.",
        case.name,
        parts.join(", ")
    ))
}

/// What a request costs at the last step, all caches in order.
fn processor_time(comparison: &Comparison, case: &CaseResult) -> Option<String> {
    let costs = ranked(comparison, case, |s| s.cpu_us.map(|us| us.median))?;
    let clients = format::count(case.levels.last()?.clients);
    let listed: Vec<String> = costs
        .iter()
        .map(|(us, name)| format!("{name} {}", format::significant(*us)))
        .collect();
    Some(format!(
        "{}: processor time a request at {clients} {}, in µs: {}.",
        case.name,
        case.measure.steps(),
        listed.join(", ")
    ))
}

fn memory(comparison: &Comparison, case: &CaseResult) -> Option<String> {
    let sizes = ranked(comparison, case, |s| s.resident_bytes)?;
    let clients = format::count(case.levels.last()?.clients);
    let listed: Vec<String> = sizes
        .iter()
        .map(|(bytes, name)| format!("{name} {}", format::size(*bytes)))
        .collect();
    Some(format!(
        "{}: resident memory at {clients} {}: {}.",
        case.name,
        case.measure.steps(),
        listed.join(", ")
    ))
}

/// Caches by a figure at the last step, smallest first; `None` with fewer than two.
fn ranked(
    comparison: &Comparison,
    case: &CaseResult,
    figure: impl Fn(&Summary) -> Option<f64>,
) -> Option<Vec<(f64, String)>> {
    let level = case.levels.last()?;
    let mut ranked: Vec<(f64, String)> = caches(comparison)
        .into_iter()
        .filter_map(|s| {
            Some((
                figure(&summary(level, &s.name, case.measure)?)?,
                s.name.clone(),
            ))
        })
        .collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    (ranked.len() > 1).then_some(ranked)
}

/// Servers of which a request failed, or that missed a turn.
pub(super) fn failed_servers(comparison: &Comparison) -> Vec<String> {
    let failed = |server: &&Contestant| {
        let levels = comparison.cases.iter().flat_map(|c| &c.levels);
        levels.flat_map(|l| &l.turns).any(|t| {
            let failures = t.figures.as_ref().map_or(0, |f| f.failures());
            t.server == server.name && (failures > 0 || t.fault.is_some())
        })
    };
    comparison
        .contestants()
        .filter(failed)
        .map(|s| s.name.clone())
        .collect()
}

fn failures(comparison: &Comparison) -> String {
    let mut parts = Vec::new();
    for case in &comparison.cases {
        for level in &case.levels {
            for server in comparison.contestants() {
                let clients = format!("{} {}", format::count(level.clients), case.measure.steps());
                let found = summary(level, &server.name, case.measure);
                if let Some(found) = found.filter(|f| f.failures() > 0) {
                    parts.push(format!(
                        "{} {} of {} in {} at {clients} ({})",
                        server.name,
                        format::count(found.failures()),
                        format::count(found.completed),
                        case.name,
                        causes(&found.failed)
                    ));
                }
                let missed = level
                    .turns
                    .iter()
                    .filter(|t| t.server == server.name && t.fault.is_some());
                let missed = missed.count() as u64;
                if missed > 0 {
                    parts.push(format!(
                        "{} had no figure in {} of {} at {clients}",
                        server.name,
                        format::counted(missed, "turn", "turns"),
                        case.name
                    ));
                }
            }
        }
    }
    if parts.is_empty() {
        "No request of any server failed.".into()
    } else {
        format!("Failed requests: {}.", parts.join("; "))
    }
}

fn saturation(comparison: &Comparison) -> Option<String> {
    let (mut saturated, mut all) = (0, 0);
    for case in &comparison.cases {
        for level in &case.levels {
            for server in comparison.contestants() {
                if let Some(found) = summary(level, &server.name, case.measure) {
                    all += 1;
                    saturated += u64::from(found.saturated);
                }
            }
        }
    }
    (saturated > 0).then(|| {
        format!(
            "The load tester was at its limit in {} of {} figures; there the servers' processor time tells more than \
             their speed.",
            format::count(saturated),
            format::count(all)
        )
    })
}

/// `a`, `a and b`, `a, b and c`.
fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::turn;

    /// A server's rates in three rounds, and failures in each.
    type Rates<'a> = (&'a str, [f64; 3], u64);

    /// Servers' rates at each number of clients.
    fn comparison(levels: &[(u64, &[Rates<'_>])]) -> Comparison {
        let mut names: Vec<&str> = Vec::new();
        let levels = levels.iter().map(|(clients, servers)| {
            let mut turns = Vec::new();
            for (name, rates, failed) in *servers {
                if !names.contains(name) {
                    names.push(name);
                }
                for (round, rate) in (1..).zip(rates) {
                    turns.push(turn(name, round, *rate, *failed));
                }
            }
            LevelResult {
                clients: *clients,
                amount: String::new(),
                turns,
            }
        });
        let case = CaseResult {
            name: "page".into(),
            levels: levels.collect(),
            ..CaseResult::default()
        };
        let server = |name: &&str| Contestant {
            name: (*name).into(),
            role: if name.ends_with("static") {
                Role::Files
            } else {
                Role::Cache
            },
            ..Contestant::default()
        };
        Comparison {
            cases: vec![case],
            servers: names.iter().map(server).collect(),
            ..Comparison::default()
        }
    }

    #[test]
    fn the_place_changes_where_the_figures_cross() {
        let found = comparison(&[
            (500, &[("a", [300.0; 3], 0), ("b", [200.0; 3], 0)]),
            (1000, &[("a", [300.0; 3], 0), ("b", [200.0; 3], 0)]),
            (3000, &[("a", [100.0; 3], 0), ("b", [200.0; 3], 0)]),
            (5000, &[("a", [100.0; 3], 0), ("b", [250.0; 3], 0)]),
        ]);
        assert_eq!(
            places(&found, &found.cases[0]),
            [
                "page: from 500 to 1,000 clients a is first (300 requests/s at 1,000, 1.50 × b); from 3,000 clients on \
              b is first (250 requests/s at 5,000, 2.50 × a)."
            ]
        );
    }

    #[test]
    fn those_within_noise_share_a_place() {
        let found = comparison(&[(
            500,
            &[
                ("a", [300.0, 310.0, 290.0], 0),
                ("b", [299.0, 305.0, 295.0], 0),
                ("c", [100.0; 3], 0),
            ],
        )]);
        let words = places(&found, &found.cases[0]).concat();
        assert!(
            words.contains("at every number of clients a and b are first, within noise"),
            "{words}"
        );
        assert!(words.contains("3.00 × c"), "{words}");
    }

    #[test]
    fn rounds_that_contradict_the_medians_decide_nothing() {
        // In the one round that both have, b is ahead; a's other rounds were better ones.
        let mut found = comparison(&[(
            500,
            &[("a", [100.0, 300.0, 300.0], 0), ("b", [200.0; 3], 0)],
        )]);
        found.cases[0].levels[0]
            .turns
            .retain(|t| t.server == "a" || t.round == 1);
        let words = places(&found, &found.cases[0]).concat();
        assert!(words.contains("a and b are first"), "{words}");
    }

    #[test]
    fn failures_are_told_with_their_causes() {
        let found = comparison(&[
            (500, &[("a", [300.0; 3], 0)]),
            (900, &[("a", [300.0; 3], 2)]),
        ]);
        assert_eq!(failed_servers(&found), ["a"]);
        assert_eq!(
            failures(&found),
            "Failed requests: a 6 of 9,006 in page at 900 clients (timeout 6)."
        );
        let sound = comparison(&[(500, &[("a", [300.0; 3], 0)])]);
        assert_eq!(failures(&sound), "No request of any server failed.");
    }

    #[test]
    fn files_do_not_compete_with_caches() {
        let found = comparison(&[(
            500,
            &[
                ("a", [300.0; 3], 0),
                ("b", [200.0; 3], 0),
                ("n-static", [600.0; 3], 0),
            ],
        )]);
        let words = all(&found).join("\n");
        assert!(words.contains("a is first"), "{words}");
        assert!(
            words.contains("at 500 clients n-static does 2.00 × what a does"),
            "{words}"
        );
    }
}
