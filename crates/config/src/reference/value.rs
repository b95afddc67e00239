//! From a TOML item to the value a row takes, with the row's range.

use std::ops::Range;
use std::time::Duration;

use toml_edit::{Item, Value};

use crate::address::Refused;
use crate::diagnostic::Diagnostic;
use crate::draft::{Share, Spanned};
use crate::nearest::nearest;
use crate::settings::Policy;
use crate::units::{parse_duration, parse_percent, parse_size};

use super::setting::{Kind, Row};

/// What stands in the file for one setting.
pub(crate) struct Given<'a> {
    /// The setting's full name there, `site.shop.pool`.
    pub(crate) path: String,
    pub(crate) item: &'a Item,
    pub(crate) span: Range<usize>,
}

/// Nothing, or everything, that is wrong with a value.
type Read<T> = Result<T, Vec<Diagnostic>>;

impl Given<'_> {
    /// The value is not what the row takes.
    pub(crate) fn wrong(&self, row: &Row, message: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(self.span.clone(), format!("`{}`: {message}", self.path))
            .expected(row.expected())
    }

    pub(crate) fn wrong_type(&self, row: &Row) -> Vec<Diagnostic> {
        let article = match self.item.type_name() {
            name @ ("integer" | "array" | "array of tables" | "inline table") => {
                format!("an {name}")
            }
            name => format!("a {name}"),
        };
        vec![self.wrong(row, format_args!("{article} does not fit here"))]
    }

    /// Parts of the value, or all of it, were refused by the setter.
    pub(crate) fn refused(&self, row: &Row, parts: Vec<Spanned<Refused>>) -> Vec<Diagnostic> {
        let diagnostics = parts.into_iter().map(|part| {
            let mut diagnostic = self.wrong(row, part.value.message);
            diagnostic.span = Some(part.span);
            diagnostic.expected = Some(row.element());
            diagnostic.suggestion = part.value.suggestion;
            diagnostic
        });
        diagnostics.collect()
    }
}

fn in_range(row: &Row, given: &Given<'_>, number: u64) -> Read<u64> {
    if (row.min..=row.max).contains(&number) {
        return Ok(number);
    }
    let side = if number < row.min {
        "too small"
    } else {
        "too large"
    };
    Err(vec![given.wrong(row, format_args!("the value is {side}"))])
}

/// A count as an integer; a size as an integer of bytes or as text.
pub(crate) fn number(row: &Row, given: &Given<'_>) -> Read<u64> {
    if matches!(row.kind, Kind::Percent | Kind::PercentOrOff) {
        return percent(row, given);
    }
    let is_count = matches!(row.kind, Kind::Count | Kind::CountOrUnlimited);
    let read = match given.item.as_value() {
        Some(Value::Integer(value)) => {
            u64::try_from(*value.value()).map_err(|_| "a negative number does not fit here".into())
        }
        Some(Value::String(text)) if !is_count => parse_size(text.value()),
        Some(Value::String(text)) => match text.value().trim().parse::<u64>() {
            Ok(count) => {
                let diagnostic = given.wrong(row, "a number is written without quotes");
                return Err(vec![diagnostic.suggest(format!("write {count}"))]);
            }
            Err(_) => Err("it is not a number".into()),
        },
        _ => return Err(given.wrong_type(row)),
    };
    match read {
        Ok(number) => in_range(row, given, number),
        Err(message) => Err(vec![given.wrong(row, message)]),
    }
}

/// A whole percentage as text.
fn percent(row: &Row, given: &Given<'_>) -> Read<u64> {
    let Some(text) = given.item.as_str() else {
        return Err(given.wrong_type(row));
    };
    let digits = text.trim().strip_suffix('%').map(str::trim_end);
    match digits.map(str::parse) {
        Some(Ok(percent)) => in_range(row, given, percent),
        Some(Err(_)) => Err(vec![
            given.wrong(row, "a percentage is a whole number before `%`"),
        ]),
        None => {
            let diagnostic = given.wrong(row, "a percentage ends in `%`");
            let number = text.trim().parse::<u64>();
            Err(vec![match number {
                Ok(number) => diagnostic.suggest(format!("write \"{number}%\"")),
                Err(_) => diagnostic,
            }])
        }
    }
}

