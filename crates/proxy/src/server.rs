//! The server as its owner sees it: start, reload, drain.
//!
//! ```text
//!  start: bind ─▶ snapshot ─▶ threads ─▶ listeners handed out
//!  reload: bind what is new ─▶ swap the snapshot ─▶ let go what is old
//!  drain: stop accepting ─▶ end idle connections ─▶ wait ─▶ threads end
//! ```

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use forebay_cache::Cache;
use forebay_config::Settings;
use forebay_config::settings::ListenAddress;
use forebay_stats::{Gauges, Registry};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::access::AccessLog;
use crate::listener::{self, Listener};
use crate::snapshot::Snapshot;
use crate::worker::{self, Order, Shared};

/// How often names of servers are resolved again.
const RESOLVE_EVERY: Duration = Duration::from_secs(30);

/// A listening socket that another process opened.
#[derive(Debug)]
pub enum Inherited {
    /// TCP
    Tcp(std::net::TcpListener),
    /// Unix
    Unix(std::os::unix::net::UnixListener),
}

/// A running server. Dropped without [`Server::drain`], it ends with the process.
pub struct Server {
    handle: Handle,
    threads: Vec<JoinHandle<()>>,
}

/// A view on a running server, for other threads.
#[derive(Clone)]
pub struct Handle {
    control: Arc<Control>,
}

struct Control {
    shared: Arc<Shared>,
    workers: Vec<mpsc::UnboundedSender<Order>>,
    /// Each address as configured, and as it is bound.
    listening: Mutex<Vec<(ListenAddress, ListenAddress)>>,
    /// Sockets came from outside: a reload leaves the listeners alone.
    inherited: bool,
    draining: AtomicBool,
}

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// An address could not be bound.
    Listen(ListenAddress, io::Error),
    /// The access log could not be opened.
    AccessLog(io::Error),
    /// A thread could not be started.
    Thread(io::Error),
}

/// Why a configuration was not taken; the one before stays in force.
#[derive(Debug)]
pub enum ReloadError {
    /// An address could not be bound.
    Listen(ListenAddress, io::Error),
    /// The access log could not be opened.
    AccessLog(io::Error),
}

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Every connection ended by itself.
    pub finished: bool,
    /// Connections that were still open at the deadline.
    pub left: usize,
}

/// The parts of a server at one moment.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    /// Addresses it listens on.
    pub listening: Vec<ListenAddress>,
    /// Its pools.
    pub pools: Vec<PoolStatus>,
}

/// One server of a pool at one moment.
#[derive(Clone, Debug)]
pub struct PoolStatus {
    /// The pool's name.
    pub pool: String,
    /// The server's address as configured.
    pub server: String,
    /// What its name resolves to.
    pub addresses: Vec<String>,
    /// Requests it is working on.
    pub active: u64,
    /// Whether it could not be reached lately.
    pub failed: bool,
}

impl Server {
    /// Binds the addresses and starts the workers. `inherited` sockets take the
    /// place of the addresses of the settings.
    pub fn start(settings: Settings, inherited: Vec<Inherited>) -> Result<Self, StartError> {
        let workers = settings.server.workers.max(1);
        let log = AccessLog::start(&settings.log).map_err(StartError::AccessLog)?;
        let from_outside = !inherited.is_empty();
        let listeners = if from_outside {
            share(inherited, workers)
        } else {
            bind_all(&settings.listen, workers)
        };
        let listeners = listeners.map_err(|(address, error)| StartError::Listen(address, error))?;
        let seed = RandomState::new().hash_one(0x0f0e_bae5_u64);
        let cache = Cache::new(settings.cache.memory, seed);
        let shared = Arc::new(Shared {
            cache,
            snapshot: ArcSwap::from_pointee(Snapshot::new(settings, None)),
            log: ArcSwap::new(log),
            generation: AtomicU64::new(1),
            registry: Registry::new(),
            connections: AtomicUsize::new(0),
            next_connection: AtomicU64::new(1),
            upstream_idle: AtomicUsize::new(0),
            started: Instant::now(),
        });
        resolve(&shared);
        let mut threads = Vec::new();
        let mut orders = Vec::new();
        for number in 0..workers {
            let (sender, receiver) = mpsc::unbounded_channel();
            orders.push(sender);
            threads.push(spawn(number, &shared, receiver).map_err(StartError::Thread)?);
        }
        let control = Arc::new(Control {
            shared: Arc::clone(&shared),
            workers: orders,
            listening: Mutex::default(),
            inherited: from_outside,
            draining: AtomicBool::new(false),
        });
        listeners
            .into_iter()
            .for_each(|(address, bound)| control.hand_out(address, bound));
        spawn_resolver(&control).map_err(StartError::Thread)?;
        Ok(Self {
            handle: Handle { control },
            threads,
        })
    }

