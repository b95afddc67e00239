//! Programs found or built, and started each with its configuration, pinned to its core.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::cases::{Case, Work};
use super::peers::{PEERS, Peer};
use crate::http::Client;
use crate::process::{Running, descriptor_limit, free_port};
use crate::{Outcome, command, forebay};

/// The core that servers run on.
const SERVER_CORE: &str = "0";
/// The core that the client and the origin run on.
pub(super) const CLIENT_CORE: &str = "1";
/// How long a server may take until it answers.
const START: Duration = Duration::from_secs(20);

/// Folders for one case: configurations and logs on disk, and caches in a memory file system.
#[derive(Debug)]
pub(super) struct Place {
    dir: PathBuf,
    memory: tempfile::TempDir,
}

impl Place {
    /// Folders called after `name`.
    ///
    /// # Errors
    /// When they cannot be made.
    pub(super) fn new(name: &str) -> Outcome<Self> {
        let dir = crate::target_dir().join("compare").join(name);
        fs::create_dir_all(&dir)?;
        let memory = if Path::new("/dev/shm").is_dir() {
            tempfile::tempdir_in("/dev/shm")
        } else {
            tempfile::tempdir()
        };
        Ok(Self {
            dir,
            memory: memory?,
        })
    }
}

/// A server that answers.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) process: Running,
    pub(super) address: SocketAddr,
}

/// The programs at hand.
#[derive(Debug)]
pub(super) struct Programs {
    paths: BTreeMap<&'static str, PathBuf>,
    /// The floor program, which is also everybody's origin.
    floor: PathBuf,
}

impl Programs {
    /// Finds or builds the servers called in `only` (comma-separated; all when `None`), and says which are missing.
    ///
    /// # Errors
    /// A name that is not known, or a build that fails.
    pub(super) fn find(only: Option<&str>, forebay: Option<&str>) -> Outcome<Self> {
        let only: Option<Vec<&str>> = only.map(|o| o.split(',').collect());
        if let Some(name) = only
            .iter()
            .flatten()
            .find(|n| PEERS.iter().all(|p| p.name != **n))
        {
            return Err(format!("{name}: no such server").into());
        }
        let floor = forebay::release("forebay-floor")?;
        let mut paths = BTreeMap::new();
        for peer in PEERS
            .iter()
            .filter(|p| only.as_ref().is_none_or(|o| o.contains(&p.name)))
        {
            let path = match peer.name {
                "floor" => Some(floor.clone()),
                "forebay" => Some(forebay::binary(forebay)?),
                _ => command::find(peer.program),
            };
            match path {
                Some(path) => _ = paths.insert(peer.name, path),
                None => println!(
                    "{}: not installed; apt-get install {}",
                    peer.name, peer.package
                ),
            }
        }
        Ok(Self { paths, floor })
    }

