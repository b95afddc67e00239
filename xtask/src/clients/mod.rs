//! `cargo xtask clients`: what applications keep their sessions with, on real stores of the real binary.
//!
//! The stories are in `tests/clients`, in each client's language. Python's and Ruby's clients are Debian's; those of
//! Node and Java come from their registries, at exactly the versions that are named there, and stay in the target
//! directory. Where a registry cannot be reached, its language is not tried, and that is said.

mod java;
mod node;
mod python;
mod ruby;
mod script;
mod stores;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::options::Options;
use crate::{Outcome, apt, forebay};
use stores::Stores;

/// How to call it.
pub(crate) const USAGE: &str = "[LANGUAGE…] [--binary PATH]
    Real clients of session stores against the real binary, in python, ruby, node and java, or only in these LANGUAGEs.
    --binary PATH   this forebay instead of a fresh release build";

/// The clients of one language.
struct Language {
    name: &'static str,
    /// Tries them on two stores, with a directory that is kept.
    run: fn(&Stores, &Directories) -> Outcome,
}

/// A registry that could not be reached, and why: nothing is known about its clients.
#[derive(Debug)]
struct NotFetched(String);

impl fmt::Display for NotFetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its clients could not be fetched from {}", self.0)
    }
}

impl std::error::Error for NotFetched {}

/// Where the clients of a language are.
struct Directories {
    /// Their stories, in the repository.
    stories: PathBuf,
    /// What was fetched and built for them, kept in the target directory.
    kept: PathBuf,
}

const LANGUAGES: &[Language] = &[
    Language {
        name: "python",
        run: python::run,
    },
    Language {
        name: "ruby",
        run: ruby::run,
    },
    Language {
        name: "node",
        run: node::run,
    },
    Language {
        name: "java",
        run: java::run,
    },
];

/// `cargo xtask clients`
pub(crate) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args, &[], &["--binary"])?;
    let languages = chosen(&options.rest)?;
    apt::for_clients()?;
    let binary = forebay::binary(options.text("--binary"))?;
    let mut faults = Vec::new();
    for language in languages {
        let began = Instant::now();
        match language.tried(&binary) {
            Ok(()) => {
                let seconds = began.elapsed().as_secs_f64();
                println!("{}: ok in {seconds:.1} s", language.name);
            }
            Err(error) if error.is::<NotFetched>() => {
                println!("*** NOT TESTED: {}: {error} ***", language.name);
            }
            Err(error) => faults.push(format!("{}: {error}", language.name)),
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("{} faults:\n  {}", faults.len(), faults.join("\n  ")).into())
}

/// Those with these names, or all.
fn chosen(names: &[String]) -> Outcome<Vec<&'static Language>> {
    if names.is_empty() {
        return Ok(LANGUAGES.iter().collect());
    }
    let known: Vec<_> = LANGUAGES.iter().map(|l| l.name).collect();
    let named = names.iter().map(|name| {
        let found = LANGUAGES.iter().find(|l| l.name == name);
        found.ok_or_else(|| {
            let known = known.join(", ");
            format!("{name}: no such language; there are {known}").into()
        })
    });
    named.collect()
}

impl Language {
    /// Its clients on stores of their own.
    fn tried(&self, binary: &Path) -> Outcome {
        let directories = Directories {
            stories: crate::root().join("tests/clients").join(self.name),
            kept: crate::target_dir().join("clients").join(self.name),
        };
        let stores = Stores::start(binary, &directories.kept)?;
        (self.run)(&stores, &directories)
    }
}
