//! Values that a server made up and the browser sent back: looked for in
//! earlier responses, so that each virtual user takes its own.
//!
//! Pure. What is found is tried at once on the recorded response; only what
//! gives the recorded value is called certain.

use forebay_workload::scenario::{Source, escape};
use regex::Regex;
use serde_json::Value;

use super::html::{self, Tag};
use super::tape::Taken;

/// Where a sent value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// From here, for certain: the place, and which of several finds.
    Certain(Source, i32),
    /// It is in the response, but how to find it again is for a person to say.
    Somewhere,
}

const SHORTEST: usize = 6;
const LONGEST: usize = 64 << 10;
/// Something of this length that looks generated does not occur twice by chance.
const UNMISTAKABLE: usize = 16;
/// Values of a JSON document that are looked at.
const MOST_VALUES: usize = 100_000;

/// Whether a value may have been made up by the server: by its looks, or by the name it is sent under.
pub(super) fn is_candidate(name: &str, value: &str) -> bool {
    (SHORTEST..=LONGEST).contains(&value.len()) && (is_generated(value) || is_token_name(name))
}

/// Letters and digits mixed, or long, and nothing that a person types.
fn is_generated(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let is_one_word = value
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'@');
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    is_one_word && (is_mixed && value.len() >= 8 || value.len() >= 24)
}

fn is_token_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "csrf",
        "xsrf",
        "token",
        "nonce",
        "authenticity",
        "viewstate",
        "eventvalidation",
        "ticket",
    ]
    .iter()
    .any(|word| name.contains(word))
}

/// Where in a response the value stands that was later sent under this name.
pub(super) fn find(response: &Taken, name: &str, value: &str) -> Option<Origin> {
    let content = std::str::from_utf8(&response.content).unwrap_or_default();
    field(response, value)
        .or_else(|| cookie(response, value))
        .or_else(|| tag(content, name, value))
        .or_else(|| json(response, content, name, value))
        .or_else(|| {
            let somewhere = value.len() >= UNMISTAKABLE && content.contains(value);
            somewhere.then_some(Origin::Somewhere)
        })
}

fn field(response: &Taken, value: &str) -> Option<Origin> {
    let is_it = |(name, known): &&(String, String)| {
        known == value
            && value.len() >= 8
            && !["Set-Cookie", "ETag", "Date", "Location"]
                .iter()
                .any(|no| name.eq_ignore_ascii_case(no))
    };
    let (name, _) = response.response.iter().find(is_it)?;
    Some(Origin::Certain(Source::Header(name.clone()), 1))
}

fn cookie(response: &Taken, value: &str) -> Option<Origin> {
    let cookies = response
        .response
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("Set-Cookie"));
    for (_, cookie) in cookies {
        let (name, known) = cookie
            .split(';')
            .next()?
            .split_once('=')
            .unwrap_or_default();
        if known.trim() == value {
            return Some(Origin::Certain(Source::Cookie(name.trim().into()), 1));
        }
    }
    None
}

/// A hidden input or a `<meta>`.
fn tag(content: &str, name: &str, value: &str) -> Option<Origin> {
    let holds = |tag: &Tag<'_>, attribute: &str| {
        let at = tag.position(attribute)?;
        (html::unescape(tag.attributes[at].value) == value).then_some(at)
    };
    let mut found = None;
    for tag in html::tags(content, &["input", "meta", "button"]) {
        let Some(at) = holds(&tag, "value").or_else(|| holds(&tag, "content")) else {
            continue;
        };
        let known = ["name", "id", "property"]
            .iter()
            .find_map(|key| tag.position(key));
        let is_same = known.is_some_and(|key| html::unescape(tag.attributes[key].value) == name);
        if !is_same && value.len() < UNMISTAKABLE {
            continue;
        }
        found = Some(Origin::Somewhere);
        if let Some(source) = known.and_then(|key| expression(&tag, key, at, content, value)) {
            return Some(source);
        }
    }
    found
}

/// An expression that finds the attribute `at` of the tag by its attribute `key`.
fn expression(tag: &Tag<'_>, key: usize, at: usize, content: &str, value: &str) -> Option<Origin> {
    let (key, wanted) = (
        tag.attributes.get(key).map(|a| (key, a))?,
        &tag.attributes[at],
    );
    let quoted = |quote: Option<char>, inner: &str| match quote {
        Some(quote) => format!("{quote}{inner}{quote}"),
        None => inner.to_owned(),
    };
    let known = format!(
        r"\s{}\s*=\s*{}",
        regex::escape(key.1.name),
        quoted(key.1.quote, &regex::escape(key.1.value))
    );
    let inner = match wanted.quote {
        Some(quote) => format!("([^{quote}]*)"),
        None => r"([^\s>]*)".into(),
    };
    let taken = format!(
        r"\s{}\s*=\s*{}",
        regex::escape(wanted.name),
        quoted(wanted.quote, &inner)
    );
    let (first, second) = if key.0 < at {
        (known, taken)
    } else {
        (taken, known)
    };
    let pattern = format!("(?i)<{}[^<>]*{first}[^<>]*{second}", tag.name);
    nth_match(&pattern, content, value)
        .map(|nth| Origin::Certain(Source::Regex(escape(&pattern)), nth))
}

/// Which match of the expression has the value in its first group.
fn nth_match(pattern: &str, content: &str, value: &str) -> Option<i32> {
    let regex = Regex::new(pattern).ok()?;
    let mut finds = regex.captures_iter(content).take(1000);
    let at = finds.position(|find| find.get(1).is_some_and(|group| group.as_str() == value))?;
    i32::try_from(at + 1).ok()
}

