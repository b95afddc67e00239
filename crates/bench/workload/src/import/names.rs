//! Names of variables: what other tools allow in them, a scenario does not.

use std::collections::{HashMap, HashSet};

/// Names that a scenario gives a meaning of its own.
const BUILT_IN: [&str; 4] = ["user", "iteration", "random", "uuid"];

/// Gives each name of the source one that a scenario takes: letters, digits, `_`, `-` and `.`, and
/// none of the built-in ones. Different names stay different.
#[derive(Debug, Default)]
pub(super) struct Names {
    given: HashMap<String, String>,
    calls: HashMap<String, String>,
    taken: HashSet<String>,
}

impl Names {
    /// The scenario's name for a variable of the source.
    pub(super) fn of(&mut self, name: &str) -> String {
        if let Some(given) = self.given.get(name) {
            return given.clone();
        }
        let mut plain: String = name
            .trim()
            .chars()
            .take(200)
            .map(|char| {
                if char.is_ascii_alphanumeric() || "_-.".contains(char) {
                    char
                } else {
                    '_'
                }
            })
            .collect();
        if plain.is_empty() || plain.starts_with(|char: char| char.is_ascii_digit()) {
            plain.insert(0, '_');
        }
        let given = self.free(plain);
        self.given.insert(name.into(), given.clone());
        given
    }

    /// The scenario's name for something of the source that is no variable there, such as a call.
    pub(super) fn of_call(&mut self, written: &str, wish: &str) -> String {
        if let Some(given) = self.calls.get(written) {
            return given.clone();
        }
        let given = self.free(wish.into());
        self.calls.insert(written.into(), given.clone());
        given
    }

    /// Every name that had to change, as (before, after), sorted.
    pub(super) fn changed(&self) -> Vec<(String, String)> {
        let mut list: Vec<_> = self
            .given
            .iter()
            .filter(|(before, after)| before != after)
            .map(|(before, after)| (before.clone(), after.clone()))
            .collect();
        list.sort();
        list
    }

    fn free(&mut self, wish: String) -> String {
        let wish = if wish.is_empty() {
            "_".to_owned()
        } else {
            wish
        };
        let mut name = wish.clone();
        let mut number = 1;
        while BUILT_IN.contains(&name.as_str()) || self.taken.contains(&name) {
            number += 1;
            name = if number == 2 && !self.taken.contains(&format!("{wish}_")) {
                format!("{wish}_")
            } else {
                format!("{wish}_{number}")
            };
        }
        self.taken.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_plain_and_stay_different() {
        let mut names = Names::default();
        for (name, expected) in [
            ("token", "token"),
            ("user", "user_"),
            ("user.name", "user.name"),
            ("user-name", "user-name"),
            ("user_name", "user_name"),
            ("user name", "user_name_"),
            ("user$name", "user_name_2"),
            ("1st", "_1st"),
            ("", "_"),
            ("größe", "gr__e"),
            ("random", "random_"),
        ] {
            assert_eq!(names.of(name), expected, "{name}");
        }
        assert_eq!(names.of("user name"), "user_name_");
        assert_eq!(names.of_call("f(1)", "token"), "token_");
        assert_eq!(names.of_call("f(1)", "token"), "token_");
        assert!(!names.changed().iter().any(|(before, _)| before == "token"));
    }
}
