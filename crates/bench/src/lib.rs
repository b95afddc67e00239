//! The load tester, `forebay bench`: options to work, work to load, load to a
//! report.
//!
//! The load itself is `forebay-engine`'s, what is sent `forebay-workload`'s,
//! and how results look `forebay-results`'. Here they meet.

mod agents;
pub mod args;
mod collect;
mod conduct;
mod emit;
mod files;
mod job;
pub mod kv;
mod limits;
mod live;
mod observe;
mod place;
mod probe;
pub mod record;
mod rung;
mod search;
pub mod session;
mod stop;
mod tools;
mod trust;
mod work;

use std::path::Path;

pub use args::BenchArgs;
use args::{LoadArgs, Tool};
use files::Files;
use job::Job;

/// Why a command ended with another status than 0.
#[derive(Debug)]
pub enum Failure {
    /// It failed, in words; exit status 1.
    Message(String),
    /// An option is wrong, in words; exit status 2.
    Usage(String),
    /// All was said already; exit status 1.
    Said,
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Message(text)
    }
}

/// Runs `forebay bench`. `options` is what stood behind it, for agents.
///
/// # Errors
/// When an option is wrong, when no load can be sent, when a result cannot be written, and when
/// an assertion does not hold.
pub fn run(args: &BenchArgs, options: &[String]) -> Result<(), Failure> {
    let files = |agents: &[String]| Files::here(!agents.is_empty());
    match &args.tool {
        None => {
            let load: &LoadArgs = &args.load;
            let files = files(&load.output.agents);
            run_job(&Job::of_load(load, &files)?, options, &files)
        }
        Some(Tool::Kv(kv)) => {
            let job = Job::of_kv(kv)?;
            run_job(&job, options, &files(&kv.output.agents))
        }
        Some(Tool::Session(session)) => {
            let job = Job::of_session(session)?;
            run_job(&job, options, &files(&session.output.agents))
        }
        Some(Tool::Record(record)) => Ok(record::run(record)?),
        Some(Tool::Import(import)) => tools::import(import),
        Some(Tool::Diff(diff)) => tools::diff(diff),
        Some(Tool::Agent(agent)) => Ok(agents::serve(agent)?),
    }
}

/// Runs load from its first connection to its report.
fn run_job(job: &Job, options: &[String], files: &Files) -> Result<(), Failure> {
    let output = &job.output;
    let assertions = emit::assertions(&output.asserts)?;
    let limit = job
        .shape
        .find_limit
        .as_ref()
        .map(|text| emit::assertion("--find-limit", text))
        .transpose()?;
    for path in [&output.json, &output.html, &output.csv, &output.markdown] {
        emit::check_writable(path.as_deref())?;
    }
    let agents = if output.agents.is_empty() {
        if let Some(words) = limits::missing_core(&job.shape.cores) {
            return Err(Failure::Usage(words));
        }
        probe::all(&job.work.endpoints, job.shape.connect_timeout)?;
        None
    } else {
        let secret = output.agent_secret.as_deref();
        Some(agents::Agents::enlist(
            &output.agents,
            secret,
            options,
            files,
        )?)
    };
    let started = emit::now();
    let stop = stop::on_interrupt();
    let times = job.times.as_ref();
    let mut conductor =
        conduct::Conductor::new(&job.work, times, &job.shape, output, agents, stop)?;
    job.prepare()?;
    let (mut phases, mut finding) = (Vec::new(), None);
    match (&limit, &job.shape.find_limit) {
        (Some(limit), Some(words)) => {
            let found = search::search(&mut conductor, &job.shape, limit, words)?;
            phases = found.phases;
            finding = Some(found.finding);
        }
        _ => {
            let rungs = rung::Rung::all(&job.shape);
            for (n, rung) in rungs.iter().enumerate() {
                phases.push(conductor.run(rung, (n + 1, rungs.len()))?);
                if conductor.is_stopped() {
                    break;
                }
            }
        }
    }
    let mut report = conductor.report(phases, started);
    report.finding = finding;
    emit::emit(&report, output, &assertions)
}

/// Reads a result that `--json` wrote.
///
/// # Errors
/// When it cannot be read or is none.
pub fn read_report(path: &Path) -> Result<forebay_results::Report, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text)
        .map_err(|error| format!("{}: not a result of forebay bench: {error}", path.display()))
}
