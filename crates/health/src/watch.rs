//! Which server is asked when, and what becomes of the answers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forebay_config::settings::HealthCheck;
use forebay_upstream::{Pool, Server};
use tokio::time::sleep;

use crate::probe::probe;
use crate::verdict::Verdict;

/// How often it is looked whose turn it is.
const TICK: Duration = Duration::from_millis(50);
/// The same while nobody is to be checked.
const IDLE: Duration = Duration::from_secs(1);

/// The pools in force; `None`: it is over.
pub trait WhatPools: Fn() -> Option<Vec<Arc<Pool>>> + Send + 'static {}
impl<F: Fn() -> Option<Vec<Arc<Pool>>> + Send + 'static> WhatPools for F {}

/// Checks the servers of all pools that say so, on a thread of its own, until `pools` returns
/// nothing.
///
/// # Errors
/// There is no thread, or no event loop, to be had.
pub fn start(pools: impl WhatPools) -> io::Result<JoinHandle<()>> {
    let event_loop = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(tokio::runtime::LocalOptions::default())
    };
    // A local one cannot move to its thread; a first one tells here whether one can be had.
    drop(event_loop()?);
    std::thread::Builder::new()
        .name("health".into())
        .spawn(move || match event_loop() {
            Ok(event_loop) => event_loop.block_on(run(pools)),
            Err(error) => tracing::error!("servers are not checked: {error}"),
        })
}

/// What is known of a server.
struct Watched {
    pool: Arc<Pool>,
    server: Arc<Server>,
    verdict: Verdict,
    due: Instant,
    is_under_way: bool,
    /// It was seen in the pools of the last look.
    is_wanted: bool,
}

/// By the server's address in memory: a server stays the same object as long as it is in a pool.
type All = Rc<RefCell<HashMap<*const Server, Watched>>>;

async fn run(pools: impl WhatPools) {
    let all = All::default();
    loop {
        let Some(pools) = pools() else { return };
        let now = Instant::now();
        look(&all, &pools, now);
        for key in due(&all, now) {
            tokio::task::spawn_local(check(Rc::clone(&all), key));
        }
        let is_idle = all.borrow().is_empty();
        sleep(if is_idle { IDLE } else { TICK }).await;
    }
}

/// Takes in which servers there are now.
fn look(all: &All, pools: &[Arc<Pool>], now: Instant) {
    let mut all = all.borrow_mut();
    all.values_mut()
        .for_each(|watched| watched.is_wanted = false);
    for pool in pools {
        let Some(check) = &pool.settings.health else {
            continue;
        };
        // Back ends that dial in are there as long as their control connection is.
        for server in pool.servers().into_iter().filter(|s| s.is_reached()) {
            let watched = all.entry(Arc::as_ptr(&server)).or_insert_with(|| Watched {
                pool: Arc::clone(pool),
                server,
                verdict: Verdict::default(),
                // Not all of them at once.
                due: now + check.interval.mul_f32(fastrand::f32()).min(check.timeout),
                is_under_way: false,
                is_wanted: true,
            });
            watched.pool = Arc::clone(pool);
            watched.is_wanted = true;
        }
    }
    all.retain(|_, watched| {
        if !watched.is_wanted && !watched.verdict.is_up {
            // Nobody checks it any more, and nobody would find that it is well again.
            watched.pool.set_healthy(&watched.server, true);
            watched.verdict = Verdict::default();
        }
        watched.is_wanted
    });
}

/// Whose turn it is.
fn due(all: &All, now: Instant) -> Vec<*const Server> {
    let mut all = all.borrow_mut();
    let due = all
        .iter_mut()
        .filter(|(_, watched)| !watched.is_under_way && watched.due <= now);
    due.map(|(key, watched)| {
        watched.is_under_way = true;
        *key
    })
    .collect()
}

async fn check(all: All, key: *const Server) {
    let found = all
        .borrow()
        .get(&key)
        .map(|watched| (Arc::clone(&watched.pool), Arc::clone(&watched.server)));
    let Some((pool, server)) = found else { return };
    let Some(check) = pool.settings.health.clone() else {
        return;
    };
    // One that is working on as many requests as it may is left to them: their answers, and their
    // failures, say how it is.
    let result = match pool.place_for_check(&server) {
        Some(_place) => Some(probe(&pool, &server, &check).await),
        None => None,
    };
    let mut all = all.borrow_mut();
    let Some(watched) = all.get_mut(&key) else {
        return;
    };
    watched.is_under_way = false;
    watched.due = Instant::now() + jittered(check.interval);
    if let Some(result) = result {
        judge(watched, &check, result);
    }
}

fn judge(watched: &mut Watched, check: &HealthCheck, result: Result<(), String>) {
    let (pool, server) = (&watched.pool, &watched.server);
    let changed = watched.verdict.add(result.is_ok(), check.rise, check.fall);
    match (changed, result) {
        (true, Ok(())) => {
            tracing::info!(pool = %pool.name, server = %server.label(), "server is up again");
        }
        (true, Err(why)) => {
            tracing::warn!(pool = %pool.name, server = %server.label(), "server is down: {why}");
        }
        (false, Ok(())) => return,
        (false, Err(why)) => {
            tracing::debug!(pool = %pool.name, server = %server.label(), "check failed: {why}");
            return;
        }
    }
    pool.set_healthy(server, watched.verdict.is_up);
}

/// A tenth more or less: what began together does not stay together.
fn jittered(interval: Duration) -> Duration {
    interval.mul_f32(0.9 + 0.2 * fastrand::f32())
}
