//! What the command line asks for, checked before anything is started: which
//! servers, which cases, how often, on which cores.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::args::Args;
use crate::command;
use crate::cores::Cores;
use crate::servers::{self, Server};
use crate::suites::{self, Amount, Case, Level, Suite};
use crate::{apt, machine};

/// A server that is installed.
#[derive(Clone, Debug)]
pub(crate) struct Entrant {
    pub(crate) server: Server,
    pub(crate) program: PathBuf,
}

/// All that a comparison needs to know.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) suite: &'static Suite,
    pub(crate) cases: Vec<Case>,
    pub(crate) entrants: Vec<Entrant>,
    /// Who would have taken part, and why not.
    pub(crate) left_out: Vec<(Server, String)>,
    pub(crate) rounds: u32,
    pub(crate) quick: bool,
    pub(crate) cores: Cores,
    pub(crate) memory_bytes: u64,
    /// The program whose `bench` is the load.
    pub(crate) load: PathBuf,
}

impl Plan {
    /// Checks what is asked for, and installs what is missing if that is asked for too.
    ///
    /// # Errors
    /// Names that are not known, files that are wrong, nobody to compare.
    pub(crate) fn new(args: &Args) -> Result<Self, String> {
        let suite = suites::find(args.suite.as_deref().unwrap_or_default())?;
        let quick = args.quick;
        let cases = cases(args, suite)?;
        let wanted = wanted(args, suite)?;
        let cores = cores(args)?;
        if args.install {
            install(args, &wanted)?;
        }
        let forebay = forebay(args)?;
        let load = match &args.load {
            Some(program) => existing(program)?,
            None => this_program()?,
        };
        let (mut entrants, mut left_out) = (Vec::new(), Vec::new());
        for mut server in wanted {
            match server.resolve(&forebay) {
                Ok(program) => entrants.push(Entrant { server, program }),
                Err(why) => left_out.push((server, why)),
            }
        }
        if entrants.is_empty() {
            return Err(
                "none of these servers can take part here; --list shows what is missing".into(),
            );
        }
        Ok(Self {
            suite,
            cases,
            entrants,
            left_out,
            rounds: args.rounds.unwrap_or(if quick { 2 } else { 3 }),
            quick,
            cores,
            memory_bytes: args.memory,
            load,
        })
    }
}

/// Built-in servers and the operator's own.
///
/// # Errors
/// When a file is wrong, or a name is there twice.
pub(crate) fn known(args: &Args) -> Result<Vec<Server>, String> {
    let mut known = servers::built_in();
    for file in &args.own {
        known.extend(servers::read_own(file)?);
    }
    let mut names = BTreeSet::new();
    match known.iter().find(|s| !names.insert(s.name.clone())) {
        Some(twice) => Err(format!("there are two servers called {}", twice.name)),
        None => Ok(known),
    }
}

/// The program that is compared as Forebay.
///
/// # Errors
/// When the one asked for is not there.
pub(crate) fn forebay(args: &Args) -> Result<PathBuf, String> {
    match &args.forebay {
        Some(program) => existing(program),
        None => this_program(),
    }
}

fn this_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|e| format!("this program's own file is not to be found: {e}"))
}

fn existing(program: &std::path::Path) -> Result<PathBuf, String> {
    std::fs::canonicalize(program).map_err(|e| format!("{}: {e}", program.display()))
}

fn cases(args: &Args, suite: &Suite) -> Result<Vec<Case>, String> {
    let mut cases = (suite.cases)(args.quick);
    if let Some(name) = args
        .cases
        .iter()
        .find(|n| cases.iter().all(|c| c.name != **n))
    {
        let names: Vec<_> = cases.iter().map(|c| c.name).collect();
        return Err(format!(
            "{name}: {} has no such case; there are {}",
            suite.name,
            names.join(", ")
        ));
    }
    cases.retain(|c| args.cases.is_empty() || args.cases.iter().any(|n| n == c.name));
    for case in &mut cases {
        adjust(args, &mut case.levels);
    }
    Ok(cases)
}

/// The operator's numbers of clients and duration, where they are given.
fn adjust(args: &Args, levels: &mut Vec<Level>) {
    if let Some(&last) = levels.last().filter(|_| !args.clients.is_empty()) {
        *levels = args
            .clients
            .iter()
            .map(|&clients| Level { clients, ..last })
            .collect();
    }
    for level in levels {
        if let (Amount::Time(time) | Amount::Within(time), Some(duration)) =
            (&mut level.amount, args.duration)
        {
            *time = duration;
        }
    }
}

