//! Words of pools and applications.

use std::ops::RangeInclusive;

use toml_edit::Value;

use crate::address::Refused;
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use crate::reference::{Given, Row};
use crate::settings::{HashBy, RetryOn};

use super::{field_name, is_token, unknown_part};

/// A part of the key of `balance = "hash"`.
pub(crate) fn hash_by(text: &str) -> Result<HashBy, Refused> {
    match (text, text.split_once(':')) {
        ("url", _) => Ok(HashBy::Url),
        ("path", _) => Ok(HashBy::Path),
        ("client", _) => Ok(HashBy::Client),
        (_, Some(("header", name))) => {
            field_name(name).map(|name| HashBy::Header(name.to_lowercase()))
        }
        (_, Some(("cookie", name))) => cookie_name(name).map(HashBy::Cookie),
        _ => Err(unknown_part(text, ["url", "path", "client"])),
    }
}

/// The name of a cookie (RFC 6265 section 4.1.1).
pub(crate) fn cookie_name(text: &str) -> Result<String, Refused> {
    match is_token(text) && text.len() <= 128 {
        true => Ok(text.into()),
        false => Err(Refused::new(format!(
            "`{text}` is not the name of a cookie"
        ))),
    }
}

/// `closed`, `timeout`, `invalid`, or a status that speaks of a failure.
pub(crate) fn retry_on(text: &str) -> Result<RetryOn, Refused> {
    const WORDS: [&str; 3] = ["closed", "timeout", "invalid"];
    match (text, text.parse::<u16>()) {
        ("closed", _) => Ok(RetryOn::Closed),
        ("timeout", _) => Ok(RetryOn::Timeout),
        ("invalid", _) => Ok(RetryOn::Invalid),
        (_, Ok(status @ 400..=599)) => Ok(RetryOn::Status(status)),
        (_, Ok(status)) => Err(Refused::new(format!(
            "{status} is not a status of an error (400 to 599)"
        ))),
        _ => Err(Refused {
            message: format!("unknown word `{text}`"),
            suggestion: nearest(text, WORDS).map(|word| format!("did you mean `{word}`?")),
        }),
    }
}

/// A bearer token (RFC 6750 section 2.1) with which a back end joins; a short one is allowed,
/// for a pool may be reachable from this machine only.
pub(crate) fn join_token(text: &str) -> Result<String, Refused> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    match (1..=256).contains(&text.len()) && text.bytes().all(fits) {
        true => Ok(text.into()),
        false => Err(Refused::new(
            "a token has 1 to 256 letters, digits and `-._~+/=`",
        )),
    }
}

/// The name of a zone or a user.
pub(crate) fn plain_name(text: &str) -> Result<String, Refused> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    match (1..=64).contains(&text.len()) && text.bytes().all(fits) {
        true => Ok(text.into()),
        false => Err(Refused::new(
            "a name has 1 to 64 letters, digits, `-`, `.` and `_`",
        )),
    }
}

/// The name of a variable of the environment, or of a CGI parameter.
pub(crate) fn variable(text: &str) -> Result<String, Refused> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    match text.bytes().all(fits) && !text.is_empty() && !text.as_bytes()[0].is_ascii_digit() {
        true => Ok(text.into()),
        false => Err(Refused::new(format!(
            "`{text}` is not the name of a variable (letters, digits and `_`)"
        ))),
    }
}

/// Path and query of a request of ours.
pub(crate) fn request_path(text: &str) -> Result<String, Refused> {
    let graphic = text.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
    match text.starts_with('/') {
        true if graphic => Ok(text.into()),
        true => Err(Refused::new(
            "blanks and what is not ASCII are percent-encoded in a path",
        )),
        false => Err(Refused::write(
            "a path begins with `/`",
            format_args!("/{text}"),
        )),
    }
}

/// `["200-399", 404]`
pub(crate) fn statuses(
    row: &Row,
    given: &Given<'_>,
    out: &mut Vec<Diagnostic>,
) -> Vec<RangeInclusive<u16>> {
    let one = |text: &str| -> Option<RangeInclusive<u16>> {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        (100 <= from && from <= to && to <= 599).then_some(from..=to)
    };
    let Some(array) = given.item.as_array() else {
        let mut wrong = given.wrong_type(row);
        if let (Some(text), Some(first)) = (given.item.as_str(), wrong.first_mut()) {
            first.suggestion = Some(format!("write [\"{text}\"]"));
        }
        out.extend(wrong);
        return Vec::new();
    };
    let mut found = Vec::new();
    for value in array {
        let text = match value {
            Value::Integer(number) => number.value().to_string(),
            value => value.as_str().unwrap_or_default().to_owned(),
        };
        match one(&text) {
            Some(range) => found.push(range),
            None => {
                let span = value.span().unwrap_or_else(|| given.span.clone());
                let message = format!("`{}`: `{text}` is neither a status nor a range", given.path);
                out.push(Diagnostic::error(span, message).expected("200, or \"200-399\""));
            }
        }
    }
    if array.is_empty() {
        out.push(given.wrong(row, "the list is empty"));
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_of_pools() {
        assert_eq!(hash_by("url").unwrap(), HashBy::Url);
        assert_eq!(hash_by("cookie:a").unwrap(), HashBy::Cookie("a".into()));
        assert_eq!(hash_by("header:X-A").unwrap(), HashBy::Header("x-a".into()));
        assert_eq!(retry_on("502").unwrap(), RetryOn::Status(502));
        assert_eq!(request_path("/up?x=1").unwrap(), "/up?x=1");
        for (refused, part) in [
            (hash_by("clients").map(drop), "`client`"),
            (hash_by("cokie:a").map(drop), "`cookie:a`"),
            (retry_on("closd").map(drop), "`closed`"),
            (retry_on("200").map(drop), ""),
            (request_path("up").map(drop), "\"/up\""),
            (variable("1A").map(drop), ""),
            (plain_name("a b").map(drop), ""),
            (join_token("").map(drop), ""),
        ] {
            let text = refused.unwrap_err().suggestion.unwrap_or_default();
            assert!(text.contains(part), "{text} has no {part}");
        }
    }
}
