//! What other tools wrote, as scenarios: JMeter's plans and browsers' HAR
//! files.
//!
//! An import never drops anything silently. Whatever a scenario cannot say, or
//! says differently, is in the notes, with its kind, its name, where it stands
//! and what became of it. The text may come from anywhere: its size, its depth
//! and what it unfolds to are bounded.

use std::fmt;

use crate::scenario::Scenario;

mod har;
mod jmeter;
mod names;
mod notes;
mod share;

pub use notes::{Fate, Note};

/// The longest text that is read, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 << 20;

/// A scenario, and what is to be known about how it came to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// What was understood.
    pub scenario: Scenario,
    /// What was not, or not wholly, in the order of the source.
    pub notes: Vec<Note>,
    /// How the source wanted it to be run.
    pub suggested: Suggested,
}

/// How the source wanted to be run; a scenario does not say this, the command does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suggested {
    /// Virtual users of all flows together.
    pub users: Option<u64>,
    /// Time until all users are at work.
    pub ramp_seconds: Option<f64>,
    /// Rounds of each user, where all flows have the same number.
    pub iterations: Option<u64>,
    /// Length of the run.
    pub duration_seconds: Option<f64>,
    /// Requests per second that the source held itself to.
    pub rate_per_second: Option<f64>,
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plan of JMeter (`.jmx`).
    Jmeter,
    /// An HTTP archive (`.har`).
    Har,
}

impl Kind {
    /// Recognizes a text by what it begins with.
    pub fn detect(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with('{') {
            return Some(Self::Har);
        }
        let head: String = text.chars().take(4096).collect();
        head.contains("<jmeterTestPlan").then_some(Self::Jmeter)
    }
}

/// What may be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// HAR: pictures, scripts, style sheets and fonts are left out.
    pub without_resources: bool,
    /// HAR: the `Cookie` fields are sent as recorded, instead of what each user was given.
    pub keep_cookies: bool,
}

/// Why nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// It is neither of the kinds that are read.
    UnknownKind {
        /// The file.
        file: String,
    },
    /// It is of the kind, and broken.
    Broken {
        /// The file.
        file: String,
        /// What is wrong, with line and column where they are known.
        words: String,
    },
    /// It passes a bound.
    TooLarge {
        /// The file.
        file: String,
        /// Which one.
        words: String,
    },
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind { file } => write!(
                f,
                "{file}: neither a JMeter plan (XML with <jmeterTestPlan>) nor a HAR file (JSON with \"log\")"
            ),
            Self::Broken { file, words } | Self::TooLarge { file, words } => {
                write!(f, "{file}: {words}")
            }
        }
    }
}

impl std::error::Error for ImportError {}

/// Reads a JMeter plan or a HAR file; which of them, its content says. `file_name` is for
/// messages, and names the scenario where the source has no name.
///
/// # Errors
/// When the text is neither, is broken, or passes a bound. What is merely not understood is no
/// error but a note.
pub fn import(text: &str, file_name: &str, options: Options) -> Result<Imported, ImportError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(ImportError::TooLarge {
            file: file_name.into(),
            words: format!("longer than {} MiB", MAX_TEXT_BYTES >> 20),
        });
    }
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let mut imported = match Kind::detect(text) {
        Some(Kind::Jmeter) => jmeter::import(text, file_name)?,
        Some(Kind::Har) => har::import(text, file_name, options)?,
        None => {
            return Err(ImportError::UnknownKind {
                file: file_name.into(),
            });
        }
    };
    if imported.scenario.name.is_empty() {
        imported.scenario.name = stem(file_name).into();
    }
    Ok(imported)
}

/// A file's name without folder and ending.
fn stem(file_name: &str) -> &str {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}
