//! Reading the language of bans, and writing values so that they are read as the same.
//!
//! ```text
//! expression = condition *( "&&" condition )
//! condition  = field operator value
//! field      = "url" / "host" / "status" / "header." name
//!            / "req.url" / "req.http.host" / "obj.status" / "obj.http." name
//! operator   = "==" / "!=" / "~" / "!~"        ; and for the status "<" "<=" ">" ">="
//! value      = what comes up to the next space, or quoted with "
//! ```
//!
//! Within quotes `\"` is a quote. Every other backslash of a pattern is the pattern's own; of
//! a text `\\` is one backslash.

use super::expression::{Compare, Condition, ExpressionError, Field, MOST_BYTES, Pattern, Test};

/// What is wrong with a condition, before it is known where it stands.
#[derive(Debug)]
pub(crate) struct Fault {
    part: Part,
    message: String,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Field,
    Operator,
    Value,
}

impl Fault {
    /// The error of a fault that has no place of its own.
    pub(crate) fn at(self, at: usize) -> ExpressionError {
        ExpressionError {
            at,
            message: self.message,
        }
    }
}

fn fault<T>(part: Part, message: impl Into<String>) -> Result<T, Fault> {
    let message = message.into();
    Err(Fault { part, message })
}

fn error<T>(at: usize, message: impl Into<String>) -> Result<T, ExpressionError> {
    let message = message.into();
    Err(ExpressionError { at, message })
}

/// The conditions of an expression.
pub(crate) fn conditions(text: &str) -> Result<Vec<Condition>, ExpressionError> {
    if text.len() > MOST_BYTES {
        return Err(too_long(text.len()));
    }
    let mut rest = Rest { text, at: 0 };
    let mut found = Vec::new();
    loop {
        found.push(rest.condition()?);
        if !rest.joined()? {
            return Ok(found);
        }
    }
}

/// The error of a text of so many bytes.
pub(crate) fn too_long(bytes: usize) -> ExpressionError {
    ExpressionError {
        at: MOST_BYTES,
        message: format!("the expression has {bytes} bytes; {MOST_BYTES} are allowed"),
    }
}