/// A number, or `None` for `"unlimited"`; a percentage, or `None` for `"off"`.
pub(crate) fn limit(row: &Row, given: &Given<'_>) -> Read<Option<u64>> {
    let none = match row.kind {
        Kind::PercentOrOff => "off",
        _ => "unlimited",
    };
    if word(given, none, row)? {
        return Ok(None);
    }
    number(row, given).map(Some)
}

/// A size, or a percentage.
pub(crate) fn share(row: &Row, given: &Given<'_>) -> Read<Spanned<Share>> {
    let value = match given.item.as_str().and_then(parse_percent) {
        Some(Ok(thousandths)) => Share::Thousandths(thousandths),
        Some(Err(message)) => return Err(vec![given.wrong(row, message)]),
        None => Share::Bytes(number(row, given)?),
    };
    Ok(Spanned {
        value,
        span: given.span.clone(),
    })
}

/// A time as text or as an integer of seconds.
pub(crate) fn time(row: &Row, given: &Given<'_>) -> Read<Duration> {
    let read = match given.item.as_value() {
        Some(Value::Integer(value)) => match u64::try_from(*value.value()) {
            Ok(seconds) => Ok(Duration::from_millis(seconds.saturating_mul(1_000))),
            Err(_) => Err("a negative time does not fit here".into()),
        },
        Some(Value::String(text)) => parse_duration(text.value()),
        _ => return Err(given.wrong_type(row)),
    };
    let time = read.map_err(|message| vec![given.wrong(row, message)])?;
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    in_range(row, given, millis).map(Duration::from_millis)
}

/// A time, or `None` for `"off"`.
pub(crate) fn time_or_off(row: &Row, given: &Given<'_>) -> Read<Option<Duration>> {
    if word(given, "off", row)? {
        return Ok(None);
    }
    time(row, given).map(Some)
}

/// Whether the value is `known`; an error if it is a misspelling of it.
pub(crate) fn word(given: &Given<'_>, known: &str, row: &Row) -> Read<bool> {
    let Some(text) = given.item.as_str() else {
        return Ok(false);
    };
    if text == known {
        return Ok(true);
    }
    match nearest(text, [known]) {
        Some(_) => {
            let diagnostic = given.wrong(row, format_args!("unknown word `{text}`"));
            Err(vec![diagnostic.did_you_mean(Some(known))])
        }
        None => Ok(false),
    }
}

pub(crate) fn flag(row: &Row, given: &Given<'_>) -> Read<bool> {
    if let Some(flag) = given.item.as_bool() {
        return Ok(flag);
    }
    let instead = match given.item.as_str() {
        Some("true" | "on" | "yes") => "true",
        Some("false" | "off" | "no") => "false",
        _ => return Err(given.wrong_type(row)),
    };
    let diagnostic = given.wrong(row, "a text does not fit here");
    Err(vec![
        diagnostic.suggest(format!("write {instead}, without quotes")),
    ])
}

pub(crate) fn choice(row: &Row, given: &Given<'_>) -> Read<String> {
    let Kind::Choice(words) = row.kind else {
        return Err(given.wrong_type(row));
    };
    let text = text(row, given)?.value;
    if words.contains(&text.as_str()) {
        return Ok(text);
    }
    let diagnostic = given.wrong(row, format_args!("unknown word `{text}`"));
    Err(vec![
        diagnostic.did_you_mean(nearest(&text, words.iter().copied())),
    ])
}

pub(crate) fn text(row: &Row, given: &Given<'_>) -> Read<Spanned<String>> {
    match given.item.as_str() {
        Some(text) => Ok(Spanned {
            value: text.into(),
            span: given.span.clone(),
        }),
        None => Err(given.wrong_type(row)),
    }
}

