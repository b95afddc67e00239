//! Other programs run to their end.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Outcome;

/// Where `program` is: in `PATH`, or where Debian puts daemons. `program*` is any whose name
/// begins so.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders =
        std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    match program.strip_suffix('*') {
        None => folders
            .map(|folder| folder.join(program))
            .find(|file| file.is_file()),
        Some(start) => folders.find_map(|folder| {
            let files = std::fs::read_dir(folder).ok()?.flatten();
            let mut named =
                files.filter(|file| file.file_name().to_string_lossy().starts_with(start));
            named.next().map(|file| file.path())
        }),
    }
}

/// A command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|w| w.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a command with our output as its own and no input.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let line = line(command);
    println!("$ {line}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|e| format!("{line}: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{line}: {status}").into())
    }
}

/// Runs a command and returns what it printed, both streams.
///
/// # Errors
/// When it cannot be started, or does not succeed (with what it printed).
pub(crate) fn capture(command: &mut Command) -> Outcome<String> {
    let line = line(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{line}: {e}"))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{line}: {}\n{text}", output.status).into())
    }
}

/// `cargo` as it runs us.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::root());
    command
}
