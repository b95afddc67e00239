//! From an address to the server that listens there, or why it is not seen.

use std::fmt;
use std::fs;
use std::net::{SocketAddr, UdpSocket};

use super::{Observed, listeners, process};

/// Why a server is not observed, worded for the report's reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// The address is not one of this machine.
    Elsewhere(String),
    /// It is, but nobody listens there, as far as this network namespace shows.
    Nobody(String),
    /// Somebody listens, in a process that this user may not look into.
    NotAllowed(String),
    /// The socket is the load tester's own.
    Own(String),
    /// The process at the socket only passes on what it gets: the server is behind it.
    Forwarder(String, String),
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere(at) => write!(
                f,
                "the server at {at} is not on this machine: its processor time and memory are not observed"
            ),
            Self::Nobody(at) => write!(
                f,
                "no process listens at {at} in this network namespace (is the server in a container?): \
                 it is not observed; `--pid` names it"
            ),
            Self::NotAllowed(at) => write!(
                f,
                "the process that listens at {at} belongs to another user: it is not observed; run as \
                 that user or as root, or name it with `--pid`"
            ),
            Self::Own(at) => write!(
                f,
                "the load tester itself listens at {at}: it is not observed as the server"
            ),
            Self::Forwarder(at, name) => write!(
                f,
                "`{name}` listens at {at} and only passes on to the server: name the server with `--pid`"
            ),
        }
    }
}

impl std::error::Error for Unseen {}

/// Processes that hold a port for a container, and know nothing of the server's work.
const FORWARDERS: &[&str] = &[
    "docker-proxy",
    "rootlessport",
    "slirp4netns",
    "pasta",
    "conmon",
];
/// Processes that open sockets for services and keep them: their other children are not the server.
const ACTIVATORS: &[&str] = &["systemd", "init"];

impl Observed {
    /// The server that listens at the first of these addresses that is found.
    ///
    /// # Errors
    /// Why none is; of several reasons that of the last address.
    pub(crate) fn find(addresses: &[SocketAddr]) -> Result<Self, Unseen> {
        let mut why = Unseen::Nobody("no address".into());
        for &address in addresses {
            match find(address) {
                Ok(found) => return Ok(found),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    /// The server that listens at this Unix socket.
    ///
    /// # Errors
    /// Why it is not seen.
    pub(crate) fn by_socket(path: &str) -> Result<Self, Unseen> {
        let text = fs::read_to_string("/proc/net/unix").unwrap_or_default();
        holders(&listeners::unix(&text, path), path)
    }

    /// The process of this number and all that descend from it; none when there is no such process,
    /// or it is the load tester itself.
    pub(crate) fn by_pid(pid: u32) -> Option<Self> {
        (pid != std::process::id())
            .then(|| Self::of(&[pid]))
            .flatten()
    }
}

fn find(address: SocketAddr) -> Result<Observed, Unseen> {
    if !is_local(address) {
        return Err(Unseen::Elsewhere(address.to_string()));
    }
    let mut all = Vec::new();
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        all.extend(listeners::tcp(
            &fs::read_to_string(file).unwrap_or_default(),
        ));
    }
    holders(&listeners::reached(&all, address), &address.to_string())
}

/// Only an address of this machine can be bound to; no packet is sent.
fn is_local(address: SocketAddr) -> bool {
    UdpSocket::bind(SocketAddr::new(address.ip(), 0)).is_ok()
}

/// The server whose processes hold these sockets.
fn holders(inodes: &[u64], at: &str) -> Result<Observed, Unseen> {
    if inodes.is_empty() {
        return Err(Unseen::Nobody(at.into()));
    }
    let own = std::process::id();
    let (mut pids, mut hidden) = (Vec::new(), false);
    for pid in process::all() {
        match process::holds(pid, inodes) {
            Some(true) => pids.push(pid),
            Some(false) => {}
            None => hidden = true,
        }
    }
    let has_own = pids.contains(&own);
    pids.retain(|&pid| pid != own && !ACTIVATORS.contains(&name(pid).as_str()));
    match pids
        .iter()
        .map(|&pid| name(pid))
        .find(|name| FORWARDERS.contains(&name.as_str()))
    {
        Some(forwarder) => Err(Unseen::Forwarder(at.into(), forwarder)),
        None => Observed::of(&pids).ok_or_else(|| match (has_own, hidden) {
            (true, _) => Unseen::Own(at.into()),
            (false, true) => Unseen::NotAllowed(at.into()),
            (false, false) => Unseen::Nobody(at.into()),
        }),
    }
}

fn name(pid: u32) -> String {
    process::read(pid)
        .map(|reading| reading.name)
        .unwrap_or_default()
}
