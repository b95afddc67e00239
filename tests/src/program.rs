//! Where the program under test is.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The path of the binary: `FOREBAY_BINARY`, or the workspace's own, built
/// once per process (cargo builds no other package's binary for a test).
///
/// # Panics
/// When it cannot be built.
pub fn path() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var_os("FOREBAY_BINARY") {
        Some(path) => path.into(),
        None => build(),
    })
    .clone()
}

fn build() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // target/PROFILE/deps/scenarios-HASH
    let profile = test
        .parent()
        .and_then(|deps| deps.parent())
        .expect("a test lies in target/PROFILE/deps");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--quiet",
        "--package",
        "forebay",
        "--bin",
        "forebay",
    ]);
    if profile.ends_with("release") {
        command.arg("--release");
    }
    let status = command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(status.success(), "the program does not build");
    profile.join("forebay")
}
