//! Developers' commands: `cargo xtask COMMAND`. The list is [`COMMANDS`]; `cargo xtask --help` prints it.

mod apt;
mod clients;
mod command;
mod compare;
mod conformance;
mod crash;
mod dist;
mod docs;
mod forebay;
mod fuzz;
mod http;
mod memory;
mod options;
mod process;
mod restart;
mod test;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a command returns: nothing, or a sentence for the developer.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// One command.
struct Command {
    name: &'static str,
    /// Its arguments, and under it what it does.
    usage: &'static str,
    run: fn(&[String]) -> Outcome,
}

/// Every command, in the order in which one meets them.
const COMMANDS: &[Command] = &[
    Command {
        name: "setup",
        usage: "\n    Installs what the other commands need (Debian packages; as root).",
        run: apt::setup,
    },
    Command {
        name: "test",
        usage: "[STEP…]\n    Everything that must pass: format, lints, tests, conformance, training, clients, memory, crash. With STEPs only those.",
        run: test::run,
    },
    Command {
        name: "conformance",
        usage: conformance::USAGE,
        run: conformance::run,
    },
    Command {
        name: "clients",
        usage: clients::USAGE,
        run: clients::run,
    },
    Command {
        name: "compare",
        usage: compare::USAGE,
        run: compare::run,
    },
    Command {
        name: "dist",
        usage: dist::USAGE,
        run: dist::run,
    },
    Command {
        name: "memory",
        usage: memory::USAGE,
        run: memory::run,
    },
    Command {
        name: "crash",
        usage: crash::USAGE,
        run: crash::run,
    },
    Command {
        name: "restart",
        usage: restart::USAGE,
        run: restart::run,
    },
    Command {
        name: "fuzz",
        usage: "[TARGET…] [--seconds N]\n    Runs the fuzz targets, each for N seconds [30], starting from its corpus.",
        run: fuzz::run,
    },
    Command {
        name: "docs",
        usage: "[--check]\n    Writes the generated pages of docs/ anew; with --check only says whether they are current.",
        run: docs::run,
    },
];

/// The repository's root.
fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map(PathBuf::from).unwrap_or(own)
}

/// Where build results and reports go: `CARGO_TARGET_DIR`, or `target` in the repository.
fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Makes a directory, or leaves nothing in the one that is there.
fn empty(dir: &Path) -> Outcome {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e.into()),
        _ => Ok(fs::create_dir_all(dir)?),
    }
}

fn usage() -> String {
    let mut text = String::from("cargo xtask COMMAND\n");
    for command in COMMANDS {
        text.push_str(&format!("\n  {} {}\n", command.name, command.usage));
    }
    text
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let help = args.iter().any(|a| a == "--help" || a == "-h");
    let command = args
        .first()
        .and_then(|name| COMMANDS.iter().find(|c| c.name == name));
    match command {
        Some(command) if help => println!("cargo xtask {} {}", command.name, command.usage),
        Some(command) => {
            if let Err(e) = (command.run)(args.get(1..).unwrap_or_default()) {
                eprintln!("cargo xtask {}: {e}", command.name);
                return ExitCode::FAILURE;
            }
        }
        None if help || args.is_empty() => println!("{}", usage()),
        None => {
            eprintln!("{}", usage());
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
