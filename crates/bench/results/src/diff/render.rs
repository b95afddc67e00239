//! A comparison as text for a terminal and as Markdown.

use super::{Change, Diff, LEAST_CONFIDENCE, Measure, PhaseDiff, Verdict};
use crate::outline::Grid;
use crate::{format, markdown, table};

impl Diff {
    /// As plain text for a terminal.
    pub fn table(&self) -> String {
        let mut out = format!(
            "before  {}\nafter   {}\n",
            format::plain(&self.before),
            format::plain(&self.after)
        );
        for phase in &self.phases {
            out.push_str(&format!(
                "\n{}\n\n{}",
                format::plain(&phase.name),
                table::grid(&grid(phase))
            ));
        }
        for line in self.closing() {
            out.push_str(&format!("\n{}\n", format::plain(&line)));
        }
        for (i, caution) in self.cautions.iter().enumerate() {
            let title = if i == 0 { "\ncautions\n" } else { "" };
            out.push_str(&format!("{title}  {}\n", format::plain(caution)));
        }
        out
    }

    /// As Markdown, beginning with a heading of the second level.
    pub fn markdown(&self) -> String {
        let (before, after) = (markdown::text(&self.before), markdown::text(&self.after));
        let mut out = format!("## What changed\n\n- before: {before}\n- after: {after}\n");
        for phase in &self.phases {
            out.push_str(&format!(
                "\n### {}\n\n{}",
                markdown::text(&phase.name),
                markdown::grid(&grid(phase))
            ));
        }
        for line in self.closing() {
            out.push_str(&format!("\n{}\n", markdown::text(&line)));
        }
        for (i, caution) in self.cautions.iter().enumerate() {
            let title = if i == 0 { "\n**cautions**\n\n" } else { "" };
            out.push_str(&format!("{title}- {}\n", markdown::text(caution)));
        }
        out
    }

    /// Changes beyond noise for the worse, with their phases: what an exit status may depend on.
    pub fn worse(&self) -> impl Iterator<Item = (&str, &Change)> {
        self.phases.iter().flat_map(|phase| {
            let worse = phase
                .changes
                .iter()
                .filter(|change| change.verdict == Verdict::Worse);
            worse.map(|change| (phase.name.as_str(), change))
        })
    }

    fn closing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (when, names) in [("before", &self.only_before), ("after", &self.only_after)] {
            if !names.is_empty() {
                lines.push(format!("only {when}: {}", names.join("; ")));
            }
        }
        lines.push(self.summary());
        lines
    }

    /// One sentence: how many figures changed, and by what confidence.
    pub fn summary(&self) -> String {
        let of = |verdict: Verdict| {
            self.phases
                .iter()
                .flat_map(|phase| &phase.changes)
                .filter(|change| change.verdict == verdict)
                .count()
        };
        let compared = of(Verdict::Better) + of(Verdict::Worse) + of(Verdict::WithinNoise);
        if compared == 0 {
            return "Nothing could be compared.".into();
        }
        let confidence = LEAST_CONFIDENCE * 100.0;
        format!(
            "Of {} compared, {} better and {} worse with {confidence} % confidence; the rest is within noise.",
            format::counted(compared as u64, "figure", "figures"),
            of(Verdict::Better),
            of(Verdict::Worse),
        )
    }
}

fn grid(phase: &PhaseDiff) -> Grid {
    let columns = ["", "before", "after", "change", "confidence", "verdict"];
    Grid {
        columns: columns.map(String::from).to_vec(),
        rows: phase.changes.iter().map(row).collect(),
        ends_in_text: true,
    }
}

fn row(change: &Change) -> Vec<String> {
    let value = |value: Option<f64>| {
        value.map_or_else(
            || format::ABSENT.into(),
            |value| shown(change.measure, value),
        )
    };
    let differs = match (change.before, change.after) {
        (Some(before), Some(after)) => format::change(before, after),
        _ => format::ABSENT.into(),
    };
    vec![
        change.figure.clone(),
        value(change.before),
        value(change.after),
        differs,
        change.confidence.map_or_else(String::new, confidence),
        change.verdict.word(change.measure).into(),
    ]
}

fn shown(measure: Measure, value: f64) -> String {
    match measure {
        Measure::PerSecond => format::rate(value),
        Measure::Percent => format!("{:.5} %", (value * 1e5).floor() / 1e5),
        Measure::Nanoseconds => format::duration(value),
        Measure::CpuMicroseconds => format::duration(value * 1000.0),
        Measure::Bytes => format::size(value),
    }
}

/// `> 99.9 %`: a confidence is never shown as certainty.
fn confidence(confidence: f64) -> String {
    if confidence > 0.9999 {
        return "> 99.99 %".into();
    }
    format!("{:.2} %", (confidence * 1e4).floor() / 100.0)
}
