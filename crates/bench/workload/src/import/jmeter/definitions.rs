//! A first look at the whole plan: what variables there are, before any text
//! that uses them is translated.

use super::super::notes::{Fate, shortened};
use super::context::Context;
use super::repeats;
use super::tree::{Element, Properties};
use crate::scenario::{Data, DataOrder, OnEnd};

/// Collects definitions, and the data files of a plan.
pub(super) fn collect(context: &mut Context, plan: &Element<'_>) -> Vec<Data> {
    if let Some(variables) = plan.properties.inner("TestPlan.user_defined_variables") {
        arguments(context, variables);
    }
    let mut data = Vec::new();
    below(context, plan, false, &mut data);
    data
}

fn below(context: &mut Context, element: &Element<'_>, in_loop: bool, data: &mut Vec<Data>) {
    context.within(element, |context| {
        for child in element.children.iter().filter(|child| child.enabled) {
            context.at(child);
            one(context, child, in_loop, data);
            let loops = matches!(
                child.kind,
                "LoopController" | "WhileController" | "ForeachController"
            );
            below(context, child, in_loop || loops, data);
        }
    });
}

fn one(context: &mut Context, element: &Element<'_>, in_loop: bool, data: &mut Vec<Data>) {
    match element.kind {
        "Arguments" => arguments(context, element.properties),
        "UserParameters" => user_parameters(context, element),
        "CSVDataSet" => data.extend(csv(context, element, in_loop)),
        "CounterConfig" => counter(context, element),
        "RandomVariableConfig" => random(context, element),
        "RegexExtractor" => assigned(context, element.text("RegexExtractor.refname")),
        "BoundaryExtractor" => assigned(context, element.text("BoundaryExtractor.refname")),
        "JSONPostProcessor" => {
            for name in element.text("JSONPostProcessor.referenceNames").split(';') {
                assigned(context, name);
            }
        }
        "HtmlExtractor" => assigned(context, element.text("HtmlExtractor.refname")),
        "XPathExtractor" => assigned(context, element.text("XPathExtractor.refname")),
        "XPath2Extractor" => assigned(context, element.text("XPathExtractor2.refname")),
        "JMESPathExtractor" => {
            assigned(context, element.text("JMESExtractor.referenceName"));
            assigned(context, element.text("JMESExtractor.referenceNames"));
        }
        "ForeachController" => mention_values(context, element),
        _ => {}
    }
}

fn assigned(context: &mut Context, name: &str) {
    if !name.trim().is_empty() {
        context.assign(name.trim());
    }
}

fn arguments(context: &mut Context, properties: Properties<'_>) {
    for member in properties.members("Arguments.arguments") {
        let name = member.text("Argument.name").trim();
        if !name.is_empty() {
            context.define(name, member.text("Argument.value"));
        }
    }
}

/// A table of values, a column for each thread. A scenario has such tables in files only.
fn user_parameters(context: &mut Context, element: &Element<'_>) {
    let names = element.properties.texts("UserParameters.names");
    let users = element.properties.members("UserParameters.thread_values");
    if users.len() > 1 {
        context.note(
            Fate::Changed,
            format!(
                "all users have the first one's values; put those of the {} users into a CSV file and add it as `[[data]]`",
                users.len()
            ),
        );
    }
    let values = users
        .first()
        .map(|user| user.own_texts())
        .unwrap_or_default();
    for (at, name) in names.iter().enumerate() {
        if !name.trim().is_empty() {
            context.define(name.trim(), values.get(at).copied().unwrap_or_default());
        }
    }
}

fn counter(context: &mut Context, element: &Element<'_>) {
    let name = element.text("CounterConfig.name").trim();
    if name.is_empty() {
        return;
    }
    let number = |context: &mut Context, property: &str, default: f64| {
        context.number(element.text(property)).unwrap_or(default)
    };
    let start = number(context, "CounterConfig.start", 0.0);
    let step = number(context, "CounterConfig.incr", 1.0);
    let plain = start == 1.0
        && step == 1.0
        && element.flag("CounterConfig.per_user")
        && element.text("CounterConfig.format").is_empty()
        && element.text("CounterConfig.end").is_empty();
    if !plain {
        context.note(
            Fate::Changed,
            "it became the number of the user's round: from 1, by 1, for each user",
        );
    }
    context.alias(name, "${iteration}".into());
}

