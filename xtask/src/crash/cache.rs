//! The cache through crashes: not one byte may be wrong, nothing that was purged may come back, and what had been on
//! disk for two seconds must still be there.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::content::{self, Random};
use super::ledger::{self, Ledger};
use super::load::{self, Life, NEW, WINDOW};
use super::visit::{self, Answer, Ask, Tally, Trouble};
use super::{origin, words};
use crate::Outcome;
use crate::forebay::{self, Server};
use crate::options::Options;

const MEMORY_MIB: u64 = 16;
/// Least share of what had been on disk for two seconds that is still there.
const LEAST_LEFT: f64 = 0.99;
/// How many objects are asked for after a start, of those that are expected.
const MOST_ASKED: usize = 800;
/// How many objects that were purged before are asked for after a start.
const PURGED_ASKED: usize = 300;
/// Every so often it is killed right after its start as well, while it looks through its disk.
const EARLY_EVERY: usize = 4;
const EARLY: Duration = Duration::from_millis(40);
/// How many lost objects are named.
const MOST_NAMED: usize = 12;
/// How long it may take to look through its disk.
const RECOVERY: Duration = Duration::from_secs(20);

/// The whole test.
struct Test {
    binary: PathBuf,
    folder: PathBuf,
    config: String,
    ledger: Arc<Ledger>,
    tally: Tally,
    purges: AtomicU64,
    random: Random,
    seed: u64,
    seconds: f64,
    expected: u64,
    lost: u64,
    /// Some of the lost ones.
    gone: Vec<String>,
    /// The least share that was left after a kill.
    worst: f64,
}

/// The moment of the last kill, and the oldest segment it left.
#[derive(Clone, Copy)]
struct Killed {
    at: Instant,
    oldest: u64,
}

/// Kills it so many times.
pub(super) fn run(options: &Options, times: usize, seed: u64) -> Outcome {
    let mut test = Test::new(options, times, seed)?;
    let result = test.lives(times);
    println!("{}", test.summary());
    for gone in &test.gone {
        println!("  gone: {gone}");
    }
    result.and_then(|()| test.judge()).map_err(|e| {
        let folder = test.folder.display();
        format!("{e} (--seed {seed}; cache and log are in {folder})")
    })?;
    std::fs::remove_dir_all(&test.folder)?;
    Ok(())
}

