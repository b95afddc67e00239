//! Pools of servers, shared by all workers and kept over reloads.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use arc_swap::ArcSwap;
use forebay_config::settings::{Pool as PoolSettings, ServerAddress};
use forebay_stats::{OriginSnapshot, OriginStats};
use tokio::sync::Semaphore;

/// All pools of a configuration.
#[derive(Debug, Default)]
pub struct Pools {
    by_name: BTreeMap<String, Arc<Pool>>,
}

/// Servers that give the same answers, used in turn.
#[derive(Debug)]
pub struct Pool {
    /// Its name in the configuration.
    pub name: String,
    /// Its settings.
    pub settings: PoolSettings,
    servers: Vec<Arc<Server>>,
    next: AtomicUsize,
}

/// One server of a pool.
#[derive(Debug)]
pub struct Server {
    address: ServerAddress,
    label: Arc<str>,
    resolved: ArcSwap<Vec<SocketAddr>>,
    failed_until_ms: AtomicU64,
    pub(crate) slots: Option<Arc<Semaphore>>,
    pub(crate) active: AtomicU64,
    stats: OriginStats,
    /// Unique in the process: what idle connections are kept under.
    pub(crate) id: u64,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Pools {
    /// The pools of `settings`. Servers that `previous` has with the same
    /// address and limit stay, with their connections and their state.
    pub fn new(settings: &BTreeMap<String, PoolSettings>, previous: Option<&Self>) -> Self {
        let by_name = settings.iter().map(|(name, pool)| {
            let before = previous.and_then(|pools| pools.by_name.get(name));
            let servers = pool.servers.iter().map(|address| {
                before
                    .filter(|before| before.settings.max_connections == pool.max_connections)
                    .and_then(|before| before.servers.iter().find(|s| s.address == *address))
                    .map_or_else(|| Arc::new(Server::new(address, pool)), Arc::clone)
            });
            let pool = Pool {
                name: name.clone(),
                settings: pool.clone(),
                servers: servers.collect(),
                next: AtomicUsize::new(0),
            };
            (name.clone(), Arc::new(pool))
        });
        Self {
            by_name: by_name.collect(),
        }
    }

    /// The pool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Pool>> {
        self.by_name.get(name)
    }

    /// All pools, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.by_name.values()
    }

    /// The figures of every server.
    pub fn figures(&self, now_ms: u64) -> Vec<OriginSnapshot> {
        let servers = self.iter().flat_map(|pool| {
            let of_server = |server: &Arc<Server>| OriginSnapshot {
                pool: pool.name.clone(),
                server: server.label.to_string(),
                active: server.active(),
                failed: server.is_failed(now_ms),
                ..server.stats.snapshot()
            };
            pool.servers.iter().map(of_server)
        });
        servers.collect()
    }

    /// Resolves every server's name again, at once and side by side; blocks.
    /// A name that does not resolve keeps the addresses it had. Returns what failed.
    pub fn resolve(&self) -> Vec<String> {
        let servers = self.iter().flat_map(|pool| &pool.servers);
        let failures = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for server in servers.filter(|server| server.needs_resolving()) {
                let failures = &failures;
                scope.spawn(move || {
                    if let Err(error) = server.resolve()
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.push(format!("cannot resolve {}: {error}", server.label));
                    }
                });
            }
        });
        failures.into_inner().unwrap_or_default()
    }
}

impl Pool {
    /// Its servers.
    pub fn servers(&self) -> &[Arc<Server>] {
        &self.servers
    }

    /// The servers in the order they are to be tried now: in turn, those that
    /// failed lately last.
    pub(crate) fn order(&self, now_ms: u64) -> impl Iterator<Item = &Arc<Server>> {
        let count = self.servers.len();
        let first = if count > 1 {
            self.next.fetch_add(1, Relaxed)
        } else {
            0
        };
        // Two rounds: of those that work, and of those that failed.
        (0..2 * count).filter_map(move |i| {
            let server = &self.servers[first.wrapping_add(i) % count];
            (server.is_failed(now_ms) == (i >= count)).then_some(server)
        })
    }
}

