//! What is known while a plan is translated: where in it we are, what its
//! variables mean, what has been said about it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::super::names::Names;
use super::super::notes::{Fate, Note, Notes, shortened};
use super::template::{self, Part};
use super::tree::Element;

/// So many bytes may a plan unfold to.
const MAX_UNFOLDED_BYTES: usize = 256 << 20;
/// A constant may be so long once the constants in it are put in.
const MAX_CONSTANT_BYTES: usize = 64 << 10;
/// Constants that use constants, functions within functions: so deep.
const MAX_NESTING: usize = 16;

/// What a variable of the plan stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    /// Always the same text.
    Constant(String),
    /// Something that changes, as the scenario writes it.
    Template(String),
}

/// The state of an import.
#[derive(Debug, Default)]
pub(super) struct Context {
    pub(super) notes: Notes,
    pub(super) names: Names,
    /// The scenario's constants.
    pub(super) variables: BTreeMap<String, String>,
    /// The scenario's names that its texts use, and where first.
    pub(super) used: BTreeMap<String, String>,
    /// What throughput timers held the plan to.
    pub(super) rate_per_second: Option<f64>,
    /// Names that the plan's texts use, as written.
    pub(super) mentioned: BTreeSet<String>,
    /// Names of elements from the root on.
    path: Vec<String>,
    kind: String,
    name: String,
    /// The plan's definitions as written.
    definitions: HashMap<String, String>,
    /// The plan's names that get other values while users are at work.
    assigned: HashSet<String>,
    meanings: HashMap<String, Option<Meaning>>,
    nesting: usize,
    unfolded: usize,
}

impl Context {
    /// Says which element the next notes are about.
    pub(super) fn at(&mut self, element: &Element<'_>) {
        self.kind = element.kind.into();
        self.name = shortened(element.name, 200);
    }

    /// Does something among the children of an element.
    pub(super) fn within<T>(
        &mut self,
        element: &Element<'_>,
        act: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.path.push(shortened(element.name, 100));
        let out = act(self);
        self.path.pop();
        out
    }

    /// Names from the root to the element whose children are looked at.
    pub(super) fn place(&self) -> String {
        self.path.join(" / ")
    }

    /// A note about the element that [`Context::at`] named.
    pub(super) fn note(&mut self, fate: Fate, words: impl Into<String>) {
        let (kind, name) = (self.kind.clone(), self.name.clone());
        self.note_about(&kind, &name, fate, words);
    }

    /// A note about something else at this place.
    pub(super) fn note_about(
        &mut self,
        kind: &str,
        name: &str,
        fate: Fate,
        words: impl Into<String>,
    ) {
        self.notes.add(Note {
            kind: kind.into(),
            name: shortened(name, 200),
            path: self.place(),
            fate,
            words: words.into(),
        });
    }

