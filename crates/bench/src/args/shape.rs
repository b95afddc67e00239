//! How much load, and when: options that every kind of load has.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::value;

/// How much, and when.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "How much, and when")]
pub struct Shape {
    /// Connections (virtual users); several make a ladder: 500,1000,3000
    #[arg(short, long, value_name = "N[,N…]", value_delimiter = ',', default_value = "50", value_parser = value::count::<1>)]
    pub connections: Vec<u64>,
    /// How long each rung is measured [default: 10s, unless -n is given]
    #[arg(short, long, value_name = "TIME", value_parser = value::span)]
    pub duration: Option<Duration>,
    /// End after so many requests
    #[arg(short = 'n', long, value_name = "N", value_parser = value::count::<1>)]
    pub requests: Option<u64>,
    /// Threads, each on a core of its own [default: one for every two cores]
    #[arg(short, long, value_name = "N", value_parser = value::count::<1>)]
    pub threads: Option<u64>,
    /// Cores for the threads: 1,2,3
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub cores: Vec<usize>,
    /// Load that is sent before the measured time begins
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = value::time, hide_default_value = true)]
    pub warmup: Duration,
    /// Connections begin one after the other over this time
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = value::time, hide_default_value = true)]
    pub ramp: Duration,
    /// Open load: so many requests a second are due, over at most -c connections
    #[arg(long, value_name = "N", value_parser = value::rate)]
    pub rate: Option<f64>,
    /// How the requests of an open load are spread over time
    #[arg(long, value_enum, default_value = "constant")]
    pub arrivals: Arrival,
    /// Search the highest rate that keeps this: 'p99<20ms'
    #[arg(long, value_name = "EXPRESSION", conflicts_with = "requests")]
    pub find_limit: Option<String>,
    /// Requests under way at once on a connection
    #[arg(long, value_name = "N", default_value = "1", value_parser = value::count::<1>)]
    pub pipeline: u64,
    /// The longest that a response may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = value::span)]
    pub timeout: Duration,
    /// The longest that opening a connection may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::span)]
    pub connect_timeout: Duration,
    /// Local addresses that connections come from, in turn (each has some 28,000 ports)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub source: Vec<std::net::IpAddr>,
    /// For everything that is left to chance; the same seed sends the same
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

/// How the requests of an open load are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Arrival {
    /// Evenly
    Constant,
    /// By chance, as requests of many independent people are
    Poisson,
}

impl Shape {
    /// How long a rung is measured, if time ends it.
    pub fn measured(&self) -> Option<Duration> {
        match (self.duration, self.requests) {
            (Some(duration), _) => Some(duration),
            (None, Some(_)) => None,
            (None, None) => Some(Duration::from_secs(10)),
        }
    }

    /// Threads for so many connections.
    pub fn threads_for(&self, connections: u64) -> u64 {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        let wanted = self.threads.unwrap_or_else(|| match self.cores.len() {
            0 => (cores / 2).max(1),
            pinned => pinned as u64,
        });
        wanted.min(connections).clamp(1, 1024)
    }
}
