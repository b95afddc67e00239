//! From the model to TOML that a person likes to read and edit.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::model::{Count, Data, DataOrder, Expect, Extract, Flow, OnEnd, Scenario, Source, Step};

/// What fits beside a key is written there, the rest below.
const LINE: usize = 90;

impl Scenario {
    /// The scenario as a file. [`Scenario::parse`] gives the same back.
    pub fn to_toml(&self) -> String {
        let mut out = Writer(String::new());
        out.text_unless_empty("name", &self.name);
        out.maybe("base", self.base.as_deref());
        out.pairs_below("headers", &self.headers);
        out.pairs_below("variables", &self.variables);
        for data in &self.data {
            out.data(data);
        }
        for flow in &self.flow {
            out.flow(flow);
        }
        out.0
    }
}

struct Writer(String);

impl Writer {
    /// A line `key = value`, the value being TOML already.
    fn put(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.0, "{} = {value}", name(key));
    }

    fn header(&mut self, header: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(header);
        self.0.push('\n');
    }

    fn text_unless_empty(&mut self, key: &str, value: &str) {
        self.maybe(key, Some(value).filter(|value| !value.is_empty()));
    }

    fn maybe(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.put(key, &text(value));
        }
    }

    fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.put(key, "true");
        }
    }

    fn pairs_below(&mut self, header: &str, pairs: &BTreeMap<String, String>) {
        if pairs.is_empty() {
            return;
        }
        self.header(&format!("[{header}]"));
        for (key, value) in pairs {
            self.put(key, &text(value));
        }
    }

    fn data(&mut self, data: &Data) {
        self.header("[[data]]");
        self.put("file", &text(&data.file));
        if !data.columns.is_empty() {
            self.put("columns", &list(&data.columns));
        }
        if data.separator != ',' {
            self.put("separator", &text(&data.separator.to_string()));
        }
        match data.order {
            DataOrder::Sequential => {}
            DataOrder::Random => self.put("order", "\"random\""),
            DataOrder::PerUser => self.put("order", "\"per-user\""),
        }
        if data.on_end == OnEnd::Stop {
            self.put("on_end", "\"stop\"");
        }
    }

    fn flow(&mut self, flow: &Flow) {
        self.header("[[flow]]");
        self.text_unless_empty("name", &flow.name);
        if flow.weight != 1.0 {
            self.put("weight", &number(flow.weight));
        }
        if let Some(iterations) = flow.iterations {
            self.put("iterations", &iterations.to_string());
        }
        self.maybe("pause", flow.pause.as_ref().map(|pause| pause.0.as_str()));
        self.flag("keep_cookies", flow.keep_cookies);
        self.flag("stop_on_failure", flow.stop_on_failure);
        for step in &flow.step {
            self.step(step, "flow.step");
        }
    }

    fn step(&mut self, step: &Step, path: &str) {
        self.header(&format!("[[{path}]]"));
        self.text_unless_empty("name", &step.name);
        self.maybe("method", step.method.as_deref());
        self.maybe("url", step.url.as_deref());
        if step.follow > 0 {
            self.put("follow", &step.follow.to_string());
        }
        match &step.repeat {
            None => {}
            Some(Count::Fixed(count)) => self.put("repeat", &count.to_string()),
            Some(Count::Variable(count)) => self.put("repeat", &text(count)),
        }
        self.maybe("when", step.when.as_deref());
        self.maybe("pause", step.pause.as_ref().map(|pause| pause.0.as_str()));
        if let Some((user, password)) = &step.basic_auth {
            self.put(
                "basic_auth",
                &format!("[{}, {}]", text(user), text(password)),
            );
        }
        self.maybe("body", step.body.as_deref());
        self.maybe("body_file", step.body_file.as_deref());
        self.extractions(&step.extract);
        // Tables stand behind all plain keys: what follows a header belongs to it.
        let expect = expectations(&step.expect);
        let mut below = vec![
            ("query", pairs_of(&step.query)),
            ("headers", pairs_of(&step.headers)),
        ];
        below.extend([("form", pairs_of(&step.form)), ("expect", expect)]);
        below.retain(|(key, pairs)| !pairs.is_empty() && !self.beside(key, pairs));
        for (key, pairs) in below {
            let _ = writeln!(self.0, "[{path}.{key}]");
            for (key, value) in pairs {
                let _ = writeln!(self.0, "{key} = {value}");
            }
        }
        for inner in &step.step {
            self.step(inner, &format!("{path}.step"));
        }
    }

    /// Writes `key = { … }` if that fits in a line.
    fn beside(&mut self, key: &str, pairs: &[(String, String)]) -> bool {
        let one = inline(pairs);
        let fits = key.len() + one.len() <= LINE && !one.contains('\n');
        if fits {
            self.put(key, &one);
        }
        fits
    }

    fn extractions(&mut self, extractions: &[Extract]) {
        if extractions.is_empty() {
            return;
        }
        self.0.push_str("extract = [\n");
        for extract in extractions {
            let _ = writeln!(self.0, "  {},", inline(&extraction(extract)));
        }
        self.0.push_str("]\n");
    }
}

