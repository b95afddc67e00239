//! The command line of `forebay compare`.

use std::path::PathBuf;
use std::time::Duration;

use crate::cores::Cores;

const EXAMPLES: &str = "\
Examples:
  forebay compare --list                                suites, servers, and what is installed
  forebay compare ladder --quick                        two minutes, to see that everything works
  forebay compare images --servers forebay,nginx-disk   some servers only
  forebay compare pages --own mine.toml --rounds 5      with a server of your own
  forebay compare --render compare-ladder               the reports again, without a run

Exit status: 0 done, 1 it failed or was interrupted (what was measured is reported), 2 wrong usage.";

/// Run the same work against several servers on this machine, side by side
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to ask: ladder, pages, images, disk, frontends, sessions; `--list` describes them
    #[arg(required_unless_present_any = ["list", "render"])]
    pub(crate) suite: Option<String>,

    /// Who takes part: names of `--list`, separated by commas, or `all`; by default some of those installed
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(crate) servers: Vec<String>,

    /// Only these cases of the suite
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(crate) cases: Vec<String>,

    /// Numbers of clients instead of the suite's own
    #[arg(long, value_delimiter = ',', value_name = "N")]
    pub(crate) clients: Vec<u64>,

    /// How often each server has its turn [default: 3, or 2 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: Option<u32>,

    /// How long each step takes where the suite counts time, like `10s`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    /// Fewer and shorter steps: two minutes for a few servers, to see that everything works
    #[arg(long)]
    pub(crate) quick: bool,

    /// Cores of the servers and of the load, like `0:1` or `0-3:4-7`; by default each gets half of them
    #[arg(long, value_name = "SERVER:CLIENT")]
    pub(crate) cores: Option<Cores>,

    /// Memory that each server may use for cached objects, unless a case is about it
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub(crate) memory: u64,

    /// A file with servers of your own; they take part. `--list` shows what its commands may hold
    #[arg(long, value_name = "FILE")]
    pub(crate) own: Vec<PathBuf>,

    /// The forebay to compare, instead of this one
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) forebay: Option<PathBuf>,

    /// The forebay whose `bench` is the load, instead of this one
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) load: Option<PathBuf>,

    /// Show suites, servers, and which of them are installed
    #[arg(long)]
    pub(crate) list: bool,

    /// Install the packages of the servers that are missing (as root, with apt)
    #[arg(long)]
    pub(crate) install: bool,

    /// Where the reports go [default: compare-SUITE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Make the reports of a comparison again, from the `compare.json` in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["suite", "list"])]
    pub(crate) render: Option<PathBuf>,
}

/// `500ms`, `10s`, `2m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("a time is written like 500ms, 10s, 2m".into()),
    };
    let seconds = number.parse::<f64>().map_err(|e| e.to_string())? * factor;
    if (0.1..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("between 100ms and 24h".into())
    }
}

/// `512MiB`, `2GiB`; whole MiB.
fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor: u64 = match unit {
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err("a size is written like 512MiB or 2GiB".into()),
    };
    let bytes = number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(factor))
        .ok_or("not a whole number of bytes")?;
    if (64 << 20..=1 << 40).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("between 64MiB and 1024GiB".into())
    }
}

fn split(text: &str) -> (&str, &str) {
    let unit = text.find(|c: char| c.is_ascii_alphabetic());
    text.split_at(unit.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Line::try_parse_from(["compare"].into_iter().chain(line.split_whitespace())).map(|l| l.args)
    }

    #[test]
    fn options_are_read() {
        let args = parse(
            "ladder --servers forebay,nginx-disk --rounds 5 --duration 500ms --memory 512MiB",
        )
        .unwrap();
        assert_eq!(args.suite.as_deref(), Some("ladder"));
        assert_eq!(args.servers, ["forebay", "nginx-disk"]);
        assert_eq!(args.rounds, Some(5));
        assert_eq!(args.duration, Some(Duration::from_millis(500)));
        assert_eq!(args.memory, 512 << 20);
        assert_eq!(parse("ladder").unwrap().memory, 1 << 30);
    }

    #[test]
    fn a_suite_is_needed_unless_nothing_is_run() {
        assert!(parse("").is_err());
        assert!(parse("--list").is_ok());
        assert!(parse("--render somewhere").is_ok());
        assert!(parse("ladder --render somewhere").is_err());
    }

    #[test]
    fn mistakes_are_refused() {
        for line in [
            "ladder --rounds 0",
            "ladder --duration 5",
            "ladder --duration 5d",
            "ladder --duration 1ms",
            "ladder --memory 1",
            "ladder --memory 1KiB",
            "ladder --memory 99999999999999GiB",
            "ladder --cores 0",
            "ladder --clients x",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
