//! How a command fails.

use std::fmt::Display;
use std::process::ExitCode;

use crate::out;

/// A command that failed; exit status 1 unless a variant says otherwise.
#[derive(Debug)]
pub(crate) enum Failure {
    /// One sentence, printed after `forebay: `.
    Message(String),
    /// Text that stands by itself, such as errors with carets.
    Text(String),
    /// Options that are wrong, a line each; exit status 2, as clap's.
    Usage(String),
    /// Everything was said already; exit status 1.
    Said,
}

/// What a command comes to.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    /// One sentence for the user.
    pub(crate) fn message(text: impl Display) -> Self {
        Self::Message(text.to_string())
    }

    /// Tells the user, on standard error, and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Message(text) => out::error_line(&format!("forebay: {text}")),
            Self::Text(text) => out::error_line(text.trim_end()),
            Self::Usage(text) => {
                out::error_line(text.trim_end());
                return ExitCode::from(2);
            }
            Self::Said => {}
        }
        ExitCode::FAILURE
    }
}