    /// The addresses it listens on, with the real ports.
    pub fn addresses(&self) -> Vec<ListenAddress> {
        self.handle.addresses()
    }

    /// A view on it for other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Stops accepting, lets exchanges finish until `deadline` has passed, and returns.
    pub fn drain(self, deadline: Duration) -> Drained {
        let control = &self.handle.control;
        control.draining.store(true, Relaxed);
        for worker in &control.workers {
            // A worker that has ended has nothing to drain.
            let _ = worker.send(Order::Drain);
        }
        let until = Instant::now() + deadline;
        while Instant::now() < until && !self.threads.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let finished = self.threads.iter().all(JoinHandle::is_finished);
        let left = control.shared.connections.load(Relaxed);
        control.shared.log.load().close();
        for (_, address) in control.listening.lock().iter() {
            if let (ListenAddress::Unix(path), false) = (address, control.inherited) {
                let _ = std::fs::remove_file(path);
            }
        }
        Drained {
            finished,
            left: if finished { 0 } else { left },
        }
    }
}

impl Handle {
    /// The addresses it listens on, with the real ports.
    pub fn addresses(&self) -> Vec<ListenAddress> {
        self.control
            .listening
            .lock()
            .iter()
            .map(|(_, bound)| bound.clone())
            .collect()
    }

    /// Puts `settings` in force without dropping a connection or the cache.
    /// Returns what takes a restart to change. Blocks while names are resolved.
    pub fn reload(&self, settings: Settings) -> Result<Vec<String>, ReloadError> {
        self.control.reload(settings)
    }

    /// The counters.
    pub fn stats(&self) -> Arc<Registry> {
        Arc::clone(&self.control.shared.registry)
    }

    /// The state at this moment.
    pub fn gauges(&self) -> Gauges {
        let shared = &self.control.shared;
        let snapshot = shared.snapshot.load();
        let servers = snapshot.pools.iter().flat_map(|pool| pool.servers());
        Gauges {
            connections: shared.connections.load(Relaxed) as u64,
            objects: shared.cache.objects(),
            cache_bytes: shared.cache.budget().used(),
            cache_budget_bytes: shared.cache.budget().limit(),
            upstream_idle: shared.upstream_idle.load(Relaxed) as u64,
            upstream_active: servers.map(|server| server.active()).sum(),
            workers: self.control.workers.len() as u64,
            uptime_seconds: shared.started.elapsed().as_secs(),
            config_generation: shared.generation.load(Relaxed),
            ..Gauges::default()
        }
    }

    /// Its listeners and pools at this moment.
    pub fn status(&self) -> ServerStatus {
        let snapshot = self.control.shared.snapshot.load();
        let now_ms = worker::unix_ms();
        let pools = snapshot.pools.iter().flat_map(|pool| {
            pool.servers().iter().map(|server| PoolStatus {
                pool: pool.name.clone(),
                server: server.label().to_string(),
                addresses: server.addresses().iter().map(ToString::to_string).collect(),
                active: server.active(),
                failed: server.is_failed(now_ms),
            })
        });
        ServerStatus {
            listening: self.addresses(),
            pools: pools.collect(),
        }
    }
}

impl Control {
    /// Gives each worker its socket of an address.
    fn hand_out(&self, configured: ListenAddress, bound: Vec<Listener>) {
        if let Some(first) = bound.first() {
            self.listening
                .lock()
                .push((configured, first.address.clone()));
        }
        for (worker, listener) in self.workers.iter().zip(bound) {
            let _ = worker.send(Order::Listen(listener));
        }
    }

    fn reload(&self, settings: Settings) -> Result<Vec<String>, ReloadError> {
        let before = self.shared.snapshot.load_full();
        let mut warnings = Vec::new();
        if settings.server.workers != before.settings.server.workers {
            warnings.push("server.workers takes a restart to change".to_owned());
        }
        let new = self
            .bind_new(&settings)
            .map_err(|(address, error)| ReloadError::Listen(address, error))?;
        let log = self
            .reload_log(&settings, &before)
            .map_err(ReloadError::AccessLog)?;
        let snapshot = Snapshot::new(settings, Some(&before));
        warnings.extend(snapshot.pools.resolve());
        self.shared
            .cache
            .budget()
            .set_limit(snapshot.settings.cache.memory);
        let snapshot = Arc::new(snapshot);
        self.shared.snapshot.store(Arc::clone(&snapshot));
        let old_log = log.map(|log| self.shared.log.swap(log));
        self.shared.generation.fetch_add(1, Relaxed);
        new.into_iter()
            .for_each(|(address, bound)| self.hand_out(address, bound));
        self.let_go(&snapshot.settings);
        if let Some(old_log) = old_log {
            // Workers take the new one within a tick; what they wrote meanwhile goes to the old one.
            std::thread::sleep(2 * crate::timers::TICK);
            old_log.close();
        }
        self.shared.cache.make_room();
        Ok(warnings)
    }

