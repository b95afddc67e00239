//! temporary
#[derive(Debug, clap::Parser)]
struct Line { #[command(flatten)] args: forebay_compare::Args }
fn main() -> std::process::ExitCode {
    let line = <Line as clap::Parser>::parse();
    match forebay_compare::run(&line.args) { Ok(()) => 0.into(), Err(e) => { eprintln!("forebay compare: {e}"); 1.into() } }
}
