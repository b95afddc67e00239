//! The run: rounds, in each of them every case, in each of those every server
//! in turn.
//!
//! A turn is one fresh start of a server: with an empty cache it is asked
//! until it has the document, then led through the case's steps, then ended.
//! So a server has the machine to itself, and what the machine does besides
//! meets all of them alike, for turns alternate and their order rotates from
//! round to round.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::comparison::{
    CaseResult, Comparison, Contestant, FORMAT, Figures, LevelResult, Method, Turn,
};
use crate::interrupt::INTERRUPTED;
use crate::launch::{self, Launched, Probe};
use crate::load::{Against, Load};
use crate::machine::{self, ClosedPorts};
use crate::origin::{self, Origin};
use crate::place::{Common, Place};
use crate::plan::{Entrant, Plan};
use crate::servers::{Role, Server};
use crate::suites::{Case, Level};
use crate::{command, cores::Cores, interrupt, process};

/// How often a cache is asked until it no longer asks the origin.
const MOST_PROBES: u32 = 10;
const BETWEEN_PROBES: Duration = Duration::from_millis(50);
/// Above this many cores in use beforehand the figures are doubtful.
const QUIET: f64 = 0.5;

/// All that turns need.
struct Run<'a> {
    plan: &'a Plan,
    place: Place,
    common: Common,
    ports: ClosedPorts,
    /// Everybody's, where there are documents.
    origin: Option<Origin>,
    load: Load,
    found: Comparison,
}

/// Runs everything, and says how it ended: an interruption keeps what was measured until then.
///
/// # Errors
/// When it cannot even begin.
pub(crate) fn run(plan: &Plan, out: &Path) -> Result<(Comparison, Result<(), String>), String> {
    let began = Instant::now();
    let mut run = Run::begin(plan, out)?;
    let ended = run.rounds();
    run.found.seconds = began.elapsed().as_secs_f64();
    run.doubts();
    Ok((run.found, ended))
}

impl<'a> Run<'a> {
    fn begin(plan: &'a Plan, out: &Path) -> Result<Self, String> {
        let descriptors = process::raise_descriptor_limit();
        let most = plan.cases.iter().map(Case::most_clients).max().unwrap_or(0);
        let common = Common {
            cores: plan.cores.server.clone(),
            workers: Cores::count(&plan.cores.server),
            memory_bytes: plan.memory_bytes,
            set_bytes: 0,
            descriptors,
            connections: (most + most / 2).max(4096).min(descriptors),
        };
        let reports = out.join("turns");
        fs::create_dir_all(&reports).map_err(|e| format!("{}: {e}", reports.display()))?;
        let mut place = Place::new()?;
        write_documents(plan, &place)?;
        let origin = start_origin(plan, &mut place, &common)?;
        let load = Load {
            program: plan.load.clone(),
            cores: plan.cores.client.clone(),
            threads: Cores::count(&plan.cores.client),
            lists: place.lists(),
            reports: fs::canonicalize(&reports).map_err(|e| e.to_string())?,
        };
        for (server, why) in &plan.left_out {
            println!("  left out: {}, {why}", server.name);
        }
        let ports = ClosedPorts::here();
        let found = describe(plan, &common, ports, origin.as_ref());
        Ok(Self {
            plan,
            place,
            common,
            ports,
            origin,
            load,
            found,
        })
    }

    fn rounds(&mut self) -> Result<(), String> {
        let plan = self.plan;
        for round in 1..=plan.rounds {
            let mut order: Vec<&Entrant> = plan.entrants.iter().collect();
            order.rotate_left(round as usize % plan.entrants.len());
            for (number, case) in plan.cases.iter().enumerate() {
                for entrant in &order {
                    if entrant.server.one_document && case.documents.len() > 1 {
                        continue;
                    }
                    self.turn(round, number, case, entrant)?;
                }
            }
        }
        Ok(())
    }

    /// One turn. What a server does wrong is noted; only an interruption ends the run.
    fn turn(
        &mut self,
        round: u32,
        number: usize,
        case: &Case,
        entrant: &Entrant,
    ) -> Result<(), String> {
        interrupt::check()?;
        let name = &entrant.server.name;
        let launched = match self.start(case, entrant) {
            Ok(launched) => launched,
            Err(error) => return self.failed_to_start(round, number, case, entrant, &error),
        };
        self.remember(entrant, &launched);
        for (step, &level) in case.levels.iter().enumerate() {
            if step > 0 && !case.keep_alive {
                self.ports.settle()?;
            }
            let result = self.step(round, case, level, name, &launched);
            if let Err(error) = &result {
                interrupt::check()?;
                println!("  {name}: {error}");
            }
            let (figures, fault) = match result {
                Ok(figures) => (Some(figures), None),
                Err(error) => (None, Some(error)),
            };
            self.note(number, step, turn(name, round, figures, fault));
        }
        Ok(())
    }

