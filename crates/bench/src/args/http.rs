//! What is sent over HTTP.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::value;

/// What is sent.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What is sent")]
pub struct What {
    /// http://, https:// or unix:/socket:/path; several are asked for in turn
    #[arg(value_name = "URL", required_unless_present_any = ["urls", "log", "har", "scenario"])]
    pub url: Vec<String>,
    /// A file of URLs, one a line, as http_load and siege read it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["log", "har", "scenario", "zipf"])]
    pub urls: Option<PathBuf>,
    /// An access log: common, combined, Squid's own, or JSON lines
    #[arg(long, value_name = "FILE", conflicts_with_all = ["har", "scenario", "zipf"])]
    pub log: Option<PathBuf>,
    /// The log's format, when its first lines do not tell
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = ["auto", "common", "combined", "squid", "json"], requires = "log")]
    pub log_format: String,
    /// Which requests of a log: in its order at its own speed times this, in its order as fast as they are answered
    /// (max), or by how often each occurs (popularity)
    #[arg(long, value_name = "FACTOR|max|popularity", default_value = "max")]
    pub speed: Speed,
    /// Replay all methods of a log; their bodies are not in it
    #[arg(long, requires = "log")]
    pub all_methods: bool,
    /// A HAR file, in its order
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "zipf"])]
    pub har: Option<PathBuf>,
    /// A scenario file: users, step by step
    #[arg(long, value_name = "FILE", conflicts_with = "zipf")]
    pub scenario: Option<PathBuf>,
    /// The server under test, where a log or a scenario has only paths; requests keep their own Host
    #[arg(long, value_name = "URL")]
    pub base: Option<String>,
    /// A generated catalogue of N objects below the URL, asked for by popularity
    #[arg(long, value_name = "N", value_parser = value::count::<1>)]
    pub zipf: Option<u64>,
    /// The exponent of the catalogue's popularity
    #[arg(long, value_name = "S", default_value_t = 0.9, requires = "zipf")]
    pub exponent: f64,
    /// Sizes of the catalogue's objects: `20KiB`, `1KiB..64KiB`, `lognormal(10KiB,1.5)`, `pareto(4KiB,1.2)`, `1KiB:30,20KiB:60`
    #[arg(
        long,
        value_name = "DISTRIBUTION",
        default_value = "20KiB",
        requires = "zipf"
    )]
    pub sizes: String,
    /// Paths of the catalogue's objects
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_value = "/bytes/{size}/{index}",
        requires = "zipf"
    )]
    pub path: String,
    /// The order of several URLs
    #[arg(long, value_enum, default_value = "sequential")]
    pub order: Order,
}

/// The order of several URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// As they stand
    Sequential,
    /// By chance, all alike
    Random,
}

/// How a log is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// At its own speed times this.
    Scaled(f64),
    /// In order, as fast as requests are answered.
    Max,
    /// By how often each request occurs.
    Popularity,
}

impl std::str::FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "max" => Ok(Self::Max),
            "popularity" => Ok(Self::Popularity),
            _ => match text.parse::<f64>() {
                Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(Self::Scaled(factor)),
                _ => Err("it must be a factor such as 1 or 2.5, `max` or `popularity`".into()),
            },
        }
    }
}

/// Details of requests and connections.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Requests and connections")]
pub struct Http {
    /// A connection for each request
    #[arg(long)]
    pub no_keepalive: bool,
    /// The method [default: GET, with a body POST]
    #[arg(short = 'X', long, value_name = "METHOD", value_parser = value::method)]
    pub method: Option<String>,
    /// A field of each request: 'Name: value' (repeatable)
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = value::header)]
    pub headers: Vec<(String, String)>,
    /// The body: text, or @FILE
    #[arg(long, value_name = "TEXT|@FILE")]
    pub body: Option<String>,
    /// Basic authentication
    #[arg(long, value_name = "NAME:PASSWORD")]
    pub user: Option<String>,
    /// Where a host is, instead of its name's addresses: HOST:PORT:ADDRESS (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = resolve)]
    pub resolve: Vec<(String, u16, IpAddr)>,
    /// Trust any certificate
    #[arg(long)]
    pub insecure: bool,
    /// Trust the certificates in this file (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// The name sent as SNI and looked for in the certificate [default: the URL's host]
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
}

fn resolve(text: &str) -> Result<(String, u16, IpAddr), String> {
    let wrong = || "it must be HOST:PORT:ADDRESS".to_owned();
    let mut parts = text.splitn(3, ':');
    let host = parts
        .next()
        .filter(|host| !host.is_empty())
        .ok_or_else(wrong)?;
    let port = parts
        .next()
        .and_then(|port| port.parse().ok())
        .ok_or_else(wrong)?;
    let address = parts.next().ok_or_else(wrong)?.trim_matches(['[', ']']);
    let address = address
        .parse()
        .map_err(|_| format!("`{address}` is not an IP address"))?;
    Ok((host.to_ascii_lowercase(), port, address))
}
