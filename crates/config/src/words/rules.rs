//! Words of rules: templates, fields, rates, origins, error pages.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::address::Refused;
use crate::template::{self, Groups, Piece, TemplateError};
use crate::units::parse_duration;

use super::field_name;

impl From<TemplateError> for Refused {
    fn from(error: TemplateError) -> Self {
        Self {
            message: error.message,
            suggestion: error.suggestion,
        }
    }
}

/// Which way a field goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Request,
    Response,
}

/// Fields that belong to one connection, or say how a message is framed (RFC 9110 section 7.6.1):
/// they are Forebay's own.
const OWN: [&str; 9] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// A template that is right.
pub(crate) fn template(text: &str, groups: &Groups) -> Result<String, Refused> {
    template::parse(text, groups)?;
    Ok(text.into())
}

/// Whether a field must stay as it is.
fn fixed(name: &str, side: Side) -> Option<Refused> {
    let lower = name.to_ascii_lowercase();
    if OWN.contains(&lower.as_str()) {
        return Some(Refused::new(format!(
            "`{name}` says how a message is framed, which is Forebay's own affair"
        )));
    }
    let (message, suggestion) = match (side, lower.as_str()) {
        (Side::Request, "host") => (
            "which `Host` servers get is said by their pool",
            "write host = \"…\" in [pool.NAME]",
        ),
        (
            Side::Request,
            "forwarded" | "x-forwarded-for" | "x-forwarded-host" | "x-forwarded-proto",
        ) => (
            "who the client is, is told to servers as `server.forwarded` says",
            "write forwarded = \"…\" in [server]",
        ),
        (Side::Request, "expect" | "range" | "if-range") => {
            ("what the cache answers depends on this field", "leave it")
        }
        (Side::Request, "if-none-match" | "if-modified-since") => {
            ("what the cache answers depends on this field", "leave it")
        }
        (Side::Request, "if-match" | "if-unmodified-since") => {
            ("what the cache answers depends on this field", "leave it")
        }
        (Side::Response, "content-range" | "content-encoding") => {
            ("this field says what the body is", "leave it")
        }
        _ => return None,
    };
    Some(Refused {
        message: message.into(),
        suggestion: Some(suggestion.into()),
    })
}

/// A field that is set or added: its name, and a template whose own text fits into a field
/// (RFC 9110 section 5.5).
pub(crate) fn field_edit(
    name: &str,
    value: &str,
    groups: &Groups,
    side: Side,
) -> Result<(String, String), Refused> {
    let name = field_name(name)?;
    if let Some(refused) = fixed(&name, side) {
        return Err(refused);
    }
    let control = |b: u8| b != b'\t' && (b < 0x20 || b == 0x7f);
    for piece in template::parse(value, groups)? {
        if let Piece::Text(text) = piece
            && text.bytes().any(control)
        {
            return Err(Refused::new(
                "control characters and line ends cannot stand in a field",
            ));
        }
    }
    Ok((name, value.into()))
}

/// A field that is removed, or a glob over names.
pub(crate) fn field_removed(text: &str, side: Side) -> Result<String, Refused> {
    field_name(&text.replace('?', "*"))?;
    if !text.contains(['*', '?'])
        && let Some(refused) = fixed(text, side)
    {
        return Err(refused);
    }
    if side == Side::Response && text.eq_ignore_ascii_case("vary") {
        return Err(Refused::new(
            "caches on the way would give clients what is meant for others",
        ));
    }
    Ok(text.to_ascii_lowercase())
}

/// Where a rewriting leads.
pub(crate) fn rewrite_target(text: &str) -> Result<(), Refused> {
    match text.starts_with(['/', '{']) {
        true => Ok(()),
        false => Err(Refused::write(
            "a path begins with `/`",
            format_args!("/{text}"),
        )),
    }
}

/// Where a redirection leads.
pub(crate) fn redirect_target(text: &str) -> Result<(), Refused> {
    if text.chars().any(char::is_control) {
        return Err(Refused::new("control characters cannot stand in a field"));
    }
    let url = text.starts_with("http://") || text.starts_with("https://");
    match url || text.starts_with(['/', '{']) {
        true => Ok(()),
        false => Err(Refused::write(
            "it is neither a path nor a URL",
            format_args!("/{text}"),
        )),
    }
}

/// One of `try_files`: a template of a path, or `=404` as the last. A file is the same whatever else
/// was asked with its path, and is kept so: nothing else can name it.
pub(crate) fn try_file(text: &str, groups: &Groups, last: bool) -> Result<String, Refused> {
    if let Some(status) = text.strip_prefix('=') {
        return match (last, status.parse::<u16>()) {
            (true, Ok(400..=599)) => Ok(text.into()),
            (false, Ok(400..=599)) => Err(Refused::new("a status is the last of the list")),
            _ => Err(Refused::write(
                format!("`{status}` is not a status of an error"),
                "=404",
            )),
        };
    }
    let pieces = template::parse(text, groups)?;
    rewrite_target(text)?;
    let is_known = |piece: &Piece| matches!(piece, Piece::Text(_) | Piece::Path | Piece::Host);
    if pieces.iter().all(is_known) {
        return Ok(text.into());
    }
    let message = "of a request only `{path}` and `{host}` can be part of a file's name";
    Err(match text.contains("{uri}") {
        true => Refused::write(message, text.replace("{uri}", "{path}")),
        false => Refused::new(message),
    })
}

