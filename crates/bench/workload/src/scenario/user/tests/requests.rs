//! What users send.

use super::*;

#[test]
fn a_plain_request_is_what_http_asks_for() {
    let mut story = Story::of(&step("url = \"/x y#z\""));
    assert!(story.user.is_at_start());
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "GET /x%20y HTTP/1.1\r\nHost: h:81\r\nUser-Agent: forebay-bench/{version}\r\nAccept: */*\r\n\r\n"
    );
    assert_eq!(story.request(), expected);
    assert!(!story.user.is_at_start());
    let sent = Sent {
        place: 0,
        label: 0,
        is_head: false,
        keep_body: false,
        close: false,
    };
    assert_eq!(story.sent, Some(sent));
    assert_eq!(story.user.compiled.labels(), ["GET /x y#z"]);
    assert_eq!(story.user.compiled.place(0).unwrap().place(), "h:81");
    story.ok();
    assert_eq!(story.act().0, Act::EndOfIteration);
    assert_eq!(story.request(), expected);
}

#[test]
fn urls_become_places_and_paths() {
    // With a variable and without one, a URL means the same.
    for (url, place, path) in [
        ("/a", 0, "/a"),
        ("a", 0, "/dir/a"),
        ("../a", 0, "/a"),
        ("?a", 0, "/dir/page?a"),
        ("", 0, "/dir/page?q"),
        ("/r?to=http://x/", 0, "/r?to=http://x/"),
        ("//g/a", 1, "/a"),
        ("http://h:81/a#f", 0, "/a"),
        ("http://H:81/a?b", 0, "/a?b"),
        ("https://g/a", 1, "/a"),
        ("https://g", 1, "/"),
        ("https://g?a", 1, "/?a"),
        ("unix:/run/s:/a", 1, "/a"),
    ] {
        let mut story = Story::of(&step(&format!("url = \"{url}\"")));
        // The place of `base` is only there when it is used.
        let place_name = |story: &Story| {
            story
                .user
                .compiled
                .place(story.sent.unwrap().place)
                .unwrap()
                .place()
        };
        assert_eq!(story.line(), format!("GET {path}"), "{url}");
        assert_eq!(place_name(&story) == "h:81", place == 0, "{url}");
        if url.contains('#') || url.is_empty() {
            continue;
        }
        let mut story = Story::of(&format!(
            "[variables]\nv = \"${{random:7:7}}\"\n{}",
            step(&format!("url = \"{url}${{v}}\""))
        ));
        if url == "https://g" {
            // Now the name has a part that is not known before.
            assert_eq!(
                (story.line().as_str(), place_name(&story).as_str()),
                ("GET /", "g7:443")
            );
            continue;
        }
        assert_eq!(story.line(), format!("GET {path}7"), "{url}");
        assert_eq!(place_name(&story) == "h:81", place == 0, "{url}");
    }
}

#[test]
fn what_a_request_carries() {
    for (rest, parts) in [
        (
            "url=\"/?a\"\nquery={ \"b c\"=\"d&e\", f=\"${user}\" }",
            vec!["GET /?a&b%20c=d%26e&f=1 HTTP/1.1\r\n"],
        ),
        (
            "url=\"/\"\nform={ \"b c\"=\"d&e f\" }",
            vec![
                "POST / ",
                "Content-Type: application/x-www-form-urlencoded\r\n",
                "Content-Length: 11\r\n",
                "\r\n\r\nb+c=d%26e+f",
            ],
        ),
        (
            "url=\"/\"\nform={ a=\"${user}\" }\nmethod=\"PUT\"",
            vec!["PUT / ", "Content-Length: 3\r\n", "\r\n\r\na=1"],
        ),
        (
            "url=\"/\"\nbody=\"x${iteration}y\"\nheaders={ Content-Type=\"text/plain\" }",
            vec![
                "POST / ",
                "text/plain\r\n",
                "Content-Length: 3\r\n",
                "\r\n\r\nx1y",
            ],
        ),
        (
            "url=\"/\"\nmethod=\"POST\"",
            vec!["Content-Length: 0\r\n\r\n"],
        ),
        (
            "url=\"/\"\nbasic_auth=[\"me\", \"p:w\"]",
            vec!["Authorization: Basic bWU6cDp3\r\n"],
        ),
        (
            "url=\"/\"\nbasic_auth=[\"me\", \"${user}\"]",
            vec!["Authorization: Basic bWU6MQ==\r\n"],
        ),
        (
            "url=\"/\"\nheaders={ Host=\"other\", X=\"$${a}\" }",
            vec!["Host: other\r\n", "X: ${a}\r\n"],
        ),
        ("url=\"/\"\nmethod=\"HEAD\"", vec!["HEAD / "]),
    ] {
        let mut story = Story::of(&step(rest));
        let text = story.request();
        for part in parts {
            assert!(
                text.contains(part),
                "{rest}: {part:?} is missing in {text:?}"
            );
        }
        assert_eq!(text.matches("Host: ").count(), 1, "{text}");
        assert_eq!(story.sent.unwrap().is_head, rest.contains("HEAD"));
    }
    let compiled = compiled(&step("url=\"/\"\nbody_file=\"picture\""));
    let mut out = Vec::new();
    User::new(&compiled, 0, 1).next(0, &mut out);
    assert!(out.ends_with(b"Content-Length: 3\r\n\r\n\xff\x00\x01"));
}

