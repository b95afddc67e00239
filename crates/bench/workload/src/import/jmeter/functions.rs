//! JMeter's functions: what a scenario has for each of them.

use super::super::notes::{Fate, shortened};
use super::context::Context;
use super::template;

/// What stands for `${__name(arguments)}`. What nothing stands for becomes a variable that is
/// empty, and a note.
pub(super) fn translate(
    context: &mut Context,
    name: &str,
    arguments: &[String],
    put_in: bool,
) -> String {
    let argument = |at: usize| arguments.get(at).map_or("", |text| text.trim());
    match name {
        "__Random" => random(context, argument(0), argument(1), argument(2)),
        "__UUID" => "${uuid}".into(),
        "__threadNum" => "${user}".into(),
        "__counter" => counter(context, argument(0), argument(1)),
        "__P" => property(context, name, argument(0), argument(1), "1", put_in),
        "__property" => {
            let fallback = argument(0).to_owned();
            property(context, name, argument(0), argument(2), &fallback, put_in)
        }
        "__time" | "__timeShift" => time(context, name, argument(0)),
        "__RandomString" => random_string(context, argument(0)),
        "__V" | "__eval" => context.unfold(&indirect(argument(0)), put_in),
        "__urlencode" => match context.fixed(argument(0)) {
            Some(plain) => template::encode(&template::escape(&plain)),
            None => unchanged(context, name, argument(0), put_in),
        },
        "__unescape"
        | "__unescapeHtml"
        | "__escapeHtml"
        | "__escapeXml"
        | "__urldecode"
        | "__escapeOroRegexpChars" => unchanged(context, name, argument(0), put_in),
        "__char" => characters(arguments),
        "__changeCase" => change_case(context, argument(0), argument(1), put_in),
        "__TestPlanName" => context.fixed("").unwrap_or_default(),
        _ => unknown(context, name, arguments),
    }
}

fn random(context: &mut Context, low: &str, high: &str, variable: &str) -> String {
    let whole = |number: Option<f64>| number.filter(|number| number.fract() == 0.0);
    let (from, to) = (whole(context.number(low)), whole(context.number(high)));
    let (Some(from), Some(to)) = (from, to) else {
        return unknown(context, "__Random", &[low.to_owned(), high.to_owned()]);
    };
    if !variable.is_empty() {
        context.note_about(
            "function",
            "__Random",
            Fate::Changed,
            format!("the number is not kept in `{}`", shortened(variable, 60)),
        );
    }
    let (from, to) = if from <= to { (from, to) } else { (to, from) };
    if from < 0.0 || to > 9.0e18 {
        context.note_about(
            "function",
            "__Random",
            Fate::Changed,
            "its range goes beyond what is drawn here; any number is taken",
        );
        return "${random}".into();
    }
    format!("${{random:{from:.0}:{to:.0}}}")
}

fn counter(context: &mut Context, per_user: &str, variable: &str) -> String {
    if !per_user.eq_ignore_ascii_case("true") {
        context.note_about(
            "function",
            "__counter",
            Fate::Changed,
            "it counts the rounds of each user; JMeter's counts those of all users together",
        );
    }
    if !variable.is_empty() {
        context.alias(variable, "${iteration}".into());
    }
    "${iteration}".into()
}

/// A property is given on JMeter's command line; its default becomes a variable of that name,
/// which can be changed in the scenario's head.
fn property(
    context: &mut Context,
    function: &str,
    name: &str,
    default: &str,
    fallback: &str,
    put_in: bool,
) -> String {
    let value = if default.is_empty() {
        fallback.to_owned()
    } else {
        context.unfold(default, true)
    };
    let plain = template::plain(&value);
    context.note_about(
        "function",
        &format!("{function}({})", shortened(name, 80)),
        Fate::Hint,
        format!("the property has its default, `{}`", shortened(&value, 80)),
    );
    let Some(plain) = plain else { return value };
    let key = name.to_owned();
    if put_in || name.is_empty() || context.is_known(&key) {
        return value;
    }
    context.define(&key, &plain.replace('\\', "\\\\").replace("${", "\\${"));
    context.variable(&key, false)
}

fn time(context: &mut Context, function: &str, format: &str) -> String {
    let (text, words) = if format.is_empty() {
        (
            "${random:1600000000000:1999999999999}",
            "a scenario has no time; a number of that size is drawn instead",
        )
    } else if format == "/1000" {
        (
            "${random:1600000000:1999999999}",
            "a scenario has no time; a number of that size is drawn instead",
        )
    } else {
        return unknown(context, function, &[format.to_owned()]);
    };
    context.note_about("function", function, Fate::Changed, words);
    text.into()
}

fn random_string(context: &mut Context, length: &str) -> String {
    context.note_about(
        "function",
        "__RandomString",
        Fate::Changed,
        format!(
            "16 hexadecimal digits by chance instead of {} characters",
            shortened(length, 20)
        ),
    );
    "${random}".into()
}

/// `${__V(name)}` is `${name}`; a text with references in it is taken as it stands.
fn indirect(text: &str) -> String {
    if text.contains("${") || text.is_empty() {
        text.to_owned()
    } else {
        format!("${{{text}}}")
    }
}

fn unchanged(context: &mut Context, function: &str, argument: &str, put_in: bool) -> String {
    context.note_about(
        "function",
        function,
        Fate::Changed,
        "its argument is used as it is",
    );
    context.unfold(argument, put_in)
}

fn characters(arguments: &[String]) -> String {
    let number = |text: &str| match text.trim().strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.trim().parse().ok(),
    };
    let text: String = arguments
        .iter()
        .filter_map(|text| number(text).and_then(char::from_u32))
        .collect();
    template::escape(&text)
}

fn change_case(context: &mut Context, text: &str, mode: &str, put_in: bool) -> String {
    match (context.fixed(text), mode) {
        (Some(plain), "" | "UPPER") => template::escape(&plain.to_uppercase()),
        (Some(plain), "LOWER") => template::escape(&plain.to_lowercase()),
        _ => unchanged(context, "__changeCase", text, put_in),
    }
}

/// A variable to be filled in by whoever knows what the function gave.
fn unknown(context: &mut Context, name: &str, arguments: &[String]) -> String {
    let written = format!("${{{name}({})}}", arguments.join(","));
    let wish: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let variable = context.names.of_call(&written, &wish);
    context.variables.entry(variable.clone()).or_default();
    context.note_about(
        "function",
        name,
        Fate::LeftOut,
        format!(
            "nothing stands for `{}`; give the variable `{variable}` a value",
            shortened(&written, 120)
        ),
    );
    format!("${{{variable}}}")
}
