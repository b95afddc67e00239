//! What two runs do not have in common, and what was wrong with either: a
//! reader must know it before believing that a change is the server's.

use crate::{Phase, Report, format};

/// Of the runs as wholes.
pub(super) fn cautions(before: &Report, after: &Report) -> Vec<String> {
    let mut cautions = Vec::new();
    if before.title != after.title {
        cautions.push(format!(
            "not the same work: `{}` before, `{}` after",
            before.title, after.title
        ));
    }
    let machines = |report: &Report| -> Vec<_> {
        report
            .machines
            .iter()
            .map(|m| (m.processor.clone(), m.cores, m.system.clone()))
            .collect()
    };
    if machines(before) != machines(after) {
        cautions
            .push("the load did not come from the same machines, or their systems differ".into());
    }
    for (when, report) in [("before", before), ("after", after)] {
        cautions.extend(
            report
                .warnings
                .iter()
                .map(|warning| format!("{when}: {warning}")),
        );
        let lost = report
            .machines
            .iter()
            .filter_map(|machine| Some((machine, machine.lost.as_ref()?)));
        cautions.extend(
            lost.map(|(machine, why)| format!("{when}: {} left early: {why}", machine.name)),
        );
    }
    cautions
}

/// Of a phase that both have.
pub(super) fn phase_cautions(before: &Phase, after: &Phase, cautions: &mut Vec<String>) {
    let name = &before.name;
    if before.name != after.name {
        cautions.push(format!("`{name}` is compared with `{}`", after.name));
    }
    for (what, same) in [
        (
            "number of connections",
            before.connections == after.connections,
        ),
        ("rate", before.rate == after.rate),
        ("keep-alive", before.keep_alive == after.keep_alive),
        ("pipelining", before.pipeline == after.pipeline),
        ("number of threads", before.threads == after.threads),
    ] {
        if !same {
            cautions.push(format!("{name}: not the same {what}"));
        }
    }
    let seconds = before.seconds.min(after.seconds);
    if seconds < 10.0 {
        cautions.push(format!(
            "{name}: {} are too short for sure words about the tail",
            format::length(seconds)
        ));
    }
}
