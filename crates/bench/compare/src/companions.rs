//! The processes beside a server: each gets a place, is started on the same
//! cores before the server, and is seen to listen.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::place::{Folders, fill};
use crate::process::{Running, free_port};
use crate::servers::{Companion, Listens, Observed, Server};
use crate::{command, interrupt};

/// How long a companion may take until it listens.
const START: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

/// A place of a process: where it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Of the companion, in the order of the server's.
    companion: usize,
    /// Counted from 1.
    number: usize,
    /// The port's number, or the socket's path.
    text: String,
}

/// The companions of one start; they are ended when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    running: Vec<(&'static str, Running)>,
}

impl Drop for Beside {
    fn drop(&mut self) {
        // All are asked before the first is waited for.
        for (_, running) in &mut self.running {
            running.ask_to_end();
        }
    }
}

impl Beside {
    /// The process that is to be observed, for a server that is process `server`.
    pub(crate) fn observed(&self, observed: Observed, server: u32) -> Option<u32> {
        match observed {
            Observed::Server => Some(server),
            Observed::Nobody => None,
            Observed::Companion(name) => {
                let found = self.running.iter().find(|(n, _)| *n == name);
                found.map(|(_, running)| running.pid())
            }
        }
    }

    /// The name of a companion that has ended, which none should.
    pub(crate) fn ended(&mut self) -> Option<&'static str> {
        let mut running = self.running.iter_mut();
        running.find_map(|(name, r)| r.ended().map(|_| *name))
    }
}

/// A place for each process beside `server`.
///
/// # Errors
/// When there are no ports left.
pub(crate) fn spots(server: &Server, folders: &Folders) -> Result<Vec<Spot>, String> {
    let mut ports = BTreeSet::new();
    let mut spots = Vec::new();
    for (at, companion) in server.beside.iter().enumerate() {
        for number in 1..=companion.count {
            let text = match companion.listens {
                Listens::Port => another_port(&mut ports)?.to_string(),
                Listens::Socket => {
                    let name = format!("{}-{number}.sock", companion.name);
                    folders.dir.join(name).display().to_string()
                }
                Listens::Nowhere => String::new(),
            };
            spots.push(Spot {
                companion: at,
                number,
                text,
            });
        }
    }
    Ok(spots)
}

/// A port that was not given away already: what is free now may be named twice.
fn another_port(given: &mut BTreeSet<u16>) -> Result<u16, String> {
    loop {
        let port = free_port()?;
        if given.insert(port) {
            return Ok(port);
        }
    }
}

/// The placeholders of the places, and what they stand for.
pub(crate) fn placeholders(server: &Server, spots: &[Spot]) -> Vec<(String, String)> {
    let named = spots.iter().filter_map(|spot| {
        let companion = server.beside.get(spot.companion)?;
        let name = format!("{{{}_{}}}", companion.name, spot.number);
        Some((name, spot.text.clone()))
    });
    named.collect()
}

/// Starts every companion on `cores`, and waits until all of them listen. What they print goes beside the server's
/// output.
///
/// # Errors
/// When one does not start, or does not listen: with its command line.
pub(crate) fn start(
    server: &Server,
    spots: &[Spot],
    dir: &Path,
    cores: &str,
    values: &[(&str, String)],
) -> Result<Beside, String> {
    let mut beside = Beside::default();
    for spot in spots {
        interrupt::check()?;
        let Some(companion) = server.beside.get(spot.companion) else {
            continue;
        };
        let mut values = values.to_vec();
        let peer = spots
            .iter()
            .find(|s| s.companion == 0 && s.number == spot.number);
        values.push(("{own}", spot.text.clone()));
        values.push(("{peer}", peer.map(|s| s.text.clone()).unwrap_or_default()));
        let mut command = build(companion, dir, cores, &values)?;
        beside
            .running
            .push((companion.name, Running::start(&mut command)?));
    }
    let deadline = Instant::now() + START;
    for ((_, running), spot) in beside.running.iter_mut().zip(spots) {
        if let Some(companion) = server.beside.get(spot.companion) {
            listening(companion, running, &spot.text, deadline)?;
        }
    }
    Ok(beside)
}

fn build(
    companion: &Companion,
    dir: &Path,
    cores: &str,
    values: &[(&str, String)],
) -> Result<Command, String> {
    let output = dir.join("output.log");
    let log = std::fs::File::options()
        .append(true)
        .create(true)
        .open(&output);
    let log = log.map_err(|e| format!("{}: {e}", output.display()))?;
    let mut command = command::pinned(cores, &companion.found);
    command
        .args(companion.arguments.iter().map(|word| fill(word, values)))
        .current_dir(dir)
        .stdout(log.try_clone().map_err(|e| e.to_string())?)
        .stderr(log);
    Ok(command)
}

fn listening(
    companion: &Companion,
    running: &mut Running,
    spot: &str,
    deadline: Instant,
) -> Result<(), String> {
    loop {
        interrupt::check()?;
        let name = companion.name;
        if let Some(status) = running.ended() {
            return Err(format!(
                "{name} beside it ended ({status}) before it listened"
            ));
        }
        let listens = match companion.listens {
            Listens::Nowhere => true,
            Listens::Socket => Path::new(spot).exists(),
            Listens::Port => spot.parse::<u16>().is_ok_and(|port| {
                TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).is_ok()
            }),
        };
        if listens {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!(
                "{name} beside it does not listen after {} s",
                START.as_secs()
            ));
        }
        sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::place::Place;
    use crate::servers::{Program, built_in};

    fn built(name: &str) -> Server {
        built_in().into_iter().find(|s| s.name == name).unwrap()
    }

    #[test]
    fn each_process_has_a_place_of_its_own_that_the_server_knows() {
        let mut place = Place::new().unwrap();
        let server = built("haproxy-1-thin");
        let folders = place.folders(&server).unwrap();
        let spots = spots(&server, &folders).unwrap();
        let values = placeholders(&server, &spots);
        assert_eq!(values.len(), 10);
        let ports: BTreeSet<_> = values.iter().map(|(_, port)| port).collect();
        assert_eq!(ports.len(), 10);
        let config = &server
            .files
            .iter()
            .find(|f| f.path == "haproxy.cfg")
            .unwrap()
            .text;
        for (name, _) in &values {
            assert!(
                config.contains(&format!("127.0.0.1:{name} maxconn 1")),
                "{name}"
            );
        }
    }

    #[test]
    fn a_companion_that_ends_at_once_is_named() {
        let mut place = Place::new().unwrap();
        let mut server = built("haproxy-1-thin");
        let folders = place.folders(&server).unwrap();
        let back = server.beside.first_mut().unwrap();
        back.program = Program::Own("false".into());
        back.found = command::find("false").unwrap();
        let spots = spots(&server, &folders).unwrap();
        let error = start(&server, &spots, &folders.dir, "", &[]).unwrap_err();
        assert!(error.starts_with("back beside it ended"), "{error}");
    }

    #[test]
    fn companions_are_ended_with_their_guard() {
        let mut place = Place::new().unwrap();
        let mut server = built("sessions-memcached");
        server.beside.truncate(1);
        let store = server.beside.first_mut().unwrap();
        store.listens = Listens::Nowhere;
        store.found = command::find("sleep").unwrap();
        store.arguments = vec!["600".into()];
        let folders = place.folders(&server).unwrap();
        let spots = spots(&server, &folders).unwrap();
        let mut beside = start(&server, &spots, &folders.dir, "", &[]).unwrap();
        assert_eq!(beside.ended(), None);
        let pid = beside.observed(server.observed, 1).unwrap();
        assert_ne!(pid, 1);
        drop(beside);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
