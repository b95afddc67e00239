//! `cargo xtask fuzz`: the targets of `fuzz/`, which is a workspace of its own.

use std::fs;
use std::process::Command;

use crate::options::Options;
use crate::{Outcome, command};

/// Runs the targets called, or all of them. What is found stays in `fuzz/artifacts`.
pub(crate) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args, &[], &["--seconds"])?;
    let seconds: u32 = options.number("--seconds", 30)?;
    let known = targets()?;
    if let Some(name) = options.rest.iter().find(|name| !known.contains(name)) {
        return Err(format!("{name}: no such target; there are {}", known.join(", ")).into());
    }
    let chosen = if options.rest.is_empty() {
        &known
    } else {
        &options.rest
    };
    for target in chosen {
        command::run(
            Command::new(crate::root().join("fuzz/run"))
                .arg(target)
                .arg(seconds.to_string()),
        )?;
    }
    Ok(())
}

/// The names of the targets.
fn targets() -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(crate::root().join("fuzz/targets"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(String::from));
    }
    names.sort();
    Ok(names)
}
