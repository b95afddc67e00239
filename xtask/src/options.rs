//! Arguments of a command: flags, options with a value, and the rest.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::Outcome;

/// Arguments, sorted.
#[derive(Debug, Default)]
pub(crate) struct Options {
    values: BTreeMap<String, String>,
    /// What is not an option, in order.
    pub(crate) rest: Vec<String>,
}

impl Options {
    /// Sorts `args`; only names in `flags` and `valued` are known.
    ///
    /// # Errors
    /// An option that is not known, or that lacks its value.
    pub(crate) fn parse(args: &[String], flags: &[&str], valued: &[&str]) -> Outcome<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, inline) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (arg.as_str(), None),
            };
            if flags.contains(&name) && inline.is_none() {
                options.values.insert(name.into(), String::new());
            } else if valued.contains(&name) {
                let value = inline.or_else(|| args.next().cloned());
                let value = value.ok_or_else(|| format!("{name} lacks its value"))?;
                options.values.insert(name.into(), value);
            } else if name.starts_with('-') {
                return Err(format!("{name}: unknown option; see --help").into());
            } else {
                options.rest.push(arg.clone());
            }
        }
        Ok(options)
    }

    /// Whether `name` was given.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value of `name`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The value of `name` as a number, or `default`.
    ///
    /// # Errors
    /// When it is not a number of that kind.
    pub(crate) fn number<T: FromStr>(&self, name: &str, default: T) -> Outcome<T> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| format!("{name} {text}: not a number").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(line: &str) -> Outcome<Options> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        Options::parse(&args, &["--quick"], &["--rounds"])
    }

    #[test]
    fn flags_values_and_the_rest_are_told_apart() {
        let options = parse("hit-6k --rounds 3 --quick miss-6k").unwrap();
        assert!(options.flag("--quick"));
        assert_eq!(options.number("--rounds", 9).unwrap(), 3);
        assert_eq!(options.rest, ["hit-6k", "miss-6k"]);
        assert_eq!(
            parse("--rounds=4").unwrap().number("--rounds", 9).unwrap(),
            4
        );
    }

    #[test]
    fn mistakes_are_named() {
        for line in ["--round 3", "--rounds", "--quick=1"] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(parse("--rounds x").unwrap().number("--rounds", 1).is_err());
    }
}