/// The texts of a list, and what is wrong with other elements. A single text is refused with the
/// list to write.
pub(crate) fn list(
    row: &Row,
    given: &Given<'_>,
    wrong: &mut Vec<Diagnostic>,
) -> Read<Vec<Spanned<String>>> {
    let Some(array) = given.item.as_array() else {
        let mut refused = given.wrong_type(row);
        if let (Some(text), Some(first)) = (given.item.as_str(), refused.first_mut()) {
            first.suggestion = Some(format!("write [\"{text}\"]"));
        }
        return Err(refused);
    };
    let mut texts = Vec::new();
    for value in array {
        let span = value.span().unwrap_or_else(|| given.span.clone());
        match value.as_str() {
            Some(text) => texts.push(Spanned {
                value: text.into(),
                span,
            }),
            None => {
                let message = format!("`{}`: every element is a text", given.path);
                wrong.push(Diagnostic::error(span, message).expected(row.element()));
            }
        }
    }
    if (array.len() as u64) < row.min {
        wrong.push(given.wrong(row, "the list is empty"));
    }
    Ok(texts)
}

/// A list of texts, or `None` for `"all"`.
pub(crate) fn list_or_all(
    row: &Row,
    given: &Given<'_>,
    wrong: &mut Vec<Diagnostic>,
) -> Read<Option<Vec<Spanned<String>>>> {
    if word(given, "all", row)? {
        return Ok(None);
    }
    list(row, given, wrong).map(Some)
}

/// `{ 404 = "10s", 301 = "1h" }`, sorted by status.
pub(crate) fn times_by_status(row: &Row, given: &Given<'_>) -> Read<Vec<(u16, Duration)>> {
    let Some(table) = given.item.as_table_like() else {
        return Err(given.wrong_type(row));
    };
    let one = Row {
        kind: Kind::Time,
        ..*row
    };
    let (mut times, mut wrong) = (Vec::new(), Vec::new());
    for (key, item) in table.iter() {
        let key_span = table.key(key).and_then(toml_edit::Key::span);
        let entry = Given {
            path: format!("{}.{key}", given.path),
            item,
            span: item.span().unwrap_or_else(|| given.span.clone()),
        };
        match key.parse::<u16>() {
            Ok(status @ 200..=599) if !Policy::NEVER_STORED.contains(&status) => {
                match time(&one, &entry) {
                    Ok(time) => times.push((status, time)),
                    Err(errors) => wrong.extend(errors),
                }
            }
            read => {
                let why = match read {
                    Ok(100..=599) => "is a status whose responses are never stored",
                    _ => "is not a status",
                };
                let message = format!("`{}`: `{key}` {why}", given.path);
                let span = key_span.unwrap_or(entry.span);
                wrong.push(Diagnostic::error(span, message).expected(stored_statuses()));
            }
        }
    }
    times.sort_unstable_by_key(|(status, _)| *status);
    if wrong.is_empty() {
        Ok(times)
    } else {
        Err(wrong)
    }
}

/// What is expected where a status is that is stored.
fn stored_statuses() -> String {
    let never = Policy::NEVER_STORED.map(|status| status.to_string());
    format!("a status from 200 to 599, but for {}", never.join(", "))
}

/// Every text through `check`; what it refuses goes to `wrong`, element by element.
pub(crate) fn each<T>(
    texts: Vec<Spanned<String>>,
    check: impl Fn(&str) -> Result<T, Refused>,
    wrong: &mut Vec<Spanned<Refused>>,
) -> Vec<Spanned<T>> {
    let mut values = Vec::new();
    for Spanned { value: text, span } in texts {
        match check(&text) {
            Ok(value) => values.push(Spanned { value, span }),
            Err(value) => wrong.push(Spanned { value, span }),
        }
    }
    values
}

/// The same without the places.
pub(crate) fn each_bare<T>(
    texts: Vec<Spanned<String>>,
    check: impl Fn(&str) -> Result<T, Refused>,
    wrong: &mut Vec<Spanned<Refused>>,
) -> Vec<T> {
    let values = each(texts, check, wrong);
    values.into_iter().map(|spanned| spanned.value).collect()
}
