//! `when`: `${a} == text`, `${a} != text`, `${a}` (not empty).

use super::coding::Coding;
use super::memory::Memory;
use super::table::Table;
use super::template::{Names, Template, Wrong};

/// Whether a step is done.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// Both sides are the same text.
    Equal(Template, Template),
    /// They are not.
    Differs(Template, Template),
    /// It is not empty.
    Filled(Template),
}

impl Condition {
    /// Reads a condition. Space around either side does not count; quotes keep it.
    ///
    /// # Errors
    /// The variables that mean nothing.
    pub(crate) fn parse(text: &str, names: &Names) -> Result<Self, Vec<Wrong>> {
        let side = |text: &str| {
            let text = text.trim();
            let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
            let bare = inner('"').or_else(|| inner('\'')).unwrap_or(text);
            Template::parse(bare, names, Coding::Plain)
        };
        let equal = text.split_once("==");
        let differs = text.split_once("!=");
        Ok(match (equal, differs) {
            (Some((a, b)), Some((c, _))) if a.len() < c.len() => Self::Equal(side(a)?, side(b)?),
            (_, Some((a, b))) => Self::Differs(side(a)?, side(b)?),
            (Some((a, b)), None) => Self::Equal(side(a)?, side(b)?),
            (None, None) => Self::Filled(side(text)?),
        })
    }

    /// Whether it holds now.
    pub(crate) fn holds(&self, tables: &[Table], memory: &mut Memory) -> bool {
        match self {
            Self::Equal(a, b) => a.text(tables, memory) == b.text(tables, memory),
            Self::Differs(a, b) => a.text(tables, memory) != b.text(tables, memory),
            Self::Filled(text) => !text.text(tables, memory).is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::template::{Name, Value};
    use super::*;

    #[test]
    fn conditions_hold_or_not() {
        let mut names = Names::default();
        names.known.insert("a".into(), Name::Value(Value::Slot(0)));
        names.known.insert("b".into(), Name::Value(Value::Slot(1)));
        let mut memory = Memory::new(2, 0, 0, 1);
        memory.set(0, "x != y");
        for (text, expected) in [
            ("${a} == x", false),
            ("${a}", true),
            ("${b}", false),
            ("${b} == ", true),
            ("${b} != \"\"", false),
            ("${a} == 'x != y'", true),
            ("${a} != ${b}", true),
            ("${iteration}==0", true),
        ] {
            let condition = Condition::parse(text, &names).unwrap();
            assert_eq!(condition.holds(&[], &mut memory), expected, "{text}");
        }
        assert!(Condition::parse("${c}", &names).is_err());
    }
}
