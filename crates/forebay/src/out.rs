//! Printing. A reader that went away (`forebay explain | head`) is no error
//! worth a message, and never a panic.

use std::io::{IsTerminal, Write};

/// Writes `text` to standard output at once; what cannot be written is dropped.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

/// [`print`] with an end of line.
pub(crate) fn line(text: &str) {
    print(&format!("{text}\n"));
}

/// A line on standard error.
pub(crate) fn error_line(text: &str) {
    let _ = std::io::stderr()
        .lock()
        .write_all(format!("{text}\n").as_bytes());
}

/// Whether standard output is looked at by a person.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether errors may be coloured (see no-color.org).
pub(crate) fn error_color() -> bool {
    std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