    fn bind_new(&self, settings: &Settings) -> Result<Bound, (ListenAddress, io::Error)> {
        if self.inherited {
            return Ok(Vec::new());
        }
        let listening = self.listening.lock();
        let is_new = |wanted: &&ListenAddress| {
            !listening
                .iter()
                .any(|(configured, bound)| configured == *wanted || bound == *wanted)
        };
        let new: Vec<ListenAddress> = settings.listen.iter().filter(is_new).cloned().collect();
        drop(listening);
        bind_all(&new, self.workers.len())
    }

    /// Stops listening where the settings do not ask for it any more.
    fn let_go(&self, settings: &Settings) {
        if self.inherited {
            return;
        }
        self.listening.lock().retain(|(configured, bound)| {
            let stays = settings.listen.contains(configured) || settings.listen.contains(bound);
            if !stays {
                for worker in &self.workers {
                    let _ = worker.send(Order::Unlisten(bound.clone()));
                }
                if let ListenAddress::Unix(path) = bound {
                    let _ = std::fs::remove_file(path);
                }
            }
            stays
        });
    }

    /// The access log to take instead; the one there is opened anew when it stays.
    fn reload_log(
        &self,
        settings: &Settings,
        before: &Snapshot,
    ) -> io::Result<Option<Arc<AccessLog>>> {
        let (new, old) = (&settings.log, &before.settings.log);
        if new.access == old.access
            && new.format == old.format
            && new.buffer_bytes == old.buffer_bytes
        {
            self.shared.log.load().reopen()?;
            return Ok(None);
        }
        AccessLog::start(new).map(Some)
    }
}

type Bound = Vec<(ListenAddress, Vec<Listener>)>;

fn bind_all(
    addresses: &[ListenAddress],
    workers: usize,
) -> Result<Bound, (ListenAddress, io::Error)> {
    let bind = |address: &ListenAddress| {
        if listener::is_taken(address) {
            return Err((address.clone(), io::ErrorKind::AddrInUse.into()));
        }
        let bound = listener::bind(address, workers).map_err(|error| (address.clone(), error))?;
        Ok((address.clone(), bound))
    };
    addresses.iter().map(bind).collect()
}

fn share(inherited: Vec<Inherited>, workers: usize) -> Result<Bound, (ListenAddress, io::Error)> {
    let share = |socket: Inherited| {
        let shared = match &socket {
            Inherited::Tcp(socket) => listener::share_tcp(socket, workers),
            Inherited::Unix(socket) => listener::share_inherited_unix(socket, workers),
        };
        let unnamed = || ListenAddress::Unix(std::path::PathBuf::new());
        let shared = shared.map_err(|error| (unnamed(), error))?;
        let address = shared
            .first()
            .map_or_else(unnamed, |listener| listener.address.clone());
        Ok((address, shared))
    };
    inherited.into_iter().map(share).collect()
}

fn spawn(
    number: usize,
    shared: &Arc<Shared>,
    orders: mpsc::UnboundedReceiver<Order>,
) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    // A runtime cannot move to its thread; a first one tells here whether one can be had.
    drop(event_loop()?);
    std::thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || match event_loop() {
            Ok(event_loop) => event_loop.block_on(worker::run(shared, orders)),
            Err(error) => tracing::error!("a worker cannot start: {error}"),
        })
}

fn event_loop() -> io::Result<tokio::runtime::LocalRuntime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
}

fn resolve(shared: &Shared) {
    for failure in shared.snapshot.load().pools.resolve() {
        tracing::warn!("{failure}");
    }
}

/// Names are resolved beside the workers, for as long as the server is there.
fn spawn_resolver(control: &Arc<Control>) -> io::Result<JoinHandle<()>> {
    let control = Arc::downgrade(control);
    std::thread::Builder::new()
        .name("resolver".into())
        .spawn(move || {
            loop {
                std::thread::sleep(RESOLVE_EVERY);
                match control.upgrade() {
                    Some(control) if !control.draining.load(Relaxed) => resolve(&control.shared),
                    _ => return,
                }
            }
        })
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::AccessLog(error) => write!(f, "cannot open the access log: {error}"),
            Self::Thread(error) => write!(f, "cannot start a thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::AccessLog(error) => write!(f, "cannot open the access log: {error}"),
        }
    }
}

impl std::error::Error for ReloadError {}
