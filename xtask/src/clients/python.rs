//! Python: pymemcache and pylibmc, as Debian has them, because pylibmc's SASL takes the system's modules.

use std::process::Command;

use crate::Outcome;

use super::stores::Stores;
use super::{Directories, script};

/// Debian's own, whatever else is called so: the packages are for this one.
const PYTHON: &str = "/usr/bin/python3";

const STORIES: [&str; 2] = ["with_pymemcache", "with_pylibmc"];

/// Tries them.
///
/// # Errors
/// When a promise is not kept.
pub(super) fn run(stores: &Stores, directories: &Directories) -> Outcome {
    for story in STORIES {
        let mut python = Command::new(PYTHON);
        // Nothing is written beside the stories.
        python
            .arg("-B")
            .arg(directories.stories.join(format!("{story}.py")));
        let complaints = directories.kept.join(format!("{story}.log"));
        script::run(&mut python, stores, &complaints)?;
    }
    Ok(())
}