/// A value of a JSON document.
fn json(response: &Taken, content: &str, name: &str, value: &str) -> Option<Origin> {
    if !response.media_type().contains("json") && !content.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let document: Value = serde_json::from_str(content).ok()?;
    let mut left = MOST_VALUES;
    let (path, key) = path_to(&document, value, "$".into(), "", &mut left)?;
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let is_certain = value.len() >= UNMISTAKABLE || plain(&key) == plain(name);
    Some(if is_certain {
        Origin::Certain(Source::Json(path), 1)
    } else {
        Origin::Somewhere
    })
}

/// Path of the first value with this text, and the member's name.
fn path_to(
    at: &Value,
    value: &str,
    path: String,
    key: &str,
    left: &mut usize,
) -> Option<(String, String)> {
    *left = left.checked_sub(1)?;
    match at {
        Value::String(text) if text == value => Some((path, key.to_owned())),
        Value::Number(number) if number.to_string() == value => Some((path, key.to_owned())),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| path_to(item, value, format!("{path}[{index}]"), key, left)),
        Value::Object(members) => members
            .iter()
            .find_map(|(name, member)| path_to(member, value, step(&path, name)?, name, left)),
        _ => None,
    }
}

/// A path to a member; none for a name that paths cannot say.
fn step(path: &str, name: &str) -> Option<String> {
    let is_plain = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain {
        return Some(format!("{path}.{name}"));
    }
    let can = !name.contains(['\'', '\\', '$', ']']) && !name.chars().any(char::is_control);
    can.then(|| format!("{path}['{name}']"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use forebay_workload::Target;

    use super::*;

    fn response(fields: &[(&str, &str)], content: &str) -> Taken {
        Taken {
            at: Duration::ZERO,
            end: Duration::ZERO,
            method: "GET".into(),
            url: Target::parse("http://x/").unwrap(),
            headers: Vec::new(),
            body: Vec::new(),
            status: 200,
            response: fields
                .iter()
                .map(|(n, v)| ((*n).into(), (*v).into()))
                .collect(),
            content: content.into(),
        }
    }

    #[test]
    fn what_people_type_is_no_candidate() {
        for (name, value, expected) in [
            ("csrf", "abcdef", true),
            ("csrf", "abc", false),
            ("q", "winter coats", false),
            ("user", "carol@shop.example", false),
            ("action", "checkout", false),
            ("id", "5f3a9c01", true),
            ("quantity", "1", false),
            ("phone", "0301234567", false),
        ] {
            assert_eq!(is_candidate(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn a_hidden_input_is_taken_by_its_name() {
        let page = "<input type=hidden name=\"other\" value=\"zz\">\
            <form><input name='csrf' type='hidden' value='first1'></form>\
            <form><input type=\"hidden\" value=\"t0ken-A\" name=\"csrf\"><input type=\"hidden\" value=\"t0ken-B\" name=\"csrf\">";
        let found = find(&response(&[], page), "csrf", "t0ken-B").unwrap();
        let Origin::Certain(Source::Regex(pattern), 2) = found else {
            panic!("{found:?}");
        };
        assert_eq!(nth_match(&pattern, page, "t0ken-A"), Some(1));
        // The value changes from user to user, and is found all the same.
        let other = page.replace("t0ken-B", "something else");
        assert_eq!(nth_match(&pattern, &other, "something else"), Some(2));
        assert!(matches!(
            find(&response(&[], page), "csrf", "first1"),
            Some(Origin::Certain(Source::Regex(_), 1))
        ));
        assert_eq!(find(&response(&[], page), "unrelated", "t0ken-B"), None);
    }

    #[test]
    fn a_value_with_entities_is_only_noted() {
        let page = r#"<input name="csrf" value="a1b2c3&#x3D;&#x3D;">"#;
        assert_eq!(
            find(&response(&[], page), "csrf", "a1b2c3=="),
            Some(Origin::Somewhere)
        );
    }

    #[test]
    fn json_fields_cookies_and_heads_are_found() {
        let json =
            r#"{"data":{"items":[{"id":7},{"id":"5f3a9c01"}],"access-token":"abcdefgh12345678"}}"#;
        let api = response(
            &[
                ("Content-Type", "application/json"),
                ("X-CSRF-Token", "fieldtoken1"),
                ("Set-Cookie", "XSRF-TOKEN=cookie99; Path=/"),
            ],
            json,
        );
        let certain = |source| Some(Origin::Certain(source, 1));
        assert_eq!(
            find(&api, "id", "5f3a9c01"),
            certain(Source::Json("$.data.items[1].id".into()))
        );
        assert_eq!(
            find(&api, "Authorization", "abcdefgh12345678"),
            certain(Source::Json("$.data['access-token']".into()))
        );
        assert_eq!(find(&api, "name", "5f3a9c01"), Some(Origin::Somewhere));
        assert_eq!(
            find(&api, "X-CSRF-Token", "fieldtoken1"),
            certain(Source::Header("X-CSRF-Token".into()))
        );
        assert_eq!(
            find(&api, "X-XSRF-TOKEN", "cookie99"),
            certain(Source::Cookie("XSRF-TOKEN".into()))
        );
        assert_eq!(find(&api, "id", "not there 1"), None);
    }

    #[test]
    fn a_token_in_a_script_is_noted() {
        let page = "<script>window.token = 'abcdefgh12345678';</script>";
        assert_eq!(
            find(&response(&[], page), "t", "abcdefgh12345678"),
            Some(Origin::Somewhere)
        );
    }
}
