//! Recordings as browsers save them.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::super::{Fate, Imported, Options, import};
use crate::scenario::{Compiled, Scenario, Setup};

fn recording() -> String {
    let entry = |page: &str,
                 second: &str,
                 request: &str,
                 status: u16,
                 mime: &str,
                 content: &str| {
        format!(
            r#"{{"pageref":"{page}","startedDateTime":"2026-03-01T10:00:{second}Z","time":100,
                "request":{{{request},"httpVersion":"HTTP/1.1","cookies":[],"queryString":[]}},
                "response":{{"status":{status},"content":{{"mimeType":"{mime}","text":{content}}}}}}}"#
        )
    };
    let form = r#""<form><input type=\"hidden\" name=\"csrf\" value=\"a1b2c3d4e5\"></form>""#;
    let headers = |more: &str| {
        format!(
            r#""headers":[{{"name":"Accept","value":"*/*"}},{{"name":"Cookie","value":"sid=1"}}{more}]"#
        )
    };
    let get = |url: &str| format!(r#""method":"GET","url":"{url}",{}"#, headers(""));
    let login = format!(
        r#""method":"POST","url":"https://shop.example/login",{},"postData":{{"mimeType":"application/x-www-form-urlencoded","text":"name=anna+b&csrf=a1b2c3d4e5"}}"#,
        headers(r#",{"name":"Content-Type","value":"application/x-www-form-urlencoded"}"#)
    );
    let order = format!(
        r#""method":"PUT","url":"https://shop.example/api/order","postData":{{"mimeType":"application/json","text":"{{\"item\":\"item-00017\",\"note\":\"${{x}}\"}}"}},{}"#,
        headers("")
    );
    let entries = [
        entry(
            "p1",
            "00.000",
            &get("https://shop.example/login"),
            200,
            "text/html",
            form,
        ),
        entry(
            "p1",
            "00.200",
            &get("https://shop.example/style.css"),
            200,
            "text/css",
            "\"\"",
        ),
        entry(
            "p1",
            "00.300",
            &get("https://cdn.example/app.js"),
            200,
            "application/javascript",
            "\"\"",
        ),
        entry("p2", "04.500", &login, 302, "", "\"\""),
        entry(
            "p2",
            "04.700",
            &get("https://shop.example/api/items"),
            200,
            "application/json",
            r#""{\"items\":[{\"id\":\"item-00017\"}]}""#,
        ),
        entry("p2", "05.000", &order, 409, "application/json", "\"{}\""),
    ];
    format!(
        r#"{{"log":{{"version":"1.2","creator":{{"name":"x","version":"1"}},
            "pages":[{{"id":"p1","title":"Sign in"}},{{"id":"p2","title":"Shop"}}],"entries":[{}]}}}}"#,
        entries.join(",")
    )
}

fn imported(options: Options) -> Imported {
    import(&recording(), "shop.har", options).unwrap()
}

/// What is written reads back equal, and runs.
fn check(scenario: &Scenario) {
    let text = scenario.to_toml();
    let read = Scenario::parse(&text, "x.toml").unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(&read, scenario);
    Compiled::new(scenario, &|_| Ok(Vec::new()), &Setup::default()).unwrap();
}

#[test]
fn pages_are_groups_with_pauses_between() {
    let imported = imported(Options::default());
    check(&imported.scenario);
    assert_eq!(imported.scenario.name, "shop");
    assert_eq!(
        imported.scenario.base.as_deref(),
        Some("https://shop.example")
    );
    assert_eq!(imported.scenario.headers["Accept"], "*/*");
    let steps = &imported.scenario.flow[0].step;
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["Sign in", "", "Shop"]);
    assert_eq!(steps[1].pause.as_ref().unwrap().0, "4100ms");
    let urls: Vec<_> = steps[0]
        .step
        .iter()
        .map(|step| step.url.as_deref().unwrap())
        .collect();
    assert_eq!(urls, ["/login", "/style.css", "https://cdn.example/app.js"]);
    let (login, order) = (&steps[2].step[0], &steps[2].step[2]);
    assert_eq!(login.form["name"], "anna b");
    assert_eq!((login.method.as_deref(), login.follow), (None, 0));
    assert_eq!(login.expect.status, ["3xx"]);
    assert_eq!(order.method.as_deref(), Some("PUT"));
    assert_eq!(
        order.body.as_deref(),
        Some(r#"{"item":"item-00017","note":"$${x}"}"#)
    );
    assert_eq!(order.expect.status, ["409"]);
}

