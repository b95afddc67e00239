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
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::options::Options;
use crate::{Outcome, command, forebay};

/// How to call it.
pub(crate) const USAGE: &str = "[--seconds S] [--binary PATH]
    Builds the program for installing: a release build that is compiled for the work it does.
    --seconds S     learn anew, and do each kind of work so long for it [3]
    --binary PATH   only let this forebay do that work: to see that it can
    The program is target/dist/forebay. It takes two builds, from nothing about ten minutes on two
    cores; none when nothing has changed.";

/// How long it does each kind of work to learn from it.
const EACH: Duration = Duration::from_secs(3);

/// `cargo xtask dist`
pub(crate) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args, &[], &["--seconds", "--binary"])?;
    let asked = match options.text("--seconds") {
        Some(_) => Some(options.number("--seconds", 0)?.clamp(1, 600)),
        None => None,
    };
    let asked = asked.map(Duration::from_secs);
    if let Some(path) = options.text("--binary") {
        return training::run(&forebay::binary(Some(path))?, asked.unwrap_or(EACH));
    }
    println!("{}", built(asked)?.display());
    Ok(())
}

/// The program as it is installed; built now, if it is not that of the code as it stands.
///
/// # Errors
/// When a build fails, or the work between the two.
pub(crate) fn program() -> Outcome<PathBuf> {
    built(None)
}

/// The same, from work that is done anew for so long if that is asked for.
fn built(asked: Option<Duration>) -> Outcome<PathBuf> {
    let merger = merger()?;
    let dir = crate::target_dir().join("dist");
    let profiles = dir.join("profiles");
    let informed = dir.join("informed");
    let profile = dir.join("forebay.profdata");

    let counting = format!("-Cprofile-generate={}", profiles.display());
    let counted = build(&dir.join("counting"), &counting)?;
    if asked.is_some() || !newer(&profile, &counted) {
        // What another version of the code has counted is of no use, nor what was made of it:
        // cargo looks at a profile's name alone.
        crate::empty(&profiles)?;
        crate::empty(&informed)?;
        training::run(&counted, asked.unwrap_or(EACH))?;
        merge(&merger, &profiles, &profile)?;
    }

    let using = format!("-Cprofile-use={}", profile.display());
    let program = build(&informed, &using)?;
    let installed = dir.join("forebay");
    if !newer(&installed, &program) {
        // One that is running there can be replaced, not written to.
        let copy = dir.join("forebay.new");
        fs::copy(&program, &copy)?;
        fs::rename(&copy, &installed)?;
    }
    Ok(installed)
}

/// Whether `made` is there, and was written after what it was made `from`.
fn newer(made: &Path, from: &Path) -> bool {
    let written = |path: &Path| path.metadata().and_then(|of| of.modified());
    match (written(made), written(from)) {
        (Ok(made), Ok(from)) => made > from,
        _ => false,
    }
}

/// Makes one `profile` of what every process of the training has counted.
fn merge(merger: &Path, counts: &Path, profile: &Path) -> Outcome {
    let raw = fs::read_dir(counts)?.flatten().map(|file| file.path());
    let raw: Vec<PathBuf> = raw.collect();
    if raw.is_empty() {
        return Err("the training has left no profile".into());
    }
    let mut merging = Command::new(merger);
    command::run(merging.arg("merge").arg("-o").arg(profile).args(raw))
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
