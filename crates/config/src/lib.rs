//! `forebay.toml` to checked settings; each setting one documented row.
//!
//! The text goes through `toml` (syntax, every error in one run), `read`
//! (every key through its row of the [`mod@reference`]), and `check` (the rules
//! between settings). What comes out is [`Settings`], or everything that is
//! wrong. Nothing is resolved, and only [`load`] touches the disk.

mod address;
mod check;
mod diagnostic;
mod draft;
mod load;
pub mod log_fields;
mod nearest;
mod origin;
mod part;
mod read;
pub mod reference;
pub mod settings;
pub mod template;
mod toml;
pub mod units;
mod words;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_services;

pub use address::server_address;
pub use diagnostic::{Diagnostic, Level, Source, render};
pub use load::{LoadError, load};
pub use origin::{OriginOptions, for_origin};
pub use settings::Settings;
pub use units::{parse_duration, parse_size};

/// What the defaults depend on, besides the file.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// Cores this process may run on: the default of `server.workers`.
    pub cores: usize,
}

impl Environment {
    /// As it is here and now.
    pub fn of_this_machine() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// A file without an error.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What it says.
    pub settings: Settings,
    /// What was probably meant otherwise.
    pub warnings: Vec<Diagnostic>,
    /// The text, to render the warnings with.
    pub source: Source,
}

/// Checks a configuration text for this machine.
///
/// # Errors
/// Everything that is wrong with it, and its warnings, in the order of the text.
pub fn parse(source: &Source) -> Result<Checked, Vec<Diagnostic>> {
    parse_in(source, Environment::of_this_machine())
}

/// Checks a configuration text for a machine.
///
/// # Errors
/// Everything that is wrong with it, and its warnings, in the order of the text.
pub fn parse_in(source: &Source, environment: Environment) -> Result<Checked, Vec<Diagnostic>> {
    let mut out = Vec::new();
    let mut draft = draft::Draft::default();
    draft.server.workers = environment.cores.max(1);
    let document = toml::parse(&source.text, &mut out);
    let partial = !out.is_empty();
    if let Some(document) = document {
        read::document(document.as_table(), &mut draft, &mut out);
    }
    let settings = check::settings(draft, partial, &mut out);
    // What is about the whole file comes last, where the reader's eye is.
    out.sort_by_key(|diagnostic| {
        diagnostic
            .span
            .as_ref()
            .map_or(usize::MAX, |span| span.start)
    });
    if out
        .iter()
        .any(|diagnostic| diagnostic.level == Level::Error)
    {
        return Err(out);
    }
    Ok(Checked {
        settings,
        warnings: out,
        source: source.clone(),
    })
}
