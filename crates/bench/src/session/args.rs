//! The options of `forebay bench session`, and the load that they make.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use forebay_config::units::{parse_duration, parse_size};
use forebay_workload::Target;

use super::Sessions;
use super::page::LEAST_DATA;
use super::visit::Visit;

/// What stands for the data in the path of the first page.
const DATA: &str = "{value}";
/// The data is in the request line; servers take 4 to 16 KiB of it.
const MOST_DATA: u64 = 64 << 10;

/// What `forebay bench session` sends.
#[derive(Clone, Debug, Args)]
#[command(
    next_help_heading = "What is sent",
    after_help = "The application has two pages. GET /write?value=TEXT stores TEXT in a new session and answers with \
                  Set-Cookie and a redirect to /read; GET /read shows it: its body is TEXT, or a page with TEXT in it, \
                  or empty when there is none. One in PHP is in crates/bench/compare/apps/session."
)]
pub struct SessionArgs {
    /// Where the application is: http://127.0.0.1:8080/ or with a path of its own
    #[arg(value_name = "URL")]
    pub url: String,
    /// How many sessions, each without a cookie at first
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    pub sessions: u64,
    /// Data of each session
    #[arg(long, value_name = "SIZE", default_value = "1KiB", value_parser = parse_size)]
    pub size: u64,
    /// The page that stores it, below the URL; {value} stands for the data
    #[arg(long, value_name = "PATH", default_value = "write?value={value}")]
    pub write: String,
    /// The page that shows it, below the URL [default: where the first page redirects to]
    #[arg(long, value_name = "PATH")]
    pub read: Option<String>,
    /// Wait so long before the second page
    #[arg(long, value_name = "TIME", default_value = "0s", hide_default_value = true, value_parser = parse_duration)]
    pub pages_between: Duration,
    /// A connection of its own for each page
    #[arg(long)]
    pub no_keepalive: bool,
}

impl SessionArgs {
    /// The load that the options make.
    ///
    /// # Errors
    /// What is wrong with them, in words for the user.
    pub fn plan(&self) -> Result<Sessions, String> {
        let mut place = Target::parse(&self.url).map_err(|error| error.to_string())?;
        if !place.path.ends_with('/') && !place.path.contains('?') {
            place.path.push('/');
        }
        let (before, after) = self
            .write
            .split_once(DATA)
            .ok_or_else(|| format!("--write: `{}` has no {DATA}", self.write))?;
        // A path is absolute or below the URL; what cannot stand in a request line is escaped.
        let below = |path: &str| match path.starts_with('/') {
            true => Ok(place.with_path(path)),
            false => place.join(path).map_err(|error| error.to_string()),
        };
        let first = below(before)?.path;
        let rest = Target::with_path(&place, after).path;
        let read = self.read.as_deref().map(below).transpose()?;
        if !(LEAST_DATA as u64..=MOST_DATA).contains(&self.size) {
            return Err(format!("--size: from {LEAST_DATA}B to 64KiB"));
        }
        let visit = Visit {
            authority: place.authority.clone(),
            write: (first, rest),
            read: read.map(|read| read.path),
            place: place.clone(),
            data_bytes: self.size as usize,
            pause: self.pages_between,
            close: self.no_keepalive,
            sessions: self.sessions,
        };
        Ok(Sessions {
            title: format!(
                "{} sessions of {} bytes at {}",
                self.sessions, self.size, self.url
            ),
            place,
            visit: Arc::new(visit),
        })
    }
}
