//! Properties of heads: how the bytes are split never matters, and what is
//! written is read back.

#![allow(clippy::unwrap_used)]

use forebay_http::head::{HeadError, HeadLimits};
use forebay_http::{Method, RequestHead, ResponseHead};
use proptest::prelude::*;

const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 200,
    head_bytes: 1000,
    fields: 10,
};

type Outcome = Result<Option<usize>, HeadError>;

fn request(input: &[u8]) -> Outcome {
    RequestHead::default().parse(input, &LIMITS)
}

fn response(input: &[u8]) -> Outcome {
    ResponseHead::default().parse(input, &LIMITS)
}

/// However much has arrived when it is first looked at: a head is never taken
/// for another, and what is refused later was not accepted before. Only which
/// of several faults is named may depend on what has arrived.
fn check_prefixes(input: &[u8], parse: fn(&[u8]) -> Outcome) -> Result<(), TestCaseError> {
    let whole = parse(input);
    for end in 0..input.len() {
        let prefix = parse(&input[..end]);
        match (prefix, whole) {
            (Ok(None), _) => {}
            (Ok(Some(length)), _) => {
                prop_assert!(length <= end);
                prop_assert_eq!(prefix, whole, "accepted {} bytes", end);
            }
            (Err(_), _) => prop_assert!(whole.is_err(), "refused {} bytes: {:?}", end, prefix),
        }
    }
    Ok(())
}

fn token() -> impl Strategy<Value = String> {
    "[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}"
}

/// A value as it is kept: no white space at its ends.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![9 => b' '..=b'~', 1 => 0x80_u8.., 1 => Just(b'\t')];
    prop::collection::vec(byte, 0..40).prop_map(|v| v.trim_ascii().to_vec())
}

fn field_lines() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    prop::collection::vec((token(), value()), 0..6)
}

fn wire(line: &[u8], fields: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = [line, b"\r\n"].concat();
    for (name, value) in fields {
        out.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    out.extend_from_slice(b"\r\n");
    out
}

/// What may happen to a head on its way.
fn damaged(head: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![prop::sample::select(b"\r\n :\t\0/H1".to_vec()), any::<u8>()];
    (head, any::<prop::sample::Index>(), byte, 0..4).prop_map(|(mut head, at, byte, how)| {
        let at = at.index(head.len());
        match how {
            0 => head[at] = byte,
            1 => head.insert(at, byte),
            2 => drop(head.remove(at)),
            _ => head.splice(..0, *b"\r\n").for_each(drop),
        }
        head.extend_from_slice(b"next");
        head
    })
}

fn request_head() -> impl Strategy<Value = Vec<u8>> {
    (token(), "[!-~]{1,40}", "1\\.[01]", field_lines())
        .prop_map(|(m, t, v, fields)| wire(format!("{m} {t} HTTP/{v}").as_bytes(), &fields))
}

fn response_head() -> impl Strategy<Value = Vec<u8>> {
    (100_u16..1000, "( [ -~]{0,20})?", "1\\.[01]", field_lines())
        .prop_map(|(s, r, v, fields)| wire(format!("HTTP/{v} {s}{r}").as_bytes(), &fields))
}

proptest! {
    #[test]
    fn how_a_request_is_split_does_not_matter(head in request_head()) {
        prop_assert_eq!(request(&head), Ok(Some(head.len())));
        check_prefixes(&head, request)?;
    }

    #[test]
    fn how_a_damaged_request_is_split_does_not_matter(head in damaged(request_head())) {
        check_prefixes(&head, request)?;
    }

    #[test]
    fn how_a_response_is_split_does_not_matter(head in response_head()) {
        prop_assert_eq!(response(&head), Ok(Some(head.len())));
        check_prefixes(&head, response)?;
    }

    #[test]
    fn how_a_damaged_response_is_split_does_not_matter(head in damaged(response_head())) {
        check_prefixes(&head, response)?;
    }

    #[test]
    fn a_request_is_read_as_it_was_written(
        method in token(), target in "[!-~]{1,40}", fields in field_lines(),
    ) {
        let mut head = RequestHead { method: Method::of(method.as_bytes()), ..Default::default() };
        head.target.extend_from_slice(target.as_bytes());
        for (name, value) in &fields {
            head.fields.push_named(name.as_bytes(), value);
        }
        let mut written = Vec::new();
        head.write_to(&mut written);
        let mut read = RequestHead::default();
        prop_assert_eq!(read.parse(&written, &LIMITS), Ok(Some(written.len())));
        prop_assert_eq!(read.method.as_bytes(), method.as_bytes());
        prop_assert_eq!(read.target, target.as_bytes());
        let found: Vec<_> = read.fields.iter().map(|f| (f.name.to_vec(), f.value.to_vec())).collect();
        let expected: Vec<_> = fields.into_iter().map(|(n, v)| (n.into_bytes(), v)).collect();
        prop_assert_eq!(found.len(), expected.len());
        for ((name, value), (sent_name, sent_value)) in found.iter().zip(&expected) {
            prop_assert!(name.eq_ignore_ascii_case(sent_name));
            prop_assert_eq!(value, sent_value);
        }
    }

    #[test]
    fn nothing_panics(input in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (request(&input), response(&input));
    }
}

#[test]
fn an_empty_line_before_a_request_may_arrive_in_two_parts() {
    let head = b"\r\nGET / HTTP/1.1\r\n\r\n";
    assert_eq!(request(head).unwrap(), Some(head.len()));
    assert_eq!(request(b"\r"), Ok(None));
}