fn wanted(args: &Args, suite: &Suite) -> Result<Vec<Server>, String> {
    let own: BTreeSet<String> = args
        .own
        .iter()
        .map(|file| servers::read_own(file))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .map(|s| s.name)
        .collect();
    let known = known(args)?;
    let asked: Vec<&str> = match args.servers.as_slice() {
        [] => suite
            .servers
            .iter()
            .copied()
            .chain(own.iter().map(String::as_str))
            .collect(),
        [all] if all == "all" => known
            .iter()
            .filter(|s| suite.is_for(s))
            .map(|s| s.name.as_str())
            .collect(),
        names => names.iter().chain(&own).map(String::as_str).collect(),
    };
    let mut wanted: Vec<Server> = Vec::new();
    for name in asked {
        let server = known.iter().find(|s| s.name == name);
        let server = server.ok_or_else(|| unknown(name, suite, &known))?;
        if !suite.is_for(server) {
            return Err(format!(
                "{name} cannot do what {} asks; by default there take part {}",
                suite.name,
                suite.servers.join(", ")
            ));
        }
        if wanted.iter().all(|w| w.name != name) {
            wanted.push(server.clone());
        }
    }
    Ok(wanted)
}

fn unknown(name: &str, suite: &Suite, known: &[Server]) -> String {
    let names: Vec<_> = known
        .iter()
        .filter(|s| suite.is_for(s))
        .map(|s| s.name.as_str())
        .collect();
    format!("{name}: no such server; there are {}", names.join(", "))
}

fn cores(args: &Args) -> Result<Cores, String> {
    let cores = match &args.cores {
        Some(cores) => cores.clone(),
        None => Cores::halves(machine::cores()),
    };
    if !cores.server.is_empty() && command::find("taskset").is_none() {
        return if args.cores.is_some() {
            Err("--cores needs taskset: apt-get install util-linux".into())
        } else {
            Ok(Cores::default())
        };
    }
    Ok(cores)
}

fn install(args: &Args, wanted: &[Server]) -> Result<(), String> {
    let forebay = forebay(args)?;
    let origin = servers::origin();
    let missing: BTreeSet<&str> = wanted
        .iter()
        .chain([&origin])
        .flat_map(|s| s.missing_packages(&forebay))
        .collect();
    apt::install(&missing.into_iter().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::time::Duration;

    fn args(suite: &str) -> Args {
        Args {
            suite: Some(suite.into()),
            memory: 1 << 30,
            ..Args::default()
        }
    }

    #[test]
    fn names_that_are_not_known_are_answered_with_those_that_are() {
        let wrong = |change: fn(&mut Args)| {
            let mut args = args("ladder");
            change(&mut args);
            Plan::new(&args).unwrap_err()
        };
        assert!(wrong(|a| a.suite = Some("x".into())).contains("pages"));
        assert!(wrong(|a| a.servers = vec!["x".into()]).contains("nginx-disk"));
        assert!(wrong(|a| a.cases = vec!["x".into()]).contains("page"));
    }

    #[test]
    fn steps_follow_the_command_line() {
        let mut args = args("ladder");
        args.clients = vec![7, 9];
        args.duration = Some(Duration::from_secs(1));
        args.servers = vec!["forebay".into(), "forebay".into()];
        let plan = Plan::new(&args).unwrap();
        let levels = &plan.cases.first().unwrap().levels;
        assert_eq!(levels.iter().map(|l| l.clients).collect::<Vec<_>>(), [7, 9]);
        assert!(
            levels
                .iter()
                .all(|l| l.amount == Amount::Time(Duration::from_secs(1)))
        );
        assert_eq!(plan.entrants.len(), 1);
    }

    #[test]
    fn counts_are_not_turned_into_times() {
        let mut args = args("images");
        args.duration = Some(Duration::from_secs(1));
        args.servers = vec!["forebay".into()];
        let plan = Plan::new(&args).unwrap();
        let levels = plan.cases.iter().flat_map(|c| &c.levels);
        assert!(
            levels
                .into_iter()
                .all(|l| matches!(l.amount, Amount::Requests(_)))
        );
    }
}
