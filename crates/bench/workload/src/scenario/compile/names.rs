//! What names a scenario defines: variables, columns of data files, what is
//! taken from responses; and the URL that others are relative to.

use super::super::coding::Coding;
use super::super::compiled::Copied;
use super::super::model::Step;
use super::super::table::Table;
use super::super::template::{Name, Template, Value, names_in};
use super::{Builder, MAX_DEPTH};
use crate::Target;

impl Builder<'_> {
    fn slot(&mut self, name: &str) -> usize {
        let next = self.slots.len();
        *self.slots.entry(name.to_owned()).or_insert(next)
    }

    /// `[variables]`: those that only depend on constants become constants, the others are set
    /// when a user begins. They may use each other in any order.
    pub(super) fn variables(&mut self) {
        let mut left: Vec<(&String, &String)> = self.scenario.variables.iter().collect();
        while !left.is_empty() {
            let waiting: Vec<&String> = left.iter().map(|(name, _)| *name).collect();
            let (ready, later): (Vec<_>, Vec<_>) = left.iter().copied().partition(|(_, text)| {
                names_in(text)
                    .iter()
                    .all(|used| waiting.iter().all(|name| name != used))
            });
            let stuck = ready.is_empty();
            for (name, text) in if stuck { &later } else { &ready } {
                self.within(&format!("variables.{name}"), |this| {
                    if stuck {
                        this.problem("this variable depends on itself", "");
                    } else {
                        this.variable(name, text);
                    }
                });
            }
            left = if stuck { Vec::new() } else { later };
        }
    }

    fn variable(&mut self, name: &str, text: &str) {
        self.check_name(name);
        let template = self.template(text, Coding::Plain);
        if template.uses(|value| value == Value::Iteration) {
            self.problem(
                "`${iteration}` changes, but this is set when a user begins",
                "",
            );
        }
        let value = match template.fixed() {
            Some(text) => Name::Constant(text.to_owned()),
            None => {
                let slot = self.slot(name);
                self.out.start.push((slot, template));
                Name::Value(Value::Slot(slot))
            }
        };
        self.names.known.insert(name.to_owned(), value);
    }

    fn check_name(&mut self, name: &str) {
        let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            let message = format!("`{name}` is no name of a variable");
            self.problem(message, "letters, digits, `_`, `-` and `.`");
        }
    }

    /// `[[data]]`: columns come before variables of the same name.
    pub(super) fn tables(&mut self) {
        for (index, data) in self.scenario.data.iter().enumerate() {
            self.within(&format!("data.{index}"), |this| {
                let Some(files) = this.files else {
                    this.names.open |= data.columns.is_empty();
                    for (at, name) in data.columns.iter().enumerate() {
                        this.within(&format!("columns.{at}"), |this| {
                            this.column(name, index, at)
                        });
                    }
                    if !data.separator.is_ascii() {
                        this.within("separator", |this| {
                            this.problem("the separator is not ASCII", "such as `;` or a tab");
                        });
                    }
                    return;
                };
                let read = files(&data.file)
                    .map_err(|error| format!("`{}` cannot be read: {error}", data.file))
                    .and_then(|bytes| Table::read(data, &bytes));
                match read {
                    Ok(table) => {
                        for (at, name) in table.columns().iter().enumerate() {
                            this.within("columns", |this| this.column(name, index, at));
                        }
                        this.out.tables.push(table);
                    }
                    Err(error) => {
                        this.names.open = true;
                        this.within("file", |this| this.problem(error, ""));
                    }
                }
            });
        }
    }

    fn column(&mut self, name: &str, table: usize, column: usize) {
        self.check_name(name);
        let value = Name::Value(Value::Column(table, column));
        self.names.known.insert(name.to_owned(), value);
    }

    /// What responses give becomes a variable of the user; if it is something else as well, that
    /// is its first value.
    pub(super) fn extracted(&mut self) {
        let scenario = self.scenario;
        for (index, flow) in scenario.flow.iter().enumerate() {
            self.within(&format!("flow.{index}"), |this| {
                this.extracted_in(&flow.step, 0)
            });
        }
    }

    fn extracted_in(&mut self, steps: &[Step], depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for (index, step) in steps.iter().enumerate() {
            self.within(&format!("step.{index}"), |this| {
                for (at, extract) in step.extract.iter().enumerate() {
                    this.within(&format!("extract.{at}.variable"), |this| {
                        this.check_name(&extract.variable);
                        this.make_slot(&extract.variable);
                    });
                }
                this.extracted_in(&step.step, depth + 1);
            });
        }
    }

    fn make_slot(&mut self, name: &str) {
        let before = self.names.known.get(name).cloned();
        if matches!(before, Some(Name::Value(Value::Slot(_)))) {
            return;
        }
        let slot = self.slot(name);
        match before {
            Some(Name::Constant(text)) => self.out.start.push((slot, Template::of(&text))),
            Some(Name::Value(Value::Column(table, column))) => {
                self.out.copies.push(Copied {
                    slot,
                    table,
                    column,
                });
            }
            _ => {}
        }
        self.names
            .known
            .insert(name.to_owned(), Name::Value(Value::Slot(slot)));
    }

    pub(super) fn base(&mut self) {
        let given = self.setup.and_then(|setup| setup.base.clone());
        let written = self.scenario.base.as_ref().and_then(|text| {
            self.within("base", |this| {
                let template = this.template(text, Coding::Plain);
                let Some(text) = template.fixed() else {
                    this.problem("the base changes from user to user", "a URL of constants");
                    return None;
                };
                Target::parse(text)
                    .map_err(|error| this.problem(error.0, "`http://host:port/`"))
                    .ok()
            })
        });
        self.base = given.or(written);
        if self.base.is_none() && self.setup.is_none() {
            // It may still come from the command line.
            self.base = Target::parse("http://base.invalid/").ok();
        }
    }
}
