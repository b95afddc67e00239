//! Fields: what header managers add to requests, and which field of a response
//! a pattern is about.

use super::super::notes::{Fate, shortened};
use super::context::Context;
use super::pattern;
use super::template;
use super::tree::Element;

/// So many fields does one manager add.
const MAX_FIELDS: usize = 1_000;

/// Adds the fields of a manager to those of the scopes around it; its own win.
pub(super) fn add(
    context: &mut Context,
    manager: &Element<'_>,
    fields: &mut Vec<(String, String)>,
) {
    let mut own: Vec<(String, String)> = Vec::new();
    for member in manager.properties.members("HeaderManager.headers") {
        let name = context.text(member.text("Header.name").trim());
        let value = context.text(member.text("Header.value").trim());
        if name.is_empty() {
            continue;
        }
        if own.len() >= MAX_FIELDS {
            context.note(Fate::LeftOut, format!("its fields beyond {MAX_FIELDS}"));
            break;
        }
        let is_token = template::plain(&name).is_none_or(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}".contains(&byte))
        });
        if !is_token || value.contains(['\r', '\n', '\0']) {
            context.note(
                Fate::LeftOut,
                format!("`{}` is no field that can be sent", shortened(&name, 60)),
            );
            continue;
        }
        if name.eq_ignore_ascii_case("Content-Length") {
            context.note(Fate::Changed, "`Content-Length` is always the body's own");
            continue;
        }
        if own
            .iter()
            .any(|(known, _)| known.eq_ignore_ascii_case(&name))
        {
            context.note(
                Fate::Changed,
                format!("`{name}` is there more than once; only the last is sent"),
            );
        }
        set(&mut own, name, value);
    }
    for (name, value) in own {
        set(fields, name, value);
    }
}

/// Sets a field, whatever the case of its name.
pub(super) fn set(fields: &mut Vec<(String, String)>, name: String, value: String) {
    fields.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
    fields.push((name, value));
}

/// Splits a test on a response's head into a field and a pattern on its value. `None` when it
/// is not about one field.
pub(super) fn field(text: &str, is_pattern: bool) -> Option<(String, String)> {
    let mut text = text.trim();
    if is_pattern {
        for prefix in ["(?s)", "(?m)", "(?i)", "(?sm)", "(?ms)", ".*", "^"] {
            text = text.strip_prefix(prefix).unwrap_or(text);
        }
    }
    let (name, value) = text.split_once(':')?;
    let name = if is_pattern {
        name.replace("\\-", "-")
    } else {
        name.to_owned()
    };
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!#%&'*+^`|~".contains(&byte);
    if name.is_empty()
        || !name.bytes().all(is_token)
        || value.contains("\\n")
        || value.contains('\n')
    {
        return None;
    }
    if !is_pattern {
        return Some((name, pattern::literal(value.trim())));
    }
    let mut value = value;
    for prefix in [r"\s*", r"\s+", r"\s", " *", " +", " ?", " "] {
        if let Some(rest) = value.strip_prefix(prefix) {
            value = rest;
            break;
        }
    }
    Some((name, value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_on_the_head_names_its_field() {
        for (text, is_pattern, expected) in [
            (
                "Content-Type: text/html",
                false,
                Some(("Content-Type", "text/html")),
            ),
            ("X: a.b", false, Some(("X", r"a\.b"))),
            (
                r"(?i)^content\-type:\s*text/(html|plain)",
                true,
                Some(("content-type", "text/(html|plain)")),
            ),
            (
                ".*Location: .*login.*",
                true,
                Some(("Location", ".*login.*")),
            ),
            ("HTTP/1.1 200 OK", false, None),
            ("X-Cache", true, None),
            (r"A: b\nC: d", true, None),
        ] {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(field(text, is_pattern), expected, "{text}");
        }
    }

    #[test]
    fn a_field_is_set_whatever_its_case() {
        let mut fields = vec![
            ("accept".to_owned(), "a".to_owned()),
            ("B".into(), "b".into()),
        ];
        set(&mut fields, "Accept".into(), "c".into());
        assert_eq!(
            fields,
            [
                ("B".to_owned(), "b".to_owned()),
                ("Accept".into(), "c".into())
            ]
        );
    }
}
