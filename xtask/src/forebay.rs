//! The server under test: built, started with a configuration, and found by the lines that it prints.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::process::Running;
use crate::{Outcome, command};

/// How long it may take to print `ready`.
const START: Duration = Duration::from_secs(20);

/// A running `forebay serve`.
#[derive(Debug)]
pub(crate) struct Server {
    /// The process.
    pub(crate) process: Running,
    /// The first address it listens on; with stores of sessions alone, that of the first of them.
    pub(crate) address: SocketAddr,
    /// Its stores of sessions, by name.
    pub(crate) sessions: Vec<(String, SocketAddr)>,
    /// Its administration, if the configuration has one.
    pub(crate) admin: Option<SocketAddr>,
}

/// The binary: the one asked for, or the release build made now.
///
/// # Errors
/// When the build fails, or the file is not there.
pub(crate) fn binary(asked: Option<&str>) -> Outcome<PathBuf> {
    if let Some(path) = asked {
        return fs::canonicalize(path).map_err(|e| format!("{path}: {e}").into());
    }
    release("forebay")
}

/// Builds a package of the workspace in release mode and returns its program.
///
/// # Errors
/// When the build fails.
pub(crate) fn release(package: &str) -> Outcome<PathBuf> {
    command::run(command::cargo().args(["build", "--quiet", "--release", "--package", package]))?;
    Ok(crate::target_dir().join("release").join(package))
}

impl Server {
    /// Writes `config` into `dir` and serves it; returns when the server says that it is ready.
    ///
    /// # Errors
    /// When it ends, or says nothing for too long.
    pub(crate) fn start(binary: &Path, config: &str, dir: &Path) -> Outcome<Self> {
        fs::create_dir_all(dir)?;
        let file = dir.join("forebay.toml");
        fs::write(&file, config)?;
        let mut process = Running::start(
            Command::new(binary)
                .args(["serve", "-c"])
                .arg(&file)
                .stdout(Stdio::piped()),
        )?;
        let stdout = process.child().stdout.take().ok_or("no standard output")?;
        let (sender, receiver) = mpsc::channel();
        // Goes on after `ready`, so that the server never waits for a reader.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let (mut address, mut admin, mut sessions) = (None, None, Vec::new());
        loop {
            let line = receiver.recv_timeout(START);
            let line = line.map_err(|_| {
                format!(
                    "{} serve -c {}: not ready",
                    binary.display(),
                    file.display()
                )
            })?;
            if let Some(text) = line.strip_prefix("listening on ") {
                address = address.or_else(|| text.trim().parse().ok());
            } else if let Some(text) = line.strip_prefix("session ") {
                sessions.extend(session(text));
            } else if let Some(text) = line.strip_prefix("admin on ") {
                admin = admin.or_else(|| text.trim().parse().ok());
            } else if line == "ready" {
                break;
            }
        }
        let address = address.or(sessions.first().map(|&(_, address)| address));
        Ok(Self {
            process,
            address: address.ok_or("it did not print what it listens on")?,
            sessions,
            admin,
        })
    }
}

/// `NAME on ADDRESS`; nothing for a Unix socket.
fn session(text: &str) -> Option<(String, SocketAddr)> {
    let (name, address) = text.split_once(" on ")?;
    Some((name.to_owned(), address.trim().parse().ok()?))
}
