//! Plans that nobody meant well with.

use proptest::prelude::*;

use super::{check, element, plan, sampler};
use crate::import::{ImportError, Options, import};

#[test]
fn what_is_no_plan_is_refused_in_words() {
    for (text, part) in [
        ("", "neither"),
        ("<html>", "neither"),
        ("<?xml version=\"1.0\"?>\n<jmeterTestPlan><hashTree>", "XML"),
        ("<jmeterTestPlan/>", "no <TestPlan>"),
        ("<x><jmeterTestPlan/></x>", "root is <x>"),
        (
            "<!DOCTYPE x [<!ENTITY a \"b\">]><jmeterTestPlan>&a;</jmeterTestPlan>",
            "XML",
        ),
    ] {
        let error = import(text, "a.jmx", Options::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("a.jmx: ") && error.contains(part),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_plan_that_unfolds_without_bound_is_refused() {
    // Each level has ten copies of the next one.
    let mut inside = sampler("/${one}", "");
    for _ in 0..12 {
        inside = element(
            "ForeachController",
            "F",
            &[
                ("ForeachController.inputVal", "x"),
                ("ForeachController.returnVal", "one"),
            ],
            &inside,
        );
    }
    let error = import(&plan(&[], &inside), "a.jmx", Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::TooLarge { .. }), "{error}");
}

/// Elements that a generated plan is made of, `#` for what lies below.
fn pieces() -> impl Strategy<Value = String> {
    let kinds = prop::sample::select(vec![
        "HTTPSamplerProxy",
        "LoopController",
        "IfController",
        "WhileController",
        "ForeachController",
        "ThroughputController",
        "SwitchController",
        "TransactionController",
        "OnceOnlyController",
        "ModuleController",
        "ConstantTimer",
        "UniformRandomTimer",
        "GaussianRandomTimer",
        "CSVDataSet",
        "RegexExtractor",
        "BoundaryExtractor",
        "JSONPostProcessor",
        "JSONPathAssertion",
        "DurationAssertion",
        "CounterConfig",
        "RandomVariableConfig",
        "TestAction",
        "Whatever",
    ]);
    let properties = prop::sample::select(vec![
        "HTTPSampler.domain",
        "HTTPSampler.path",
        "HTTPSampler.method",
        "HTTPSampler.protocol",
        "HTTPSampler.port",
        "LoopController.loops",
        "IfController.condition",
        "WhileController.condition",
        "ForeachController.inputVal",
        "ForeachController.returnVal",
        "ForeachController.endIndex",
        "ThroughputController.percentThroughput",
        "SwitchController.value",
        "ConstantTimer.delay",
        "RandomTimer.range",
        "filename",
        "variableNames",
        "delimiter",
        "RegexExtractor.refname",
        "RegexExtractor.regex",
        "RegexExtractor.match_number",
        "BoundaryExtractor.refname",
        "BoundaryExtractor.lboundary",
        "BoundaryExtractor.rboundary",
        "JSONPostProcessor.referenceNames",
        "JSONPostProcessor.jsonPathExprs",
        "JSON_PATH",
        "JSONVALIDATION",
        "EXPECTED_VALUE",
        "DurationAssertion.duration",
        "CounterConfig.name",
        "variableName",
        "minimumValue",
        "maximumValue",
        "ActionProcessor.duration",
    ]);
    let value = prop_oneof![
        "[a-z0-9]{0,6}",
        r"([$]\{[a-d_.]{0,3}\}|[$]\{__[a-zA-Z]{1,7}\([0-9a-c,]{0,5}\)\}|[a-zü/?&=.;,'$\\ -]|\$\.a|[0-9]){0,6}",
        Just("true".to_owned()),
        Just("-1".to_owned()),
        Just("3".to_owned()),
    ];
    let one = (kinds, prop::collection::vec((properties, value), 0..6));
    let leaf = one
        .clone()
        .prop_map(|(kind, properties)| written(kind, &properties, ""));
    leaf.prop_recursive(3, 24, 4, move |inner| {
        (one.clone(), prop::collection::vec(inner, 0..4))
            .prop_map(|((kind, properties), below)| written(kind, &properties, &below.concat()))
    })
}

fn written(kind: &str, properties: &[(&str, String)], below: &str) -> String {
    let properties: Vec<(&str, &str)> = properties
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    element(kind, "N", &properties, below)
}

proptest! {
    #[test]
    fn any_plan_becomes_a_scenario_that_runs(inside in prop::collection::vec(pieces(), 1..6)) {
        let text = plan(&[("a", "1"), ("b", "${a}${c}"), ("d", "${__Random(1,9)}")], &inside.concat());
        if let Ok(imported) = import(&text, "a.jmx", Options::default()) {
            check(&imported);
        }
    }

    #[test]
    fn a_damaged_plan_does_not_panic(at in 0_usize..30_000, cut in 0_usize..40, with in r#"[<>/"a&${}]{0,4}"#) {
        let mut text = include_str!("../fixtures/shop.jmx").to_owned();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &with);
        if let Ok(imported) = import(&text, "a.jmx", Options::default()) {
            check(&imported);
        }
    }
}
