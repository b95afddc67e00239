//! Tests of the cookie jar.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn target(url: &str) -> Target {
    Target::parse(url).unwrap()
}

fn set(jar: &mut Jar, url: &str, lines: &[&str], now: u64) {
    let mut head = ResponseHead::default();
    for line in lines {
        head.fields.push(FieldId::SetCookie, line.as_bytes());
    }
    let from = target(url);
    jar.take(&head, &from, from.path.as_bytes(), now);
}

fn sent(jar: &mut Jar, url: &str, now: u64) -> String {
    let mut out = Vec::new();
    let to = target(url);
    jar.write_to(&to, to.path.as_bytes(), now, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn cookies_go_where_they_belong() {
    // What is set where, where it is asked for, and whether it goes there.
    for (from, line, to, goes) in [
        ("http://a.example/", "a=1", "http://a.example/x", true),
        ("http://a.example/", "a=1", "http://b.a.example/x", false),
        (
            "http://a.example/",
            "a=1; Domain=a.example",
            "http://b.a.example/",
            true,
        ),
        (
            "http://b.a.example/",
            "a=1; domain=.A.example",
            "http://a.example/",
            true,
        ),
        (
            "http://a.example/",
            "a=1; Domain=b.example",
            "http://a.example/",
            false,
        ),
        (
            "http://ba.example/",
            "a=1; Domain=a.example",
            "http://ba.example/",
            false,
        ),
        (
            "http://127.0.0.1/",
            "a=1; Domain=0.0.1",
            "http://127.0.0.1/",
            false,
        ),
        ("http://127.0.0.1:81/", "a=1", "http://127.0.0.1:82/", true),
        (
            "http://a.example/x/y?q=/z/",
            "a=1",
            "http://a.example/x/z",
            true,
        ),
        ("http://a.example/x/y", "a=1", "http://a.example/z", false),
        (
            "http://a.example/x",
            "a=1; Path=/x",
            "http://a.example/x?q",
            true,
        ),
        (
            "http://a.example/x",
            "a=1; Path=/x",
            "http://a.example/xy",
            false,
        ),
        (
            "http://a.example/x",
            "a=1; Path=/x/",
            "http://a.example/x",
            false,
        ),
        (
            "http://a.example/x/y",
            "a=1; Path=z",
            "http://a.example/x/",
            true,
        ),
        (
            "http://a.example/",
            "a=1; Secure",
            "http://a.example/",
            false,
        ),
        (
            "http://a.example/",
            "a=1; Secure",
            "https://a.example/",
            true,
        ),
        (
            "http://a.example/",
            "a=1; Max-Age=0",
            "http://a.example/",
            false,
        ),
        (
            "http://a.example/",
            "a=1; Max-Age=-5",
            "http://a.example/",
            false,
        ),
        (
            "http://a.example/",
            "a=1; Max-Age=x",
            "http://a.example/",
            true,
        ),
        (
            "http://a.example/",
            "a=1; Expires=Thu, 01-Jan-1970 00:00:01 GMT",
            "http://a.example/",
            false,
        ),
        (
            "http://a.example/",
            "a=1; Expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=9",
            "http://a.example/",
            true,
        ),
        ("http://a.example/", "=1", "http://a.example/", false),
        ("http://a.example/", "a", "http://a.example/", false),
    ] {
        let mut jar = Jar::default();
        set(&mut jar, from, &[line], 1000);
        let expected = if goes { "Cookie: a=1\r\n" } else { "" };
        assert_eq!(sent(&mut jar, to, 1000), expected, "{from} {line} {to}");
    }
}

#[test]
fn the_longest_path_comes_first_then_the_oldest() {
    let mut jar = Jar::default();
    let lines = [
        "a=1; Path=/",
        "b=2; Path=/x/y",
        "c=3; Path=/x",
        "d=4; Path=/",
    ];
    set(&mut jar, "http://h/", &lines, 0);
    assert_eq!(
        sent(&mut jar, "http://h/x/y", 0),
        "Cookie: b=2; c=3; a=1; d=4\r\n"
    );
    // One that is set again keeps its place.
    set(
        &mut jar,
        "http://h/",
        &["a=\"new\"; Path=/; HttpOnly; SameSite=Lax"],
        0,
    );
    assert_eq!(sent(&mut jar, "http://h/", 0), "Cookie: a=\"new\"; d=4\r\n");
}

#[test]
fn cookies_end_when_they_say() {
    let mut jar = Jar::default();
    set(&mut jar, "http://h/", &["a=1; Max-Age=10", "b=2"], 100);
    assert_eq!(sent(&mut jar, "http://h/", 109), "Cookie: a=1; b=2\r\n");
    assert_eq!(sent(&mut jar, "http://h/", 110), "Cookie: b=2\r\n");
    set(&mut jar, "http://h/", &["b=; Max-Age=0"], 120);
    assert!(jar.is_empty());
}

#[test]
fn a_server_cannot_fill_the_memory() {
    let mut jar = Jar::default();
    for number in 0..1000 {
        set(&mut jar, "http://h/", &[&format!("c{number}=1")], 0);
    }
    assert_eq!(jar.0.len(), MOST);
    set(
        &mut jar,
        "http://h/",
        &[&format!("long={}", "x".repeat(MAX_BYTES))],
        0,
    );
    assert_eq!(jar.0.len(), MOST);
    assert!(!sent(&mut jar, "http://h/", 0).contains("long"));
}

proptest! {
    #[test]
    fn no_line_panics_or_breaks_out(
        line in "(a|=|;| |/|\\.|domain|path|max-age|expires|1|-|é|h){0,20}",
        path in "/(a|/|\\?|é){0,8}",
    ) {
        let mut jar = Jar::default();
        set(&mut jar, &format!("http://h{path}"), &[&line], 5);
        let text = sent(&mut jar, &format!("http://h{path}"), 5);
        prop_assert!(text.is_empty() || text.starts_with("Cookie: ") && text.ends_with("\r\n"));
        prop_assert_eq!(text.matches("\r\n").count(), usize::from(!text.is_empty()));
    }

    #[test]
    fn a_plain_cookie_comes_back(name in "[a-z]{1,8}", value in "[!-:<-~]{0,20}") {
        let mut jar = Jar::default();
        set(&mut jar, "http://h/", &[&format!("{name}={value}")], 0);
        prop_assert_eq!(sent(&mut jar, "http://h/", 0), format!("Cookie: {name}={value}\r\n"));
    }
}
