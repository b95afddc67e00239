//! Expressions of assertions, from text; errors with a caret.

use std::fmt;

use super::figure::{Durations, Figure, Kind, LabelFigure, Plain, Statistic};
use super::{Assertion, Operator};
use crate::{Cause, format};

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The expression.
    pub text: String,
    /// Where the trouble begins, in bytes.
    pub at: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.at).unwrap_or("");
        let indent = format::plain(before).chars().count();
        writeln!(f, "{}", self.message)?;
        writeln!(f, "  {}", format::plain(&self.text))?;
        write!(f, "  {:indent$}^", "")
    }
}

type Parsed<T> = Result<T, (usize, String)>;

pub(super) fn assertion(text: &str) -> Result<Assertion, ParseError> {
    parts(text).map_err(|(at, message)| ParseError {
        text: text.to_owned(),
        at,
        message,
    })
}

fn parts(text: &str) -> Parsed<Assertion> {
    let Some(sign) = operator_at(text) else {
        let end = text.trim_end().len();
        return Err((
            end,
            "an operator is missing: one of <, <=, >, >=, ==, !=".into(),
        ));
    };
    let (phase, begin) = phase(&text[..sign])?;
    let figure_text = text[begin..sign].trim();
    let figure_at = begin + (text[begin..sign].len() - text[begin..sign].trim_start().len());
    let figure = figure(figure_text).map_err(|message| (figure_at, message))?;
    let (operator, length) = operator(&text[sign..]).map_err(|message| (sign, message))?;
    let rest = &text[sign + length..];
    let value_at = sign + length + (rest.len() - rest.trim_start().len());
    let value = value(rest.trim(), figure.kind()).map_err(|message| (value_at, message))?;
    Ok(Assertion {
        text: text.trim().to_owned(),
        phase,
        figure,
        operator,
        value,
    })
}

/// Where the operator begins: not within parentheses, where a label may have one.
fn operator_at(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '<' | '>' | '=' | '!' if depth == 0 => return Some(i),
            _ => {}
        }
    }
    None
}

/// The phase before the last colon (those in a label do not count), and where the figure begins.
fn phase(text: &str) -> Parsed<(Option<String>, usize)> {
    let label = text.find("label(").or_else(|| text.find("status("));
    let end = label.unwrap_or(text.len());
    let Some(colon) = text[..end].rfind(':') else {
        return Ok((None, 0));
    };
    let name = text[..colon].trim();
    if name.is_empty() {
        return Err((
            colon,
            "before the colon stands the name of a phase: `500 connections: p99<20ms`".into(),
        ));
    }
    Ok((Some(name.to_owned()), colon + 1))
}

fn operator(text: &str) -> Result<(Operator, usize), String> {
    for (sign, operator) in [
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("=", Operator::Equal),
    ] {
        if text.starts_with(sign) {
            return Ok((operator, sign.len()));
        }
    }
    Err("this is no operator; there are <, <=, >, >=, ==, !=".into())
}

fn figure(text: &str) -> Result<Figure, String> {
    if text.is_empty() {
        return Err("a figure is missing: `p99<20ms`".into());
    }
    if let Some(rest) = text.strip_prefix("label(") {
        return label(rest);
    }
    if let Some(rest) = text.strip_prefix("status(") {
        let code = rest
            .strip_suffix(')')
            .and_then(|code| code.trim().parse().ok());
        return code
            .map(Figure::Status)
            .ok_or_else(|| "a status is written `status(503)`".into());
    }
    let (durations, statistic_text) = match text.split_once('.') {
        Some(("connect", rest)) => (Durations::Connect, rest),
        Some(("first_byte", rest)) => (Durations::FirstByte, rest),
        Some(("between", rest)) => (Durations::Between, rest),
        Some(("whole", rest)) => (Durations::Whole, rest),
        _ => (Durations::Whole, text),
    };
    if let Some(statistic) = statistic(statistic_text)? {
        return Ok(Figure::Time(durations, statistic));
    }
    if statistic_text.len() != text.len() {
        return Err(format!(
            "`{statistic_text}` is no statistic; there are p50, p99.9, mean, min, max, deviation"
        ));
    }
    let plain = Plain::ALL.iter().find(|(name, ..)| *name == text);
    let cause = Cause::ALL.iter().find(|cause| cause.name() == text);
    match (plain, cause) {
        (Some(&(_, plain, _)), _) => Ok(Figure::Plain(plain)),
        (None, Some(&cause)) => Ok(Figure::Failed(cause)),
        (None, None) => Err(unknown(text)),
    }
}

