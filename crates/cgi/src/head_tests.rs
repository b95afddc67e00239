//! Heads of applications: by table, at every prefix, and from anything.

use proptest::prelude::*;

use super::*;

const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 400,
    head_bytes: 400,
    fields: 6,
};

fn read_all(text: &[u8]) -> Result<Option<(u16, String, String, usize)>, HeadError> {
    let mut head = ResponseHead::default();
    let taken = parse(&mut head, text, &LIMITS)?;
    let mut fields = Vec::new();
    head.fields.write_to(&mut fields);
    Ok(taken.map(|taken| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (head.status, text(&head.reason), text(&fields), taken)
    }))
}

#[test]
fn status_and_fields_by_table() {
    let cases = [
        (
            "Content-Type: a/b\r\n\r\n",
            200,
            "OK",
            "Content-Type: a/b\r\n",
        ),
        ("Content-type: a/b\n\n", 200, "OK", "Content-type: a/b\r\n"),
        ("A: b\r\nC: d\n\r\n", 200, "OK", "A: b\r\nC: d\r\n"),
        (
            "Status: 404 Not here\r\nA: b\r\n\r\n",
            404,
            "Not here",
            "A: b\r\n",
        ),
        (
            "A: b\r\nSTATUS:503\r\n\r\n",
            503,
            "Service Unavailable",
            "A: b\r\n",
        ),
        ("status: 299\n\n", 299, "", ""),
        (
            "Location: /there\r\n\r\n",
            302,
            "Found",
            "Location: /there\r\n",
        ),
        (
            "Location: http://x/\nStatus: 201\n\n",
            201,
            "Created",
            "Location: http://x/\r\n",
        ),
        ("\r\n", 200, "OK", ""),
        ("\n", 200, "OK", ""),
        ("HTTP/1.1 404 Nope\r\nA: b\r\n\r\n", 404, "Nope", "A: b\r\n"),
        ("HTTP/1.0 200 OK\nStatus: 1\n\n", 200, "OK", "Status: 1\r\n"),
    ];
    for (text, status, reason, fields) in cases {
        let body = format!("{text}body\n\n");
        let expected = (status, reason.to_owned(), fields.to_owned(), text.len());
        assert_eq!(read_all(body.as_bytes()), Ok(Some(expected)), "{text:?}");
        for end in 0..text.len() {
            assert_eq!(
                read_all(&text.as_bytes()[..end]),
                Ok(None),
                "{text:?} to {end}"
            );
        }
    }
}

#[test]
fn what_must_not_be_forwarded_is_refused() {
    let cases = [
        ("Status: 100 Continue\r\n\r\n", HeadError::StatusLine),
        ("HTTP/1.1 101 x\r\n\r\n", HeadError::StatusLine),
        ("Status: 99\r\n\r\n", HeadError::StatusLine),
        ("Status: 2000\r\n\r\n", HeadError::StatusLine),
        ("Status: 20x\r\n\r\n", HeadError::StatusLine),
        ("Status: 099\r\n\r\n", HeadError::StatusLine),
        ("Status:\r\n\r\n", HeadError::StatusLine),
        ("A: b\r\n folded\r\n\r\n", HeadError::Folding),
        ("A: b\n folded\n\n", HeadError::Folding),
        ("A : b\r\n\r\n", HeadError::SpaceBeforeColon),
        ("A: b\rc\r\n\r\n", HeadError::BareCr),
        ("A: b\rc\n\n", HeadError::BareCr),
        ("A: b\0\n\n", HeadError::FieldValue),
        ("no head at all\n\n", HeadError::SpaceBeforeColon),
        ("<html>\n\n", HeadError::FieldName),
    ];
    for (text, error) in cases {
        assert_eq!(read_all(text.as_bytes()), Err(error), "{text:?}");
    }
    let long = format!("A: {}", "x".repeat(400));
    assert_eq!(read_all(long.as_bytes()), Err(HeadError::HeadTooLarge));
    let long = format!("A: b\n{}", "x: y\n".repeat(80));
    assert!(read_all(long.as_bytes()).is_err());
    let many = format!("{}\n", "A: b\n".repeat(7));
    assert_eq!(read_all(many.as_bytes()), Err(HeadError::TooManyFields));
}

proptest! {
    #[test]
    fn a_prefix_never_says_something_else_than_the_whole(
        text in "(HTTP/1\\.[01] [0-9]{3} x\r?\n)?((Status|A|Location): [a-z0-9 ]{0,6}\r?\n){0,4}\r?\n?[a-z\n]{0,9}",
        at in any::<prop::sample::Index>(),
    ) {
        let whole = read_all(text.as_bytes());
        if let Ok(Some(part)) = read_all(&text.as_bytes()[..at.index(text.len() + 1)]) {
            prop_assert_eq!(whole, Ok(Some(part)));
        }
    }

    #[test]
    fn nothing_panics(text in prop::collection::vec(any::<u8>(), 0..500)) {
        if let Ok(Some((status, _, _, taken))) = read_all(&text) {
            prop_assert!(status >= 200 && taken <= text.len());
        }
    }
}
