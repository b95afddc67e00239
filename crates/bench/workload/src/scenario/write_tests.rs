//! Tests of writing: what is written reads back equal.
#![allow(clippy::unwrap_used)]

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

use super::super::model::Pause;
use super::super::read::read;
use super::*;

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z/]{0,12}",
        "(a|'|\"|\\\\|\n|\r|\t|#|=|é|\u{7f}|\u{1}| |\\$\\{a\\}){0,12}",
        "\\PC{0,12}",
    ]
}

fn pairs() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(texts(), texts(), 0..4)
}

fn extract() -> impl Strategy<Value = Extract> {
    let from = prop_oneof![
        texts().prop_map(Source::Regex),
        texts().prop_map(Source::Json),
        texts().prop_map(Source::Header),
        texts().prop_map(Source::HeadRegex),
        texts().prop_map(Source::Cookie),
        (texts(), texts()).prop_map(|(left, right)| Source::Between(left, right)),
    ];
    (texts(), from, any::<i32>(), of(texts())).prop_map(|(variable, from, occurrence, default)| {
        Extract {
            variable,
            from,
            occurrence,
            default,
        }
    })
}

fn expect() -> impl Strategy<Value = Expect> {
    let status = vec(prop_oneof!["[1-9][0-9x]{2}", texts()], 0..3);
    let lists = (
        status,
        vec(texts(), 0..3),
        vec(texts(), 0..3),
        vec(texts(), 0..2),
    );
    (lists, of(texts()), pairs(), pairs(), of(texts())).prop_map(
        |((status, contains, lacks, matches), body, header, json, within)| Expect {
            status,
            contains,
            lacks,
            matches,
            body,
            header,
            json,
            within,
        },
    )
}

fn leaf() -> impl Strategy<Value = Step> {
    let one = (texts(), of(texts()), of(texts()), pairs(), pairs(), pairs());
    let two = (
        of(texts()),
        of(texts()),
        of((texts(), texts())),
        0..5u32,
        expect(),
    );
    let count = prop_oneof![
        any::<u32>().prop_map(|n| Count::Fixed(n.into())),
        texts().prop_map(Count::Variable)
    ];
    let three = (
        vec(extract(), 0..3),
        of(texts().prop_map(Pause)),
        of(count),
        of(texts()),
    );
    (one, two, three).prop_map(|(one, two, three)| {
        let (name, method, url, query, headers, form) = one;
        let (body, body_file, basic_auth, follow, expect) = two;
        let (extract, pause, repeat, when) = three;
        Step {
            name,
            method,
            url,
            query,
            headers,
            form,
            body,
            body_file,
            basic_auth,
            follow,
            expect,
            extract,
            pause,
            repeat,
            when,
            step: Vec::new(),
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    leaf().prop_recursive(3, 8, 3, |inner| {
        (leaf(), vec(inner, 0..3)).prop_map(|(step, inner)| Step {
            step: inner,
            ..step
        })
    })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let order = prop_oneof![
        Just(DataOrder::Sequential),
        Just(DataOrder::Random),
        Just(DataOrder::PerUser)
    ];
    let on_end = prop_oneof![Just(OnEnd::Wrap), Just(OnEnd::Stop)];
    let data = (texts(), vec(texts(), 0..3), any::<char>(), order, on_end).prop_map(
        |(file, columns, separator, order, on_end)| Data {
            file,
            columns,
            separator,
            order,
            on_end,
        },
    );
    let weight = prop_oneof![0.0..10.0f64, (0..9u8).prop_map(f64::from), any::<f64>()];
    let weight = weight.prop_filter("equals itself", |weight| !weight.is_nan());
    let flow = (
        texts(),
        weight,
        of(any::<u32>()),
        of(texts()),
        any::<(bool, bool)>(),
        vec(step(), 0..3),
    );
    let flow = flow.prop_map(|(name, weight, iterations, pause, flags, step)| Flow {
        name,
        weight,
        iterations: iterations.map(u64::from),
        pause: pause.map(Pause),
        keep_cookies: flags.0,
        stop_on_failure: flags.1,
        step,
    });
    let all = (
        texts(),
        of(texts()),
        pairs(),
        pairs(),
        vec(data, 0..3),
        vec(flow, 0..3),
    );
    all.prop_map(|(name, base, headers, variables, data, flow)| Scenario {
        name,
        base,
        headers,
        variables,
        data,
        flow,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn what_is_written_reads_back_equal(scenario in scenario()) {
        let text = scenario.to_toml();
        let back = read(&text);
        prop_assert!(back.problems.is_empty(), "{:?}\n{text}", back.problems);
        prop_assert_eq!(&back.scenario, &scenario, "{}", text);
    }
}

#[test]
fn a_written_scenario_reads_well() {
    let text = super::super::read::tests::example();
    let written = Scenario::parse(&text, "x").unwrap().to_toml();
    for part in [
        "name = \"shop\"\nbase = \"http://127.0.0.1:8080\"\n\n[headers]\n",
        "weight = 3\n",
        "  { variable = \"token\", regex = 'name=\"token\" value=\"([^\"]+)\"' },\n",
        "expect = { status = [200, \"3xx\"], contains = \"Welcome\", within = \"500ms\" }\n",
        "[[flow.step.step]]\nurl = \"/search\"\n",
    ] {
        assert!(written.contains(part), "{part} is missing in:\n{written}");
    }
    assert_eq!(
        Scenario::parse(&written, "x").unwrap(),
        Scenario::parse(&text, "x").unwrap()
    );
}
