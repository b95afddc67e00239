//! `forebay compare`: the same work against several servers, one after the
//! other in rounds, on one machine, reported side by side.
//!
//! ```text
//!  suites/  what is asked           servers/  who is asked
//!       \                              /
//!        plan.rs  who takes part in what, on which cores
//!           |
//!        run.rs   rounds of turns ── launch.rs  a server from start to end
//!           |                        origin.rs  everybody's origin
//!           |                        load.rs    `forebay bench` as a child
//!        comparison.rs  what was found, as kept in compare.json
//!           |
//!        report/  Markdown and HTML, ending in words
//! ```
//!
//! Everything that is started is ended by its number when its guard is
//! dropped; nothing else on the machine is touched.

mod apt;
mod args;
mod command;
mod companions;
mod comparison;
mod cores;
mod interrupt;
mod launch;
mod list;
mod load;
mod machine;
mod origin;
mod place;
mod plan;
mod probe;
mod process;
mod report;
mod run;
mod servers;
mod statistics;
mod suites;

use std::path::PathBuf;

pub use args::Args;
use comparison::Comparison;
use plan::Plan;

/// Runs a comparison, or lists or renders what `args` ask for.
///
/// # Errors
/// In words: what is not known or not installed, what failed, or that it was interrupted. What was measured until
/// then is reported all the same.
pub fn run(args: &Args) -> Result<(), String> {
    if args.list {
        print!("{}", list::text(args)?);
        return Ok(());
    }
    if let Some(dir) = &args.render {
        let comparison = Comparison::read(dir)?;
        return report::write(&comparison, dir);
    }
    let plan = Plan::new(args)?;
    let out = out_dir(args, &plan);
    interrupt::watch()?;
    let (comparison, ended) = run::run(&plan, &out)?;
    if comparison.cases.iter().all(|c| c.levels.is_empty()) {
        return ended;
    }
    comparison.write(&out)?;
    report::write(&comparison, &out)?;
    println!("\n{}", report::in_words(&comparison));
    ended
}

fn out_dir(args: &Args, plan: &Plan) -> PathBuf {
    args.out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("compare-{}", plan.suite.name)))
}
