//! Programs found or built, and started each with its configuration, pinned to its core.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::cases::{Case, Measured, Work};
use super::origin::Origin;
use super::peers::{PEERS, Peer};
use crate::http::Client;
use crate::process::{Running, descriptor_limit, free_port};
use crate::{Outcome, command, dist, forebay};

/// The core that servers run on.
const SERVER_CORE: &str = "0";
/// The core that the client and the origin run on.
pub(super) const CLIENT_CORE: &str = "1";
/// How long a server may take until it answers.
pub(super) const START: Duration = Duration::from_secs(20);

/// Folders for one case: configurations and logs on disk, and caches in a memory file system.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) dir: PathBuf,
    pub(super) memory: tempfile::TempDir,
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

/// Which build of Forebay is measured.
#[derive(Clone, Copy, Debug)]
pub(super) enum Build<'a> {
    /// The one to install: that of `cargo xtask dist`.
    Installed,
    /// That of `cargo build --release`.
    Release,
    /// The one in this file.
    At(&'a str),
}

impl Build<'_> {
    /// Its program, built now unless it was given.
    fn program(self) -> Outcome<PathBuf> {
        match self {
            Self::Installed => dist::program(),
            Self::Release => forebay::binary(None),
            Self::At(path) => forebay::binary(Some(path)),
        }
    }
}

/// The programs at hand.
#[derive(Debug)]
pub(super) struct Programs {
    paths: BTreeMap<&'static str, PathBuf>,
    /// The floor program, which is also everybody's origin.
    pub(super) floor: PathBuf,
}

impl Programs {
    /// Finds or builds the servers called in `only` (comma-separated; all when `None`), and says which are missing.
    ///
    /// # Errors
    /// A name that is not known, or a build that fails.
    pub(super) fn find(only: Option<&str>, build: Build<'_>) -> Outcome<Self> {
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
                "forebay" => Some(build.program()?),
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
        origin: &Origin,
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

    /// The program with `forebay bench` in it.
    ///
    /// # Errors
    /// When it is not measured itself, and its build fails.
    pub(super) fn load_tester(&self) -> Outcome<PathBuf> {
        match self.paths.get("forebay") {
            Some(measured) => Ok(measured.clone()),
            None => forebay::binary(None),
        }
    }

    /// Starts `peer` for `case` on the servers' core, in front of `origin`, and waits until it answers.
    ///
    /// # Errors
    /// When it does not.
    pub(super) fn start(
        &self,
        peer: &Peer,
        case: &Case,
        origin: &Origin,
        place: &Place,
    ) -> Outcome<Server> {
        let port = free_port()?;
        let path = self
            .paths
            .get(peer.name)
            .ok_or_else(|| format!("{} is not installed", peer.name))?;
        let dir = place.dir.join(peer.name);
        // What it kept in an earlier run is not to be found again.
        crate::empty(&dir)?;
        let memory_dir = place.memory.path().join(peer.name);
        fs::create_dir_all(&memory_dir)?;
        let template = peer.templates.of(case.work);
        let config = dir.join(template);
        let mut values = placeholders(case, port);
        values.extend(origin.placeholders(peer.name));
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
        answering(peer.name, Running::start(&mut command)?, port, case)
            .map_err(|e| format!("{e}; see {}", dir.join("output.log").display()).into())
    }
}

/// What stands for what in templates and arguments, whatever the server.
fn placeholders(case: &Case, port: u16) -> Vec<(&'static str, String)> {
    let (durability, appendfsync) = match case.measured {
        Measured::Durable => ("always", "always"),
        _ => ("interval", "everysec"),
    };
    vec![
        ("{port}", port.to_string()),
        ("{cores}", "1".into()),
        ("{descriptors}", descriptor_limit().to_string()),
        ("{body_bytes}", case.body_bytes.to_string()),
        ("{durability}", durability.into()),
        ("{appendfsync}", appendfsync.into()),
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

/// Waits until a server has answered a request well, or where it answers none of HTTP, takes a
/// connection.
pub(super) fn answering(
    name: &'static str,
    mut process: Running,
    port: u16,
    case: &Case,
) -> Outcome<Server> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let deadline = Instant::now() + START;
    let ask = || match (Client::connect(address), case.work) {
        (Ok(_), Work::Commands(_)) => Ok(()),
        (Ok(mut client), _) => match client.get(case.path())? {
            response if response.status == 200 => Ok(()),
            response => Err(format!("{response:?}").into()),
        },
        (Err(e), _) => Err(e),
    };
    loop {
        match ask() {
            Ok(()) => {
                return Ok(Server {
                    name,
                    process,
                    address,
                });
            }
            Err(e) if !process.alive() => {
                return Err(format!("{name} ended; last answer: {e}").into());
            }
            Err(e) if Instant::now() > deadline => {
                return Err(format!("{name} does not answer: {e}").into());
            }
            Err(_) => sleep(Duration::from_millis(20)),
        }
    }
}