    /// The servers of `names` that are at hand, in that order.
    pub(super) fn of(&self, names: &[&str]) -> Vec<&'static Peer> {
        let known = names
            .iter()
            .filter_map(|n| PEERS.iter().find(|p| p.name == *n));
        known.filter(|p| self.paths.contains_key(p.name)).collect()
    }

    /// The name of each server and what it calls its version.
    pub(super) fn versions(&self) -> Vec<(&'static str, String)> {
        PEERS
            .iter()
            .filter(|p| self.paths.contains_key(p.name))
            .map(|peer| {
                let path = self.paths.get(peer.name).cloned().unwrap_or_default();
                let text = match peer.version {
                    "" => "this repository".into(),
                    flag => command::capture(Command::new(path).arg(flag)).unwrap_or_default(),
                };
                (
                    peer.name,
                    text.lines().next().unwrap_or_default().trim().to_owned(),
                )
            })
            .collect()
    }

    /// Starts the servers of `case` in front of `origin`. One of the others that does not start is left out with a
    /// word; the floor and Forebay must start.
    ///
    /// # Errors
    /// When they do not.
    pub(super) fn start_all(
        &self,
        case: &Case,
        origin: SocketAddr,
        place: &Place,
    ) -> Outcome<Vec<Server>> {
        let mut servers = Vec::new();
        for peer in self.of(case.servers) {
            match self.start(peer, case, origin, place) {
                Ok(server) => servers.push(server),
                Err(e) if peer.package.is_empty() => return Err(e),
                Err(e) => println!("  left out: {e}"),
            }
        }
        Ok(servers)
    }

    /// Starts the origin of `case`, on the client's core.
    ///
    /// # Errors
    /// When it does not answer.
    pub(super) fn origin(&self, case: &Case) -> Outcome<Server> {
        let port = free_port()?;
        let mut command = pinned(CLIENT_CORE, &self.floor);
        command.args(["--origin", "--cache-control", case.cache_control()]);
        command.args([
            "--body-size",
            &case.body_bytes.to_string(),
            "--listen",
            &format!("127.0.0.1:{port}"),
        ]);
        answering(
            "origin",
            Running::start(command.stdout(Stdio::null()))?,
            port,
        )
    }

    /// Starts `peer` for `case` on the servers' core, in front of `origin`, and waits until it answers.
    ///
    /// # Errors
    /// When it does not.
    pub(super) fn start(
        &self,
        peer: &Peer,
        case: &Case,
        origin: SocketAddr,
        place: &Place,
    ) -> Outcome<Server> {
        let port = free_port()?;
        let path = self
            .paths
            .get(peer.name)
            .ok_or_else(|| format!("{} is not installed", peer.name))?;
        let dir = place.dir.join(peer.name);
        fs::create_dir_all(&dir)?;
        let memory_dir = place.memory.path().join(peer.name);
        fs::create_dir_all(&memory_dir)?;
        let template = peer.templates[usize::from(!case.hits())];
        let config = dir.join(template);
        let mut values = placeholders(case, origin, port);
        values.extend([("{dir}", dir.display().to_string())]);
        values.extend([("{memory_dir}", memory_dir.display().to_string())]);
        values.extend([("{config}", config.display().to_string())]);
        if !template.is_empty() {
            let text = fs::read_to_string(crate::root().join("tools/compare").join(template))?;
            fs::write(&config, fill(&text, &values))?;
        }
        let log = fs::File::create(dir.join("output.log"))?;
        let mut command = pinned(SERVER_CORE, path);
        command
            .args(peer.arguments.iter().map(|a| fill(a, &values)))
            .stdout(log.try_clone()?)
            .stderr(log);
        fs::write(dir.join("command.txt"), command::line(&command) + "\n")?;
        answering(peer.name, Running::start(&mut command)?, port)
            .map_err(|e| format!("{e}; see {}", dir.join("output.log").display()).into())
    }
}

/// What stands for what in templates and arguments, whatever the server.
fn placeholders(case: &Case, origin: SocketAddr, port: u16) -> Vec<(&'static str, String)> {
    vec![
        ("{port}", port.to_string()),
        ("{origin}", origin.to_string()),
        ("{origin_host}", origin.ip().to_string()),
        ("{origin_port}", origin.port().to_string()),
        ("{cores}", "1".into()),
        ("{descriptors}", descriptor_limit().to_string()),
        ("{body_bytes}", case.body_bytes.to_string()),
        ("{pass}", (case.work == Work::Passes).to_string()),
    ]
}

fn fill(text: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(name, value)
    })
}

/// `program` on one core; without `taskset` on any.
pub(super) fn pinned(core: &str, program: &Path) -> Command {
    match command::find("taskset") {
        Some(taskset) => {
            let mut command = Command::new(taskset);
            command.args(["-c", core]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// Waits until a server has answered a request well.
fn answering(name: &'static str, mut process: Running, port: u16) -> Outcome<Server> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let deadline = Instant::now() + START;
    loop {
        match Client::connect(address).and_then(|mut client| client.get("/object")) {
            Ok(response) if response.status == 200 => {
                return Ok(Server {
                    name,
                    process,
                    address,
                });
            }
            answer if !process.alive() => {
                return Err(format!("{name} ended; last answer: {answer:?}").into());
            }
            answer if Instant::now() > deadline => {
                return Err(format!("{name} does not answer: {answer:?}").into());
            }
            _ => sleep(Duration::from_millis(20)),
        }
    }
}
