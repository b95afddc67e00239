//! `cargo xtask test`: everything that must pass, each step timed. It is what continuous integration runs.
//!
//! The steps go on after a failure, so that one run shows every fault; the last line counts them.

use std::time::Instant;

use crate::{Outcome, apt, clients, command, conformance, crash, dist, docs, forebay, memory};

/// One step.
struct Step {
    name: &'static str,
    run: fn() -> Outcome,
}

const STEPS: &[Step] = &[
    Step {
        name: "format",
        run: || cargo(&["fmt", "--all", "--check"]),
    },
    Step {
        name: "lints",
        run: || {
            let denied = ["--", "-D", "warnings"];
            let own = ["clippy", "--quiet", "--workspace", "--all-targets"];
            command::run(command::cargo().args(own).args(denied))?;
            // The fuzz targets are a workspace of their own, and run only now and then.
            let fuzz = [
                "clippy",
                "--quiet",
                "--manifest-path",
                "fuzz/Cargo.toml",
                "--bins",
            ];
            let mut cargo = command::cargo();
            cargo
                .args(fuzz)
                .arg("--target-dir")
                .arg(crate::target_dir());
            command::run(cargo.args(denied))
        },
    },
    Step {
        name: "tests",
        run: || {
            // Most scenarios wait for a deadline of theirs; the cores have time for more at once.
            command::run(
                command::cargo()
                    .args(["test", "--workspace", "--no-fail-fast"])
                    .env("RUST_TEST_THREADS", "6"),
            )
        },
    },
    Step {
        name: "docs",
        run: || docs::run(&["--check".into()]),
    },
    Step {
        name: "release",
        run: || cargo(&["build", "--release", "--package", "forebay"]),
    },
    Step {
        name: "conformance",
        run: || conformance::run(&[]),
    },
    Step {
        // What `cargo xtask dist` builds for; its two builds take too long for here.
        name: "training",
        run: || {
            let binary = forebay::binary(None)?.display().to_string();
            dist::run(&["--seconds=1".into(), format!("--binary={binary}")])
        },
    },
    Step {
        name: "clients",
        run: || clients::run(&[]),
    },
    Step {
        name: "memory",
        run: || {
            memory::run(&[])?;
            memory::run(&["sessions".into(), "--seconds=10".into()])
        },
    },
    Step {
        name: "crash",
        run: || {
            crash::run(&["cache".into(), "--times=5".into()])?;
            crash::run(&[
                "sessions".into(),
                "--times=5".into(),
                "--seconds=1.5".into(),
            ])
        },
    },
];

/// Runs the steps called, or all of them.
pub(crate) fn run(args: &[String]) -> Outcome {
    if let Some(name) = args
        .iter()
        .find(|name| STEPS.iter().all(|s| s.name != name.as_str()))
    {
        let known: Vec<_> = STEPS.iter().map(|s| s.name).collect();
        return Err(format!("{name}: no such step; there are {}", known.join(", ")).into());
    }
    apt::for_tests()?;
    let mut lines = Vec::new();
    let (mut passed, mut failed) = (0, 0);
    for step in STEPS
        .iter()
        .filter(|s| args.is_empty() || args.iter().any(|name| name == s.name))
    {
        println!("\n==== {}", step.name);
        let began = Instant::now();
        let result = (step.run)();
        let seconds = began.elapsed().as_secs_f64();
        let word = if result.is_ok() { "ok" } else { "FAILED" };
        if let Err(e) = &result {
            println!("{}: {e}", step.name);
        }
        println!("==== {}: {word} in {seconds:.1} s", step.name);
        lines.push(format!("{:<12} {word:<6} {seconds:>6.1} s", step.name));
        if result.is_ok() {
            passed += 1
        } else {
            failed += 1
        }
    }
    println!("\n{}\n{passed} passed, {failed} failed", lines.join("\n"));
    if failed == 0 {
        Ok(())
    } else {
        Err("some steps failed".into())
    }
}

fn cargo(args: &[&str]) -> Outcome {
    command::run(command::cargo().args(args))
}
