//! Validators (RFC 9110 section 8.8) and conditional requests (section 13).

use crate::date;
use crate::list::trim;

/// Whether `tag` is an entity tag: a quoted string of visible characters,
/// perhaps after `W/` (RFC 9110 section 8.8.3).
pub fn is_valid_etag(tag: &[u8]) -> bool {
    match opaque(tag) {
        [b'"', inside @ .., b'"'] => inside.iter().all(|&b| is_etag_byte(b)),
        _ => false,
    }
}

/// Whether `tag` is a weak entity tag.
pub fn is_weak(tag: &[u8]) -> bool {
    tag.starts_with(b"W/")
}

/// Strong comparison (RFC 9110 section 8.8.3.2): both strong, and the same.
pub fn strong_match(a: &[u8], b: &[u8]) -> bool {
    !is_weak(a) && !is_weak(b) && a == b
}

/// Weak comparison (RFC 9110 section 8.8.3.2): the same but for `W/`.
pub fn weak_match(a: &[u8], b: &[u8]) -> bool {
    opaque(a) == opaque(b)
}

/// Whether the lines of `If-Match` or `If-None-Match` name `etag`, by weak or
/// strong comparison. `*` matches whether there is a tag or not. A member that
/// is no entity tag is compared as it stands, since some origins send such.
pub fn list_matches<'a>(
    mut values: impl Iterator<Item = &'a [u8]>,
    etag: Option<&[u8]>,
    weak: bool,
) -> bool {
    values.any(|value| {
        tags(value).any(|tag| match etag {
            _ if tag == b"*" => true,
            Some(etag) if weak => weak_match(tag, etag),
            Some(etag) => strong_match(tag, etag),
            None => false,
        })
    })
}

/// What is known of a stored or freshly received response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored<'a> {
    /// `ETag` as received.
    pub etag: Option<&'a [u8]>,
    /// `Last-Modified`, in seconds since the epoch.
    pub last_modified: Option<u64>,
    /// `Date`, in seconds since the epoch.
    pub date: Option<u64>,
    /// Status code.
    pub status: u16,
}

/// What the preconditions of a request come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They hold, or there are none: answer in full.
    Proceed,
    /// Answer 304.
    NotModified,
    /// Answer 412.
    PreconditionFailed,
}

/// Evaluates preconditions in the order of RFC 9110 section 13.2.2. An empty
/// iterator is an absent field, and a date that is none makes its field absent.
///
/// They apply only to a response that would be 2xx (section 13.2.1). Without
/// `Last-Modified`, `If-Modified-Since` is compared with `Date` (RFC 9111
/// section 4.3.2). `If-Range` is apart: see [`if_range_holds`].
pub fn evaluate<'a, M, N>(
    if_match: M,
    if_none_match: N,
    if_unmodified_since: Option<&[u8]>,
    if_modified_since: Option<&[u8]>,
    is_get_or_head: bool,
    stored: &Stored<'_>,
) -> Verdict
where
    M: Iterator<Item = &'a [u8]>,
    N: Iterator<Item = &'a [u8]>,
{
    if !(200..300).contains(&stored.status) {
        return Verdict::Proceed;
    }
    let (mut if_match, mut if_none_match) = (if_match.peekable(), if_none_match.peekable());
    let met = if if_match.peek().is_some() {
        list_matches(if_match, stored.etag, false)
    } else {
        unmodified_since(if_unmodified_since, stored)
    };
    if !met {
        return Verdict::PreconditionFailed;
    }
    let not_modified = if if_none_match.peek().is_some() {
        list_matches(if_none_match, stored.etag, true)
    } else {
        is_get_or_head && !modified_since(if_modified_since, stored)
    };
    match (not_modified, is_get_or_head) {
        (false, _) => Verdict::Proceed,
        (true, true) => Verdict::NotModified,
        (true, false) => Verdict::PreconditionFailed,
    }
}

/// Whether the range of a request with this `If-Range` is to be served (RFC
/// 9110 section 13.1.5): the tag matches strongly, or the date is exactly
/// `Last-Modified` and strong, that is, at least a second older than `Date`
/// (section 8.8.2.2).
pub fn if_range_holds(if_range: &[u8], stored: &Stored<'_>) -> bool {
    if is_valid_etag(if_range) {
        return stored.etag.is_some_and(|etag| strong_match(if_range, etag));
    }
    match (date::parse(if_range), stored.last_modified, stored.date) {
        (Some(wanted), Some(modified), Some(date)) => wanted == modified && date > modified,
        _ => false,
    }
}

