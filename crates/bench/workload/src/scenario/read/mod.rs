//! From TOML to the model, with the place of every value, and every error in
//! one run: the tree is walked by hand, because serde stops at the first.

mod values;

use toml::de::{DeTable, DeValue};

use values::Table;

use super::compile::Builder;
use super::errors::{Errors, Problem, Spans};
use super::model::{Data, DataOrder, Expect, Extract, Flow, OnEnd, Pause, Scenario, Source, Step};

/// Groups within groups, at most; deeper ones are left out, which the checks report.
const MAX_DEPTH: usize = 40;

/// What a text says, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) scenario: Scenario,
    pub(crate) spans: Spans,
    pub(crate) problems: Vec<Problem>,
    /// Whether it is TOML.
    pub(crate) is_toml: bool,
}

impl Scenario {
    /// Reads a scenario and checks everything that can be checked without its files.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, Errors> {
        let read = read(text);
        let mut problems = read.problems;
        if read.is_toml
            && let Err(more) = Builder::build(&read.scenario, None, None)
        {
            // What could not be read is missing now; that it is missing is no error of its own.
            let follows = |one: &Problem| {
                problems.iter().any(|first| {
                    first
                        .path
                        .strip_prefix(&one.path)
                        .is_some_and(|rest| rest.starts_with('.'))
                })
            };
            let more: Vec<Problem> = more.into_iter().filter(|one| !follows(one)).collect();
            problems.extend(more);
        }
        if problems.is_empty() {
            Ok(read.scenario)
        } else {
            Err(Errors::new(text, file_name, problems, &read.spans))
        }
    }
}

/// Reads a text without checking what it means.
pub(crate) fn read(text: &str) -> Read {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader(Read::default());
    for error in &errors {
        reader.0.problems.push(Problem {
            span: Some(error.span().unwrap_or_default()),
            message: format!("not TOML: {}", error.message().trim()),
            ..Problem::default()
        });
    }
    reader.0.is_toml = errors.is_empty();
    if errors.is_empty() {
        reader.scenario(root.get_ref());
    }
    reader.0
}

struct Reader(Read);

impl Reader {
    fn scenario(&mut self, root: &DeTable<'_>) {
        let table = self.open(root, "", String::new());
        let scenario = Scenario {
            name: self.text(&table, "name").unwrap_or_default(),
            base: self.text(&table, "base"),
            headers: self.pairs(&table, "headers"),
            variables: self.pairs(&table, "variables"),
            data: self.tables(&table, "data", "data", Self::data),
            flow: self.tables(&table, "flow", "flow", Self::flow),
        };
        self.0.scenario = scenario;
    }

    fn data(&mut self, table: &Table<'_>) -> Option<Data> {
        let file = self.text(table, "file");
        if file.is_none() && !table.fields.contains_key("file") {
            self.missing(table, "file", "`file = \"users.csv\"`");
        }
        let separator = self.text(table, "separator").map(|text| {
            let mut characters = text.chars();
            match (characters.next(), characters.next()) {
                (Some(one), None) => one,
                _ => {
                    self.wrong(table, "separator", format!("`{text}` is not one character"));
                    ','
                }
            }
        });
        Some(Data {
            file: file?,
            columns: self.texts(table, "columns"),
            separator: separator.unwrap_or(','),
            order: self.word(
                table,
                "order",
                &[
                    ("sequential", DataOrder::Sequential),
                    ("random", DataOrder::Random),
                    ("per-user", DataOrder::PerUser),
                ],
            ),
            on_end: self.word(
                table,
                "on_end",
                &[("wrap", OnEnd::Wrap), ("stop", OnEnd::Stop)],
            ),
        })
    }

    fn flow(&mut self, table: &Table<'_>) -> Option<Flow> {
        Some(Flow {
            name: self.text(table, "name").unwrap_or_default(),
            weight: self.number(table, "weight").unwrap_or(1.0),
            iterations: self.whole(table, "iterations"),
            pause: self.text(table, "pause").map(Pause),
            keep_cookies: self.flag(table, "keep_cookies"),
            stop_on_failure: self.flag(table, "stop_on_failure"),
            step: self.tables(table, "step", "step", Self::step),
        })
    }

    fn step(&mut self, table: &Table<'_>) -> Option<Step> {
        let deep = table.path.matches(".step.").count() > MAX_DEPTH;
        let expect = self
            .get(table, "expect")
            .map(|value| (value.span(), value.get_ref()));
        let expect = match expect {
            Some((span, DeValue::Table(fields))) => {
                let path = table.path_of("expect");
                self.0.spans.note(path.clone(), span);
                let table = self.open(fields, "expect", path);
                self.expect(&table)
            }
            Some(_) => {
                self.wrong_type(table, "expect");
                Expect::default()
            }
            None => Expect::default(),
        };
        Some(Step {
            name: self.text(table, "name").unwrap_or_default(),
            method: self.text(table, "method"),
            url: self.text(table, "url"),
            query: self.pairs(table, "query"),
            headers: self.pairs(table, "headers"),
            form: self.pairs(table, "form"),
            body: self.text(table, "body"),
            body_file: self.text(table, "body_file"),
            basic_auth: self.two(table, "basic_auth"),
            follow: self
                .whole(table, "follow")
                .map_or(0, |follow| follow.min(1000) as u32),
            expect,
            extract: self.tables(table, "extract", "extract", Self::extract),
            pause: self.text(table, "pause").map(Pause),
            repeat: self.count(table, "repeat"),
            when: self.text(table, "when"),
            step: if deep {
                Vec::new()
            } else {
                self.tables(table, "step", "step", Self::step)
            },
        })
    }

    fn expect(&mut self, table: &Table<'_>) -> Expect {
        Expect {
            status: self.texts(table, "status"),
            contains: self.texts(table, "contains"),
            lacks: self.texts(table, "lacks"),
            matches: self.texts(table, "matches"),
            body: self.text(table, "body"),
            header: self.pairs(table, "header"),
            json: self.pairs(table, "json"),
            within: self.text(table, "within"),
        }
    }

    fn extract(&mut self, table: &Table<'_>) -> Option<Extract> {
        let variable = self.text(table, "variable");
        if !table.fields.contains_key("variable") {
            self.missing(table, "variable", "`variable = \"name\"`");
        }
        let sources = [
            self.text(table, "regex").map(Source::Regex),
            self.text(table, "json").map(Source::Json),
            self.text(table, "header").map(Source::Header),
            self.text(table, "head-regex").map(Source::HeadRegex),
            self.text(table, "cookie").map(Source::Cookie),
            self.two(table, "between")
                .map(|(left, right)| Source::Between(left, right)),
        ];
        let mut sources: Vec<Source> = sources.into_iter().flatten().collect();
        const ALL: [&str; 6] = ["regex", "json", "header", "head-regex", "cookie", "between"];
        let written = ALL
            .iter()
            .filter(|key| table.fields.contains_key(**key))
            .count();
        if written != 1 {
            let message = "an extraction looks in one place".to_owned();
            let problem = self.problem(&table.path, message);
            problem.expected =
                Some("one of `regex`, `json`, `header`, `head-regex`, `cookie`, `between`".into());
        }
        Some(Extract {
            variable: variable?,
            from: sources.pop()?,
            occurrence: self.signed(table, "occurrence").unwrap_or(1),
            default: self.text(table, "default"),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
