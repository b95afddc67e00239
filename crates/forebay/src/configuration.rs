//! Reading the configuration file for a command, with everything that is
//! wrong in it shown to the user.

use std::path::Path;

use forebay_config::{Checked, Level, LoadError, load, render};

use crate::exit::Failure;
use crate::out;

/// Reads and checks `path`; warnings go to standard error.
///
/// # Errors
/// Every mistake of the file as one text, or why it cannot be read.
pub(crate) fn read_aloud(path: &Path) -> Result<Checked, Failure> {
    let color = out::error_color();
    let checked = load(path).map_err(|error| Failure::Text(errors(&error, color)))?;
    if !checked.warnings.is_empty() {
        let shown = render(&checked.source, &checked.warnings, color);
        out::error_line(&format!("{}\n", shown.trim_end()));
    }
    Ok(checked)
}

/// The errors, and how many they are, because they may fill the screen.
fn errors(error: &LoadError, color: bool) -> String {
    let shown = error.render(color);
    let LoadError::Refused(source, diagnostics) = error else {
        return shown;
    };
    let count = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.level == Level::Error)
        .count();
    let plural = if count == 1 { "" } else { "s" };
    format!(
        "{}\n\n{}: {count} error{plural}",
        shown.trim_end(),
        source.name
    )
}
