//! A client's stories, run to their end or to their deadline.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::process::Running;
use crate::{Outcome, command};

use super::stores::Stores;

/// How long the stories of one client may take; they take seconds.
const MOST: Duration = Duration::from_secs(90);

/// Runs `client` with the addresses of the stores. What it tells is shown; what it complains of is in `complaints`,
/// for libraries say much there, and shown when it fails.
///
/// # Errors
/// When it cannot be started, fails, or takes too long; then it and what it started are ended.
pub(super) fn run(client: &mut Command, stores: &Stores, complaints: &Path) -> Outcome {
    stores.tell(client)?;
    let line = command::line(client);
    let mut running = Running::start(client.stderr(File::create(complaints)?))?;
    let deadline = Instant::now() + MOST;
    while running.alive() {
        if Instant::now() > deadline {
            let most = MOST.as_secs();
            return Err(format!("{line}: not through after {most} s{}", end_of(complaints)).into());
        }
        sleep(Duration::from_millis(20));
    }
    let status = running.child().wait()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{line}: {status}{}", end_of(complaints)).into())
}

/// The last lines of a file, indented, and where the others are.
fn end_of(complaints: &Path) -> String {
    let text = std::fs::read_to_string(complaints).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().skip(lines.len().saturating_sub(20));
    let last: String = last.map(|line| format!("\n    {line}")).collect();
    format!("{last}\n    ({} has all of it)", complaints.display())
}
