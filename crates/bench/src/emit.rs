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
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// The date of a day counted from 1970-01-01 in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years that begin in March have their leap day at the end.
    let from_era = days + 719_468;
    let (era, day_of_era) = (from_era.div_euclid(146_097), from_era.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
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

    #[test]
    fn days_become_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (19_722, (2023, 12, 31)),
            (20_778, (2026, 11, 21)),
        ] {
            assert_eq!(civil(days), date);
        }
    }
}
