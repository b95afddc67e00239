//! Values that are tables: a section within a section, a list of tables, texts by name.

use crate::address::Refused;
use crate::diagnostic::Diagnostic;
use crate::draft::Spanned;
use crate::part::{self, key_span};

use super::set;
use super::setting::{Row, Setting};
use super::value::{Given, flag};

/// Reads a section over `target`; false when the value is none.
pub(crate) fn section<T>(
    target: &mut T,
    settings: &'static [Setting<T>],
    (row, given): (&Row, &Given<'_>),
    out: &mut Vec<Diagnostic>,
) -> bool {
    let Some(part) = part::of_value(given) else {
        out.extend(given.wrong_type(row));
        return false;
    };
    read(target, settings, &part, out);
    true
}

fn read<T>(
    target: &mut T,
    settings: &'static [Setting<T>],
    part: &part::Part<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let section = settings.first().map_or("", |setting| setting.row.section);
    part::keys(part, section, out, |key, given, out| {
        set(settings, target, key, given, out)
    });
}

/// A section that `true` stands for with its defaults, and `false` turns off.
pub(crate) fn section_or_flag<T: Default>(
    settings: &'static [Setting<T>],
    (row, given): (&Row, &Given<'_>),
    out: &mut Vec<Diagnostic>,
) -> Option<T> {
    let mut target = T::default();
    if part::of_value(given).is_some() {
        section(&mut target, settings, (row, given), out);
        return Some(target);
    }
    match flag(row, given) {
        Ok(on) => on.then_some(target),
        Err(wrong) => {
            out.extend(wrong);
            None
        }
    }
}

/// A section that only `false` turns off; `None` also when it is wrong.
pub(crate) fn section_or_off<T: Default>(
    settings: &'static [Setting<T>],
    (row, given): (&Row, &Given<'_>),
    out: &mut Vec<Diagnostic>,
) -> Option<T> {
    if given.item.as_bool() == Some(false) {
        return None;
    }
    let mut target = T::default();
    section(&mut target, settings, (row, given), out).then_some(target)
}

/// Makes an element of a text.
pub(crate) type FromText<T> = fn(&str) -> Result<T, Refused>;

/// A list of tables, `[{…}, {…}]` or `[[…]]`; `text` makes one of an element that is a text.
pub(crate) fn tables<T: Default>(
    settings: &'static [Setting<T>],
    (row, given): (&Row, &Given<'_>),
    text: Option<FromText<T>>,
    out: &mut Vec<Diagnostic>,
) -> Vec<Spanned<T>> {
    let mut found = Vec::new();
    if let Some(tables) = given.item.as_array_of_tables() {
        for table in tables {
            let span = table.span().unwrap_or_else(|| given.span.clone());
            found.push(one(settings, table, (given, span), out));
        }
        return found;
    }
    let Some(array) = given.item.as_array() else {
        let mut wrong = given.wrong_type(row);
        if let (Some(text), Some(first), Some(_)) = (given.item.as_str(), wrong.first_mut(), text) {
            first.suggestion = Some(format!("write [\"{text}\"]"));
        }
        out.extend(wrong);
        return found;
    };
    if (array.len() as u64) < row.min {
        out.push(given.wrong(row, "the list is empty"));
    }
    for value in array {
        let span = value.span().unwrap_or_else(|| given.span.clone());
        if let Some(table) = value.as_inline_table() {
            found.push(one(settings, table, (given, span), out));
            continue;
        }
        match (value.as_str(), text) {
            (Some(written), Some(text)) => match text(written) {
                Ok(value) => found.push(Spanned { value, span }),
                Err(value) => out.extend(given.refused(row, vec![Spanned { value, span }])),
            },
            _ => {
                let what = if text.is_some() {
                    "a text or a table"
                } else {
                    "a table"
                };
                let message = format!("`{}`: every element is {what}", given.path);
                out.push(Diagnostic::error(span, message).expected(row.expected()));
            }
        }
    }
    found
}

fn one<T: Default>(
    settings: &'static [Setting<T>],
    table: &dyn toml_edit::TableLike,
    (given, span): (&Given<'_>, std::ops::Range<usize>),
    out: &mut Vec<Diagnostic>,
) -> Spanned<T> {
    let mut value = T::default();
    let part = part::Part {
        table,
        path: given.path.clone(),
        span: span.clone(),
    };
    read(&mut value, settings, &part, out);
    Spanned { value, span }
}

/// A table of texts, each name and text through `check`; in the order of the file.
pub(crate) fn texts<T>(
    (row, given): (&Row, &Given<'_>),
    out: &mut Vec<Diagnostic>,
    check: impl Fn(&str, &str) -> Result<T, Refused>,
) -> Vec<T> {
    let Some(table) = given.item.as_table_like() else {
        out.extend(given.wrong_type(row));
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, item) in table.iter() {
        let span = item.span().unwrap_or_else(|| key_span(table, key, item));
        let Some(text) = item.as_str() else {
            let message = format!("`{}.{key}`: every value is a text", given.path);
            out.push(Diagnostic::error(span, message).expected(row.expected()));
            continue;
        };
        match check(key, text) {
            Ok(value) => found.push(value),
            Err(value) => out.extend(given.refused(row, vec![Spanned { value, span }])),
        }
    }
    found
}

/// One text or a list of them.
pub(crate) fn text_or_list(
    (row, given): (&Row, &Given<'_>),
    out: &mut Vec<Diagnostic>,
) -> Vec<Spanned<String>> {
    let whole = |value: &str| Spanned {
        value: value.into(),
        span: given.span.clone(),
    };
    if let Some(text) = given.item.as_str() {
        return vec![whole(text)];
    }
    let Some(array) = given.item.as_array() else {
        out.extend(given.wrong_type(row));
        return Vec::new();
    };
    let mut found = Vec::new();
    for value in array {
        let span = value.span().unwrap_or_else(|| given.span.clone());
        match value.as_str() {
            Some(text) => found.push(Spanned {
                value: text.into(),
                span,
            }),
            None => {
                let message = format!("`{}`: every element is a text", given.path);
                out.push(Diagnostic::error(span, message).expected(row.expected()));
            }
        }
    }
    if found.is_empty() && array.is_empty() {
        out.push(given.wrong(row, "the list is empty"));
    }
    found
}

/// What a text was refused for, at the place of the value.
pub(crate) fn refuse(row: &Row, given: &Given<'_>, refused: Refused, out: &mut Vec<Diagnostic>) {
    let span = given.span.clone();
    out.extend(given.refused(
        row,
        vec![Spanned {
            value: refused,
            span,
        }],
    ));
}
