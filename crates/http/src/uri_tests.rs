//! Tables of targets, hosts and references; those of RFC 3986 section 5.4 among
//! them.

use super::*;

#[test]
fn targets() {
    let absolute = |scheme: &'static str, authority: &'static str, path: &'static str| {
        Some(Target::Absolute {
            scheme: scheme.as_bytes(),
            authority: authority.as_bytes(),
            path: path.as_bytes(),
        })
    };
    for (target, expected) in [
        ("/", Some(Target::Origin(b"/"))),
        ("//a/b", Some(Target::Origin(b"//a/b"))),
        ("/a?b=%41|{}", Some(Target::Origin(b"/a?b=%41|{}"))),
        ("*", Some(Target::Asterisk)),
        ("http://a", absolute("http", "a", "/")),
        ("HTTP://a:8080/b?c", absolute("HTTP", "a:8080", "/b?c")),
        ("https://[::1]/", absolute("https", "[::1]", "/")),
        ("a:443", Some(Target::Authority(b"a:443"))),
        ("[::1]:443", Some(Target::Authority(b"[::1]:443"))),
        ("", None),
        ("a", None),
        ("a:", None),
        ("a/b", None),
        ("?a", None),
        ("**", None),
        ("/a#b", None),
        ("/a b", None),
        ("/a\tb", None),
        ("/\u{7f}", None),
        ("/\u{e9}", None),
        ("http://", None),
        ("http:///a", None),
        ("http://a?b", None),
        ("http://u@a/", None),
        ("http://u:p@a/", None),
        ("http://a:b/", None),
        ("http:/a", None),
        ("1http://a/", None),
        ("://a/", None),
    ] {
        assert_eq!(parse_target(target.as_bytes()), expected, "{target}");
    }
}

#[test]
fn hosts() {
    for (value, expected) in [
        ("shop.example", Some(("shop.example", None))),
        ("Shop.Example.:80", Some(("Shop.Example.", Some(80)))),
        ("a:", Some(("a", None))),
        ("a:0", Some(("a", Some(0)))),
        ("a:65535", Some(("a", Some(65535)))),
        ("127.0.0.1:8080", Some(("127.0.0.1", Some(8080)))),
        ("[::1]", Some(("[::1]", None))),
        ("[::ffff:1.2.3.4]:1", Some(("[::ffff:1.2.3.4]", Some(1)))),
        ("a_b~c%41", Some(("a_b~c%41", None))),
        ("", None),
        (":80", None),
        ("a:65536", None),
        ("a:-1", None),
        ("a:+1", None),
        ("a:80:80", None),
        ("a:80 ", None),
        ("a b", None),
        ("a/b", None),
        ("a@b", None),
        ("a?", None),
        ("a\\b", None),
        ("a%4", None),
        ("a%4g", None),
        ("::1", None),
        ("[::1", None),
        ("::1]", None),
        ("[]", None),
        ("[::1]80", None),
        ("[fe80::1%25eth0]", None),
        ("[v1.a]", None),
        ("a\u{e9}", None),
    ] {
        let expected = expected.map(|(name, port)| Host {
            name: name.as_bytes(),
            port,
        });
        assert_eq!(parse_host(value.as_bytes()), expected, "{value}");
    }
    assert!(parse_host(&[b'a'; 255]).is_some());
    assert!(parse_host(&[b'a'; 256]).is_none());
}

#[test]
fn paths_are_split_at_the_first_question_mark() {
    assert_eq!(split_path(b"/a"), (&b"/a"[..], None));
    assert_eq!(split_path(b"/a?"), (&b"/a"[..], Some(&b""[..])));
    assert_eq!(split_path(b"/a?b?c"), (&b"/a"[..], Some(&b"b?c"[..])));
}

#[test]
fn references_of_the_rfc() {
    for (reference, authority, target) in [
        ("g", "a", "/b/c/g"),
        ("./g", "a", "/b/c/g"),
        ("g/", "a", "/b/c/g/"),
        ("/g", "a", "/g"),
        ("//g", "g", "/"),
        ("?y", "a", "/b/c/d;p?y"),
        ("g?y", "a", "/b/c/g?y"),
        ("#s", "a", "/b/c/d;p?q"),
        ("g#s", "a", "/b/c/g"),
        ("g?y#s", "a", "/b/c/g?y"),
        (";x", "a", "/b/c/;x"),
        ("", "a", "/b/c/d;p?q"),
        (".", "a", "/b/c/"),
        ("./", "a", "/b/c/"),
        ("..", "a", "/b/"),
        ("../", "a", "/b/"),
        ("../g", "a", "/b/g"),
        ("../..", "a", "/"),
        ("../../", "a", "/"),
        ("../../g", "a", "/g"),
        ("../../../g", "a", "/g"),
        ("/./g", "a", "/g"),
        ("/../g", "a", "/g"),
        ("g.", "a", "/b/c/g."),
        ("..g", "a", "/b/c/..g"),
        ("./../g", "a", "/b/g"),
        ("./g/.", "a", "/b/c/g/"),
        ("g/./h", "a", "/b/c/g/h"),
        ("g/../h", "a", "/b/c/h"),
        ("g;x=1/../y", "a", "/b/c/y"),
        ("g?y/../x", "a", "/b/c/g?y/../x"),
    ] {
        let expected = Some((authority.into(), target.into()));
        assert_eq!(
            resolve(b"A", b"/b/c/d;p?q", reference.as_bytes()),
            expected,
            "{reference}"
        );
    }
}

#[test]
fn references_with_authority() {
    for (reference, expected) in [
        ("http://B.example:80/x", Some(("b.example", "/x"))),
        ("https://b:443", Some(("b", "/"))),
        ("https://b:80?q", Some(("b:80", "/?q"))),
        ("HTTP://[::1]:8080/a/../b#f", Some(("[::1]:8080", "/b"))),
        ("//b:80/", Some(("b:80", "/"))),
        ("//b:/a//b", Some(("b", "/a//b"))),
        ("http:g", None),
        ("http:/g", None),
        ("ftp://b/", None),
        ("mailto:x", None),
        ("http://u@b/", None),
        ("http:///x", None),
        ("/a b", None),
        ("/\u{e9}", None),
    ] {
        let expected = expected.map(|(authority, target)| (authority.into(), target.into()));
        assert_eq!(
            resolve(b"a", b"/", reference.as_bytes()),
            expected,
            "{reference}"
        );
    }
}
