//! Controllers, timers, and what is not translated.

use super::{element, noted, outline, plan, run, sampler, steps};
use crate::import::Fate;

#[test]
fn controllers_say_when_and_how_often() {
    let x = sampler("/x", "");
    for (kind, properties, expected) in [
        ("GenericController", &[] as &[(&str, &str)], "(/x)"),
        (
            "LoopController",
            &[("LoopController.loops", "4")],
            "Fixed(4)*(/x)",
        ),
        (
            "LoopController",
            &[("LoopController.loops", "${__P(n,6)}")],
            "Fixed(6)*(/x)",
        ),
        (
            "LoopController",
            &[("LoopController.loops", "-1")],
            "Fixed(4294967295)*(/x)",
        ),
        (
            "LoopController",
            &[("LoopController.loops", "${n} times")],
            "(/x)",
        ),
        ("OnceOnlyController", &[], "${iteration} == 1?(/x)"),
        (
            "IfController",
            &[("IfController.condition", r#""${a}" != "b c""#)],
            "${a} != b c?(/x)",
        ),
        (
            "IfController",
            &[("IfController.condition", r#""${a}" == """#)],
            r#"${a} == ""?(/x)"#,
        ),
        (
            "IfController",
            &[("IfController.condition", r#""${a}" != "\${a}""#)],
            "${a}?(/x)",
        ),
        (
            "IfController",
            &[("IfController.condition", "${n} > 3")],
            "(/x)",
        ),
        ("IfController", &[("IfController.condition", "false")], ""),
        (
            "WhileController",
            &[(
                "WhileController.condition",
                r#"${__jexl3("${s}" != "done",)}"#,
            )],
            "Fixed(100)*(${s} != done?(/x))",
        ),
        (
            "WhileController",
            &[("WhileController.condition", "")],
            "(/x)",
        ),
        (
            "ThroughputController",
            &[
                ("ThroughputController.style", "1"),
                ("ThroughputController.percentThroughput", "25.0"),
            ],
            "${random:1:4} == 1?(/x)",
        ),
        (
            "ThroughputController",
            &[
                ("ThroughputController.style", "1"),
                ("ThroughputController.percentThroughput", "90"),
            ],
            "${random:1:10} != 1?(/x)",
        ),
        (
            "ThroughputController",
            &[
                ("ThroughputController.style", "1"),
                ("ThroughputController.percentThroughput", "37"),
            ],
            "(/x)",
        ),
        ("RandomController", &[], "(/x)"),
        ("com.example.OtherController", &[], "(/x)"),
        (
            "IncludeController",
            &[("IncludeController.includepath", "b.jmx")],
            "",
        ),
    ] {
        let (steps, notes) = steps(&(element(kind, "C", properties, &x) + &sampler("/end", "")));
        let expected = if expected.is_empty() {
            "/end".to_owned()
        } else {
            format!("{expected} /end")
        };
        assert_eq!(
            outline(&steps),
            expected,
            "{kind} {properties:?}\n{notes:#?}"
        );
    }
}

#[test]
fn a_switch_takes_the_child_of_that_number_or_name() {
    let children = sampler("/x", "") + &sampler("/y", "");
    let switch = |value: &str| {
        element(
            "SwitchController",
            "S",
            &[("SwitchController.value", value)],
            &children,
        )
    };
    assert_eq!(outline(&steps(&switch("1")).0), "/y");
    assert_eq!(outline(&steps(&switch("/y")).0), "/y");
    assert_eq!(outline(&steps(&switch("")).0), "/x");
    assert_eq!(
        outline(&steps(&switch("${v}")).0),
        "${v} == 0?(/x) ${v} == /x?(/x) ${v} == 1?(/y) ${v} == /y?(/y)"
    );
}

#[test]
fn timers_wait_before_every_request_in_their_scope() {
    let constant =
        |delay: &str| element("ConstantTimer", "T", &[("ConstantTimer.delay", delay)], "");
    let two = |kind: &str, delay: &str, range: &str| {
        element(
            kind,
            "T",
            &[("ConstantTimer.delay", delay), ("RandomTimer.range", range)],
            "",
        )
    };
    for (inside, expected) in [
        (
            sampler("/x", "") + &constant("300") + &sampler("/y", ""),
            "[300ms] /x [300ms] /y",
        ),
        (
            sampler("/x", &constant("200")) + &constant("800") + &sampler("/y", ""),
            "[1s] /x [800ms] /y",
        ),
        (
            two("UniformRandomTimer", "100", "400.0") + &sampler("/x", ""),
            "[100ms..500ms] /x",
        ),
        (
            two("GaussianRandomTimer", "3000", "100.0") + &sampler("/x", ""),
            "[3s~100ms] /x",
        ),
        (
            two("PoissonRandomTimer", "100", "400") + &sampler("/x", ""),
            "[500ms~20ms] /x",
        ),
        (constant("${d}") + &sampler("/x", ""), "[${d}ms] /x"),
        (constant("") + &sampler("/x", ""), "/x"),
        (constant("soon") + &sampler("/x", ""), "/x"),
        (
            element(
                "GenericController",
                "G",
                &[],
                &(constant("50") + &sampler("/x", "")),
            ) + &sampler("/y", ""),
            "([50ms] /x) /y",
        ),
        (
            element(
                "TestAction",
                "P",
                &[
                    ("ActionProcessor.action", "1"),
                    ("ActionProcessor.duration", "7000"),
                ],
                "",
            ) + &sampler("/x", ""),
            "[7s] /x",
        ),
    ] {
        let (steps, notes) = steps(&inside);
        assert_eq!(outline(&steps), expected, "{notes:#?}");
    }
}

#[test]
fn for_each_has_a_copy_for_each_value() {
    let extract = element(
        "RegexExtractor",
        "E",
        &[
            ("RegexExtractor.refname", "id"),
            ("RegexExtractor.regex", "id=(\\d+)"),
            ("RegexExtractor.template", "$1$"),
            ("RegexExtractor.match_number", "-1"),
        ],
        "",
    );
    let each = element(
        "ForeachController",
        "F",
        &[
            ("ForeachController.inputVal", "id"),
            ("ForeachController.returnVal", "one"),
            ("ForeachController.endIndex", "2"),
        ],
        &sampler("/item/${one}", ""),
    );
    let (steps, _) = steps(&(sampler("/list", &extract) + &each));
    assert_eq!(
        outline(&steps),
        "/list ${id_1}?(/item/${id_1}) ${id_2}?(/item/${id_2})"
    );
    let extracts: Vec<_> = steps[0]
        .extract
        .iter()
        .map(|extract| (extract.variable.as_str(), extract.occurrence))
        .collect();
    assert_eq!(extracts, [("id_1", 1), ("id_2", 2)]);
}

#[test]
fn modules_may_not_lead_to_themselves_for_ever() {
    let module = r#"<ModuleController testname="M"><collectionProp name="ModuleController.node_path">
        <stringProp name="1">Test Plan</stringProp><stringProp name="2">Plan</stringProp>
        <stringProp name="3">Group</stringProp><stringProp name="4">G</stringProp></collectionProp></ModuleController><hashTree/>"#;
    let inside = element("GenericController", "G", &[], &(sampler("/x", "") + module));
    let imported = run(&plan(&[], &inside));
    assert!(
        noted(
            &imported.notes,
            "GenericController",
            Fate::LeftOut,
            "modules to themselves"
        ),
        "{:#?}",
        imported.notes
    );
}

#[test]
fn data_files_become_data() {
    let csv = |properties: &[(&str, &str)]| {
        let all: Vec<_> = [("filename", "f.csv"), ("recycle", "true")]
            .into_iter()
            .chain(properties.iter().copied())
            .collect();
        let inside = element("CSVDataSet", "D", &all, "") + &sampler("/${a}", "");
        let imported = run(&plan(&[], &inside));
        (imported.scenario.data, imported.notes)
    };
    let (data, notes) = csv(&[
        ("variableNames", "a, b"),
        ("delimiter", "\\t"),
        ("shareMode", "shareMode.thread"),
    ]);
    assert_eq!(
        (data[0].separator, data[0].columns.as_slice()),
        ('\t', ["a".to_owned(), "b".into()].as_slice())
    );
    assert!(noted(&notes, "CSVDataSet", Fate::Changed, "shared by all"));
    let (data, notes) = csv(&[]);
    assert!(data[0].columns.is_empty() && noted(&notes, "CSVDataSet", Fate::Hint, "first line"));
    let (_, notes) = csv(&[
        ("variableNames", "a"),
        ("ignoreFirstLine", "true"),
        ("delimiter", "||"),
    ]);
    assert!(noted(&notes, "CSVDataSet", Fate::Changed, "not skipped"));
    assert!(noted(&notes, "CSVDataSet", Fate::Changed, "not one ASCII"));
}

#[test]
fn groups_of_plugins_are_flows_too() {
    let text = plan(&[], &sampler("/x", "")).replace(
        r#"<ThreadGroup testname="Group"><intProp name="ThreadGroup.num_threads">1</intProp></ThreadGroup>"#,
        r#"<com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup testname="Group"><stringProp name="TargetLevel">40</stringProp><stringProp name="RampUp">1</stringProp><stringProp name="Hold">5</stringProp><stringProp name="Unit">M</stringProp></com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup>"#,
    );
    let suggested = run(&text).suggested;
    assert_eq!(
        (
            suggested.users,
            suggested.ramp_seconds,
            suggested.duration_seconds
        ),
        (Some(40), Some(60.0), Some(360.0))
    );
}