impl Server {
    fn new(address: &ServerAddress, pool: &PoolSettings) -> Self {
        let resolved = match address {
            ServerAddress::Tcp { host, port } => host
                .parse()
                .ok()
                .map(|ip| SocketAddr::new(ip, *port))
                .into_iter()
                .collect(),
            ServerAddress::Unix(_) => Vec::new(),
        };
        Self {
            address: address.clone(),
            label: address.to_string().into(),
            resolved: ArcSwap::from_pointee(resolved),
            failed_until_ms: AtomicU64::new(0),
            slots: pool
                .max_connections
                .map(|most| Arc::new(Semaphore::new(most))),
            active: AtomicU64::new(0),
            stats: OriginStats::default(),
            id: NEXT_ID.fetch_add(1, Relaxed),
        }
    }

    /// Its address as configured.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Its address as text, for logs.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// The addresses its name has now.
    pub fn addresses(&self) -> Arc<Vec<SocketAddr>> {
        self.resolved.load_full()
    }

    /// Where what happens with it is counted. Requests and connections are counted here already.
    pub fn stats(&self) -> &OriginStats {
        &self.stats
    }

    /// Requests it is working on.
    pub fn active(&self) -> u64 {
        self.active.load(Relaxed)
    }

    /// Whether it could not be reached lately.
    pub fn is_failed(&self, now_ms: u64) -> bool {
        self.failed_until_ms.load(Relaxed) > now_ms
    }

    pub(crate) fn set_failed(&self, until_ms: u64) {
        self.failed_until_ms.store(until_ms, Relaxed);
    }

    fn needs_resolving(&self) -> bool {
        matches!(&self.address, ServerAddress::Tcp { host, .. } if host.parse::<std::net::IpAddr>().is_err())
    }

    fn resolve(&self) -> std::io::Result<()> {
        if let ServerAddress::Tcp { host, port } = &self.address {
            let found: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs()?.collect();
            if !found.is_empty() {
                self.resolved.store(Arc::new(found));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pools(servers: &[&str], previous: Option<&Pools>) -> Pools {
        let servers = servers
            .iter()
            .map(|host| ServerAddress::Tcp {
                host: (*host).into(),
                port: 80,
            })
            .collect();
        let pool = PoolSettings {
            servers,
            ..PoolSettings::default()
        };
        Pools::new(&BTreeMap::from([("app".to_owned(), pool)]), previous)
    }

    fn order(pools: &Pools, now_ms: u64) -> Vec<String> {
        let pool = pools.get("app").unwrap();
        pool.order(now_ms)
            .map(|server| server.label().to_string())
            .collect()
    }

    #[test]
    fn servers_take_turns_and_failed_ones_come_last() {
        let pools = pools(&["1.1.1.1", "2.2.2.2", "3.3.3.3"], None);
        assert_eq!(order(&pools, 0), ["1.1.1.1:80", "2.2.2.2:80", "3.3.3.3:80"]);
        assert_eq!(order(&pools, 0), ["2.2.2.2:80", "3.3.3.3:80", "1.1.1.1:80"]);
        pools.get("app").unwrap().servers()[2].set_failed(10);
        assert_eq!(order(&pools, 9), ["1.1.1.1:80", "2.2.2.2:80", "3.3.3.3:80"]);
        assert_eq!(
            order(&pools, 10),
            ["1.1.1.1:80", "2.2.2.2:80", "3.3.3.3:80"]
        );
        assert_eq!(order(&pools, 10)[0], "2.2.2.2:80");
    }

    #[test]
    fn a_reload_keeps_the_servers_that_stay() {
        let old = pools(&["1.1.1.1", "2.2.2.2"], None);
        let new = pools(&["2.2.2.2", "4.4.4.4"], Some(&old));
        let (old, new) = (old.get("app").unwrap(), new.get("app").unwrap());
        assert!(Arc::ptr_eq(&old.servers()[1], &new.servers()[0]));
    }

    #[test]
    fn figures_say_whose_they_are_and_survive_a_reload() {
        let old = pools(&["1.1.1.1", "2.2.2.2"], None);
        let server = &old.get("app").unwrap().servers()[1];
        server.stats().error();
        server.set_failed(10);
        let new = pools(&["2.2.2.2"], Some(&old));
        let figures = new.figures(5);
        assert_eq!(figures.len(), 1);
        assert_eq!(
            (figures[0].pool.as_str(), figures[0].server.as_str()),
            ("app", "2.2.2.2:80")
        );
        assert_eq!((figures[0].errors, figures[0].failed), (1, true));
        assert!(!new.figures(10)[0].failed);
    }
}
