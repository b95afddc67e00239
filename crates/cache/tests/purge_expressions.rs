//! The language of bans: what is read, what holds, and what is said of mistakes.
#![allow(clippy::unwrap_used, missing_docs)]

use forebay_cache::purge::{Expression, Subject};
use forebay_http::fields::Fields;
use proptest::prelude::*;

/// Whether the expression holds for `https://www.example.com/news/1?x="y"`, a 404 with an image type.
fn holds(expression: &Expression) -> bool {
    let mut fields = Fields::new();
    for (name, value) in [
        ("Content-Type", "image/png"),
        ("X-Tags", "red"),
        ("X-Tags", "blue sky"),
        ("X-Path", r"C:\dir"),
        ("X-Empty", ""),
    ] {
        fields.push_named(name.as_bytes(), value.as_bytes());
    }
    expression.matches(&Subject {
        host: b"www.example.com",
        target: br#"/news/1?x="y""#,
        status: 404,
        fields: &fields,
        key: 0,
        tags: &[],
        asked: 0,
        checked: 0,
    })
}

#[test]
fn expressions_hold_as_operators_expect() {
    for (text, expected) in [
        ("obj.status == 404", true),
        ("status==404", true),
        ("status != 404", false),
        ("status < 500 && status >= 400", true),
        ("status > 404", false),
        ("status <= 404", true),
        (r#"req.url ~ "^/news""#, true),
        ("url ~ ^/news", true),
        ("url ~ news/1", true),
        ("url ~ ^news", false),
        ("url !~ ^/news", false),
        (r"url ~ \?x=", true),
        (r#"url == "/news/1?x=\"y\"""#, true),
        (r#"url == /news/1?x="y""#, true),
        (r#"url ~ "x=\"y\"$""#, true),
        ("url ~ (?i)NEWS", true),
        ("req.http.host == www.example.com", true),
        ("host == WWW.Example.Com", true),
        (r"host ~ EXAMPLE\.com$", true),
        ("host ~ ^example", false),
        ("obj.http.content-type ~ image", true),
        ("header.Content-Type == image/png", true),
        ("header.content-type == image", false),
        ("header.x-tags == red", true),
        (r#"header.x-tags == "blue sky""#, true),
        ("header.x-tags ~ ^blue", true),
        ("header.x-tags != blue", true),
        (r#"header.x-tags == "red, blue sky""#, false),
        (r"header.x-path == C:\dir", true),
        (r#"header.x-path == "C:\\dir""#, true),
        (r#"header.x-path ~ "^C:\\dir$""#, true),
        (r#"header.x-path ~ "^C:\\\\dir$""#, false),
        (r#"header.x-path ~ "C:\\""#, true),
        (r#"header.x-empty == """#, true),
        (r#"header.x-none == """#, false),
        (r#"header.x-none != """#, true),
        ("header.x-none ~ .*", false),
        ("header.x-none !~ .*", true),
        ("status == 404 && url ~ ^/sport", false),
        ("  status   ==   404   &&  host !~ org$  ", true),
    ] {
        let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(holds(&expression), expected, "{text}");
        let again = Expression::parse(expression.text()).unwrap();
        assert_eq!(again, expression, "{text} is not read as it is written");
        assert_eq!(holds(&again), expected, "{text}");
    }
}

#[test]
fn mistakes_are_placed_and_explained() {
    for (text, at, part) in [
        ("", 0, "a field is needed"),
        ("status == 404 &&", 16, "a field is needed"),
        ("status 404", 7, "an operator is needed"),
        ("status = 404", 7, "write =="),
        ("url = /a", 4, "write =="),
        ("url =~ a", 4, "no operator =~"),
        ("status ~ ^4", 7, "status >= 500"),
        ("url > 5", 4, "only status"),
        ("status == 4xx", 10, "three digits"),
        ("status == 70000", 10, "three digits"),
        ("status == +40", 10, "three digits"),
        ("status == 001", 10, "three digits"),
        ("url ~", 5, "a value is needed"),
        (r#"url ~ """#, 6, "a pattern is needed"),
        ("header.x == && status == 404", 12, "a value is needed"),
        ("url ~ ^/a&& status == 404", 9, "space before &&"),
        (r#"url ~ "^/a"#, 6, "not closed"),
        (r#"url ~ "^/a\""#, 6, "not closed"),
        ("status == 404 || status == 410", 14, "one ban of each side"),
        ("status == 404 status == 410", 14, "write &&"),
        ("status == 404 & url ~ a", 14, "write &&"),
        ("obj.age > 5", 0, "status and header.NAME"),
        ("req.http.cookie ~ a", 0, "url and host"),
        ("path ~ a", 0, "no field path"),
        ("obj.http. ~ a", 0, "needs a name"),
        ("url ~ a(", 6, "unclosed group"),
        ("url ~ (?=a)", 6, "look-around"),
        ("url ~ (a{1000}){1000}", 6, "repeat less"),
        ("url == http://a/b", 7, "host == NAME"),
        ("url ~ ^https?://a/", 6, "host == NAME"),
        ("url == news", 7, "slash"),
        ("host == *.example.com", 8, "takes no stars"),
        ("host == example.com/a", 8, "no slash"),
    ] {
        let error = Expression::parse(text).expect_err(text);
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.message.contains(part), "{text}: {error}");
    }
}

#[test]
fn limits_are_kept() {
    let many = |count| vec!["status == 404"; count].join(" && ");
    assert!(Expression::parse(&many(16)).is_ok());
    assert!(Expression::parse(&many(17)).is_err());
    let long = |bytes: usize| format!("url == \"/{}\"", "a".repeat(bytes - 10));
    assert!(Expression::parse(&long(4096)).is_ok());
    assert_eq!(Expression::parse(&long(4097)).unwrap_err().at, 4096);
    // What would be too long when it is written down cannot be read again: refused at once.
    let grows = format!("url==/{}", "\\".repeat(3000));
    assert!(Expression::parse(&grows).is_err());
}

#[test]
fn what_means_the_same_has_one_text() {
    let text = |text: &str| Expression::parse(text).unwrap().to_string();
    let one = text(r#"obj.http.Content-Type ~ image && req.url ~ "^/a" && obj.status == 404"#);
    assert_eq!(
        one,
        r#"status == 404 && url ~ "^/a" && header.content-type ~ "image""#
    );
    assert_eq!(
        text("url ~ ^/a && status == 404 && header.content-type ~ image"),
        one
    );
    assert_eq!(text("status==404 && status == 404"), "status == 404");
    assert_eq!(
        text("host == A.Example"),
        text(r#"req.http.host == "a.example""#)
    );
    assert_eq!(text(r#"url ~ a\"b"#), text(r#"url ~ a"b"#));
    assert_ne!(text("url ~ a"), text("url !~ a"));
    assert_ne!(text("url == /a"), text("url ~ /a"));
}

#[test]
fn programs_need_not_quote() {
    let value = r#"/a b" && status == 404 && url ~ "\"#;
    let expression = Expression::all_of(&[("url", "==", value), ("host", "==", "a")]).unwrap();
    assert_eq!(Expression::parse(expression.text()).unwrap(), expression);
    assert!(!holds(&expression));
    assert!(Expression::all_of(&[]).is_err());
    assert_eq!(
        Expression::all_of(&[("url", "~", "a"), ("x", "~", "a")])
            .unwrap_err()
            .at,
        1
    );
}

proptest! {
    #[test]
    fn whatever_is_read_is_written_so_that_it_is_read_the_same(
        text in r#"(url|header\.x|host|status)( ?)(==|~|!~|!=|<)( ?)("([^"\\]|\\.){0,8}"|[^ "]{1,8})( && url ~ [a-z"\\.]{1,4})?"#
    ) {
        if let Ok(expression) = Expression::parse(&text) {
            let again = Expression::parse(expression.text());
            prop_assert_eq!(again.as_ref(), Ok(&expression));
        }
    }

    #[test]
    fn no_text_is_a_panic(text in "\\PC{0,60}") {
        let _ = Expression::parse(&text);
    }
}