    /// Counts what the scenario grows by.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.unfolded = self.unfolded.saturating_add(bytes);
    }

    /// Whether the plan unfolds to more than is taken; then the rest is not translated any more.
    pub(super) fn is_exhausted(&self) -> bool {
        self.unfolded > MAX_UNFOLDED_BYTES
    }

    /// A constant of the plan. The last definition of a name counts, as in JMeter.
    pub(super) fn define(&mut self, name: &str, value: &str) {
        let known = self.definitions.insert(name.into(), value.into());
        if known.is_some_and(|known| known != value) {
            self.note_about(
                "variable",
                name,
                Fate::Changed,
                "it is defined more than once; the last definition counts",
            );
        }
    }

    /// A name whose value changes while users are at work.
    pub(super) fn assign(&mut self, name: &str) {
        self.assigned.insert(name.into());
    }

    /// Gives a variable a meaning that a scenario has words for.
    pub(super) fn alias(&mut self, name: &str, text: String) {
        self.meanings
            .insert(name.into(), Some(Meaning::Template(text)));
    }

    /// Whether the plan gives a name a meaning anywhere.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.definitions.contains_key(name)
            || self.assigned.contains(name)
            || self.meanings.contains_key(name)
    }

    /// A text of the plan as a scenario writes it.
    pub(super) fn text(&mut self, raw: &str) -> String {
        let out = self.unfold(raw, false);
        self.spend(out.len());
        out
    }

    /// A text of the plan, when it does not depend on anything that changes.
    pub(super) fn fixed(&mut self, raw: &str) -> Option<String> {
        let text = self.unfold(raw, true);
        template::plain(&text)
    }

    /// A number of the plan, when it does not change.
    pub(super) fn number(&mut self, raw: &str) -> Option<f64> {
        let number: f64 = self.fixed(raw)?.trim().parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Whether a scenario's text can be a whole number once its variables are filled in.
    pub(super) fn may_be_a_number(&self, text: &str) -> bool {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        template::parts(text).iter().all(|part| match part {
            Part::Text(text) => digits(text),
            Part::Variable(name) => self.variables.get(*name).is_none_or(|value| digits(value)),
        })
    }

    /// A text with its constants put in.
    pub(super) fn settled(&mut self, raw: &str) -> String {
        let out = self.unfold(raw, true);
        self.spend(out.len());
        out
    }

    /// Defines what every definition stands for, used or not, so that it can be changed in the
    /// scenario's head.
    pub(super) fn finish_definitions(&mut self) {
        let mut names: Vec<String> = self.definitions.keys().cloned().collect();
        names.sort();
        for name in names {
            let _ = self.meaning(&name);
        }
    }

    /// What stands for a variable. `put_in`: constants as their text.
    pub(super) fn variable(&mut self, name: &str, put_in: bool) -> String {
        let meaning = self.meaning(name);
        let changes = self.assigned.contains(name);
        match meaning {
            Some(Meaning::Template(text)) if !changes => text,
            Some(Meaning::Constant(text)) if !changes && put_in => template::escape(&text),
            _ => self.reference(name),
        }
    }

    /// `${name}` by the scenario's name.
    pub(super) fn reference(&mut self, name: &str) -> String {
        let given = self.names.of(name);
        if !self.used.contains_key(&given) {
            let place = self.place();
            self.used.insert(given.clone(), place);
        }
        format!("${{{given}}}")
    }

    /// Turns `${…}` of the plan into the scenario's, down to a depth.
    pub(super) fn unfold(&mut self, raw: &str, put_in: bool) -> String {
        if self.nesting >= MAX_NESTING || self.is_exhausted() {
            self.note(
                Fate::Changed,
                "a text in it unfolds to too much and is left as it is",
            );
            return template::escape(raw);
        }
        self.nesting += 1;
        let out = super::text::unfold(self, raw, put_in);
        self.nesting -= 1;
        out
    }

    fn meaning(&mut self, name: &str) -> Option<Meaning> {
        if let Some(known) = self.meanings.get(name) {
            return known.clone();
        }
        let raw = self.definitions.get(name)?.clone();
        // Whoever asks again meanwhile is told nothing: a definition that uses itself ends here.
        self.meanings.insert(name.into(), None);
        let text = self.unfold(&raw, true);
        let meaning = if text.len() > MAX_CONSTANT_BYTES {
            self.note_about(
                "variable",
                name,
                Fate::Changed,
                format!(
                    "it unfolds to more than {} KiB and is empty",
                    MAX_CONSTANT_BYTES >> 10
                ),
            );
            Meaning::Constant(String::new())
        } else {
            match template::plain(&text) {
                Some(text) => Meaning::Constant(text),
                None => Meaning::Template(text),
            }
        };
        let meaning = self.remember(name, &meaning);
        self.meanings.insert(name.into(), Some(meaning.clone()));
        Some(meaning)
    }

    /// Writes a definition into the scenario's head, when it can stand there.
    fn remember(&mut self, name: &str, meaning: &Meaning) -> Meaning {
        match meaning {
            Meaning::Constant(text) => {
                let given = self.names.of(name);
                self.variables.insert(given, template::escape(text));
                meaning.clone()
            }
            Meaning::Template(text) if is_drawn(text) => {
                self.note_about(
                    "variable",
                    name,
                    Fate::Changed,
                    "its value is drawn once for each user; JMeter draws it once for all",
                );
                let given = self.names.of(name);
                self.variables.insert(given.clone(), text.clone());
                Meaning::Template(format!("${{{given}}}"))
            }
            Meaning::Template(_) => meaning.clone(),
        }
    }
}

/// Whether all that changes in a text is drawn by chance.
fn is_drawn(text: &str) -> bool {
    template::parts(text).iter().all(|part| match part {
        Part::Text(_) => true,
        Part::Variable(name) => *name == "uuid" || *name == "random" || name.starts_with("random:"),
    })
}
