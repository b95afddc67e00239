//! What an import has to say about what it did not translate as it stood.

use std::collections::HashSet;
use std::fmt;

/// So many notes are kept; one more says how many there were.
const MAX_NOTES: usize = 2_000;

/// Something in the source that the scenario does not say, or says differently.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    /// What it is, in the source's own word: `IfController`, `function`, `entry`.
    pub kind: String,
    /// Its name in the source.
    pub name: String,
    /// Where it stands: names from the root on, with ` / ` between.
    pub path: String,
    /// What became of it.
    pub fate: Fate,
    /// Why, and what to do about it, as a clause without a full stop.
    pub words: String,
}

/// What became of something in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// The scenario has nothing of it.
    LeftOut,
    /// The scenario has it, but not wholly or not exactly so.
    Changed,
    /// It is there; something about it is worth knowing.
    Hint,
}

impl Fate {
    /// For lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::LeftOut => "left out",
            Self::Changed => "changed",
            Self::Hint => "hint",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.fate.name(), self.kind)?;
        if !self.name.is_empty() {
            write!(f, " `{}`", self.name)?;
        }
        if !self.path.is_empty() {
            write!(f, " in {}", self.path)?;
        }
        write!(f, ": {}", self.words)
    }
}

/// Gathers notes, each once, up to a bound.
#[derive(Debug, Default)]
pub(super) struct Notes {
    list: Vec<Note>,
    known: HashSet<Note>,
    beyond: usize,
}

impl Notes {
    pub(super) fn add(&mut self, note: Note) {
        if self.known.contains(&note) {
            return;
        }
        if self.list.len() >= MAX_NOTES {
            self.beyond += 1;
            return;
        }
        self.known.insert(note.clone());
        self.list.push(note);
    }

    pub(super) fn finish(mut self) -> Vec<Note> {
        if self.beyond > 0 {
            self.list.push(Note {
                kind: "notes".into(),
                name: String::new(),
                path: String::new(),
                fate: Fate::Hint,
                words: format!("{} more are not listed", self.beyond),
            });
        }
        self.list
    }
}

/// At most `limit` characters of a text on one line, for messages.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    let mut out: String = text
        .chars()
        .take(limit)
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    if text.chars().nth(limit).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(words: &str) -> Note {
        Note {
            kind: "IfController".into(),
            name: "is it".into(),
            path: "Plan / Group".into(),
            fate: Fate::Changed,
            words: words.into(),
        }
    }

    #[test]
    fn a_note_reads_as_a_sentence() {
        assert_eq!(
            note("its steps are always done").to_string(),
            "changed: IfController `is it` in Plan / Group: its steps are always done"
        );
    }

    #[test]
    fn equal_notes_are_kept_once_and_all_are_counted() {
        let mut notes = Notes::default();
        notes.add(note("a"));
        notes.add(note("a"));
        for number in 0..MAX_NOTES + 4 {
            notes.add(note(&number.to_string()));
        }
        let list = notes.finish();
        assert_eq!(list.len(), MAX_NOTES + 1);
        assert!(
            list[MAX_NOTES].words.starts_with("5 more"),
            "{}",
            list[MAX_NOTES]
        );
    }

    #[test]
    fn long_texts_are_shortened_at_a_character() {
        assert_eq!(shortened("äöü\nx", 4), "äöü …");
        assert_eq!(shortened("äöü", 3), "äöü");
    }
}
