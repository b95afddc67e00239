//! The files that a recording becomes.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use forebay_results::format;

use super::RecordArgs;
use super::har;
use super::hosts::{self, Use};
use super::tape::Tape;
use super::weave::{self, Wishes, Woven};

/// Says before anything is recorded that it could not be written.
///
/// # Errors
/// In words for the user.
pub(super) fn check_writable(args: &RecordArgs) -> Result<(), String> {
    for path in [Some(&args.out), args.har.as_ref()].into_iter().flatten() {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if path.is_dir() || !folder.is_dir() {
            return Err(format!(
                "{}: there is no folder for it, or it is one",
                path.display()
            ));
        }
        fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| unwritable(path, &error))?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot be written: {error}", path.display())
}

/// Writes everything that was recorded until now, and says in words what that is.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write(args: &RecordArgs, tape: &Tape) -> Result<String, String> {
    let taken = tape.taken();
    if let Some(path) = &args.har {
        replace(
            path,
            har::document(&taken, tape.began_at).to_string().as_bytes(),
        )?;
    }
    let stem = args
        .out
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let woven = weave::weave(
        &taken,
        &Wishes {
            name: stem.clone(),
            without_resources: args.without_resources,
            keep_hosts: args.keep_hosts.clone(),
            stem,
        },
    );
    for (name, bytes) in &woven.files {
        replace(&args.out.with_file_name(name), bytes)?;
    }
    let notes = notes(&woven, tape, &args.keep_hosts);
    let mut text = comment(&notes);
    if woven.scenario.flow.iter().all(|flow| flow.step.is_empty()) {
        text.push_str("# No request was recorded.\n");
    } else {
        text.push_str(&woven.scenario.to_toml());
    }
    replace(&args.out, text.as_bytes())?;
    Ok(summary(args, &woven, taken.len() as u64, &notes))
}

/// What a person must know of the recording.
fn notes(woven: &Woven, tape: &Tape, keep_hosts: &[String]) -> Vec<String> {
    let is_kept = |host: &String| host.is_empty() || hosts::of(host, keep_hosts) == Use::Kept;
    let mut notes = woven.notes.clone();
    let missed = tape.missed().into_iter().filter(|(host, _)| is_kept(host));
    notes.extend(missed.map(|(_, words)| words));
    let (tunnelled, own): (Vec<_>, Vec<_>) = tape.tunnelled().into_iter().partition(is_kept);
    for host in tunnelled {
        notes.push(format!(
            "{host} was spoken to under TLS, which a proxy cannot read: nothing of it is recorded; \
             `forebay bench record --target https://{host}` records it"
        ));
    }
    if !own.is_empty() {
        notes.push(format!("left out, under TLS: {}", own.join(", ")));
    }
    notes
}

fn comment(notes: &[String]) -> String {
    let when = har::rfc3339(SystemTime::now());
    let mut text = format!(
        "# Recorded by forebay bench record, {when}. Cookies are each user's own and are not written here.\n"
    );
    for note in notes {
        let _ = writeln!(text, "# - {}", format::plain(note));
    }
    text.push('\n');
    text
}

fn summary(args: &RecordArgs, woven: &Woven, recorded: u64, notes: &[String]) -> String {
    let steps: u64 = woven
        .scenario
        .flow
        .iter()
        .map(|flow| flow.step.len() as u64)
        .sum();
    let mut text = format!(
        "{}: {} recorded, {}\n",
        args.out.display(),
        format::counted(recorded, "request", "requests"),
        format::counted(steps, "step", "steps"),
    );
    for note in notes {
        let _ = writeln!(text, "  - {}", format::plain(note));
    }
    if steps > 0 {
        let _ = writeln!(
            text,
            "try it: forebay bench --scenario {} -c 1 -d 10s",
            args.out.display()
        );
    }
    text
}

/// Writes a file so that it is there as a whole or as it was before. A recording may hold
/// passwords: nobody else may read it.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), String> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    let new: PathBuf = path.with_file_name(name);
    let write = || {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(bytes)?;
        fs::rename(&new, path)
    };
    write().map_err(|error: io::Error| unwritable(path, &error))
}
