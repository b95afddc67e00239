//! A stored head brought up to date by a 304 or a 206 (RFC 9111 section 3.2).

use forebay_http::ResponseHead;
use forebay_http::fields::{FieldId, set};

/// Fields that describe the stored body, which the newer response did not bring.
const OF_THE_BODY: u64 = set(&[
    FieldId::ContentEncoding,
    FieldId::ContentLength,
    FieldId::ContentMd5,
    FieldId::ContentRange,
    FieldId::ContentType,
    FieldId::ETag,
    FieldId::TransferEncoding,
    FieldId::Trailer,
    FieldId::Connection,
]);

/// `stored` with the fields of `newer` over it.
///
/// Each field that `newer` has replaces all stored lines of that name, except
/// those that describe the body. The status stays.
pub fn updated(stored: &ResponseHead, newer: &ResponseHead) -> ResponseHead {
    let mut merged = stored.clone();
    let replaces = |id: FieldId| id.bit() & OF_THE_BODY == 0 || id == FieldId::ContentType;
    // Age and Date belong to the response that was generated last: what is confirmed now is not
    // as old as it was, also where the newer response does not say when it is (RFC 9110 section 6.6.1).
    merged.fields.remove(FieldId::Age);
    merged.fields.remove(FieldId::Date);
    for field in newer.fields.iter().filter(|field| replaces(field.id)) {
        merged
            .fields
            .retain(|old| !old.name.eq_ignore_ascii_case(field.name));
    }
    for field in newer.fields.iter().filter(|field| replaces(field.id)) {
        merged.fields.push_named(field.name, field.value);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(lines: &[(&str, &str)]) -> ResponseHead {
        let mut head = ResponseHead {
            status: 200,
            ..ResponseHead::default()
        };
        for (name, value) in lines {
            head.fields.push_named(name.as_bytes(), value.as_bytes());
        }
        head
    }

    #[test]
    fn new_fields_replace_old_ones_but_not_the_bodys() {
        let stored = head(&[
            ("ETag", "\"a\""),
            ("X-A", "1"),
            ("X-A", "2"),
            ("X-B", "b"),
            ("Content-Encoding", "gzip"),
        ]);
        let newer = head(&[
            ("x-a", "3"),
            ("x-a", "4"),
            ("ETag", "\"z\""),
            ("Content-Encoding", "br"),
            ("X-C", "c"),
        ]);
        let mut out = Vec::new();
        updated(&stored, &newer).fields.write_to(&mut out);
        let expected =
            "ETag: \"a\"\r\nX-B: b\r\nContent-Encoding: gzip\r\nx-a: 3\r\nx-a: 4\r\nX-C: c\r\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn a_stored_date_does_not_outlive_the_confirmation() {
        let stored = head(&[("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Age", "5")]);
        let undated = updated(&stored, &head(&[("X-A", "1")]));
        assert!(!undated.fields.has(FieldId::Date) && !undated.fields.has(FieldId::Age));
        let newer = head(&[("Date", "Sun, 13 Sep 2020 12:26:40 GMT")]);
        let dated = updated(&stored, &newer);
        assert_eq!(
            dated.fields.get(FieldId::Date),
            newer.fields.get(FieldId::Date)
        );
    }
}