    /// A server with the case's documents in its cache.
    fn start(&mut self, case: &Case, entrant: &Entrant) -> Result<Launched, String> {
        let probe = Probe {
            path: &case.probe,
            bytes: case.probe_bytes(),
        };
        let common = Common {
            memory_bytes: case.memory_bytes.unwrap_or(self.common.memory_bytes),
            set_bytes: case.set_bytes(),
            ..self.common.clone()
        };
        let mut launched = launch::start(
            &entrant.server,
            &entrant.program,
            &mut self.place,
            &common,
            self.origin.as_ref().map_or(launch::NOBODY, Origin::address),
            &probe,
        )?;
        self.settle(case, &entrant.server, &launched)?;
        let against = against(&launched);
        let name = format!("{}-{}-warm-up", case.name, entrant.server.name);
        self.load.warm_up(case, against, &name)?;
        match launched.process.ended() {
            None => Ok(launched),
            Some(status) => Err(format!("it ended ({status}) while it was warmed up")),
        }
    }

    /// Asks a cache until it answers without its origin; says so if it never does.
    fn settle(&mut self, case: &Case, server: &Server, launched: &Launched) -> Result<(), String> {
        if server.role != Role::Cache {
            return Ok(());
        }
        for _ in 0..MOST_PROBES {
            interrupt::check()?;
            let before = self.asked();
            crate::probe::get(launched.address, &case.probe)?;
            if origin::between(before, self.asked()) == Some(0) {
                return Ok(());
            }
            // Some answer first and store afterwards.
            machine::pause(BETWEEN_PROBES)?;
        }
        self.doubt(format!(
            "{} asked its origin for each of the first {MOST_PROBES} requests for {}: it does not cache it.",
            server.name, case.probe
        ));
        Ok(())
    }

    /// Requests that the origin got so far.
    fn asked(&self) -> Option<u64> {
        self.origin.as_ref().and_then(Origin::requests)
    }

    fn step(
        &self,
        round: u32,
        case: &Case,
        level: Level,
        server: &str,
        launched: &Launched,
    ) -> Result<Figures, String> {
        let name = format!("{}-{}-{server}-{round}", case.name, level.clients);
        let before = self.asked();
        let phase = self.load.step(case, level, against(launched), &name)?;
        let asked = origin::between(before, self.asked());
        if phase.tally.counts.completed == 0 {
            return Err(format!(
                "not one request of {} {} came to an end",
                forebay_results::format::count(level.clients),
                case.measure.steps()
            ));
        }
        let figures = Figures::of(&phase, asked);
        println!(
            "  round {round}/{}  {:<10} {server:<20} {:>6} {}  {:>9} {}  {}  {}",
            self.plan.rounds,
            case.name,
            level.clients,
            case.measure.steps(),
            forebay_results::format::rate(case.measure.of(&figures)),
            case.measure.name(),
            forebay_results::format::success(figures.succeeded, figures.completed),
            figures
                .cpu_us
                .map_or_else(String::new, |us| format!("{us:.1} µs/request")),
        );
        Ok(figures)
    }

    fn failed_to_start(
        &mut self,
        round: u32,
        number: usize,
        case: &Case,
        entrant: &Entrant,
        error: &str,
    ) -> Result<(), String> {
        interrupt::check()?;
        let name = &entrant.server.name;
        println!("  {name}: {error}");
        for step in 0..case.levels.len() {
            self.note(
                number,
                step,
                turn(name, round, None, Some(error.to_owned())),
            );
        }
        Ok(())
    }

    fn note(&mut self, case: usize, step: usize, turn: Turn) {
        let case = self.found.cases.get_mut(case);
        if let Some(level) = case.and_then(|c| c.levels.get_mut(step)) {
            level.turns.push(turn);
        }
    }

    /// Command line and files of a server, as of this start.
    fn remember(&mut self, entrant: &Entrant, launched: &Launched) {
        let name = &entrant.server.name;
        if let Some(contestant) = self.found.servers.iter_mut().find(|s| s.name == *name) {
            contestant.command.clone_from(&launched.command);
            contestant.environment.clone_from(&launched.environment);
            contestant.files.clone_from(&launched.files);
        }
    }

    fn doubt(&mut self, words: String) {
        if !self.found.notes.contains(&words) {
            println!("  {words}");
            self.found.notes.push(words);
        }
    }

