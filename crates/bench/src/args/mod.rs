//! The options of `forebay bench`, as data.

mod http;
mod output;
mod shape;
mod value;

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub use http::{Http, Order, Speed, What};
pub use output::{Format, Live, Output};
pub use shape::{Arrival, Shape};

const EXAMPLES: &str = "\
Examples:
  forebay bench http://127.0.0.1:8080/                      50 connections for 10 seconds
  forebay bench URL -c 500,1000,3000,5000,10000 -d 30s      a ladder
  forebay bench URL --no-keepalive -c 1000                  a connection for each request, as webbench and ab do
  forebay bench URL --rate 5000                             open load: what waits is counted from when it was due
  forebay bench URL --find-limit 'p99<20ms'                 the highest rate that keeps it
  forebay bench --log access.log --base URL --speed 1       a recorded log, at its own speed
  forebay bench --scenario shop.toml -c 200                 users, step by step
  forebay bench URL --assert 'p99<20ms' --assert 'success>=99.999' --html report.html

Exit status: 0 done, or ended by Ctrl-C (what was measured is reported; a second one ends it at once, with 130), 1 it
failed or an assertion does not hold, 2 wrong usage.";

/// `forebay bench`
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = EXAMPLES,
    long_about = "Sends load to a server, any server, and measures what it answers.\n\n\
                  Closed load (the default) keeps a number of connections busy. Open load (--rate) sends requests when \
                  they are due, whatever became of those before, so that a server that stalls cannot hide it.\n\n\
                  Use it only against servers that are yours to test."
)]
pub struct BenchArgs {
    /// Another kind of load, or a tool beside it
    #[command(subcommand)]
    pub tool: Option<Tool>,
    /// The load itself.
    #[command(flatten)]
    pub load: LoadArgs,
}

/// What stands beside plain HTTP load.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// Load on a key-value server: memcached or Redis
    Kv(Box<KvCommand>),
    /// Sessions of a web application: written on one page, read on the next
    Session(Box<SessionCommand>),
    /// Record what a browser does as a scenario
    Record(Box<crate::record::RecordArgs>),
    /// Turn a JMeter plan or a HAR file into a scenario
    Import(ImportArgs),
    /// What changed between two results, beyond noise
    Diff(DiffArgs),
    /// Wait for a `forebay bench --agents` on another machine, and send load for it
    Agent(AgentArgs),
}

/// Plain HTTP load.
#[derive(Clone, Debug, Args)]
pub struct LoadArgs {
    /// What is sent.
    #[command(flatten)]
    pub what: What,
    /// Its details.
    #[command(flatten)]
    pub http: Http,
    /// How much, and when.
    #[command(flatten)]
    pub shape: Shape,
    /// What comes out.
    #[command(flatten)]
    pub output: Output,
}

/// `forebay bench kv`
#[derive(Clone, Debug, Args)]
pub struct KvCommand {
    /// What is sent.
    #[command(flatten)]
    pub kv: crate::kv::KvArgs,
    /// How much, and when.
    #[command(flatten)]
    pub shape: Shape,
    /// What comes out.
    #[command(flatten)]
    pub output: Output,
}

/// `forebay bench session`
#[derive(Clone, Debug, Args)]
pub struct SessionCommand {
    /// What is sent.
    #[command(flatten)]
    pub session: crate::session::SessionArgs,
    /// How much, and when.
    #[command(flatten)]
    pub shape: Shape,
    /// What comes out.
    #[command(flatten)]
    pub output: Output,
}

/// `forebay bench import`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  forebay bench import plan.jmx --out shop.toml\n  forebay bench import page.har --without-resources\n\nWhat is not understood is listed on standard error, by name."
)]
pub struct ImportArgs {
    /// A JMeter plan (.jmx) or a HAR file
    pub file: PathBuf,
    /// Where the scenario is written [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Leave out images, styles, scripts and fonts of a HAR file
    #[arg(long)]
    pub without_resources: bool,
    /// Keep the cookies that a HAR file recorded, instead of the user's own
    #[arg(long)]
    pub keep_cookies: bool,
}

/// `forebay bench diff`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  forebay bench URL --json before.json\n  forebay bench URL --json after.json\n  forebay bench diff before.json after.json\n\nExit status: 0 whatever changed; 1 when --fail-on-slower is given and something is slower beyond noise."
)]
pub struct DiffArgs {
    /// The result before, written with --json
    pub before: PathBuf,
    /// The result after
    pub after: PathBuf,
    /// How the comparison is printed
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Exit with 1 when something is slower beyond noise
    #[arg(long)]
    pub fail_on_slower: bool,
}

/// `forebay bench agent`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  forebay bench agent --listen 10.0.0.2:7600\n  forebay bench URL --agents 10.0.0.2:7600,10.0.0.3:7600     on another machine\n\nAn agent sends load for whoever can reach it: let it listen only where you trust everyone, or give a --secret."
)]
pub struct AgentArgs {
    /// Where it waits
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7600")]
    pub listen: std::net::SocketAddr,
    /// A word that those who use it must know (--agent-secret there)
    #[arg(
        long,
        value_name = "WORD",
        env = "FOREBAY_AGENT_SECRET",
        hide_env_values = true
    )]
    pub secret: Option<String>,
    /// End after one run
    #[arg(long)]
    pub once: bool,
}
