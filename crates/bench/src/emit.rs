//! What comes out at the end: the report in the forms asked for, and whether
//! the assertions hold.

use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use forebay_results::{Assertion, Report, assert, csv, html, markdown, table};

use crate::Failure;
use crate::args::{Format, Output};

/// # Errors
/// What is wrong with an expression; exit status 2.
pub(crate) fn assertions(texts: &[String]) -> Result<Vec<Assertion>, Failure> {
    texts
        .iter()
        .map(|text| assertion("--assert", text))
        .collect()
}

pub(crate) fn assertion(option: &str, text: &str) -> Result<Assertion, Failure> {
    Assertion::parse(text).map_err(|error| Failure::Usage(format!("{option}: {error}")))
}

/// A result that cannot be written is found out before the load, not after.
///
/// # Errors
/// What the system says.
pub(crate) fn check_writable(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| !is_stdout(path)) else {
        return Ok(());
    };
    let existed = path.exists();
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| Failure::Message(format!("{}: {error}", path.display())))?;
    if !existed {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// `-`, as most programs have it.
fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Prints and writes a report.
///
/// # Errors
/// When a file cannot be written, or an assertion does not hold.
pub(crate) fn emit(
    report: &Report,
    output: &Output,
    assertions: &[Assertion],
) -> Result<(), Failure> {
    let json = || serde_json::to_string(report).unwrap_or_default();
    let text = match output.format {
        Format::Table => table(report),
        Format::Markdown => markdown(report),
        Format::Csv => csv(report),
        Format::Json => json(),
    };
    print(&text);
    let files: [(Option<&Path>, &dyn Fn() -> String); 4] = [
        (output.json.as_deref(), &json),
        (output.html.as_deref(), &|| html(report)),
        (output.csv.as_deref(), &|| csv(report)),
        (output.markdown.as_deref(), &|| markdown(report)),
    ];
    for (path, text) in files {
        if path.is_some_and(is_stdout) {
            print(&text());
        } else if let Some(path) = path {
            std::fs::write(path, text())
                .map_err(|error| Failure::Message(format!("{}: {error}", path.display())))?;
        }
    }
    let outcomes = assert::check_all(assertions, report);
    for outcome in &outcomes {
        eprintln!("{outcome}");
    }
    if outcomes.iter().all(|outcome| outcome.held) {
        Ok(())
    } else {
        Err(Failure::Said)
    }
}

/// The command line, without what must not be read in a report.
pub(crate) fn command() -> Vec<String> {
    let mut words: Vec<String> = std::env::args().collect();
    for n in 0..words.len() {
        let is_secret = |option: &str| matches!(option, "--user" | "--agent-secret" | "--secret");
        if n > 0 && is_secret(&words[n - 1]) {
            words[n] = "…".into();
        } else if let Some((option, _)) = words[n]
            .split_once('=')
            .filter(|(option, _)| is_secret(option))
        {
            words[n] = format!("{option}=…");
        } else {
            words[n] = without_password(&words[n]);
        }
    }
    words
}

/// A URL without the password in it.
fn without_password(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.to_owned();
    };
    let authority = rest.split('/').next().unwrap_or(rest);
    match authority.rsplit_once('@') {
        Some((user, _)) => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{name}:…{}", &rest[user.len()..])
        }
        None => word.to_owned(),
    }
}

/// A reader that went away is no error.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(stdout, "{text}{end}").and_then(|()| stdout.flush());
}

/// This moment as RFC 3339 has it, in UTC.
pub(crate) fn now() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    forebay_http::date::rfc3339(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_stay_out_of_reports() {
        for (word, expected) in [
            (
                "redis://:secret@127.0.0.1:6379/1",
                "redis://:…@127.0.0.1:6379/1",
            ),
            ("http://me:pw@host/a@b", "http://me:…@host/a@b"),
            ("http://host/a@b", "http://host/a@b"),
            ("X-A: b", "X-A: b"),
        ] {
            assert_eq!(without_password(word), expected);
        }
    }
}
