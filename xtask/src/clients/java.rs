//! Java: spymemcached, and memcached-session-manager in embedded Tomcats; from Maven Central, as `jars.txt` names them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, command};

use super::stores::Stores;
use super::{Directories, NotFetched, script};

/// Where the paths of `jars.txt` lead on.
const CENTRAL: &str = "https://repo1.maven.org/maven2";

const STORIES: [&str; 2] = ["Spy", "Failover"];

/// Tries them.
///
/// # Errors
/// When they cannot be fetched or the stories do not compile, or a promise is not kept.
pub(super) fn run(stores: &Stores, directories: &Directories) -> Outcome {
    let mut path = fetch(directories)?;
    path.push(compile(directories, &path)?);
    let path = std::env::join_paths(path)?;
    // What Tomcats leave behind goes with it.
    let work = tempfile::tempdir()?;
    for story in STORIES {
        let mut java = Command::new("java");
        java.args(["-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp"])
            .arg(&path)
            .arg(story)
            .current_dir(work.path());
        let complaints = directories.kept.join(format!("{story}.log"));
        script::run(&mut java, stores, &complaints)?;
    }
    Ok(())
}

/// The libraries, fetched unless they are there, each with the checksum that is asked of it.
fn fetch(directories: &Directories) -> Outcome<Vec<PathBuf>> {
    let list = directories.stories.join("jars.txt");
    let text = fs::read_to_string(&list)?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let jars = lines.map(|line| {
        let (sum, path) = line
            .split_once("  ")
            .ok_or_else(|| format!("{}: not CHECKSUM and PATH: {line}", list.display()))?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let jar = directories.kept.join(name);
        if !jar.exists() {
            fetch_one(sum, path, &jar)?;
        }
        Ok(jar)
    });
    jars.collect()
}

/// Under its name there is never half a library, nor one that is not what was asked for.
fn fetch_one(sum: &str, path: &str, jar: &Path) -> Outcome {
    let part = jar.with_extension("part");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--location"])
        .args(["--retry", "3", "--max-time", "120", "--output"])
        .arg(&part)
        .arg(format!("{CENTRAL}/{path}"));
    command::run(&mut curl).map_err(|e| NotFetched(format!("Maven Central: {e}")))?;
    let told = command::capture(Command::new("sha256sum").arg(&part))?;
    if !told.starts_with(sum) {
        return Err(format!("{path}: its SHA-256 is not {sum} but {told}").into());
    }
    fs::rename(part, jar)?;
    Ok(())
}

/// Compiles the stories; where the classes are.
fn compile(directories: &Directories, path: &[PathBuf]) -> Outcome<PathBuf> {
    let classes = directories.kept.join("classes");
    let files = fs::read_dir(&directories.stories)?.flatten();
    let sources = files
        .map(|file| file.path())
        .filter(|file| file.extension().is_some_and(|end| end == "java"));
    let mut javac = Command::new("javac");
    javac
        .args(["-proc:none", "-cp"])
        .arg(std::env::join_paths(path)?)
        .arg("-d")
        .arg(&classes)
        .args(sources);
    command::capture(&mut javac)?;
    Ok(classes)
}
