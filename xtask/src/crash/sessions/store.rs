//! A store's directory with the clients that own what is in it: loaded, killed, and compared with what they know.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::super::content::Random;
use super::super::visit::Trouble;
use super::super::words;
use super::client::Client;
use super::common::Common;
use super::owner::Left;
use crate::Outcome;
use crate::forebay::Server;

/// Clients that write at the same time.
const CLIENTS: usize = 8;
/// Keys of each: together more than fits the memory.
const KEYS: usize = 400;
const MEMORY_MIB: u64 = 8;
/// Where the first record of a segment begins.
const FIRST: usize = 4096;
/// A torn end loses so many bytes at most.
const TORN_MOST: usize = 200_000;

/// When a write may not be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// When it was acknowledged.
    Always,
    /// A second later.
    Interval,
}

impl Durability {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Interval => "interval",
        }
    }
}

/// A store.
#[derive(Debug)]
pub(super) struct Store {
    binary: PathBuf,
    folder: PathBuf,
    durability: Durability,
    clients: Vec<Client>,
}

/// What was found after a kill.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Writes that were acknowledged and are lost.
    pub(super) lost: u64,
    /// How long before the kill the first of them was acknowledged.
    pub(super) oldest_lost: Duration,
}

impl Store {
    /// An empty one.
    pub(super) fn new(binary: &Path, folder: PathBuf, durability: Durability, seed: u64) -> Self {
        // Of an earlier test that failed.
        let _ = fs::remove_dir_all(&folder);
        Self {
            binary: binary.into(),
            folder,
            durability,
            clients: (0..CLIENTS).map(|n| Client::new(n, KEYS, seed)).collect(),
        }
    }

    pub(super) fn start(&self) -> Outcome<Server> {
        let config = format!(
            "[server]\nworkers = 2\n[session.crash]\naddress = \"127.0.0.1:0\"\npath = \"{}\"\n\
             memory = \"{MEMORY_MIB}MiB\"\ndurability = \"{}\"\n[log]\nerror = \"{}\"\n",
            self.log().display(),
            self.durability.name(),
            self.folder.join("forebay.log").display(),
        );
        Server::start(&self.binary, &config, &self.folder)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Load until the kill. Returns its moment.
    pub(super) fn live(
        &mut self,
        server: &mut Server,
        common: &Common,
        time: Duration,
    ) -> Outcome<Instant> {
        let is_over = AtomicBool::new(false);
        let (sender, faults) = mpsc::channel();
        let address = server.address;
        let (at, ended) = thread::scope(|scope| {
            for client in &mut self.clients {
                let (sender, is_over) = (sender.clone(), &is_over);
                scope.spawn(move || match client.work(address, common) {
                    Trouble::Broken(_) if is_over.load(SeqCst) => {}
                    // Nobody listens any more: a fault was told already.
                    fault => drop(sender.send(fault)),
                });
            }
            let early = faults.recv_timeout(time).ok();
            is_over.store(true, SeqCst);
            let at = Instant::now();
            (at, server.process.kill().map(|()| early))
        });
        drop(sender);
        // What a client saw at the very end counts as well.
        match ended?.or_else(|| faults.recv().ok()) {
            Some(fault) => Err(words(fault)),
            None => Ok(at),
        }
    }

    /// Compares all keys with what their owners know; `torn`: any of the writes may be lost, but none without those
    /// after it.
    pub(super) fn look_back(
        &mut self,
        server: &Server,
        common: &Common,
        killed: Instant,
        torn: bool,
    ) -> Outcome<Found> {
        let mut found = Found::default();
        for (number, client) in self.clients.iter_mut().enumerate() {
            let seen = client.look(server.address, common).map_err(words)?;
            let acknowledged = client.owner.acknowledged();
            let least = match self.durability {
                _ if torn => 0,
                Durability::Always => acknowledged,
                Durability::Interval => killed
                    .checked_sub(Duration::from_secs(1))
                    .map_or(0, |second| client.owner.acknowledged_before(second)),
            };
            let left = client.owner.look_back(&seen, least);
            let Left { writes, lost } = left.map_err(|why| format!("client {number}: {why}"))?;
            found.lost += acknowledged.saturating_sub(writes) as u64;
            let age = lost.map_or(Duration::ZERO, |at| killed.saturating_duration_since(at));
            found.oldest_lost = found.oldest_lost.max(age);
        }
        Ok(found)
    }

    /// Cuts off a part of the newest segment, as a disk may that was not told to sync. Returns whether it did: where
    /// the log was compacted, its end holds more than the last writes.
    pub(super) fn tear(&self, random: &mut Random) -> Outcome<bool> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.log())? {
            let path = entry?.path();
            files.extend(path.extension().is_some_and(|e| e == "wal").then_some(path));
        }
        files.sort();
        let (Some(first), Some(last)) = (files.first(), files.last()) else {
            return Err("there is no log".into());
        };
        if !first.ends_with("0000000001.wal") {
            return Ok(false);
        }
        let bytes = fs::read(last)?;
        // Behind that lies what was taken beforehand.
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
        let most = end.saturating_sub(FIRST).min(TORN_MOST);
        let torn = 1 + random.below(most.max(1));
        let file = fs::OpenOptions::new().write(true).open(last)?;
        file.set_len(end.saturating_sub(torn) as u64)?;
        Ok(true)
    }

    pub(super) fn remove(&self) -> Outcome {
        Ok(fs::remove_dir_all(&self.folder)?)
    }
}
