//! Other programs: where they are, and what they print.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where `program` is: in `PATH`, or where Debian puts daemons. One with a folder is taken as it is.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|p| p.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let daemons = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(daemons)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// A command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| quoted(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+{}".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Runs a command and returns what it printed, both streams.
///
/// # Errors
/// When it cannot be started, or does not succeed (with what it printed).
pub(crate) fn capture(command: &mut Command) -> Result<String, String> {
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
        Err(format!("{line}: {}\n{}", output.status, text.trim_end()))
    }
}

/// `program` on the given cores, and gone when we are: even when we are killed. Without the tools of util-linux, as
/// it is. The process is `program` itself, for these tools become it.
pub(crate) fn pinned(cores: &str, program: &Path) -> Command {
    let mut words: Vec<PathBuf> = Vec::new();
    if let Some(setpriv) = find("setpriv") {
        words.extend([setpriv, "--pdeathsig".into(), "TERM".into()]);
    }
    if let Some(taskset) = find("taskset").filter(|_| !cores.is_empty()) {
        words.extend([taskset, "-c".into(), cores.into()]);
    }
    words.push(program.to_path_buf());
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_pasted_into_a_shell() {
        let mut command = Command::new("a");
        command.args(["-x", "b c", "", "it's", "/p:1"]);
        assert_eq!(line(&command), r"a -x 'b c' '' 'it'\''s' /p:1");
    }

    #[test]
    fn what_a_failed_command_printed_is_in_the_error() {
        let failed = capture(Command::new("sh").args(["-c", "echo why >&2; exit 3"]));
        assert!(failed.is_err_and(|e| e.contains("why") && e.contains('3')));
    }
}
