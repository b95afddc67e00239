//! `cargo xtask memory`: the budget holds. The cache is filled ten times over with distinct objects of 100 B to 5 MB;
//! the process's resident size may exceed the budget by 15 % and 64 MiB, and the budget must really be used.

mod objects;
pub(crate) mod origin;
mod sessions;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::forebay::{self, Server};
use crate::http::Client;
use crate::options::Options;
use objects::Objects;
use origin::Origin;

/// How to call it.
pub(crate) const USAGE: &str = "[sessions] [--seconds N] [--binary PATH] [--budget MIB]
    Fills the cache ten times over and checks the resident size; or writes sessions of all sizes for a while.
    --seconds N     how long sessions are written [60]
    --binary PATH   this forebay instead of a fresh release build
    --budget MIB    size of the cache, or of the store of sessions [256]";

const MIB: u64 = 1 << 20;
/// How often the cache is filled.
const FILLS: u64 = 10;
/// Clients that fetch at the same time.
const CLIENTS: usize = 8;
/// How often the resident size is looked at.
const SAMPLE: Duration = Duration::from_millis(20);
/// Least share of the budget that is resident in the end.
const LEAST_USE: f64 = 0.6;
/// Least share of the objects fetched last, as many as fill a quarter of the budget, that is served from the cache.
const LEAST_HITS: f64 = 0.5;

/// `cargo xtask memory`
pub(crate) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args, &[], &["--binary", "--budget", "--seconds"])?;
    let budget = options.number("--budget", 256_u64)?.max(16) * MIB;
    let binary = forebay::binary(options.text("--binary"))?;
    match options.rest.first().map(String::as_str) {
        None => cache(&binary, budget),
        Some("sessions") => sessions::run(&options, &binary, budget),
        Some(other) => Err(format!("{other}: only sessions may stand there; see --help").into()),
    }
}

/// What may be resident with this budget.
fn limit(budget: u64) -> u64 {
    budget + budget * 15 / 100 + 64 * MIB
}

fn cache(binary: &Path, budget: u64) -> Outcome {
    let origin = Origin::start()?;
    let config = format!(
        "[server]\nworkers = 2\n[[listen]]\naddress = \"127.0.0.1:0\"\n[cache]\nmemory = \"{}MiB\"\n\
         [pool.origin]\nservers = [\"{}\"]\n[site.all]\nhosts = [\"*\"]\npool = \"origin\"\n",
        budget / MIB,
        origin.address,
    );
    let server = Server::start(binary, &config, &crate::target_dir().join("memory"))?;
    let empty = server.process.resident_bytes();
    let began = Instant::now();
    let objects = Objects::plan(budget, FILLS);
    let most = fill(&server, &objects)?;
    let end = server.process.resident_bytes();
    let hits = recent_hits(&server, &origin, &objects, budget / 4)?;

    let limit = limit(budget);
    println!(
        "{} objects, {} MiB in {:.1} s; resident: {} MiB empty, {} at most, {} in the end; limit {}; \
         of the latest objects {:.0} % are hits",
        objects.len(),
        objects.bytes() / MIB,
        began.elapsed().as_secs_f64(),
        empty / MIB,
        most / MIB,
        end / MIB,
        limit / MIB,
        hits * 100.0,
    );
    if most > limit {
        return Err(format!(
            "the resident size reached {} MiB; {} are allowed",
            most / MIB,
            limit / MIB
        )
        .into());
    }
    if (end as f64) < LEAST_USE * budget as f64 {
        return Err(format!("only {} of {} MiB are used", end / MIB, budget / MIB).into());
    }
    if hits < LEAST_HITS {
        return Err(format!(
            "only {:.0} % of the latest objects are still there",
            hits * 100.0
        )
        .into());
    }
    Ok(())
}

/// Fetches every object once; returns the largest resident size seen meanwhile.
fn fill(server: &Server, objects: &Objects) -> Outcome<u64> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let fetch = || -> Outcome {
        let mut client = Client::connect(server.address)?;
        while !failed.load(Ordering::Relaxed) {
            let Some(object) = objects.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let response = client.get(&object.path())?;
            if (response.status, response.body_bytes) != (200, object.bytes) {
                return Err(format!("{} is answered with {response:?}", object.path()).into());
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    fetch().map_err(|e| {
                        failed.store(true, Ordering::Relaxed);
                        e.to_string()
                    })
                })
            })
            .collect();
        let mut most = 0;
        while clients.iter().any(|c| !c.is_finished()) {
            most = most.max(server.process.resident_bytes());
            thread::sleep(SAMPLE);
        }
        for client in clients {
            client.join().map_err(|_| "a client panicked")??;
        }
        Ok(most)
    })
}

/// The share of the objects fetched last, up to `bytes`, for which the origin is not asked again.
fn recent_hits(server: &Server, origin: &Origin, objects: &Objects, bytes: u64) -> Outcome<f64> {
    let mut client = Client::connect(server.address)?;
    let (mut asked, mut sum) = (0_u64, 0);
    let before = origin.requests();
    for object in objects.latest() {
        sum += object.bytes;
        if sum > bytes {
            break;
        }
        client.get(&object.path())?;
        asked += 1;
    }
    let missed = origin.requests() - before;
    Ok(asked.saturating_sub(missed) as f64 / asked.max(1) as f64)
}
