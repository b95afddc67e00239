//! Whole plans, in the shape in which JMeter 5.6 saves them.
#![allow(clippy::unwrap_used)]

mod checks;
mod hostile;
mod requests;
mod shop;
mod steps;

use super::super::{Fate, Imported, Note, Options, import};
use crate::scenario::{Compiled, Scenario, Setup, Step};

/// Imports a plan; what comes out must be a scenario that runs.
fn run(text: &str) -> Imported {
    let imported = import(text, "plan.jmx", Options::default()).unwrap();
    check(&imported);
    imported
}

/// What is written reads back equal, and compiles.
fn check(imported: &Imported) {
    if imported.scenario.flow.is_empty() {
        return;
    }
    // Variables that were noted as missing are filled in, as a user would.
    let mut scenario = imported.scenario.clone();
    for value in scenario
        .variables
        .values_mut()
        .filter(|value| value.is_empty())
    {
        *value = "1".into();
    }
    let text = scenario.to_toml();
    let read = Scenario::parse(&text, "x.toml").unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(read, scenario, "{text}");
    // Each data file gets rows of as many columns as it should have.
    for (at, data) in scenario.data.iter_mut().enumerate() {
        data.file = at.to_string();
    }
    let rows: Vec<String> = scenario
        .data
        .iter()
        .map(|data| vec!["a"; data.columns.len().max(1)].join(&data.separator.to_string()))
        .map(|row| format!("{row}\n{row}\n"))
        .collect();
    let rows = |file: &str| {
        Ok(file
            .parse()
            .map_or_else(|_| Vec::new(), |at: usize| rows[at].clone().into_bytes()))
    };
    let setup = Setup {
        base: Some(crate::Target::parse("http://127.0.0.1:1").unwrap()),
        ..Setup::default()
    };
    if let Err(errors) = Compiled::new(&scenario, &rows, &setup) {
        panic!("{errors}\n{text}");
    }
}

/// A plan of one thread group with this inside, and these variables.
fn plan(variables: &[(&str, &str)], inside: &str) -> String {
    let variables: String = variables
        .iter()
        .map(|(name, value)| {
            format!(
                r#"<elementProp name="{name}" elementType="Argument"><stringProp name="Argument.name">{name}</stringProp><stringProp name="Argument.value">{value}</stringProp></elementProp>"#
            )
        })
        .collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan testclass="TestPlan" testname="Plan">
 <elementProp name="TestPlan.user_defined_variables" elementType="Arguments"><collectionProp name="Arguments.arguments">{variables}</collectionProp></elementProp>
</TestPlan><hashTree>
<CookieManager testname="Cookies"><boolProp name="CookieManager.clearEachIteration">false</boolProp></CookieManager><hashTree/>
<ThreadGroup testname="Group"><intProp name="ThreadGroup.num_threads">1</intProp></ThreadGroup>
<hashTree>{inside}</hashTree>
</hashTree></hashTree></jmeterTestPlan>"#
    )
}

/// An element with its properties and with what lies below it.
fn element(kind: &str, name: &str, properties: &[(&str, &str)], below: &str) -> String {
    let properties: String = properties
        .iter()
        .map(|(name, value)| {
            let value = value.replace('&', "&amp;").replace('<', "&lt;");
            format!(r#"<stringProp name="{name}">{value}</stringProp>"#)
        })
        .collect();
    let name = name.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        r#"<{kind} testclass="{kind}" testname="{name}">{properties}</{kind}><hashTree>{below}</hashTree>"#
    )
}

/// A sampler of `http://a` with elements below it.
fn sampler(path: &str, below: &str) -> String {
    let properties = [
        ("HTTPSampler.domain", "a"),
        ("HTTPSampler.path", path),
        ("HTTPSampler.method", "GET"),
    ];
    element("HTTPSamplerProxy", path, &properties, below)
}

/// The steps that the inside of a group becomes, and the notes.
fn steps(inside: &str) -> (Vec<Step>, Vec<Note>) {
    let imported = run(&plan(&[], inside));
    let steps = imported
        .scenario
        .flow
        .into_iter()
        .next()
        .map(|flow| flow.step);
    (steps.unwrap_or_default(), imported.notes)
}

/// Whether a note about an element of this kind has these words.
fn noted(notes: &[Note], kind: &str, fate: Fate, words: &str) -> bool {
    notes
        .iter()
        .any(|note| note.kind == kind && note.fate == fate && note.words.contains(words))
}

/// The URLs of steps in order, pauses in brackets, groups in parentheses.
fn outline(steps: &[Step]) -> String {
    let one = |step: &Step| {
        let mut out = match (&step.url, &step.pause) {
            (Some(url), _) => url.clone(),
            (None, Some(pause)) => format!("[{}]", pause.0),
            (None, None) => format!("({})", outline(&step.step)),
        };
        if let Some(repeat) = &step.repeat {
            out = format!("{repeat:?}*{out}");
        }
        if let Some(when) = &step.when {
            out = format!("{when}?{out}");
        }
        out
    };
    steps.iter().map(one).collect::<Vec<_>>().join(" ")
}
