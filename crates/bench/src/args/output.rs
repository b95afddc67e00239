//! What comes out: options that every kind of load has.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What comes out.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What comes out")]
pub struct Output {
    /// How the result is printed
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Write the result as JSON, for `bench diff` and for programs (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the result as one HTML page with charts
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the result as CSV, a line for each rung
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the result as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Exit with 1 unless this holds: 'p99<20ms', 'success>=99.999', 'rps>10000' (repeatable)
    #[arg(long = "assert", value_name = "EXPRESSION")]
    pub asserts: Vec<String>,
    /// The view while it runs
    #[arg(long, value_enum, default_value = "auto")]
    pub live: Live,
    /// The server's process, for its processor time and memory [default: whoever listens on the URL's port here]
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Do not look for the server's process
    #[arg(long, conflicts_with = "pid")]
    pub no_observe: bool,
    /// Send the load from these machines, where `forebay bench agent` waits: HOST:PORT,…
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub agents: Vec<String>,
    /// The word that the agents ask for
    #[arg(
        long,
        value_name = "WORD",
        env = "FOREBAY_AGENT_SECRET",
        hide_env_values = true
    )]
    pub agent_secret: Option<String>,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// For documents
    Markdown,
    /// For spreadsheets
    Csv,
    /// For programs
    Json,
}

/// The view while load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Live {
    /// A block that is redrawn on a terminal, else a line now and then
    Auto,
    /// A line now and then
    Lines,
    /// Nothing
    Off,
}
