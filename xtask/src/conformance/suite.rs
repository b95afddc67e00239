//! The suite itself: fetched once, its origin started, its client run.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::process::Running;
use crate::{Outcome, apt, command};

/// The edition whose results the thresholds speak of.
const VERSION: &str = "0.4.5";

/// The suite on disk.
#[derive(Debug)]
pub(super) struct Suite {
    dir: PathBuf,
    package: PathBuf,
}

/// The suite's origin, stopped when dropped.
#[derive(Debug)]
pub(super) struct Origin {
    _process: Running,
    pub(super) address: SocketAddr,
}

impl Suite {
    /// Installs the suite into the target directory unless it is there, without running any of its scripts.
    ///
    /// # Errors
    /// When node is missing or the registry cannot be reached.
    pub(super) fn prepare() -> Outcome<Self> {
        let dir = crate::target_dir().join("conformance");
        let package = dir.join("node_modules/http-cache-tests");
        fs::create_dir_all(&dir)?;
        if command::find("node").is_none() || command::find("npm").is_none() {
            apt::for_tests()?;
        }
        if version(&package).as_deref() != Some(VERSION) {
            let mut npm = Command::new("npm");
            npm.args([
                "install",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--no-save",
                "--prefix",
            ]);
            command::run(npm.arg(&dir).arg(format!("http-cache-tests@{VERSION}")))?;
        }
        Ok(Self { dir, package })
    }

    /// Where results are kept.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts the origin that plays each test's responses, on a free port.
    ///
    /// # Errors
    /// When it does not say where it listens.
    pub(super) fn start_origin(&self) -> Outcome<Origin> {
        // It serves files from its working directory; `object` is what readiness probes ask for.
        let root = self.dir.join("root");
        fs::create_dir_all(&root)?;
        fs::write(root.join("object"), "object\n")?;
        let mut command = Command::new("node");
        command
            .arg("--no-warnings")
            .arg(self.package.join("server/server.mjs"))
            .current_dir(&root);
        command
            .env("npm_config_protocol", "http")
            .env("npm_config_port", "0");
        command.env("npm_config_pidfile", self.dir.join("origin.pid"));
        let mut process = Running::start(command.stdout(Stdio::piped()))?;
        let stdout = process.child().stdout.take().ok_or("no standard output")?;
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let line = lines.next().unwrap_or_default();
        let port = line
            .trim_end_matches('/')
            .rsplit(':')
            .next()
            .and_then(|p| p.parse().ok());
        let port: u16 = port.ok_or_else(|| format!("the suite's origin said: {line}"))?;
        // It warns about requests that belong to no test; nobody needs that, but somebody must read it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Origin {
            _process: process,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
        })
    }

    /// Runs the tests, or only `id` and what it depends on, against the cache at `cache`.
    ///
    /// # Errors
    /// When the client fails as a whole.
    pub(super) fn run(&self, cache: SocketAddr, id: Option<&str>) -> Outcome<Vec<Value>> {
        let results = self.dir.join("results.json");
        let mut node = Command::new("node");
        node.arg("--no-warnings")
            .arg(crate::root().join("xtask/conformance/run.mjs"));
        node.arg(&self.package)
            .arg(format!("http://{cache}"))
            .arg(&results)
            .args(id);
        command::run(&mut node)?;
        Ok(serde_json::from_str(&fs::read_to_string(results)?)?)
    }
}

fn version(package: &Path) -> Option<String> {
    let text = fs::read_to_string(package.join("package.json")).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    Some(value.get("version")?.as_str()?.to_owned())
}