impl Test {
    fn new(options: &Options, times: usize, seed: u64) -> Outcome<Self> {
        let ledger = Arc::new(Ledger::new(times * NEW + WINDOW));
        let folder = crate::target_dir().join("crash");
        // Of an earlier test that failed.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        let config = format!(
            "[server]\nworkers = 2\nmax_connections = 1000\n[[listen]]\naddress = \"127.0.0.1:0\"\n\
             [admin]\naddress = \"127.0.0.1:0\"\n[cache]\nmemory = \"{MEMORY_MIB}MiB\"\n\
             [cache.disk]\npath = \"{}\"\nsize = \"{}MiB\"\n\
             [pool.origin]\nservers = [\"{}\"]\n[site.all]\nhosts = [\"*\"]\npool = \"origin\"\n\
             [log]\nerror = \"{}\"\n",
            folder.join("cache").display(),
            options.number("--disk", 512_u64)?,
            origin::start(&ledger)?,
            folder.join("forebay.log").display(),
        );
        Ok(Self {
            binary: forebay::binary(options.text("--binary"))?,
            folder,
            config,
            ledger,
            tally: Tally::default(),
            purges: AtomicU64::new(0),
            random: Random(seed),
            seed,
            seconds: options.number("--seconds", 3.0)?,
            expected: 0,
            lost: 0,
            gone: Vec::new(),
            worst: 1.0,
        })
    }

    /// Every life ends with a kill; after the last one there is one more start.
    fn lives(&mut self, times: usize) -> Outcome {
        let mut killed = None;
        for number in 0..=times {
            if number % EARLY_EVERY == EARLY_EVERY - 1 {
                let mut server = self.start()?;
                thread::sleep(EARLY.mul_f64(self.random.unit()));
                server.process.kill()?;
            }
            let mut server = self.start()?;
            let admin = server.admin.ok_or("it printed no `admin on` line")?;
            recovered(admin)?;
            if let Some(killed) = killed {
                self.look_back(server.address, killed).map_err(words)?;
            }
            if number < times {
                killed = Some(self.live(&mut server, admin, number)?);
            }
        }
        Ok(())
    }

    fn start(&self) -> Outcome<Server> {
        Server::start(&self.binary, &self.config, &self.folder)
    }

    fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// Load until a moment that nobody knows.
    fn live(&mut self, server: &mut Server, admin: SocketAddr, number: usize) -> Outcome<Killed> {
        let time = Duration::from_secs_f64(self.seconds * (0.1 + 0.9 * self.random.unit()));
        let directory = self.cache();
        let life = Life {
            ledger: &self.ledger,
            tally: &self.tally,
            purges: &self.purges,
            address: server.address,
            admin,
            directory: &directory,
            number,
            seed: self.seed,
            is_over: AtomicBool::new(false),
        };
        let (sender, faults) = mpsc::channel();
        let (at, ended) = thread::scope(|scope| {
            life.start(scope, &sender);
            let early = faults.recv_timeout(time).ok();
            life.is_over.store(true, SeqCst);
            let at = Instant::now();
            (at, server.process.kill().map(|()| early))
        });
        drop(sender);
        // What a client saw at the very end counts as well.
        if let Some(fault) = ended?.or_else(|| faults.recv().ok()) {
            return Err(words(fault));
        }
        let (oldest, newest) = ledger::segments(&directory).unwrap_or_default();
        self.ledger.set_newest(newest);
        Ok(Killed { at, oldest })
    }

    /// Asks for what the kill must have left, for what it may have left, and for what was purged.
    fn look_back(&mut self, address: SocketAddr, killed: Killed) -> Result<(), Trouble> {
        let mut client = load::connect(address)?;
        let (mut expected, mut lost) = (0_u64, 0_u64);
        for number in self.worth_asking(killed) {
            let due = self.ledger.expected(number, killed.at, killed.oldest);
            let ask = Ask {
                number,
                range: None,
                only_if_cached: true,
            };
            let answer = visit::visit(&mut client, &self.ledger, &self.tally, ask)?;
            expected += u64::from(due.is_some());
            match answer {
                Answer::Version(_) => {}
                Answer::NotStored => {
                    self.ledger.lost(number);
                    if due.is_some() {
                        lost += 1;
                        self.note(number, killed);
                    }
                }
            }
        }
        self.expected += expected;
        self.lost += lost;
        if expected > 0 {
            let left = 1.0 - lost as f64 / expected as f64;
            self.worst = self.worst.min(left);
        }
        Ok(())
    }

    /// What is gone, for whoever looks for the reason.
    fn note(&mut self, number: usize, killed: Killed) {
        if self.gone.len() < MOST_NAMED {
            let (path, tag) = (origin::path(number), origin::tag(number));
            self.gone.push(format!(
                "{path} (tag t{tag}, {} bytes, version {}; the oldest segment was {})",
                content::size(number),
                self.ledger.current(number).unwrap_or_default(),
                killed.oldest,
            ));
        }
    }

    /// All objects whose being on disk is not settled, and some of the others.
    fn worth_asking(&mut self, killed: Killed) -> Vec<usize> {
        let all = 0..self.ledger.len();
        let (mut settled, mut others) = (Vec::new(), Vec::new());
        let mut purged = Vec::new();
        for number in all {
            if self
                .ledger
                .expected(number, killed.at, killed.oldest)
                .is_some()
            {
                settled.push(number);
            } else if self.ledger.was_on_disk(number) {
                others.push(number);
            } else if self.ledger.least(number) > 0 {
                purged.push(number);
            }
        }
        self.some(&mut settled, MOST_ASKED);
        self.some(&mut purged, PURGED_ASKED);
        others.extend(settled);
        others.extend(purged);
        others
    }

    /// Leaves `most` of them, any.
    fn some(&mut self, numbers: &mut Vec<usize>, most: usize) {
        while numbers.len() > most {
            let out = self.random.below(numbers.len());
            numbers.swap_remove(out);
        }
    }

    fn summary(&self) -> String {
        format!(
            "{} answers with {} MiB are right, {} of them from disk, {} from the origin; {} purges held; \
             of {} objects that had been on disk for {} s, {} are gone ({:.2} % left, {:.2} % after the worst kill)",
            self.tally.answers.load(SeqCst),
            self.tally.bytes.load(SeqCst) >> 20,
            self.tally.from_disk.load(SeqCst),
            self.tally.from_origin.load(SeqCst),
            self.purges.load(SeqCst),
            self.expected,
            ledger::SETTLED.as_secs(),
            self.lost,
            self.left() * 100.0,
            self.worst * 100.0,
        )
    }

    fn left(&self) -> f64 {
        1.0 - self.lost as f64 / self.expected.max(1) as f64
    }

    fn judge(&self) -> Outcome {
        if self.expected == 0 {
            return Err("no object was on disk for long enough: more --times or --seconds".into());
        }
        if self.left() < LEAST_LEFT {
            let least = LEAST_LEFT * 100.0;
            return Err(format!("less than {least} % of the objects are left").into());
        }
        Ok(())
    }
}

/// Waits until everything on disk was looked through.
fn recovered(admin: SocketAddr) -> Outcome {
    let deadline = Instant::now() + RECOVERY;
    loop {
        let status = load::api(admin, "GET", "/api/v1/status", "").map_err(words)?;
        let state = status.pointer("/disk/directories/0/state");
        if state.and_then(serde_json::Value::as_str) == Some("ready") {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("after {} s it is not ready: {status}", RECOVERY.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(5));
    }
}
