//! `cargo xtask dist`: the program for installing, compiled with a profile of itself at work.
//!
//! It is built with counters, does the work of [`training`] for some seconds each, and is built
//! again with what was counted: the compiler then knows which branches are taken and which
//! functions belong together. For a server whose instructions do not fit the processor's first
//! cache that is worth more than any single change to the code; how much is in
//! `docs/benchmarks.md`.

mod fastcgi;
mod training;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::options::Options;
use crate::{Outcome, command, forebay};

/// How to call it.
pub(crate) const USAGE: &str = "[--seconds S] [--binary PATH]
    Builds the program for installing: a release build that is compiled for the work it does.
    --seconds S     how long it does each kind of work to learn from it [3]
    --binary PATH   only let this forebay do that work: to see that it can
    The program is target/dist/forebay. It takes two builds from nothing: about ten minutes on two cores.";

/// `cargo xtask dist`
pub(crate) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args, &[], &["--seconds", "--binary"])?;
    let each = Duration::from_secs(options.number("--seconds", 3)?.clamp(1, 600));
    if let Some(path) = options.text("--binary") {
        return training::run(&forebay::binary(Some(path))?, each);
    }
    let merger = merger()?;
    let dir = crate::target_dir().join("dist");
    // What another version of the code has counted is of no use, nor what was made of it: cargo
    // looks at a profile's name alone.
    let profiles = empty(dir.join("profiles"))?;
    let informed = empty(dir.join("informed"))?;

    let counting = format!("-Cprofile-generate={}", profiles.display());
    let counted = build(&dir.join("counting"), &counting)?;
    training::run(&counted, each)?;

    let profile = dir.join("forebay.profdata");
    let raw = fs::read_dir(&profiles)?.flatten().map(|file| file.path());
    let raw: Vec<PathBuf> = raw.collect();
    if raw.is_empty() {
        return Err("the training has left no profile".into());
    }
    command::run(
        Command::new(merger)
            .arg("merge")
            .arg("-o")
            .arg(&profile)
            .args(raw),
    )?;

    let using = format!("-Cprofile-use={}", profile.display());
    let program = build(&informed, &using)?;
    let installed = dir.join("forebay");
    // One that is running there can be replaced, not written to.
    let copy = dir.join("forebay.new");
    fs::copy(&program, &copy)?;
    fs::rename(&copy, &installed)?;
    println!("{}", installed.display());
    Ok(())
}

/// This directory without anything in it.
fn empty(dir: PathBuf) -> Outcome<PathBuf> {
    match fs::remove_dir_all(&dir) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e.into()),
        _ => fs::create_dir_all(&dir)?,
    }
    Ok(dir)
}

/// Builds the program in `dir` with a flag for the compiler, beside those of the environment (not
/// those of cargo's configuration files, which the environment's take the place of).
fn build(dir: &Path, flag: &str) -> Outcome<PathBuf> {
    let host = host()?;
    // Parted as they are here, a path among them may have blanks.
    const ENCODED: &str = "CARGO_ENCODED_RUSTFLAGS";
    let own = std::env::var(ENCODED).or_else(|_| {
        let plain = std::env::var("RUSTFLAGS")?;
        let words: Vec<&str> = plain.split_whitespace().collect();
        Ok::<_, std::env::VarError>(words.join("\u{1f}"))
    });
    let flags = match own {
        Ok(own) if !own.is_empty() => format!("{own}\u{1f}{flag}"),
        _ => flag.to_owned(),
    };
    // With a target given, the flags are not those of build scripts and macros.
    let args = [
        "build",
        "--release",
        "--package",
        "forebay",
        "--target",
        &host,
    ];
    let mut cargo = command::cargo();
    cargo.args(args).arg("--target-dir").arg(dir);
    command::run(cargo.env(ENCODED, flags))?;
    Ok(dir.join(host).join("release").join("forebay"))
}

/// What the compiler says about itself.
fn rustc(args: &[&str]) -> Outcome<String> {
    command::capture(Command::new("rustc").current_dir(crate::root()).args(args))
}

/// The machine that it compiles for.
fn host() -> Outcome<String> {
    let version = rustc(&["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}

/// The compiler's own `llvm-profdata`: no other is sure to read its profiles. A component of
/// rustup, which is asked for it if it is not there.
fn merger() -> Outcome<PathBuf> {
    let said = rustc(&["--print", "target-libdir"])?;
    let libraries = PathBuf::from(said.lines().next().unwrap_or_default());
    let tools = libraries.parent().ok_or("no directory of libraries")?;
    let merger = tools.join("bin/llvm-profdata");
    if !merger.is_file() {
        command::run(Command::new("rustup").args(["component", "add", "llvm-tools"]))?;
    }
    match merger.is_file() {
        true => Ok(merger),
        false => Err(format!("{}: not there", merger.display()).into()),
    }
}
