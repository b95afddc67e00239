//! All pools of a configuration.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use forebay_config::settings::Pool as PoolSettings;
use forebay_stats::{OriginSnapshot, PoolSnapshot};

use crate::open::Way;
use crate::pool::{Core, Pool};
use crate::secure::Secure;

/// All pools of a configuration.
#[derive(Debug, Default)]
pub struct Pools {
    by_name: BTreeMap<String, Arc<Pool>>,
    /// Pools that are in no configuration any more, for as long as requests are under way there.
    gone: BTreeMap<String, Weak<Core>>,
}

/// The pools of a configuration before they are put in force: whatever may fail is done.
#[derive(Debug, Default)]
pub struct Prepared {
    by_name: BTreeMap<String, Settings>,
}

/// A pool's settings, with what its files hold.
#[derive(Debug)]
struct Settings {
    pool: PoolSettings,
    secure: Option<Secure>,
    way: Way,
}

impl Prepared {
    /// Reads the files that the settings name. Blocks.
    ///
    /// # Errors
    /// One cannot be read or does not hold what it should; in words for the operator.
    pub fn read(settings: &BTreeMap<String, PoolSettings>) -> Result<Self, String> {
        let read = settings.iter().map(|(name, pool)| {
            let secure = pool.tls.as_ref().map(Secure::new).transpose();
            let secure = secure.map_err(|why| format!("[pool.{name}.tls]: {why}"))?;
            let settings = Settings {
                way: Way::of(pool, secure.as_ref()),
                pool: pool.clone(),
                secure,
            };
            Ok((name.clone(), settings))
        });
        let by_name = read.collect::<Result<_, String>>()?;
        Ok(Self { by_name })
    }
}

impl Pools {
    /// The pools of a configuration. Pools that `previous` has stay what they are: with the servers of the
    /// same address, their connections, figures and state, with who waits, and with servers that came
    /// by themselves. `previous` gives them over: from now on the new settings hold for them.
    pub fn new(prepared: Prepared, previous: Option<&Self>) -> Self {
        let started_ms = previous.map_or(0, |_| crate::unix_ms());
        let by_name = prepared.by_name.into_iter().map(|(name, settings)| {
            let known = previous.and_then(|pools| pools.core(&name));
            let core = known.unwrap_or_default();
            core.configure(&settings.pool, started_ms);
            let pool = Pool {
                name: name.clone(),
                settings: settings.pool,
                secure: settings.secure,
                way: settings.way,
                core,
            };
            (name, Arc::new(pool))
        });
        let by_name: BTreeMap<_, _> = by_name.collect();
        let gone = previous.map(|pools| pools.without(&by_name));
        Self {
            by_name,
            gone: gone.unwrap_or_default(),
        }
    }

    fn core(&self, name: &str) -> Option<Arc<Core>> {
        let here = self.by_name.get(name).map(|pool| Arc::clone(&pool.core));
        here.or_else(|| self.gone.get(name)?.upgrade())
    }

    fn without(&self, stays: &BTreeMap<String, Arc<Pool>>) -> BTreeMap<String, Weak<Core>> {
        let left = self.by_name.iter();
        let left = left.map(|(name, pool)| (name.clone(), Arc::downgrade(&pool.core)));
        let before = self
            .gone
            .iter()
            .map(|(name, core)| (name.clone(), core.clone()));
        before
            .chain(left)
            .filter(|(name, core)| !stays.contains_key(name) && core.strong_count() > 0)
            .collect()
    }

    /// The pool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Pool>> {
        self.by_name.get(name)
    }

    /// All pools, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.by_name.values()
    }

    /// What has to be done from time to time; each worker calls it ten times a second.
    pub fn tick(&self, now_ms: u64) {
        self.iter().for_each(|pool| pool.watch(now_ms));
    }

    /// The figures of every server.
    pub fn figures(&self, now_ms: u64) -> Vec<OriginSnapshot> {
        let servers = self.iter().flat_map(|pool| {
            let members = pool.members();
            members.into_iter().map(|member| {
                let server = member.server;
                OriginSnapshot {
                    pool: pool.name.clone(),
                    server: server.label().to_string(),
                    active: server.active(),
                    failed: server.is_failed(now_ms),
                    ejected: server.is_ejected(now_ms),
                    ..server.stats().snapshot()
                }
            })
        });
        servers.collect()
    }

    /// The figures of every pool as a whole.
    pub fn pool_figures(&self) -> Vec<PoolSnapshot> {
        self.iter().map(|pool| pool.figures()).collect()
    }
}
