//! What users make of responses.

use super::*;

#[test]
fn variables_are_taken_from_everywhere_in_a_response() {
    for (extract, expected) in [
        ("regex='id=(\\d+)'", "1"),
        ("regex='id=\\d+', occurrence=2", "id=2"),
        ("regex='id=(\\d+)', occurrence=-1", "3"),
        ("regex='id=(\\d+)', occurrence=-4, default=\"d\"", "d"),
        ("between=[\"<b>\", \"</b>\"], occurrence=2", "y"),
        ("header=\"x-token\"", "t"),
        ("head-regex='(?i)x-t.*: (.)'", "t"),
        ("cookie=\"sid\"", "s1"),
        ("json=\"$.a\", default=\"none\"", "none"),
        ("regex='${user}(.)'", ";"),
    ] {
        let text = step(&format!(
            "url=\"/a\"\nextract=[{{ variable=\"v\", {extract} }}]\n[[flow.step]]\nurl=\"/b/${{v}}\""
        ));
        let mut story = Story::of(&text);
        story.request();
        let fields = [
            ("X-Token", "t"),
            ("Set-Cookie", "a=b"),
            ("Set-Cookie", "sid=s1; Path=/"),
        ];
        story
            .answer(200, &fields, "id=1;id=2;<b>x</b> id=3 <b>y</b>")
            .unwrap();
        assert_eq!(story.line(), format!("GET /b/{expected}"), "{extract}");
    }
}

#[test]
fn a_find_by_chance_is_any_of_them() {
    let text = step(
        "url=\"/a\"\nextract=[{ variable=\"v\", json=\"$[*]\", occurrence=0 }]\n[[flow.step]]\nurl=\"/${v}\"",
    );
    let mut story = Story::of(&text);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        story.request();
        story.answer(200, &[], "[1,2,3]").unwrap();
        seen.insert(story.line());
        story.ok();
        assert_eq!(story.act().0, Act::EndOfIteration);
    }
    assert_eq!(seen.len(), 3);
}

#[test]
fn faults_name_the_step_and_what_was_found() {
    for (expect, status, body, words) in [
        ("", 500, "", "status 500, expected one below 400"),
        ("status=\"2xx\"", 500, "", "status 500, expected 2xx"),
        (
            "status=[200, 204]",
            302,
            "",
            "status 302, expected 200 or 204",
        ),
        ("status=404", 404, "", ""),
        (
            "contains=\"Welcome\"",
            200,
            "Go away",
            "no `Welcome` in the body, which begins `Go away`",
        ),
        (
            "contains=\"Welcome\"",
            200,
            "",
            "no `Welcome` in the body, which is empty",
        ),
        ("contains=[\"a\", \"b\"]", 200, "ba", ""),
        ("contains=\"user ${user}\"", 200, "user 1", ""),
        ("lacks=\"error\"", 200, "an error", "`error` in the body"),
        (
            "matches='^\\d+$'",
            200,
            "12a",
            "no match for `^\\d+$` in the body, which begins `12a`",
        ),
        ("matches='^u${user}$'", 200, "u1", ""),
        (
            "body=\"ok\"",
            200,
            "ok\n",
            "the body is `ok `, expected `ok`",
        ),
        ("header={ x-token=\"^t$\" }", 200, "", ""),
        (
            "header={ X-Token=\"u\" }",
            200,
            "",
            "field `X-Token` is `t`, expected a match for `u`",
        ),
        (
            "header={ X-None=\"u\" }",
            200,
            "",
            "no field `X-None`, expected a match for `u`",
        ),
        ("json={ \"$.a[*]\"=2 }", 200, "{\"a\":[1,2]}", ""),
        (
            "json={ \"$.a\"=2 }",
            200,
            "{\"a\":1}",
            "`$.a` is `1`, expected `2`",
        ),
        (
            "json={ \"$.b\"=2 }",
            200,
            "{\"a\":1}",
            "nothing at `$.b`, expected `2`",
        ),
        (
            "json={ \"$.b\"=2 }",
            200,
            "<html>",
            "the body is not JSON, expected `2`",
        ),
        ("within=\"200ms\"", 200, "", "took longer than 200ms"),
        ("within=\"300ms\"", 200, "", ""),
    ] {
        let mut story = Story::of(&step(&format!(
            "name=\"login\"\nurl=\"/\"\nexpect={{ {expect} }}"
        )));
        story.request();
        let found = story.answer(status, &[("X-Token", "t")], body);
        let expected = match words {
            "" => Ok(()),
            words => Err(format!("step \"login\": {words}")),
        };
        assert_eq!(found, expected, "{expect}");
    }
}

