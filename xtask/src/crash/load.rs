//! The load of one life of the server: clients that look at every byte, one who purges, one who asks the API where
//! objects lie. It ends when the server is killed, or when something is wrong.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::Sender;
use std::thread::{self, Scope};
use std::time::Duration;

use super::content::{self, Random};
use super::ledger::{self, From, Ledger};
use super::origin::{self, GROUPS};
use super::visit::{Ask, HOST, Tally, Trouble, visit};
use crate::Outcome;
use crate::http::Client;

/// Clients that ask at the same time.
const CLIENTS: usize = 6;
/// Objects that are asked for in one life.
pub(super) const WINDOW: usize = 1500;
/// How many of them are new in each life.
pub(super) const NEW: usize = 300;
/// No divisor of the window, so that what is popular changes from life to life.
const STRIDE: usize = 389;
/// How much more popular the first are: the exponent of Zipf's law.
const EXPONENT: f64 = 0.9;
/// One request in so many is for a part.
const ONE_RANGE_IN: usize = 8;
const BETWEEN_PURGES: Duration = Duration::from_millis(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(4);

/// What all threads of a life share.
#[derive(Debug)]
pub(super) struct Life<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) tally: &'a Tally,
    pub(super) purges: &'a AtomicU64,
    pub(super) address: SocketAddr,
    pub(super) admin: SocketAddr,
    /// The cache's directory.
    pub(super) directory: &'a Path,
    /// Counted from 0.
    pub(super) number: usize,
    pub(super) seed: u64,
    /// From now on connections may break.
    pub(super) is_over: AtomicBool,
}

impl Life<'_> {
    /// Starts all threads; what is wrong goes to `faults`.
    pub(super) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        faults: &Sender<Trouble>,
    ) {
        for client in 0..CLIENTS {
            self.run(scope, faults, client, Self::ask);
        }
        self.run(scope, faults, CLIENTS, Self::purge);
        self.run(scope, faults, CLIENTS + 1, Self::look);
    }

    fn run<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        faults: &Sender<Trouble>,
        thread: usize,
        work: fn(&Self, Random) -> Result<(), Trouble>,
    ) {
        let seed = Random(self.seed ^ ((self.number as u64) << 8 | thread as u64)).next();
        let faults = faults.clone();
        scope.spawn(move || match work(self, Random(seed)) {
            Err(Trouble::Broken(_)) if self.is_over() => {}
            // Nobody listens any more: a fault was told already.
            Err(fault) => drop(faults.send(fault)),
            Ok(()) => {}
        });
    }

    fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }

    /// A client on a kept connection.
    fn ask(&self, mut random: Random) -> Result<(), Trouble> {
        let popular = Zipf::new(WINDOW);
        let mut client = connect(self.address)?;
        while !self.is_over() {
            let rank = popular.draw(&mut random);
            let number = self.number * NEW + rank * STRIDE % WINDOW;
            let size = content::size(number);
            let is_part = random.below(ONE_RANGE_IN) == 0;
            let start = random.below(size);
            let end = start + 1 + random.below(size - start);
            let ask = Ask {
                number,
                range: is_part.then_some((start, end)),
                only_if_cached: false,
            };
            visit(&mut client, self.ledger, self.tally, ask)?;
        }
        Ok(())
    }

    /// Changes some objects at the origin, purges them, and notes that this was acknowledged.
    fn purge(&self, mut random: Random) -> Result<(), Trouble> {
        while !self.is_over() {
            thread::sleep(BETWEEN_PURGES);
            let (order, numbers) = self.order(&mut random);
            self.ledger.change(&numbers);
            let answer = api(self.admin, "POST", "/api/v1/purge", &order)?;
            if answer.get("done").and_then(serde_json::Value::as_u64) != Some(1) {
                return Err(Trouble::Wrong(format!("{order} is answered with {answer}")));
            }
            self.ledger.purged(&numbers);
            self.purges.fetch_add(1, SeqCst);
        }
        Ok(())
    }

    /// An order to purge, and what it hits: mostly one object, sometimes a tag or a prefix.
    fn order(&self, random: &mut Random) -> (String, Vec<usize>) {
        let group = random.below(GROUPS);
        let all = 0..self.ledger.len();
        match random.below(16) {
            0 => (
                format!("{{\"tags\": [\"t{group}\"]}}"),
                all.filter(|&n| origin::tag(n) == group).collect(),
            ),
            1 => (
                format!("{{\"prefix\": \"{HOST}/g{group}/\"}}"),
                all.filter(|n| n % GROUPS == group).collect(),
            ),
            _ => {
                let number = self.number * NEW + random.below(WINDOW);
                let path = origin::path(number);
                (
                    format!("{{\"url\": \"http://{HOST}{path}\"}}"),
                    vec![number],
                )
            }
        }
    }

    /// Asks where objects lie, and looks at the directory.
    fn look(&self, mut random: Random) -> Result<(), Trouble> {
        while !self.is_over() {
            thread::sleep(BETWEEN_LOOKS);
            if let Some((_, newest)) = ledger::segments(self.directory) {
                self.ledger.set_newest(newest);
            }
            let number = self.number * NEW + random.below(WINDOW);
            let newest = self.ledger.newest();
            let path = origin::path(number);
            let path = format!("/api/v1/objects?url=http://{HOST}{path}");
            let answer = api(self.admin, "GET", &path, "")?;
            let field = |name| answer.pointer(&format!("/variants/0/{name}"))?.as_str();
            let version = field("etag").and_then(|tag| tag.trim_matches('"').split_once('.'));
            let version = version.and_then(|(_, version)| version.parse().ok());
            if let (Some("disk"), Some(version)) = (field("tier"), version) {
                self.ledger.saw(number, version, newest, From::Disk);
            }
        }
        Ok(())
    }
}