    /// What a reader must know, once everything is over.
    fn doubts(&mut self) {
        if interrupt::check().is_err() {
            self.doubt(format!(
                "The comparison was {INTERRUPTED}: turns are missing."
            ));
        }
        if self.found.method.load_before > QUIET {
            self.doubt(format!(
                "The machine was busy with something else before it began (load average {:.2}).",
                self.found.method.load_before
            ));
        }
        if self.plan.cores.server.is_empty() {
            self.doubt("Servers and load were not pinned to cores of their own.".into());
        }
    }
}

fn against(launched: &Launched) -> Against {
    Against {
        address: launched.address,
        observed: launched.observed,
    }
}

fn turn(server: &str, round: u32, figures: Option<Figures>, fault: Option<String>) -> Turn {
    Turn {
        server: server.to_owned(),
        round,
        figures,
        fault,
    }
}

fn write_documents(plan: &Plan, place: &Place) -> Result<(), String> {
    let root = place.root();
    for case in &plan.cases {
        for document in &case.documents {
            document
                .write(&root)
                .map_err(|e| format!("{}{}: {e}", root.display(), document.path))?;
        }
        for (name, text) in &case.lists {
            let file = place.lists().join(name);
            fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        }
    }
    Ok(())
}

/// The origin of the documents, if the suite has any.
fn start_origin(plan: &Plan, place: &mut Place, common: &Common) -> Result<Option<Origin>, String> {
    let Some(case) = plan.cases.iter().find(|c| !c.documents.is_empty()) else {
        return Ok(None);
    };
    let probe = Probe {
        path: &case.probe,
        bytes: case.probe_bytes(),
    };
    let beside_the_load = Common {
        cores: plan.cores.client.clone(),
        workers: Cores::count(&plan.cores.client),
        ..common.clone()
    };
    Origin::start(place, &beside_the_load, &probe).map(Some)
}

/// Everything that is known before the first turn.
fn describe(
    plan: &Plan,
    common: &Common,
    ports: ClosedPorts,
    origin: Option<&Origin>,
) -> Comparison {
    let cases = plan.cases.iter().map(|case| CaseResult {
        name: case.name.into(),
        about: case.about.clone(),
        measure: case.measure,
        keep_alive: case.keep_alive,
        levels: case
            .levels
            .iter()
            .map(|level| LevelResult {
                clients: level.clients,
                amount: level.amount.name(),
                turns: Vec::new(),
            })
            .collect(),
        original: case.original.clone(),
    });
    let entrants = plan.entrants.iter().map(|entrant| Contestant {
        version: version(entrant),
        ..contestant(&entrant.server)
    });
    let left_out = plan.left_out.iter().map(|(server, why)| Contestant {
        left_out: Some(why.clone()),
        ..contestant(server)
    });
    Comparison {
        format: FORMAT,
        program: format!("forebay {}", env!("CARGO_PKG_VERSION")),
        suite: plan.suite.name.into(),
        question: plan.suite.question.into(),
        started: machine::now(),
        command: std::env::args().collect(),
        machine: machine::describe(),
        method: Method {
            rounds: plan.rounds,
            quick: plan.quick,
            server_cores: plan.cores.server.clone(),
            client_cores: plan.cores.client.clone(),
            workers: common.workers,
            memory_bytes: plan
                .cases
                .iter()
                .find_map(|case| case.memory_bytes)
                .unwrap_or(common.memory_bytes),
            descriptors: common.descriptors,
            ports: ports.about().into(),
            origin: origin.map_or_else(|| "none".into(), |o| o.command().to_owned()),
            load_before: machine::load_average(),
        },
        servers: entrants.chain(left_out).collect(),
        cases: cases.collect(),
        ..Comparison::default()
    }
}

fn contestant(server: &Server) -> Contestant {
    Contestant {
        name: server.name.clone(),
        about: server.about.clone(),
        role: server.role,
        ..Contestant::default()
    }
}

/// What a server and the programs beside it tell as their versions.
fn version(entrant: &Entrant) -> String {
    let server = &entrant.server;
    let mut versions = vec![version_of(&entrant.program, &server.version)];
    for companion in server.beside.iter().filter(|c| !c.version.is_empty()) {
        versions.push(version_of(&companion.found, &companion.version));
    }
    versions.join("; ")
}

/// The first line in which a program tells its version.
fn version_of(program: &Path, arguments: &[String]) -> String {
    if arguments.is_empty() {
        return "built from this repository".into();
    }
    let mut command = std::process::Command::new(program);
    let text = command::capture(command.args(arguments)).unwrap_or_default();
    let mut lines = text.lines().map(str::trim);
    // Traffic Server tells where it looks first.
    lines
        .find(|l| l.contains(|c: char| c.is_ascii_digit()))
        .unwrap_or("not told")
        .to_owned()
}
