//! Tests of reading: what the example means, and that every error is found with its line.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use std::ops::Range;

use super::super::model::Count;
use super::*;

/// The example at the head of `model.rs`.
pub(crate) fn example() -> String {
    let source = include_str!("../model.rs");
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let inside = lines.skip_while(|line| *line != "```toml").skip(1);
    inside
        .take_while(|line| *line != "```")
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn the_documented_example_is_read() {
    let scenario = Scenario::parse(&example(), "shop.toml").unwrap();
    assert_eq!((scenario.name.as_str(), scenario.flow.len()), ("shop", 2));
    let buyer = &scenario.flow[0];
    assert_eq!(
        (buyer.weight, buyer.stop_on_failure, buyer.step.len()),
        (3.0, true, 3)
    );
    assert_eq!(buyer.step[0].extract[1].from, Source::Cookie("sid".into()));
    assert_eq!(buyer.step[1].expect.status, ["200", "3xx"]);
    assert_eq!(buyer.step[1].follow, 3);
    let group = &buyer.step[2];
    assert_eq!(
        (&group.repeat, group.step.len()),
        (&Some(Count::Fixed(3)), 2)
    );
    assert_eq!(group.step[0].expect.json["$.status"], "ok");
    assert_eq!(scenario.data[0].columns, ["login", "password"]);
    assert_eq!(scenario.flow[1].step[1].pause, Some(Pause("2s".into())));
}

/// What is wrong with a text: lines (from 1) and messages.
fn errors(text: &str) -> Vec<(usize, String)> {
    let errors = Scenario::parse(text, "x.toml").unwrap_err();
    let line = |span: Option<Range<usize>>| text[..span.unwrap().start].matches('\n').count() + 1;
    let shown = errors.to_string();
    assert!(shown.contains("x.toml"), "{shown}");
    errors
        .list()
        .iter()
        .map(|one| (line(one.span.clone()), one.message.clone()))
        .collect()
}

#[test]
fn every_error_is_found_in_one_run_with_its_line() {
    let text = r#"nmae = "x"
[variables]
a = "${a}"
b = "${c}"
[[data]]
file = "u.csv"
columns = ["login"]
order = "any"
[[flow]]
weight = "much"
pause = "soon"
[[flow.step]]
url = "/${logn}"
expect = { status = "20x", matches = "(", within = "fast" }
extract = [{ variable = "v" }, { variable = "w", json = "$[", default = "" }]
[[flow.step]]
name = "nothing"
[[flow.step]]
headers = { A = "b" }
[[flow.step.step]]
url = "/x"
method = "G T"
headers = { "A B" = "x", Content-Length = 3, C = "a\nb" }
body = "x"
form = { a = "b" }
when = "${nope} == 1"
repeat = "often"
[[flow]]
"#;
    let found = errors(text);
    for (line, part) in [
        (1, "unknown key `nmae`"),
        (3, "depends on itself"),
        (4, "unknown variable `${c}`"),
        (8, "`any` is not known"),
        (10, "`weight` is a string"),
        (11, "`soon` is no pause"),
        (13, "unknown variable `${logn}`"),
        (14, "`20x` is no status"),
        (14, "not a regular expression"),
        (14, "`fast` is no time"),
        (15, "one place"),
        (15, "not a path into JSON"),
        (16, "does nothing"),
        (19, "`headers` belongs to a request"),
        (22, "`G T` is no method"),
        (23, "`A B` is no name of a field"),
        (23, "written by itself"),
        (23, "no line breaks"),
        (20, "one of `body`, `body_file` and `form`"),
        (26, "unknown variable `${nope}`"),
        (27, "no number of times"),
        (28, "no steps"),
    ] {
        let there = found
            .iter()
            .any(|(at, words)| *at == line && words.contains(part));
        assert!(there, "line {line}: {part} is missing in {found:#?}");
    }
    assert_eq!(found.len(), 22, "{found:#?}");
}

#[test]
fn errors_say_what_was_meant() {
    let text = "[[flow]]\n[[flow.step]]\nurl = \"/${logn}\"\nexcept = { status = 200 }\n[[data]]\nfile = \"x\"\ncolumns = [\"login\"]\n";
    let shown = Scenario::parse(text, "x.toml").unwrap_err().to_string();
    for part in [
        "x.toml:3:7",
        "did you mean `${login}`?",
        "x.toml:4:1",
        "did you mean `expect`?",
        "^^^^^^",
    ] {
        assert!(shown.contains(part), "{part} is missing in:\n{shown}");
    }
}

#[test]
fn what_is_no_toml_is_said_for_each_place() {
    let found = errors("name = \nbase = \"x\n[[flow]]\nweight = 1 2\n");
    assert!(found.len() >= 2, "{found:?}");
    assert!(
        found.iter().all(|(_, words)| words.starts_with("not TOML")),
        "{found:?}"
    );
    assert_eq!(found[0].0, 1);
}

#[test]
fn columns_that_are_in_a_file_are_not_missed_before_it_is_read() {
    let text = "[[data]]\nfile = \"u.csv\"\n[[flow]]\n[[flow.step]]\nurl = \"/${who}\"\n";
    assert!(Scenario::parse(text, "x").is_ok());
}

#[test]
fn an_empty_file_has_no_flow() {
    let shown = Scenario::parse("", "x.toml").unwrap_err().to_string();
    assert!(shown.contains("there is no flow"), "{shown}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        text in "(name|base|flow|step|url|expect|=|\\[|\\]|\\{|\\}|\"|'|\n|\\.|,|1|\\$\\{|a| ){0,60}",
        any in "\\PC{0,60}",
        value in "\\PC{0,20}",
    ) {
        for text in [text, any] {
            if let Err(errors) = Scenario::parse(&text, "x") {
                prop_assert!(!errors.to_string().is_empty());
            }
        }
        // Any text in any place is either taken or refused with words.
        let quoted = toml::Value::String(value).to_string();
        for key in ["url", "method", "body", "when", "repeat", "pause", "name"] {
            let text = format!("[[flow]]\n[[flow.step]]\nurl = \"/\"\n{key}x = 1\n{key} = {quoted}\n");
            let text = text.replace(&format!("{key}x = 1\n"), "");
            let text = if key == "url" { text.replacen("url = \"/\"\n", "", 1) } else { text };
            if let Err(errors) = Scenario::parse(&text, "x") {
                prop_assert!(!errors.to_string().is_empty());
            }
        }
        for key in ["matches", "status", "contains", "within"] {
            let text = format!("[[flow]]\n[[flow.step]]\nurl = \"/\"\nexpect.{key} = {quoted}\n");
            let _ = Scenario::parse(&text, "x");
        }
        for key in ["regex", "json", "header", "head-regex", "cookie"] {
            let text = format!("[[flow]]\n[[flow.step]]\nurl = \"/\"\nextract = [{{ variable = \"a\", {key} = {quoted} }}]\n");
            let _ = Scenario::parse(&text, "x");
        }
    }
}
