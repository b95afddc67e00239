//! `cargo xtask crash`: the server is killed under load, again and again, and started on what it left. The cache is
//! looked at for wrong bytes, for what was purged and for what is gone; the sessions are compared with a ledger.

mod cache;
mod content;
mod ledger;
mod load;
mod origin;
mod sessions;
mod visit;

use std::time::SystemTime;

use crate::Outcome;
use crate::options::Options;
pub(crate) use content::Random;
use visit::Trouble;

/// How to call it.
pub(crate) const USAGE: &str = "[cache|sessions] [--times N] [--seconds S] [--disk MIB] [--seed N] [--binary PATH]
    Kills the server under load and looks at what is left of its cache on disk, and of its sessions.
    --times N       how often it is killed with each [100]; with sessions, half of them under durability \"always\"
    --seconds S     each time at a moment within so many seconds of load [3]
    --disk MIB      size of the cache on disk [512]
    --seed N        of all that is random [from the clock]
    --binary PATH   this forebay instead of a fresh release build";

/// `cargo xtask crash`
pub(crate) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(
        args,
        &[],
        &["--times", "--seconds", "--disk", "--seed", "--binary"],
    )?;
    let (cache, sessions) = match options.rest.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => (true, true),
        ["cache"] => (true, false),
        ["sessions"] => (false, true),
        _ => return Err("either cache or sessions, or nothing for both; see --help".into()),
    };
    let times = options.number("--times", 100_usize)?.max(1);
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let seed = options.number("--seed", clock.as_secs())?;
    println!("seed {seed}");
    if cache {
        cache::run(&options, times, seed)?;
    }
    if sessions {
        sessions::run(&options, times, seed)?;
    }
    Ok(())
}

fn words(fault: Trouble) -> Box<dyn std::error::Error> {
    match fault {
        Trouble::Broken(what) => format!("a connection broke before the kill: {what}").into(),
        Trouble::Wrong(what) => what.into(),
    }
}
