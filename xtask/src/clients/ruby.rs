//! Ruby: Dalli, and Rack's sessions in it, as Debian has them.

use std::process::Command;

use crate::Outcome;

use super::stores::Stores;
use super::{Directories, script};

/// Debian's own, whatever else is called so: the packages are for this one.
const RUBY: &str = "/usr/bin/ruby";

const STORIES: [&str; 2] = ["with_dalli", "with_rack"];

/// Tries them.
///
/// # Errors
/// When a promise is not kept.
pub(super) fn run(stores: &Stores, directories: &Directories) -> Outcome {
    for story in STORIES {
        let mut ruby = Command::new(RUBY);
        ruby.arg(directories.stories.join(format!("{story}.rb")));
        let complaints = directories.kept.join(format!("{story}.log"));
        script::run(&mut ruby, stores, &complaints)?;
    }
    Ok(())
}
