//! `cargo xtask docs`: the pages that are generated from the program's own tables.

use std::fs;

use crate::options::Options;
use crate::{Outcome, command};

/// A page of `docs/`, and the arguments with which `forebay` prints it.
const PAGES: &[(&str, &[&str])] = &[("configuration.md", &["explain", "--markdown"])];

/// Writes the pages, or only compares them.
pub(crate) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args, &["--check"], &[])?;
    command::run(command::cargo().args(["build", "--quiet", "--package", "forebay"]))?;
    let program = crate::target_dir().join("debug/forebay");
    for (page, arguments) in PAGES {
        let file = crate::root().join("docs").join(page);
        let text = command::capture(std::process::Command::new(&program).args(*arguments))?;
        let current = fs::read_to_string(&file).unwrap_or_default() == text;
        if current {
            println!("docs/{page} is current");
        } else if options.flag("--check") {
            return Err(format!("docs/{page} is not current: cargo xtask docs").into());
        } else {
            fs::create_dir_all(crate::root().join("docs"))?;
            fs::write(&file, text)?;
            println!("docs/{page} is written");
        }
    }
    Ok(())
}