#[test]
fn cookies_are_the_users_own_unless_recorded_ones_are_asked_for() {
    let own = imported(Options::default());
    assert!(!own.scenario.to_toml().contains("sid=1"));
    assert!(
        own.notes
            .iter()
            .any(|note| note.words.contains("`Cookie` fields of 6"))
    );
    let kept = imported(Options {
        keep_cookies: true,
        ..Options::default()
    });
    assert_eq!(kept.scenario.headers["Cookie"], "sid=1");
}

#[test]
fn resources_can_be_left_out_and_are_counted() {
    let imported = imported(Options {
        without_resources: true,
        ..Options::default()
    });
    let text = imported.scenario.to_toml();
    assert!(
        !text.contains("style.css") && !text.contains("app.js"),
        "{text}"
    );
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.fate == Fate::LeftOut && note.words.starts_with("2 requests"))
    );
}

#[test]
fn values_that_came_with_a_response_are_pointed_out() {
    let notes = imported(Options::default()).notes;
    let of = |name: &str| {
        notes
            .iter()
            .find(|note| note.kind == "value" && note.name == name)
            .unwrap()
    };
    let token = of("csrf");
    assert_eq!(token.path, "POST /login");
    assert!(token.words.contains("came with GET /login"), "{token}");
    let pattern = token
        .words
        .split("regex = '")
        .nth(1)
        .unwrap()
        .trim_end_matches('\'');
    let pattern = regex::Regex::new(pattern).unwrap();
    let page = r#"<input type="hidden" name="csrf" value="other">"#;
    assert_eq!(&pattern.captures(page).unwrap()[1], "other");
    assert!(
        of("$.items[0].id")
            .words
            .contains("came with GET /api/items")
    );
    assert_eq!(notes.iter().filter(|note| note.kind == "server").count(), 1);
}

#[test]
fn a_broken_recording_is_an_error_with_its_line() {
    let error = import("{\"log\":\n{\"entries\": 3}}", "x.har", Options::default()).unwrap_err();
    assert!(error.to_string().starts_with("x.har: line 2"), "{error}");
    let empty = import(r#"{"log":{"entries":[]}}"#, "x.har", Options::default()).unwrap();
    assert!(empty.scenario.flow.is_empty());
    assert!(
        empty
            .notes
            .iter()
            .any(|note| note.words.contains("no request"))
    );
}

proptest! {
    #[test]
    fn a_damaged_recording_does_not_panic(at in 0_usize..4000, with in r#"[{}\[\]",:a$0]{0,3}"#) {
        let mut text = recording();
        let at = at.min(text.len());
        let end = (at + 2).min(text.len());
        text.replace_range(at..end, &with);
        if let Ok(imported) = import(&text, "x.har", Options::default())
            && !imported.scenario.flow.is_empty()
        {
            let text = imported.scenario.to_toml();
            prop_assert!(Scenario::parse(&text, "x").is_ok(), "{}", text);
        }
    }

    #[test]
    fn pages_of_any_kind_are_looked_through(text in r#"(<input|<meta| name=| value=|content=|["'=>& ]|[a-zü]){0,30}"#) {
        for (_, value, pattern) in super::candidates::tags(&text) {
            prop_assert!(regex::Regex::new(&pattern.replace("\\x27", "'")).is_ok(), "{} {}", value, pattern);
        }
    }
}