fn label(rest: &str) -> Result<Figure, String> {
    // The last parenthesis ends the name: a name may have some.
    let (name, after) = rest
        .rsplit_once(')')
        .ok_or("the name of a label ends with `)`: `label(login).p99<20ms`")?;
    let what = after.trim().strip_prefix('.').unwrap_or("");
    let figure = match what {
        "failed" => LabelFigure::Failed,
        "succeeded" => LabelFigure::Succeeded,
        "success" => LabelFigure::Success,
        "rps" => LabelFigure::Rate,
        what => match statistic(what)? {
            Some(statistic) => LabelFigure::Time(statistic),
            None => {
                return Err(format!(
                    "`{what}` is no figure of a label; there are .p99, .mean, .min, .max, .deviation, .failed, .succeeded, .success, .rps"
                ));
            }
        },
    };
    Ok(Figure::Label(name.trim().to_owned(), figure))
}

fn statistic(text: &str) -> Result<Option<Statistic>, String> {
    let percentile = text
        .strip_prefix('p')
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if let Some(digits) = percentile {
        let percent: f64 = digits
            .parse()
            .map_err(|_| format!("`{digits}` is no number of percent: `p99.9`"))?;
        if !(0.0..=100.0).contains(&percent) {
            return Err(format!("a percentile is between 0 and 100, not {digits}"));
        }
        return Ok(Some(Statistic::Percentile(percent)));
    }
    Ok(match text {
        "mean" => Some(Statistic::Mean),
        "min" => Some(Statistic::Min),
        "max" => Some(Statistic::Max),
        "deviation" => Some(Statistic::Deviation),
        _ => None,
    })
}

fn unknown(text: &str) -> String {
    let mut names: Vec<&str> = Figure::plain().map(|(name, _)| name).collect();
    names.extend(["mean", "min", "max", "deviation"]);
    let names = names.join(", ");
    format!(
        "`{text}` is no figure; there are p50, p99.9 …, {names}, connect.p99, first_byte.p99, between.p99, label(NAME).p99, status(CODE)"
    )
}

fn value(text: &str, kind: Kind) -> Result<f64, String> {
    if text.is_empty() {
        return Err(format!("a value is missing: {}", example(kind)));
    }
    let digits = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_')))
        .unwrap_or(text.len());
    let number: f64 = text[..digits]
        .replace([',', '_'], "")
        .parse()
        .map_err(|_| format!("`{text}` is no value: {}", example(kind)))?;
    let unit = text[digits..].trim();
    factor(unit, kind)
        .map(|factor| number * factor)
        .ok_or_else(|| match unit {
            "" => format!("a unit is missing: {}", example(kind)),
            unit => format!("`{unit}` is no unit here: {}", example(kind)),
        })
}

fn factor(unit: &str, kind: Kind) -> Option<f64> {
    Some(match (kind, unit) {
        (Kind::Duration, "ns") => 1.0,
        (Kind::Duration, "us" | "µs" | "μs") => 1e3,
        (Kind::Duration, "ms") => 1e6,
        (Kind::Duration, "s") => 1e9,
        (Kind::Duration, "m" | "min") => 60e9,
        (Kind::Percent, "" | "%") | (Kind::Number, "") | (Kind::Size, "" | "B") => 1.0,
        (Kind::Number, "k") | (Kind::Size, "kB") => 1e3,
        (Kind::Number, "M") | (Kind::Size, "MB") => 1e6,
        (Kind::Size, "GB") => 1e9,
        (Kind::Size, "KiB" | "K" | "k") => 1024.0,
        (Kind::Size, "MiB" | "M") => 1_048_576.0,
        (Kind::Size, "GiB" | "G") => 1_073_741_824.0,
        _ => return None,
    })
}

fn example(kind: Kind) -> &'static str {
    match kind {
        Kind::Duration => "a duration is written 500us, 20ms, 1.5s or 2m",
        Kind::Size => "a size is written 300MiB, 1.5GiB, 20MB or 4096",
        Kind::Percent => "a percentage is written 99.999 or 99.999%",
        Kind::Number => "a number is written 5, 10,000 or 20k",
    }
}