/// The keys and values of an extraction, as TOML.
fn extraction(extract: &Extract) -> Vec<(String, String)> {
    let mut pairs = vec![("variable", line(&extract.variable))];
    pairs.push(match &extract.from {
        Source::Regex(value) => ("regex", line(value)),
        Source::Json(value) => ("json", line(value)),
        Source::Header(value) => ("header", line(value)),
        Source::HeadRegex(value) => ("head-regex", line(value)),
        Source::Cookie(value) => ("cookie", line(value)),
        Source::Between(left, right) => ("between", format!("[{}, {}]", line(left), line(right))),
    });
    if extract.occurrence != 1 {
        pairs.push(("occurrence", extract.occurrence.to_string()));
    }
    pairs.extend(
        extract
            .default
            .as_ref()
            .map(|default| ("default", line(default))),
    );
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// The keys and values of expectations, as TOML.
fn expectations(expect: &Expect) -> Vec<(String, String)> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    let lists = [
        ("status", &expect.status),
        ("contains", &expect.contains),
        ("lacks", &expect.lacks),
        ("matches", &expect.matches),
    ];
    pairs.extend(
        lists
            .into_iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(key, list)| (key, one_or_more(list, key == "status"))),
    );
    pairs.extend(expect.body.as_ref().map(|body| ("body", line(body))));
    let tables = [("header", &expect.header), ("json", &expect.json)];
    pairs.extend(
        tables
            .into_iter()
            .filter(|(_, table)| !table.is_empty())
            .map(|(key, table)| (key, inline(&pairs_of(table)))),
    );
    pairs.extend(
        expect
            .within
            .as_ref()
            .map(|within| ("within", line(within))),
    );
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

fn pairs_of(pairs: &BTreeMap<String, String>) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, value)| (name(key), line(value)))
        .collect()
}

fn inline(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// One text by itself, several as a list; statuses that are numbers as such.
fn one_or_more(texts: &[String], numbers: bool) -> String {
    let value = |text: &String| match text.as_bytes() {
        [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] if numbers => text.clone(),
        _ => line(text),
    };
    match texts {
        [one] => value(one),
        several => format!(
            "[{}]",
            several.iter().map(value).collect::<Vec<_>>().join(", ")
        ),
    }
}

fn list(texts: &[String]) -> String {
    format!(
        "[{}]",
        texts
            .iter()
            .map(|text| line(text))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

/// A key, in quotes where it needs them.
fn name(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !key.is_empty() && key.bytes().all(plain) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

/// A text on one or, if it has line breaks, several lines.
fn text(value: &str) -> String {
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if value.contains('\n')
        && !value.contains("'''")
        && !value.ends_with('\'')
        && !value.contains(control)
    {
        return format!("'''\n{value}'''");
    }
    line(value)
}

/// A text on one line; without escapes where it has quotes or backslashes.
fn line(value: &str) -> String {
    let literal =
        value.contains(['\\', '"']) && !value.contains('\'') && !value.contains(char::is_control);
    if literal {
        format!("'{value}'")
    } else {
        quoted(value)
    }
}

fn quoted(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => drop(write!(out, "\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `3`, `0.5`, `nan`
fn number(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => format!("{value:.0}"),
        false => format!("{value:?}"),
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