fn random(context: &mut Context, element: &Element<'_>) {
    let name = element.text("variableName").trim();
    let low = context.number(element.text("minimumValue"));
    let high = context.number(element.text("maximumValue"));
    let (Some(low), Some(high)) = (low, high) else {
        return context.note(Fate::LeftOut, "its range is not known beforehand");
    };
    if name.is_empty() || low > high || low.abs() > 9e18 || high.abs() > 9e18 {
        return context.note(Fate::LeftOut, "it has no name or no range");
    }
    if !element.text("outputFormat").is_empty() {
        context.note(Fate::Changed, "its output format is not applied");
    }
    context.note(
        Fate::Changed,
        "its value is drawn anew wherever it is used; JMeter draws it once a round",
    );
    context.alias(name, format!("${{random:{low:.0}:{high:.0}}}"));
}

/// A ForEach controller uses the numbered variables of an extraction.
fn mention_values(context: &mut Context, element: &Element<'_>) {
    let input = element.text("ForeachController.inputVal").trim();
    let between = if element.text("ForeachController.useSeparator") == "false" {
        ""
    } else {
        "_"
    };
    let (numbers, _) = repeats::values(context, element);
    for number in numbers {
        context
            .mentioned
            .insert(format!("{input}{between}{number}"));
    }
}

fn csv(context: &mut Context, element: &Element<'_>, in_loop: bool) -> Option<Data> {
    let file = context.fixed(element.text("filename").trim());
    let Some(file) = file.filter(|file| !file.is_empty()) else {
        context.note(Fate::LeftOut, "which file it reads is decided at run time");
        return None;
    };
    let columns: Vec<String> = element
        .text("variableNames")
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| {
            context.assign(name);
            context.names.of(name)
        })
        .collect();
    if columns.is_empty() {
        context.note(
            Fate::Hint,
            "the file's first line names its columns; names of other than letters, digits, `_`, `-` and `.` have to be changed there",
        );
    } else if element.flag("ignoreFirstLine") {
        context.note(
            Fate::Changed,
            "the first line is not skipped; take it out of the file, or take `columns` out of the scenario",
        );
    }
    csv_remarks(context, element, in_loop);
    Some(Data {
        file,
        columns,
        separator: separator(context, element.text("delimiter")),
        order: DataOrder::Sequential,
        on_end: if element.flag("recycle") {
            OnEnd::Wrap
        } else {
            OnEnd::Stop
        },
    })
}

fn separator(context: &mut Context, written: &str) -> char {
    match written {
        "" | "," => ',',
        "\\t" | "\t" => '\t',
        written => {
            let mut chars = written.chars();
            let first = chars.next().unwrap_or(',');
            if chars.next().is_some() || !first.is_ascii() {
                context.note(
                    Fate::Changed,
                    format!(
                        "its delimiter `{}` is not one ASCII character",
                        shortened(written, 20)
                    ),
                );
            }
            if first.is_ascii() { first } else { ',' }
        }
    }
}

fn csv_remarks(context: &mut Context, element: &Element<'_>, in_loop: bool) {
    if !element.flag("recycle") && !element.flag("stopThread") {
        context.note(
            Fate::Changed,
            "users stop after the last row; in JMeter they go on with `<EOF>`",
        );
    }
    match element.text("shareMode").trim() {
        "" | "shareMode.all" => {}
        "shareMode.group" => context.note(
            Fate::Changed,
            "its rows are shared by the users of all groups",
        ),
        "shareMode.thread" => context.note(
            Fate::Changed,
            "its rows are shared by all users; in JMeter each user goes through all rows",
        ),
        _ => context.note(Fate::Changed, "its rows are shared by all users"),
    }
    if in_loop {
        context.note(
            Fate::Changed,
            "the next row is taken in each round of the flow, not in each round of the loop around it",
        );
    }
    let encoding = element.text("fileEncoding").trim();
    if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("utf-8") {
        context.note(
            Fate::Changed,
            format!(
                "the file is read as UTF-8 instead of {}",
                shortened(encoding, 30)
            ),
        );
    }
}
