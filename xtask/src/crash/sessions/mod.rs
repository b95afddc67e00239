//! A session store through crashes: with durability "always" no write is lost that was acknowledged, with "interval" none
//! that was a second before; nothing that was deleted comes back; of each client's writes none is there without those
//! before it; and every byte of every value is right.

mod client;
mod common;
mod owner;
mod store;
mod wire;

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use super::content::Random;
use crate::Outcome;
use crate::forebay;
use crate::options::Options;
use common::Common;
use store::{Durability, Found, Store};

/// Every so often it is killed right after its start as well, while it reads its log.
const EARLY_EVERY: usize = 4;
const EARLY: Duration = Duration::from_millis(40);
/// Every so often, from the second time on, a new store is killed soon, and the end of its log cut off.
const TORN_EVERY: usize = 5;
const TORN_SECONDS: f64 = 0.4;

/// The test under one durability.
struct Test {
    binary: PathBuf,
    folder: PathBuf,
    durability: Durability,
    common: Common,
    random: Random,
    seconds: f64,
    kills: u64,
    early: u64,
    torn: u64,
    lost: u64,
    oldest_lost: Duration,
    lost_by_tearing: u64,
}

/// Kills it so many times, half of them under each durability.
pub(super) fn run(options: &Options, times: usize, seed: u64) -> Outcome {
    let binary = forebay::binary(options.text("--binary"))?;
    for (durability, times) in [
        (Durability::Always, times.div_ceil(2)),
        (Durability::Interval, times / 2),
    ] {
        let mut test = Test {
            binary: binary.clone(),
            folder: crate::target_dir().join(format!("crash-{}", durability.name())),
            durability,
            common: Common::new(),
            random: Random(seed ^ durability as u64),
            seconds: options.number("--seconds", 3.0)?,
            kills: 0,
            early: 0,
            torn: 0,
            lost: 0,
            oldest_lost: Duration::ZERO,
            lost_by_tearing: 0,
        };
        let began = Instant::now();
        let result = test.lives(times, seed);
        println!(
            "{} ({:.0} s)",
            test.summary(),
            began.elapsed().as_secs_f64()
        );
        result.map_err(|e| {
            let folder = test.folder.display();
            format!("{e} (--seed {seed}; log and settings are in {folder})")
        })?;
    }
    Ok(())
}

impl Test {
    /// Every life ends with a kill; after each one all keys are looked at.
    fn lives(&mut self, times: usize, seed: u64) -> Outcome {
        let main = self.folder.join("main");
        let mut store = Store::new(&self.binary, main, self.durability, seed);
        for number in 0..times {
            if number % TORN_EVERY == 1 {
                self.tear(seed + number as u64)?;
                continue;
            }
            if number % EARLY_EVERY == EARLY_EVERY - 1 {
                let mut server = store.start()?;
                thread::sleep(EARLY.mul_f64(self.random.unit()));
                server.process.kill()?;
                self.early += 1;
            }
            let most = self.seconds;
            let killed = self.live(&mut store, most)?;
            let found = self.look_back(&mut store, killed, false)?;
            self.lost += found.lost;
            self.oldest_lost = self.oldest_lost.max(found.oldest_lost);
        }
        store.remove()
    }

    /// A new store, whose log loses its end.
    fn tear(&mut self, seed: u64) -> Outcome {
        let torn = self.folder.join("torn");
        let mut store = Store::new(&self.binary, torn, self.durability, seed);
        let killed = self.live(&mut store, TORN_SECONDS)?;
        let torn = store.tear(&mut self.random)?;
        let found = self.look_back(&mut store, killed, torn)?;
        self.torn += u64::from(torn);
        self.lost_by_tearing += found.lost;
        store.remove()
    }

    /// Load until a moment that nobody knows.
    fn live(&mut self, store: &mut Store, most: f64) -> Outcome<Instant> {
        let time = Duration::from_secs_f64(most * (0.1 + 0.9 * self.random.unit()));
        let mut server = store.start()?;
        self.kills += 1;
        store.live(&mut server, &self.common, time)
    }

    /// Looks at all keys, twice: what was there at one start is there at the next.
    fn look_back(&mut self, store: &mut Store, killed: Instant, torn: bool) -> Outcome<Found> {
        let server = store.start()?;
        let found = store.look_back(&server, &self.common, killed, torn)?;
        drop(server);
        let server = store.start()?;
        store.look_back(&server, &self.common, killed, false)?;
        Ok(found)
    }

    fn summary(&self) -> String {
        let tally = &self.common.tally;
        let mut text = format!(
            "sessions, \"{}\": {} kills and {} at the start; {} writes acknowledged, {} values with {} MiB are right; \
             {} acknowledged writes are lost",
            self.durability.name(),
            self.kills,
            self.early,
            tally.writes.load(Relaxed),
            tally.reads.load(Relaxed),
            tally.bytes.load(Relaxed) >> 20,
            self.lost,
        );
        if self.lost > 0 {
            let age_ms = self.oldest_lost.as_millis();
            text.push_str(&format!(
                ", the oldest acknowledged {age_ms} ms before the kill"
            ));
        }
        text.push_str(&format!(
            "; {} torn ends, {} writes lost by them, none without those after it",
            self.torn, self.lost_by_tearing
        ));
        text
    }
}
