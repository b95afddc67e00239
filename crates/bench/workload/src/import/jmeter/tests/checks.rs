//! Assertions and extractors.

use super::{element, noted, sampler, steps};
use crate::import::{Fate, Note};
use crate::scenario::{Expect, Extract, Source};

fn with(below: &str) -> (Expect, Vec<Extract>, Vec<Note>) {
    let (mut steps, notes) = steps(&sampler("/", below));
    let step = steps.remove(0);
    (step.expect, step.extract, notes)
}

fn response(field: &str, kind: u32, texts: &[&str]) -> String {
    let texts: String = texts
        .iter()
        .map(|text| {
            format!(
                r#"<stringProp name="1">{}</stringProp>"#,
                text.replace('<', "&lt;")
            )
        })
        .collect();
    format!(
        r#"<ResponseAssertion testname="A"><collectionProp name="Asserion.test_strings">{texts}</collectionProp><stringProp name="Assertion.test_field">Assertion.{field}</stringProp><intProp name="Assertion.test_type">{kind}</intProp></ResponseAssertion><hashTree/>"#
    )
}

#[test]
fn tests_on_the_body() {
    let texts = |list: &[&str]| {
        list.iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    let (expect, ..) = with(&response("response_data", 16, &["a.b", "${x}"]));
    assert_eq!(expect.contains, texts(&["a.b", "${x}"]));
    let (expect, ..) = with(&response("response_data", 20, &["error"]));
    assert_eq!(expect.lacks, texts(&["error"]));
    let (expect, ..) = with(&response("response_data", 2, &["plain", "id=\\d+"]));
    assert_eq!(
        (expect.contains, expect.matches),
        (texts(&["plain"]), texts(&["id=\\d+"]))
    );
    let (expect, ..) = with(&response("response_data", 1, &["(a)|b"]));
    assert_eq!(expect.matches, texts(&["\\A(?:(?:a)|b)\\z"]));
    let (expect, ..) = with(&response("response_data", 8, &["OK"]));
    assert_eq!(expect.body.as_deref(), Some("OK"));
    let (expect, ..) = with(&response("response_data", 48, &["a.b", "c"]));
    assert_eq!(expect.matches, texts(&["a\\.b|c"]));
    for (kind, text) in [(6, "a.*b"), (12, "OK"), (2, "(?!x)"), (36, "a")] {
        let (expect, _, notes) = with(&response("response_data", kind, &[text, text]));
        assert!(expect.is_empty(), "{kind} {text} {expect:?}");
        assert!(
            notes.iter().any(|note| note.kind == "ResponseAssertion"),
            "{kind} {text}"
        );
    }
}

#[test]
fn tests_on_the_status() {
    for (kind, texts, expected) in [
        (8, &["200"] as &[_], &["200"] as &[_]),
        (1, &["2.."], &["2xx"]),
        (
            16,
            &["20"],
            &[
                "120", "200", "201", "202", "203", "204", "205", "206", "207", "208", "209", "220",
                "320",
            ],
        ),
        (40, &["200", "302"], &["200", "302"]),
        (8, &["404"], &["404"]),
        (2, &["[23]\\d\\d"], &["2xx", "3xx"]),
        (6, &["[45].."], &[]),
    ] {
        let (expect, _, notes) = with(&response("response_code", kind, texts));
        assert_eq!(expect.status, expected, "{kind} {texts:?} {notes:?}");
    }
    let (expect, _, notes) = with(&response("response_code", 8, &["200", "201"]));
    assert!(expect.is_empty() && noted(&notes, "ResponseAssertion", Fate::LeftOut, "no status"));
    let (_, _, notes) = with(&response("response_message", 8, &["OK"]));
    assert!(noted(
        &notes,
        "ResponseAssertion",
        Fate::LeftOut,
        "response message"
    ));
}

#[test]
fn tests_on_the_head_time_and_json() {
    let (expect, ..) = with(&response("response_headers", 2, &["(?i)X-Cache:\\s*HIT"]));
    assert_eq!(expect.header["X-Cache"], "HIT");
    let (_, _, notes) = with(&response("response_headers", 20, &["X: y"]));
    assert!(noted(&notes, "ResponseAssertion", Fate::LeftOut, "negated"));
    let duration = |limit| {
        element(
            "DurationAssertion",
            "D",
            &[("DurationAssertion.duration", limit)],
            "",
        )
    };
    let (expect, ..) = with(&(duration("900") + &duration("400")));
    assert_eq!(expect.within.as_deref(), Some("400ms"));
    let json = |more: &[(&str, &str)]| {
        let all: Vec<_> = [("JSON_PATH", "$.a[0]")]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        element("JSONPathAssertion", "J", &all, "")
    };
    let (expect, ..) = with(&json(&[
        ("JSONVALIDATION", "true"),
        ("EXPECTED_VALUE", "1"),
    ]));
    assert_eq!(expect.json["$.a[0]"], "1");
    let (_, extract, _) = with(&json(&[]));
    assert_eq!(
        (extract[0].variable.as_str(), &extract[0].default),
        ("present", &None)
    );
    let (_, _, notes) = with(&json(&[("INVERT", "true")]));
    assert!(noted(
        &notes,
        "JSONPathAssertion",
        Fate::LeftOut,
        "inverted"
    ));
}

#[test]
fn extractors_become_extractions() {
    let regex = |more: &[(&str, &str)]| {
        let mut all = vec![
            ("RegexExtractor.refname", "v"),
            ("RegexExtractor.regex", "(a)=(b)"),
            ("RegexExtractor.template", "$2$"),
        ];
        all.extend(more);
        element("RegexExtractor", "E", &all, "")
    };
    let (_, extract, _) = with(&regex(&[
        ("RegexExtractor.default", "none"),
        ("RegexExtractor.match_number", "3"),
    ]));
    assert_eq!(
        extract,
        [Extract {
            variable: "v".into(),
            from: Source::Regex("(?:a)=(b)".into()),
            occurrence: 3,
            default: Some("none".into())
        }]
    );
    let (_, extract, _) = with(&regex(&[("RegexExtractor.useHeaders", "true")]));
    assert_eq!(
        (&extract[0].from, extract[0].occurrence),
        (&Source::HeadRegex("(?:a)=(b)".into()), 0)
    );
    let (_, extract, notes) = with(&regex(&[("RegexExtractor.template", "$1$-$2$")]));
    // Of two properties of one name the first counts, so the template is put in by hand.
    assert_eq!(extract.len(), 1, "{notes:?}");
    let odd = element(
        "RegexExtractor",
        "E",
        &[
            ("RegexExtractor.refname", "v"),
            ("RegexExtractor.regex", "(a)"),
            ("RegexExtractor.template", "$1$x"),
        ],
        "",
    );
    let (_, extract, notes) = with(&odd);
    assert!(
        extract.is_empty()
            && noted(
                &notes,
                "RegexExtractor",
                Fate::LeftOut,
                "more than one group"
            )
    );
    let between = element(
        "BoundaryExtractor",
        "B",
        &[
            ("BoundaryExtractor.refname", "v"),
            ("BoundaryExtractor.lboundary", "["),
            ("BoundaryExtractor.rboundary", "]"),
            ("BoundaryExtractor.match_number", "1"),
        ],
        "",
    );
    let (_, extract, _) = with(&between);
    assert_eq!(extract[0].from, Source::Between("[".into(), "]".into()));
    let json = element(
        "JSONPostProcessor",
        "J",
        &[
            ("JSONPostProcessor.referenceNames", "a; b"),
            ("JSONPostProcessor.jsonPathExprs", "$.a;$..b"),
            ("JSONPostProcessor.defaultValues", "x"),
        ],
        "",
    );
    let (_, extract, _) = with(&json);
    assert_eq!(
        (&extract[1].from, extract[1].default.as_deref()),
        (&Source::Json("$..b".into()), Some("x"))
    );
    for kind in ["XPathExtractor", "HtmlExtractor", "XPath2Extractor"] {
        let (_, _, notes) = with(&element(kind, "X", &[], ""));
        assert!(noted(&notes, kind, Fate::LeftOut, "by pattern"), "{kind}");
    }
}
