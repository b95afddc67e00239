//! Values of a table, with their places noted and their errors reported.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::errors::{Problem, nearest};
use super::super::keys;
use super::super::model::Count;
use super::Reader;

/// A table in the file.
pub(super) struct Table<'t> {
    pub(super) fields: &'t DeTable<'t>,
    /// Which table of [`keys::KEYS`].
    pub(super) kind: &'static str,
    pub(super) path: String,
}

impl Table<'_> {
    pub(super) fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }
}

impl Reader {
    /// Notes places and reports unknown keys.
    pub(super) fn open<'t>(
        &mut self,
        fields: &'t DeTable<'t>,
        kind: &'static str,
        path: String,
    ) -> Table<'t> {
        let table = Table { fields, kind, path };
        for (key, value) in fields {
            let name: &str = key.get_ref();
            let path = table.path_of(name);
            if keys::find(kind, name).is_some() {
                self.0.spans.note(path, value.span());
                continue;
            }
            let known: Vec<&str> = keys::in_table(kind).map(|key| key.name).collect();
            let near = nearest(name, known.iter().copied());
            let near = near.map(|near| format!("did you mean `{near}`?"));
            self.0.problems.push(Problem {
                path,
                span: Some(key.span()),
                message: format!("unknown key `{name}`"),
                expected: near
                    .is_none()
                    .then(|| format!("one of {}", known.join(", "))),
                suggestion: near,
            });
        }
        table
    }

    pub(super) fn get<'t>(&self, table: &Table<'t>, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        table.fields.get(key)
    }

    pub(super) fn problem(&mut self, path: &str, message: String) -> &mut Problem {
        let at = self.0.problems.len();
        self.0.problems.push(Problem {
            path: path.to_owned(),
            message,
            ..Problem::default()
        });
        &mut self.0.problems[at]
    }

    pub(super) fn wrong(&mut self, table: &Table<'_>, key: &str, message: String) {
        let takes = keys::find(table.kind, key).map(|key| key.takes.to_owned());
        self.problem(&table.path_of(key), message).expected = takes;
    }

    pub(super) fn wrong_type(&mut self, table: &Table<'_>, key: &str) {
        let found = self
            .get(table, key)
            .map_or("", |value| value.get_ref().type_str());
        let article = if found.starts_with(['a', 'i']) {
            "an"
        } else {
            "a"
        };
        self.wrong(table, key, format!("`{key}` is {article} {found}"));
    }

    pub(super) fn missing(&mut self, table: &Table<'_>, key: &str, example: &str) {
        let problem = self.problem(&table.path, format!("`{key}` is missing"));
        problem.suggestion = Some(format!("add {example}"));
    }

    /// A value through `take`; what it does not take is reported.
    pub(super) fn value<'t, T>(
        &mut self,
        table: &Table<'t>,
        key: &str,
        take: impl FnOnce(&DeValue<'t>) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(table, key)?;
        let taken = take(value.get_ref());
        if taken.is_none() {
            self.wrong_type(table, key);
        }
        taken
    }

    pub(super) fn text(&mut self, table: &Table<'_>, key: &str) -> Option<String> {
        self.value(table, key, |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn flag(&mut self, table: &Table<'_>, key: &str) -> bool {
        self.value(table, key, DeValue::as_bool).unwrap_or_default()
    }

    pub(super) fn whole(&mut self, table: &Table<'_>, key: &str) -> Option<u64> {
        self.value(table, key, |value| integer(value)?.parse().ok())
    }

    pub(super) fn signed(&mut self, table: &Table<'_>, key: &str) -> Option<i32> {
        self.value(table, key, |value| integer(value)?.parse().ok())
    }

    pub(super) fn number(&mut self, table: &Table<'_>, key: &str) -> Option<f64> {
        self.value(table, key, |value| match value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            value => integer(value)?.parse().ok(),
        })
    }

    pub(super) fn count(&mut self, table: &Table<'_>, key: &str) -> Option<Count> {
        self.value(table, key, |value| match value {
            DeValue::String(text) => Some(Count::Variable(text.to_string())),
            value => integer(value)?.parse().ok().map(Count::Fixed),
        })
    }

    pub(super) fn word<T: Copy + Default>(
        &mut self,
        table: &Table<'_>,
        key: &str,
        words: &[(&str, T)],
    ) -> T {
        let Some(text) = self.text(table, key) else {
            return T::default();
        };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => *value,
            None => {
                self.wrong(table, key, format!("`{text}` is not known here"));
                T::default()
            }
        }
    }

    /// One text or a list; numbers count as texts.
    pub(super) fn texts(&mut self, table: &Table<'_>, key: &str) -> Vec<String> {
        let path = table.path_of(key);
        let mut spans: Vec<Range<usize>> = Vec::new();
        let texts = self.value(table, key, |value| match value {
            DeValue::Array(array) => {
                spans.extend(array.iter().map(Spanned::span));
                array
                    .iter()
                    .map(|value| plain_text(value.get_ref()))
                    .collect()
            }
            value => plain_text(value).map(|text| vec![text]),
        });
        for (index, span) in spans.into_iter().enumerate() {
            self.0.spans.note(format!("{path}.{index}"), span);
        }
        texts.unwrap_or_default()
    }

    pub(super) fn two(&mut self, table: &Table<'_>, key: &str) -> Option<(String, String)> {
        self.value(table, key, |value| match value.as_array()?[..] {
            [ref first, ref second] => {
                Some((plain_text(first.get_ref())?, plain_text(second.get_ref())?))
            }
            _ => None,
        })
    }

    pub(super) fn pairs(&mut self, table: &Table<'_>, key: &str) -> BTreeMap<String, String> {
        let mut pairs = BTreeMap::new();
        let path = table.path_of(key);
        let Some(value) = self.get(table, key) else {
            return pairs;
        };
        let Some(fields) = value.get_ref().as_table() else {
            self.wrong_type(table, key);
            return pairs;
        };
        for (name, value) in fields {
            let path = format!("{path}.{}", name.get_ref());
            self.0.spans.note(path.clone(), value.span());
            match plain_text(value.get_ref()) {
                Some(text) => drop(pairs.insert(name.get_ref().to_string(), text)),
                None => {
                    let found = value.get_ref().type_str();
                    let problem = self.problem(&path, format!("this is a value of type {found}"));
                    problem.expected = Some("a text".into());
                }
            }
        }
        pairs
    }

    pub(super) fn tables<T>(
        &mut self,
        table: &Table<'_>,
        key: &str,
        kind: &'static str,
        read: fn(&mut Self, &Table<'_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = self.get(table, key) else {
            return Vec::new();
        };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(table, key);
            return Vec::new();
        };
        let mut all = Vec::new();
        for (index, value) in array.iter().enumerate() {
            let path = table.path_of(&format!("{key}.{index}"));
            self.0.spans.note(path.clone(), value.span());
            match value.get_ref() {
                DeValue::Table(fields) => {
                    let table = self.open(fields, kind, path);
                    all.extend(read(self, &table));
                }
                _ => {
                    self.problem(&path, format!("this is no table of a {kind}"))
                        .expected = Some("a table".into())
                }
            }
        }
        all
    }
}

fn integer<'v>(value: &'v DeValue<'_>) -> Option<&'v str> {
    value
        .as_integer()
        .filter(|integer| integer.radix() == 10)
        .map(|integer| integer.as_str())
}

/// A text; a number or truth value as it is written.
fn plain_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        DeValue::Float(float) => Some(float.as_str().to_owned()),
        value => integer(value).map(str::to_owned),
    }
}
