//! The servers compared: how each is started, and with which configuration from `tools/compare`.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::cases::Case;
use crate::http::Client;
use crate::process::{Running, descriptor_limit, free_port};
use crate::{Outcome, command, forebay};

/// The core that servers run on.
const SERVER_CORE: &str = "0";
/// The core that the client and the origin run on.
pub(crate) const CLIENT_CORE: &str = "1";
/// How long a server may take until it answers.
const START: Duration = Duration::from_secs(20);

/// A server that can be compared.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    program: &'static str,
    /// The Debian package that brings it; empty for what this repository builds.
    package: &'static str,
    version: &'static str,
    /// Templates in `tools/compare`: for hits, and for requests passed through.
    templates: [&'static str; 2],
    /// Its arguments; placeholders as in the templates, and `{config}`.
    arguments: &'static [&'static str],
}

const PEERS: &[Peer] = &[
    Peer {
        name: "floor",
        program: "forebay-floor",
        package: "",
        version: "",
        templates: ["", ""],
        arguments: &[
            "--listen",
            "127.0.0.1:{port}",
            "--body-size",
            "{body_bytes}",
        ],
    },
    Peer {
        name: "forebay",
        program: "forebay",
        package: "",
        version: "--version",
        templates: ["forebay.toml", "forebay.toml"],
        arguments: &["serve", "-c", "{config}"],
    },
    Peer {
        name: "nginx",
        program: "nginx",
        package: "nginx-light",
        version: "-v",
        templates: ["nginx.conf", "nginx-pass.conf"],
        arguments: &["-c", "{config}", "-p", "{dir}", "-e", "{dir}/error.log"],
    },
    Peer {
        name: "varnish",
        program: "varnishd",
        package: "varnish",
        version: "-V",
        templates: ["varnish.vcl", "varnish.vcl"],
        arguments: &[
            "-F",
            "-n",
            "{dir}/varnish",
            "-f",
            "{config}",
            "-a",
            "127.0.0.1:{port}",
            "-s",
            "malloc,512M",
            "-p",
            "timeout_idle=300",
            "-p",
            "listen_depth=4096",
            "-p",
            "thread_pool_min=200",
        ],
    },
    Peer {
        name: "haproxy",
        program: "haproxy",
        package: "haproxy",
        version: "-v",
        templates: ["haproxy.cfg", "haproxy-pass.cfg"],
        arguments: &["-db", "-f", "{config}"],
    },
    Peer {
        name: "squid",
        program: "squid",
        package: "squid",
        version: "-v",
        templates: ["squid.conf", "squid.conf"],
        arguments: &["-N", "-f", "{config}"],
    },
];

/// Folders for one case: configurations and logs on disk, and caches in a memory file system.
#[derive(Debug)]
pub(crate) struct Place {
    dir: PathBuf,
    memory: tempfile::TempDir,
}

impl Place {
    /// Folders called after `name`.
    ///
    /// # Errors
    /// When they cannot be made.
    pub(crate) fn new(name: &str) -> Outcome<Self> {
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
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) process: Running,
    pub(crate) address: SocketAddr,
}

/// The programs at hand.
#[derive(Debug)]
pub(crate) struct Programs {
    paths: BTreeMap<&'static str, PathBuf>,
    /// The floor program, which is also everybody's origin.
    floor: PathBuf,
}

impl Programs {
    /// Finds or builds the servers called in `only` (comma-separated; all when `None`), and says which are missing.
    ///
    /// # Errors
    /// A name that is not known, or a build that fails.
    pub(crate) fn find(only: Option<&str>, forebay: Option<&str>) -> Outcome<Self> {
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
    pub(crate) fn of(&self, names: &[&str]) -> Vec<&'static Peer> {
        let known = names
            .iter()
            .filter_map(|n| PEERS.iter().find(|p| p.name == *n));
        known.filter(|p| self.paths.contains_key(p.name)).collect()
    }

    /// The name of each server and what it calls its version.
    pub(crate) fn versions(&self) -> Vec<(&'static str, String)> {
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

    /// Starts the origin of `case`, on the client's core.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) fn origin(&self, case: &Case) -> Outcome<Server> {
        let port = free_port()?;
        let mut command = pinned(CLIENT_CORE, &self.floor);
        command.args(["--origin", "--cache-control", case.cache_control]);
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
    pub(crate) fn start(
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
        let values = [
            ("{port}", port.to_string()),
            ("{origin}", origin.to_string()),
            ("{origin_host}", origin.ip().to_string()),
            ("{origin_port}", origin.port().to_string()),
            ("{cores}", "1".into()),
            ("{descriptors}", descriptor_limit().to_string()),
            ("{dir}", dir.display().to_string()),
            ("{memory_dir}", memory_dir.display().to_string()),
            ("{body_bytes}", case.body_bytes.to_string()),
            ("{config}", config.display().to_string()),
        ];
        let fill = |text: &str| {
            values
                .iter()
                .fold(text.to_owned(), |t, (name, value)| t.replace(name, value))
        };
        if !template.is_empty() {
            let text = fs::read_to_string(crate::root().join("tools/compare").join(template))?;
            fs::write(&config, fill(&text))?;
        }
        let log = fs::File::create(dir.join("output.log"))?;
        let mut command = pinned(SERVER_CORE, path);
        command
            .args(peer.arguments.iter().map(|a| fill(a)))
            .stdout(log.try_clone()?)
            .stderr(log);
        answering(peer.name, Running::start(&mut command)?, port)
            .map_err(|e| format!("{e}; see {}", dir.join("output.log").display()).into())
    }
}

/// `program` on one core; without `taskset` on any.
pub(crate) fn pinned(core: &str, program: &Path) -> Command {
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
