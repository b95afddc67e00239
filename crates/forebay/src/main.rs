//! The program `forebay`: command line, assembly, shutdown.
//!
//! Each command is a function from its arguments to an exit status; the
//! parts it puts together live in the other crates.

mod applications;
mod cli;
mod commands;
mod configuration;
mod control;
mod demo;
mod error_log;
mod exit;
mod open_files;
mod out;
mod run;
mod sessions;
mod signals;
mod systemd;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

/// Returns memory to the system soon after an object is evicted, so that the
/// resident size follows the budget.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Some(status) = forebay_apps::guard::called(std::env::args_os().skip(1)) {
        return status;
    }
    // First, while there is one thread: the environment is changed.
    let passed = systemd::Passed::from_environment();
    let cli = Cli::parse();
    let done = match cli.command {
        None => demo::demonstrate(&cli.demo),
        Some(Command::Serve(args)) => commands::serve::serve(&args, passed),
        Some(Command::Check(args)) => commands::check::check(&args),
        Some(Command::Explain(args)) => commands::explain::explain(&args),
        Some(Command::Reload(args)) => commands::reload::reload(&args),
        Some(Command::Stats(args)) => commands::stats::stats(&args),
        Some(Command::Top(args)) => commands::top::top(&args),
        Some(Command::Purge(args)) => commands::purge::purge(&args),
        Some(Command::Bans(args)) => commands::objects::bans(&args),
        Some(Command::Inspect(args)) => commands::objects::inspect(&args),
        Some(Command::Log(args)) => commands::log::log(&args),
        Some(Command::Pool(args)) => commands::pool::pool(&args),
        Some(Command::App(args)) => commands::app::app(&args),
        Some(Command::Drain(args)) => commands::drain::drain(&args),
        Some(Command::Join(args)) => commands::join::join(&args),
        Some(Command::Session(args)) => commands::session::session(&args),
        Some(Command::Bench(args)) => commands::bench::bench(&args),
        Some(Command::Compare(args)) => commands::compare::compare(&args),
    };
    error_log::flush();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