#[test]
fn fields_come_from_the_scenario_the_run_and_the_step() {
    let text = "base = \"http://h\"\n[headers]\nA = \"1\"\nB = \"1\"\nC = \"1\"\naccept = \"\"\n[[flow]]\n[[flow.step]]\nurl = \"/\"\nheaders = { c = \"3\", D = \"\" }\n";
    let setup = Setup {
        base: Some(Target::parse("http://other:8080/").unwrap()),
        headers: vec![
            ("b".into(), "2".into()),
            ("C".into(), "2".into()),
            ("D".into(), "2".into()),
        ],
        close: true,
    };
    let compiled = compiled_with(text, &setup);
    let text = Story::with(&compiled, 0, 1).request();
    assert!(
        text.ends_with("A: 1\r\nb: 2\r\nc: 3\r\nConnection: close\r\n\r\n"),
        "{text}"
    );
    assert!(
        text.contains("Host: other:8080\r\n") && !text.contains("ccept"),
        "{text}"
    );
    let mut story = Story::with(&compiled, 0, 1);
    story.request();
    assert!(story.sent.unwrap().close);
}

#[test]
fn a_value_cannot_add_a_field() {
    let text = step(
        "url=\"/a\"\nextract=[{ variable=\"v\", json=\"v\" }]\n[[flow.step]]\nurl=\"/b?${v}\"\nheaders={ X=\"${v}\" }",
    );
    let mut story = Story::of(&text);
    story.request();
    story
        .answer(200, &[], r#"{"v":"1\r\nEvil: yes #"}"#)
        .unwrap();
    let text = story.request();
    assert!(
        text.starts_with("GET /b?1%0D%0AEvil:%20yes%20%23 HTTP/1.1\r\n"),
        "{text}"
    );
    assert!(text.contains("X: 1  Evil: yes #\r\n"), "{text}");
}

#[test]
fn a_url_that_is_none_fails_and_goes_on() {
    let text = step(
        "name=\"go\"\nurl=\"${u}\"\nextract=[{ variable=\"u\", json=\"u\" }]\n[[flow.step]]\nurl=\"/b\"",
    );
    let mut story = Story::of(&text);
    story.request();
    story.answer(200, &[], r#"{"u":"gopher://x/"}"#).unwrap();
    story.line();
    story.ok();
    story.act();
    let (act, text) = story.act();
    let Act::Unsendable { label: 0, fault } = act else {
        panic!("{act:?}")
    };
    assert!(
        fault
            .words
            .starts_with("step \"go\": `gopher://x/` is not a URL"),
        "{}",
        fault.words
    );
    assert_eq!(text, "");
    assert_eq!(story.line(), "GET /b");
}

#[test]
fn places_that_are_found_are_limited() {
    let compiled = compiled(&step("url=\"/\""));
    let found =
        |number: usize| compiled.place_of(&Target::parse(&format!("http://h{number}/x")).unwrap());
    for number in 0..1024 {
        assert_eq!(found(number), Some(number + 1));
    }
    assert_eq!(found(1024), None);
    assert_eq!(found(7), Some(8));
    assert_eq!(compiled.place(8).unwrap().to_string(), "http://h7/");
    assert_eq!(compiled.place(2000), None);
}

#[test]
fn what_is_missing_when_it_is_prepared() {
    let load = |text: &str| {
        Compiled::load(text, "x.toml", &files, &Setup::default())
            .unwrap_err()
            .to_string()
    };
    let shown = load("[[flow]]\n[[flow.step]]\nurl = \"/x\"\n");
    assert!(
        shown.contains("there is no base") && shown.contains("x.toml:3:7"),
        "{shown}"
    );
    let shown = load(
        "base=\"http://h\"\n[[data]]\nfile = \"none.csv\"\n[[flow]]\n[[flow.step]]\nurl = \"/x\"\nbody_file = \"no\"\n",
    );
    assert!(
        shown.contains("x.toml:3:8") && shown.contains("x.toml:7:13"),
        "{shown}"
    );
    let shown = load(
        "base=\"http://h\"\n[[data]]\nfile = \"users.csv\"\n[[flow]]\n[[flow.step]]\nurl = \"/${logn}\"\n",
    );
    assert!(
        shown.contains("did you mean `${login}`?") && shown.contains("x.toml:6:7"),
        "{shown}"
    );
    // Without a text, the errors are shown in what it would be.
    let scenario = Scenario::parse("[[flow]]\n[[flow.step]]\nurl = \"/x\"\n", "x").unwrap();
    let shown = Compiled::new(&scenario, &files, &Setup::default())
        .unwrap_err()
        .to_string();
    assert!(
        shown.contains("url = \"/x\"") && shown.contains("scenario:"),
        "{shown}"
    );
}
