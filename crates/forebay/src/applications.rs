//! The application processes of a running server, and the pools that they are servers of.
//! Started with the first configuration that names an application; ended after the last
//! connection.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use forebay_apps::{AppStatus, Apps, Queue, ServerLoad, Servers, Surroundings};
use forebay_config::settings::{App, ServerAddress};
use forebay_proxy::Handle;
use forebay_upstream::{NewServer, Order, Owner, Pool, Server};
use parking_lot::Mutex;

/// One for the process.
pub(crate) struct Applications {
    handle: Handle,
    /// The soft limit on open files before it was raised.
    open_files: Option<u64>,
    apps: Mutex<Option<Apps>>,
}

impl Applications {
    /// None yet.
    pub(crate) fn new(handle: Handle, open_files: Option<u64>) -> Self {
        Self {
            handle,
            open_files,
            apps: Mutex::new(None),
        }
    }

    /// These are the applications now. Their pools are in force already.
    ///
    /// # Errors
    /// When applications cannot be supervised at all, in words for the operator.
    pub(crate) fn configure(&self, settings: &BTreeMap<String, App>) -> Result<(), String> {
        let mut apps = self.apps.lock();
        match &*apps {
            Some(apps) => apps.reload(settings.clone()),
            None if settings.is_empty() => {}
            None => {
                let servers = Arc::new(Members {
                    handle: self.handle.clone(),
                    there: Mutex::default(),
                });
                let surroundings = Surroundings {
                    program: PathBuf::from("/proc/self/exe"),
                    open_files: self.open_files,
                };
                let started = Apps::start(settings.clone(), servers, surroundings);
                *apps = Some(started.map_err(|error| error.to_string())?);
            }
        }
        Ok(())
    }

    /// Ends all processes and waits for it.
    pub(crate) fn stop(&self) {
        if let Some(apps) = self.apps.lock().take() {
            apps.stop();
        }
    }

    /// How they are.
    pub(crate) fn status(&self) -> Vec<AppStatus> {
        self.apps
            .lock()
            .as_ref()
            .map(Apps::status)
            .unwrap_or_default()
    }

    /// Replaces the processes of an application one by one. False: there is none of this name.
    pub(crate) fn replace(&self, name: &str) -> bool {
        self.apps
            .lock()
            .as_ref()
            .is_some_and(|apps| apps.replace(name))
    }
}

/// Processes as servers of the pools.
struct Members {
    handle: Handle,
    /// The servers that were added, by pool and address: one whose pool is in no configuration
    /// any more has requests under way.
    there: Mutex<BTreeMap<(String, String), Known>>,
}

struct Known {
    server: Arc<Server>,
    /// Requests it had been sent before it was added: it may have come back.
    before: u64,
}

impl Members {
    fn known(&self, pool: &str, address: &ServerAddress) -> Option<Arc<Server>> {
        let there = self.there.lock();
        let known = there.get(&(pool.to_owned(), address.to_string()))?;
        Some(Arc::clone(&known.server))
    }

    fn in_pool(&self, pool: &str, address: &ServerAddress) -> Option<(Arc<Pool>, Arc<Server>)> {
        Some((self.handle.pool(pool)?, self.known(pool, address)?))
    }
}

impl Servers for Members {
    fn add(&self, pool: &str, address: &ServerAddress) -> Result<(), String> {
        let found = self.handle.pool(pool);
        let found = found.ok_or_else(|| format!("there is no pool {pool:?}"))?;
        let new = NewServer::at(address.clone(), Owner::Program);
        let server = found.add(&new).unwrap_or_else(|there| there);
        let before = server.stats().requests();
        let key = (pool.to_owned(), address.to_string());
        self.there.lock().insert(key, Known { server, before });
        Ok(())
    }

    fn drain(&self, pool: &str, address: &ServerAddress) {
        if let Some((pool, server)) = self.in_pool(pool, address) {
            // Its users are bound to another from now on: as long as they came it would never be
            // without requests, and what it has when it is told to end is lost.
            pool.set_order(&server, Order::Leaving);
        }
    }

    fn remove(&self, pool: &str, address: &ServerAddress) {
        if let Some((pool, server)) = self.in_pool(pool, address) {
            pool.remove(&server);
        }
        self.there
            .lock()
            .remove(&(pool.to_owned(), address.to_string()));
    }

    fn load(&self, pool: &str, address: &ServerAddress) -> Option<ServerLoad> {
        let there = self.there.lock();
        let known = there.get(&(pool.to_owned(), address.to_string()))?;
        Some(ServerLoad {
            active: known.server.active(),
            requests: known.server.stats().requests().saturating_sub(known.before),
        })
    }

    fn queue(&self, pool: &str) -> Queue {
        let figures = self.handle.pool(pool).map(|pool| pool.figures());
        figures.map_or_else(Queue::default, |figures| Queue {
            waiting: figures.waiting as usize,
            longest: Duration::from_millis(figures.longest_ms),
        })
    }
}