/// True also when there is nothing to compare.
fn unmodified_since(field: Option<&[u8]>, stored: &Stored<'_>) -> bool {
    match (field.and_then(date::parse), stored.last_modified) {
        (Some(since), Some(modified)) => modified <= since,
        _ => true,
    }
}

/// True also when there is nothing to compare.
fn modified_since(field: Option<&[u8]>, stored: &Stored<'_>) -> bool {
    match (
        field.and_then(date::parse),
        stored.last_modified.or(stored.date),
    ) {
        (Some(since), Some(modified)) => modified > since,
        _ => true,
    }
}

fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

fn is_etag_byte(b: u8) -> bool {
    matches!(b, b'!' | b'#'..=b'~' | 0x80..)
}

/// The members of a list of entity tags. Unlike in a quoted string a backslash
/// escapes nothing here; a tag may end with one.
fn tags(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    value
        .split(move |&b| {
            quoted ^= b == b'"';
            b == b',' && !quoted
        })
        .map(trim)
        .filter(|tag| !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODIFIED: u64 = 784_111_777;
    const AT: &[u8] = b"Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &[u8] = b"Sun, 06 Nov 1994 08:49:36 GMT";
    const AFTER: &[u8] = b"Sun, 06 Nov 1994 08:49:38 GMT";
    const NONE: [&[u8]; 0] = [];

    fn stored() -> Stored<'static> {
        Stored {
            etag: Some(b"\"a\""),
            last_modified: Some(MODIFIED),
            date: Some(MODIFIED + 1),
            status: 200,
        }
    }

    #[test]
    fn entity_tags() {
        for (tag, valid) in [
            ("\"a\"", true),
            ("\"\"", true),
            ("W/\"a\"", true),
            ("\"a,b\\\"", true),
            ("\"\u{e9}\"", true),
            ("a", false),
            ("\"", false),
            ("", false),
            ("w/\"a\"", false),
            ("W/a", false),
            ("\"a\"b\"", false),
            ("\"a b\"", false),
        ] {
            assert_eq!(is_valid_etag(tag.as_bytes()), valid, "{tag}");
        }
    }

    #[test]
    fn comparison_as_in_the_rfc() {
        let cases: [(&[u8], &[u8], bool, bool); 4] = [
            (b"W/\"1\"", b"W/\"1\"", false, true),
            (b"W/\"1\"", b"W/\"2\"", false, false),
            (b"W/\"1\"", b"\"1\"", false, true),
            (b"\"1\"", b"\"1\"", true, true),
        ];
        for (a, b, strong, weak) in cases {
            assert_eq!((strong_match(a, b), strong_match(b, a)), (strong, strong));
            assert_eq!((weak_match(a, b), weak_match(b, a)), (weak, weak));
        }
    }

    #[test]
    fn lists_of_tags() {
        for (value, etag, weak, expected) in [
            ("\"a\"", Some("\"a\""), false, true),
            ("\"x\", \"a\",\"y\"", Some("\"a\""), false, true),
            ("W/\"a\"", Some("\"a\""), false, false),
            ("W/\"a\"", Some("\"a\""), true, true),
            ("\"x,a\"", Some("a"), true, false),
            ("\"x,a\", \"b\"", Some("\"x,a\""), true, true),
            ("\"x\\\", \"a\"", Some("\"a\""), true, true),
            ("*", Some("\"a\""), false, true),
            ("*", None, true, true),
            ("\"*\"", Some("\"a\""), true, false),
            ("\"a\"", None, true, false),
            ("", Some("\"a\""), true, false),
            ("a", Some("a"), true, true),
            ("a", Some("\"a\""), true, false),
        ] {
            let values = [value.as_bytes()];
            let found = list_matches(values.into_iter(), etag.map(str::as_bytes), weak);
            assert_eq!(found, expected, "{value} {etag:?}");
        }
        let lines: [&[u8]; 2] = [b"\"x\"", b"\"a\""];
        assert!(list_matches(lines.into_iter(), Some(b"\"a\""), false));
    }

    fn verdict(
        if_match: &[&'static [u8]],
        if_none_match: &[&'static [u8]],
        unmodified: Option<&[u8]>,
        modified: Option<&[u8]>,
        get: bool,
    ) -> Verdict {
        let (m, n) = (if_match.iter().copied(), if_none_match.iter().copied());
        evaluate(m, n, unmodified, modified, get, &stored())
    }

    #[test]
    fn precedence() {
        use Verdict::{NotModified, PreconditionFailed, Proceed};
        let (same, other): ([&'static [u8]; 1], [&'static [u8]; 1]) = ([b"\"a\""], [b"\"b\""]);
        assert_eq!(verdict(&NONE, &NONE, None, None, true), Proceed);
        assert_eq!(verdict(&same, &NONE, None, None, true), Proceed);
        assert_eq!(verdict(&other, &NONE, None, None, true), PreconditionFailed);
        assert_eq!(verdict(&NONE, &same, None, None, true), NotModified);
        assert_eq!(verdict(&NONE, &same, None, None, false), PreconditionFailed);
        assert_eq!(verdict(&NONE, &other, None, Some(AT), true), Proceed);
        assert_eq!(verdict(&NONE, &same, None, Some(BEFORE), true), NotModified);
        assert_eq!(verdict(&same, &NONE, Some(BEFORE), None, true), Proceed);
        assert_eq!(
            verdict(&NONE, &NONE, Some(BEFORE), None, true),
            PreconditionFailed
        );
        assert_eq!(verdict(&NONE, &NONE, Some(AT), None, true), Proceed);
        assert_eq!(verdict(&NONE, &NONE, Some(b"x"), None, true), Proceed);
        assert_eq!(verdict(&NONE, &NONE, None, Some(AT), true), NotModified);
        assert_eq!(verdict(&NONE, &NONE, None, Some(AFTER), true), NotModified);
        assert_eq!(verdict(&NONE, &NONE, None, Some(BEFORE), true), Proceed);
        assert_eq!(verdict(&NONE, &NONE, None, Some(AT), false), Proceed);
        assert_eq!(verdict(&NONE, &NONE, None, Some(b"x"), true), Proceed);
        assert_eq!(verdict(&other, &same, None, None, true), PreconditionFailed);
        assert_eq!(verdict(&same, &same, None, None, true), NotModified);
    }

    #[test]
    fn only_success_is_conditional() {
        for (status, expected) in [
            (200, Verdict::NotModified),
            (204, Verdict::NotModified),
            (301, Verdict::Proceed),
            (404, Verdict::Proceed),
            (500, Verdict::Proceed),
        ] {
            let stored = Stored { status, ..stored() };
            let none = || NONE.into_iter();
            assert_eq!(
                evaluate(none(), none(), None, Some(AT), true, &stored),
                expected
            );
        }
    }

    #[test]
    fn without_last_modified_the_date_counts() {
        let stored = Stored {
            last_modified: None,
            ..stored()
        };
        let verdict = |since| {
            evaluate(
                NONE.into_iter(),
                NONE.into_iter(),
                None,
                Some(since),
                true,
                &stored,
            )
        };
        assert_eq!(verdict(AT), Verdict::Proceed);
        assert_eq!(verdict(AFTER), Verdict::NotModified);
    }

    #[test]
    fn if_range() {
        let cases: [(&[u8], Stored<'_>, bool); 9] = [
            (b"\"a\"", stored(), true),
            (b"\"b\"", stored(), false),
            (
                b"W/\"a\"",
                Stored {
                    etag: Some(b"W/\"a\""),
                    ..stored()
                },
                false,
            ),
            (AT, stored(), true),
            (AFTER, stored(), false),
            (BEFORE, stored(), false),
            (
                AT,
                Stored {
                    date: Some(MODIFIED),
                    ..stored()
                },
                false,
            ),
            (
                AT,
                Stored {
                    date: None,
                    ..stored()
                },
                false,
            ),
            (
                b"a",
                Stored {
                    etag: Some(b"a"),
                    ..stored()
                },
                false,
            ),
        ];
        for (value, stored, expected) in cases {
            assert_eq!(
                if_range_holds(value, &stored),
                expected,
                "{value:?} {stored:?}"
            );
        }
    }
}