#[test]
fn a_missing_value_fails_the_request_and_keeps_the_old() {
    let text = step("name=\"form\"\nurl=\"/a/${v}\"\nextract=[{ variable=\"v\", regex='t=(.)' }]");
    let mut story = Story::of(&text);
    assert_eq!(story.line(), "GET /a/");
    story.answer(200, &[], "t=1").unwrap();
    story.act();
    assert_eq!(story.line(), "GET /a/1");
    let words = story.answer(200, &[], "nothing").unwrap_err();
    assert_eq!(
        words,
        "step \"form\": nothing for `${v}` from regex `t=(.)`"
    );
    story.act();
    assert_eq!(story.line(), "GET /a/1");
}

#[test]
fn redirections_are_followed_as_often_as_allowed() {
    let text = step(
        "name=\"go\"\nurl=\"/a/b\"\nmethod=\"POST\"\nbody=\"n${user}\"\nheaders={ Content-Type=\"t/x\", Authorization=\"secret\" }\nfollow=2\nexpect={ status=200 }",
    );
    let mut story = Story::of(&text);
    story.request();
    // 307 repeats it as it was.
    story.answer(307, &[("Location", "c?d#e")], "").unwrap();
    let text = story.request();
    assert!(
        text.starts_with("POST /a/c?d HTTP/1.1\r\n") && text.ends_with("\r\n\r\nn1"),
        "{text}"
    );
    assert!(text.contains("secret"));
    // 303 makes it a GET, at another place without what was meant for the first.
    story
        .answer(303, &[("Location", "http://g/x")], "")
        .unwrap();
    let text = story.request();
    assert!(text.starts_with("GET /x HTTP/1.1\r\nHost: g\r\n"), "{text}");
    assert!(
        !text.contains("secret") && !text.contains("Content-"),
        "{text}"
    );
    let sent = story.sent.unwrap();
    assert_eq!((sent.place, sent.label), (1, 0));
    assert_eq!(story.user.compiled.place(1).unwrap().place(), "g:80");
    let words = story.answer(302, &[("Location", "/y")], "").unwrap_err();
    assert_eq!(words, "step \"go\": redirected more than 2 times");
    assert_eq!(story.act().0, Act::EndOfIteration);
    // What cannot be gone to is a fault, and a redirection that failed is not followed.
    story.request();
    let words = story
        .answer(302, &[("Location", "ftp://x/")], "")
        .unwrap_err();
    assert!(words.contains("redirected, but `ftp://x/`"), "{words}");
    assert_eq!(story.act().0, Act::EndOfIteration);
    story.request();
    story.answer(302, &[("Location", "/y")], "").unwrap();
    story.user.failed();
    assert_eq!(story.act().0, Act::EndOfIteration);
}

#[test]
fn cookies_come_back_until_the_next_iteration() {
    for (keep, expected) in [(false, ""), (true, "Cookie: a=1; b=2\r\n")] {
        let text = format!(
            "[[flow]]\nkeep_cookies={keep}\n[[flow.step]]\nurl=\"/x\"\n[[flow.step]]\nurl=\"/y?${{user}}\"\n"
        );
        let mut story = Story::of(&text);
        assert!(!story.request().contains("Cookie"));
        story
            .answer(
                200,
                &[
                    ("Set-Cookie", "a=1; Path=/"),
                    ("Set-Cookie", "b=2; Max-Age=10"),
                ],
                "",
            )
            .unwrap();
        assert!(story.request().contains("Cookie: a=1; b=2\r\n\r\n"));
        story.ok();
        assert_eq!(story.act().0, Act::EndOfIteration);
        let text = story.request();
        assert_eq!(text.contains("Cookie"), keep);
        assert!(
            text.ends_with(&format!("Accept: */*\r\n{expected}\r\n")),
            "{text}"
        );
        story.now += 10;
        assert!(!story.request().contains("b=2"));
    }
}

#[test]
fn a_cookie_set_by_a_redirection_is_sent_with_the_next_request() {
    let mut story = Story::of(&step("url=\"/login\"\nfollow=1"));
    story.request();
    story
        .answer(
            302,
            &[("Location", "/home"), ("Set-Cookie", "s=1; Path=/")],
            "",
        )
        .unwrap();
    let text = story.request();
    assert!(
        text.starts_with("GET /home ") && text.contains("Cookie: s=1\r\n"),
        "{text}"
    );
}