/// What is not read yet.
struct Rest<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Rest<'a> {
    fn condition(&mut self) -> Result<Condition, ExpressionError> {
        let field_at = self.skip_space();
        let field = self.take(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if field.is_empty() {
            return error(
                field_at,
                "a field is needed here: url, host, status or header.NAME",
            );
        }
        let operator_at = self.skip_space();
        let operator = self.take(|byte| b"=!~<>".contains(&byte));
        let value_at = self.skip_space();
        let value = self.value(operator.ends_with('~'))?;
        condition(field, operator, &value).map_err(|fault| {
            let at = match fault.part {
                Part::Field => field_at,
                Part::Operator => operator_at,
                Part::Value => value_at,
            };
            fault.at(at)
        })
    }

    /// Whether another condition follows.
    fn joined(&mut self) -> Result<bool, ExpressionError> {
        let at = self.skip_space();
        let word = self.take(|byte| !byte.is_ascii_whitespace());
        match word {
            "" => Ok(false),
            "&&" => Ok(true),
            "||" | "or" | "OR" => error(at, "there is no or: make one ban of each side"),
            _ => error(
                at,
                format!("write && before {word}, or quote the value before it"),
            ),
        }
    }

    fn value(&mut self, is_pattern: bool) -> Result<String, ExpressionError> {
        let start = self.at;
        if !self.text[self.at..].starts_with('"') {
            return self.bare_value(start).map(str::to_owned);
        }
        let mut value = String::new();
        let mut chars = self.text[start + 1..].char_indices();
        while let Some((at, char)) = chars.next() {
            match char {
                '"' => {
                    self.at = start + 1 + at + 1;
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, '"')) => value.push('"'),
                    Some((_, '\\')) if !is_pattern => value.push('\\'),
                    Some((_, other)) => value.extend(['\\', other]),
                    None => break,
                },
                other => value.push(other),
            }
        }
        error(start, "the quote is not closed")
    }

    fn bare_value(&mut self, start: usize) -> Result<&'a str, ExpressionError> {
        match self.take(|byte| !byte.is_ascii_whitespace()) {
            "" | "&&" | "||" => error(start, "a value is needed here"),
            value if value.ends_with("&&") => {
                error(self.at - 2, "put a space before &&, or quote the value")
            }
            value => Ok(value),
        }
    }

    fn take(&mut self, belongs: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let len = rest.bytes().position(|byte| !belongs(byte));
        let taken = &rest[..len.unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn skip_space(&mut self) -> usize {
        self.take(|byte| byte.is_ascii_whitespace());
        self.at
    }
}

/// One condition from its parts.
pub(crate) fn condition(field: &str, operator: &str, value: &str) -> Result<Condition, Fault> {
    let field = self::field(field)?;
    if operator.is_empty() {
        return fault(Part::Operator, "an operator is needed here: == != ~ or !~");
    }
    if value.is_empty() && field != Field::Status && !matches!(operator, "==" | "!=") {
        return fault(Part::Value, "a pattern is needed here");
    }
    let (negated, test) = match field {
        Field::Status => status_test(operator, value)?,
        _ => text_test(&field, operator, value)?,
    };
    Ok(Condition {
        field,
        negated,
        test,
    })
}

fn field(word: &str) -> Result<Field, Fault> {
    let lower = word.to_ascii_lowercase();
    match &*lower {
        "url" | "req.url" => return Ok(Field::Url),
        "host" | "req.http.host" => return Ok(Field::Host),
        "status" | "obj.status" => return Ok(Field::Status),
        _ => {}
    }
    let header = ["header.", "obj.http."]
        .iter()
        .find_map(|start| lower.strip_prefix(start));
    match header {
        Some("") => fault(
            Part::Field,
            format!("{word} needs a name: header.content-type"),
        ),
        Some(name) => Ok(Field::Header(name.into())),
        None if lower.starts_with("req.http.") => fault(
            Part::Field,
            format!("{word} is not kept with an object: of requests there are url and host"),
        ),
        None if lower.starts_with("obj.") => fault(
            Part::Field,
            format!("{word} cannot be asked for: of objects there are status and header.NAME"),
        ),
        None => fault(
            Part::Field,
            format!("there is no field {word}: write url, host, status or header.NAME"),
        ),
    }
}

fn status_test(operator: &str, value: &str) -> Result<(bool, Test), Fault> {
    let (negated, compare) = match operator {
        "==" => (false, Compare::Equal),
        "!=" => (true, Compare::Equal),
        "<" => (false, Compare::Below),
        ">" => (false, Compare::Above),
        "<=" => (false, Compare::AtMost),
        ">=" => (false, Compare::AtLeast),
        "=" => return fault(Part::Operator, "write == instead of ="),
        "~" | "!~" => {
            return fault(
                Part::Operator,
                "the status is a number: for all of 5xx write status >= 500",
            );
        }
        _ => return fault(Part::Operator, unknown_operator(operator)),
    };
    let digits = value.len() == 3 && value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse() {
        Ok(number @ 100..) if digits => Ok((negated, Test::Status(compare, number))),
        _ => fault(Part::Value, "a status has three digits, from 100 on"),
    }
}

fn text_test(field: &Field, operator: &str, value: &str) -> Result<(bool, Test), Fault> {
    match operator {
        "==" | "!=" => {
            check_text(field, value)?;
            let text = match field {
                Field::Host => value.to_ascii_lowercase(),
                _ => value.to_owned(),
            };
            Ok((operator == "!=", Test::Text(text.into())))
        }
        "~" | "!~" => {
            check_pattern(field, value)?;
            let pattern = Pattern::new(value, *field == Field::Host).map_err(|message| Fault {
                part: Part::Value,
                message,
            })?;
            Ok((operator == "!~", Test::Pattern(Box::new(pattern))))
        }
        "=" => fault(Part::Operator, "write == instead of ="),
        "<" | ">" | "<=" | ">=" => fault(
            Part::Operator,
            format!("{operator} compares numbers, and only status is one"),
        ),
        _ => fault(Part::Operator, unknown_operator(operator)),
    }
}

fn unknown_operator(operator: &str) -> String {
    format!("there is no operator {operator}: write == != ~ or !~")
}

/// Refuses texts that no object can have.
fn check_text(field: &Field, value: &str) -> Result<(), Fault> {
    match field {
        Field::Url if is_absolute(value) => fault(
            Part::Value,
            "url is path and query alone: give the host with host == NAME",
        ),
        Field::Url if !value.starts_with(['/', '*']) => {
            fault(Part::Value, "url begins with a slash")
        }
        Field::Host if value.contains('*') => fault(
            Part::Value,
            "== takes no stars: write host ~ \\.example\\.com$ for all below a name",
        ),
        Field::Host if value.contains('/') => fault(Part::Value, "a host has no slash"),
        _ => Ok(()),
    }
}

fn check_pattern(field: &Field, value: &str) -> Result<(), Fault> {
    let start = value.strip_prefix('^').unwrap_or_default();
    if *field == Field::Url && is_absolute(start) {
        return fault(
            Part::Value,
            "url is path and query alone, from the slash: give the host with host == NAME",
        );
    }
    Ok(())
}

fn is_absolute(url: &str) -> bool {
    ["http://", "https://", "https?://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

/// A text as it stands between quotes.
pub(crate) fn quoted_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A pattern as it stands between quotes: its own pairs stay, other quotes get a backslash.
pub(crate) fn quoted_pattern(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 2);
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => {
                out.push('\\');
                out.extend(chars.next());
            }
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out
}
