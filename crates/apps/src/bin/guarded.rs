//! A program that is nothing but a guard: what `forebay` is when it is called as one.

use std::process::ExitCode;

fn main() -> ExitCode {
    forebay_apps::guard::called(std::env::args_os().skip(1)).unwrap_or(ExitCode::FAILURE)
}