/// `10/s`, `600/m`, `5/10s`; `None` for `off`.
pub(crate) fn rate(text: &str) -> Result<Option<(u32, Duration)>, Refused> {
    if text == "off" {
        return Ok(None);
    }
    let bad = || Refused::write(format!("`{text}` is not a rate"), "10/s");
    let (count, per) = text.split_once('/').ok_or_else(bad)?;
    let count: u32 = count.trim().parse().map_err(|_| bad())?;
    let per = per.trim();
    let time = match per.starts_with(|c: char| c.is_ascii_digit()) {
        true => parse_duration(per),
        false => parse_duration(&format!("1{per}")),
    };
    let time = time.map_err(Refused::new)?;
    let hours = Duration::from_secs(24 * 3600);
    if count == 0 || time.is_zero() || time > hours {
        return Err(Refused::new(
            "a rate is at least one request in at most a day",
        ));
    }
    // Spacings are counted in nanoseconds.
    if u128::from(count) > time.as_nanos() {
        return Err(Refused::new("the rate is too high to be counted"));
    }
    Ok(Some((count, time)))
}

/// What a browser shows: it stands in quotes in a field.
pub(crate) fn realm(text: &str) -> Result<String, Refused> {
    match text.bytes().all(|b| (0x20..0x7f).contains(&b)) && text.len() <= 200 {
        true => Ok(text.into()),
        false => Err(Refused::new("a realm is up to 200 characters of ASCII")),
    }
}

/// An origin of the web (RFC 6454 section 6.1), a glob over them, or `*`.
pub(crate) fn web_origin(text: &str) -> Result<String, Refused> {
    if text == "*" || text == "null" {
        return Ok(text.into());
    }
    let Some((scheme, host)) = text.split_once("://") else {
        return Err(Refused::write(
            "an origin has a scheme",
            format_args!("https://{text}"),
        ));
    };
    let host = host.to_ascii_lowercase();
    if let Some((bare, _)) = host.split_once('/') {
        return Err(Refused::write(
            "an origin has no path",
            format_args!("{scheme}://{bare}"),
        ));
    }
    let graphic = host.bytes().all(|b| b.is_ascii_graphic());
    match graphic && !host.is_empty() && !scheme.is_empty() {
        true => Ok(format!("{}://{host}", scheme.to_ascii_lowercase())),
        false => Err(Refused::new(format!("`{text}` is not an origin"))),
    }
}

/// Statuses (`404`, `5xx`) and their page.
pub(crate) fn error_page(
    status: &str,
    path: &str,
) -> Result<(std::ops::RangeInclusive<u16>, PathBuf), Refused> {
    let range = match (status, status.parse::<u16>()) {
        ("4xx", _) => 400..=499,
        ("5xx", _) => 500..=599,
        (_, Ok(status @ 400..=599)) => status..=status,
        _ => {
            return Err(Refused::new(format!(
                "`{status}` is neither a status of an error nor 4xx or 5xx"
            )));
        }
    };
    if !path.starts_with('/') || path.contains('\0') {
        return Err(Refused::new(format!("`{path}` is not an absolute path")));
    }
    Ok((range, PathBuf::from(path)))
}

/// Every status with its page; one that is named is stronger than a hundred of them.
pub(crate) fn error_pages(
    mut pages: Vec<(std::ops::RangeInclusive<u16>, PathBuf)>,
) -> BTreeMap<u16, PathBuf> {
    pages.sort_by_key(|(statuses, _)| std::cmp::Reverse(statuses.clone().count()));
    let each = pages
        .into_iter()
        .flat_map(|(statuses, page)| statuses.map(move |status| (status, page.clone())));
    each.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        let second = Duration::from_secs(1);
        assert_eq!(rate("10/s").unwrap(), Some((10, second)));
        assert_eq!(rate("600/m").unwrap(), Some((600, second * 60)));
        assert_eq!(rate("5/10s").unwrap(), Some((5, second * 10)));
        assert_eq!(rate("off").unwrap(), None);
        for text in ["", "10", "0/s", "10/x", "/s", "1/2d", "4000000000/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fields_that_frame_a_message_stay_as_they_are() {
        let groups = Groups::default();
        for name in ["Content-Length", "TE", "Host", "a b", "Range"] {
            assert!(
                field_edit(name, "x", &groups, Side::Request).is_err(),
                "{name}"
            );
        }
        assert!(field_edit("X-A", "a\r\nb", &groups, Side::Request).is_err());
        assert!(field_edit("X-A", "{1}", &groups, Side::Request).is_err());
        assert!(field_edit("Host", "x", &groups, Side::Response).is_ok());
        assert!(field_removed("Vary", Side::Response).is_err());
        assert_eq!(field_removed("X-?-*", Side::Response).unwrap(), "x-?-*");
    }

    #[test]
    fn a_status_is_stronger_than_a_hundred() {
        let pages = error_pages(vec![
            error_page("404", "/a").unwrap(),
            error_page("4xx", "/b").unwrap(),
        ]);
        assert_eq!(pages[&404], PathBuf::from("/a"));
        assert_eq!(pages[&403], PathBuf::from("/b"));
        assert!(error_page("200", "/a").is_err());
        assert!(error_page("404", "a").is_err());
    }

    #[test]
    fn origins_and_targets() {
        assert_eq!(
            web_origin("HTTPS://A.example").unwrap(),
            "https://a.example"
        );
        assert!(web_origin("a.example").unwrap_err().suggestion.is_some());
        assert!(web_origin("https://a/b").is_err());
        assert!(redirect_target("new").is_err());
        assert!(redirect_target("https://a/{1}").is_ok());
        assert!(try_file("=404", &Groups::default(), false).is_err());
        assert!(try_file("=404", &Groups::default(), true).is_ok());
        assert!(try_file("{path}.html", &Groups::default(), false).is_ok());
    }
}