/// A connection on which clients ask.
pub(super) fn connect(address: SocketAddr) -> Result<Client, Trouble> {
    Client::connect_as(address, HOST).map_err(|e| Trouble::Broken(e.to_string()))
}

/// A request to the API; its answer.
pub(super) fn api(
    admin: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
) -> Result<serde_json::Value, Trouble> {
    let fields = match body {
        "" => "",
        _ => "Content-Type: application/json\r\n",
    };
    let mut text = Vec::new();
    let mut ask = || -> Outcome<u16> {
        let mut client = Client::connect(admin)?;
        let head = client.ask(method, path, fields, body, &mut |_, part| {
            text.extend_from_slice(part);
        })?;
        Ok(head.status)
    };
    let status = ask().map_err(|e| Trouble::Broken(format!("{method} {path}: {e}")))?;
    // An object that is not stored is 404 or an empty list.
    let answer = serde_json::from_slice(&text).ok();
    answer
        .filter(|_| status == 200 || status == 404)
        .ok_or_else(|| {
            let text = String::from_utf8_lossy(&text);
            Trouble::Wrong(format!("{method} {path}: {status} {text}"))
        })
}

/// Draws ranks by Zipf's law.
#[derive(Debug)]
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(ranks: usize) -> Self {
        let mut sum = 0.0;
        let sums = (1..=ranks).map(|rank| {
            sum += (rank as f64).powf(-EXPONENT);
            sum
        });
        Self(sums.collect())
    }

    fn draw(&self, random: &mut Random) -> usize {
        let point = random.unit() * self.0.last().copied().unwrap_or_default();
        let rank = self.0.partition_point(|&sum| sum <= point);
        rank.min(self.0.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_asked_for_most_and_the_last_as_well() {
        let (zipf, mut random) = (Zipf::new(100), Random(1));
        let mut counts = [0; 100];
        for _ in 0..20_000 {
            counts[zipf.draw(&mut random)] += 1;
        }
        assert!(counts[0] > 8 * counts[20] && counts.iter().all(|&c| c > 0));
    }

    #[test]
    fn every_object_of_a_window_is_reached() {
        let reached: std::collections::BTreeSet<_> =
            (0..WINDOW).map(|rank| rank * STRIDE % WINDOW).collect();
        assert_eq!(reached.len(), WINDOW);
    }
}
