//! The server as its owner sees it: start, reload, drain.
//!
//! ```text
//!  start: bind ─▶ snapshot ─▶ threads ─▶ listeners handed out
//!  reload: read files, bind what is new ─▶ swap the snapshot ─▶ let go what is old
//!  drain: stop accepting ─▶ end idle connections ─▶ wait ─▶ threads end
//! ```

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use forebay_cache::disk::DirectoryStatus;
use forebay_cache::popular::{self, Popular};
use forebay_cache::purge::BanLine;
use forebay_config::Settings;
use forebay_config::settings::ListenAddress;
use forebay_stats::{Counter, Gauges, Registry};
use forebay_upstream::{MemberState, Order as ServerOrder, Owner, Pool};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::access::{AccessLog, Tail, TailError, TailFilter};
use crate::entrance;
use crate::join_step::Joined;
use crate::listener::{self, Listener};
use crate::names::{Asked, Resolver};
use crate::snapshot::{Files, Snapshot};
use crate::tier;
use crate::turn::TURNS;
use crate::worker::{self, Order, Shared};

/// How often invalidations that nobody waits for are written down.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// After so many of these, what was purged is looked for in memory.
const TIDY_AFTER: u32 = 5;

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
    resolver: Resolver,
}

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// An address could not be bound.
    Listen(ListenAddress, io::Error),
    /// The access log could not be opened.
    AccessLog(io::Error),
    /// What TLS takes, with clients or with the servers of a pool, could not be read.
    Tls(String),
    /// Sockets were passed, and none for this address, at which connections begin with TLS or with a
    /// header of the PROXY protocol.
    NotPassed(ListenAddress),
    /// No directory of the disk tier could be opened.
    Disk(io::Error),
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
    /// What TLS takes, with clients or with the servers of a pool, could not be read.
    Tls(String),
    /// Sockets were passed, and none for this address, at which connections begin with TLS or with a
    /// header of the PROXY protocol.
    NotPassed(ListenAddress),
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
    /// `up`, `draining`, `down` (the operator said so), `unhealthy` (active checks say so), `failed`
    /// (it failed requests in a row) or `ejected` (it answers worse than others).
    pub state: &'static str,
    /// Who put it in the pool: `file`, `operator` or `program`.
    pub owner: &'static str,
    /// Its share, relative to the others'.
    pub weight: u32,
    /// Servers of a greater number are used only when none of a smaller one can be.
    pub priority: u8,
    /// Where it stands.
    pub zone: Option<String>,
    /// Requests it may be working on at once.
    pub max_connections: Option<u64>,
    /// Requests it is working on.
    pub active: u64,
    /// Whether it is left out because it failed requests in a row.
    pub failed: bool,
    /// Whether it is left out because it answers worse than others.
    pub ejected: bool,
    /// Requests sent to it, repeats included.
    pub requests: u64,
    /// Connections opened to it.
    pub connects: u64,
    /// Requests that it gave no usable response to.
    pub errors: u64,
    /// Requests, or attempts to connect, that took it too long.
    pub timeouts: u64,
    /// Its responses with a status of 500 or above.
    pub failures: u64,
    /// Requests that had waited in the pool's queue before they were given to it.
    pub waits: u64,
    /// Requests of it that were given to another server or connection, because it failed them.
    pub retries: u64,
    /// Requests that were given to it because another server was slow.
    pub hedges: u64,
    /// How often it was left out because it answers worse than others.
    pub ejections: u64,
    /// From a request to the head of its response, in microseconds: the mean.
    pub mean_us: u64,
    /// The same: what half of the responses did not exceed.
    pub p50_us: u64,
    /// The same: what 99 of 100 did not exceed.
    pub p99_us: u64,
}

impl PoolStatus {
    fn of(pool: &Pool, member: &MemberState, now_ms: u64) -> Self {
        let server = &member.server;
        let figures = server.stats().snapshot();
        Self {
            pool: pool.name.clone(),
            server: server.label().to_string(),
            addresses: server.addresses().iter().map(ToString::to_string).collect(),
            state: state_of(server, now_ms),
            owner: match member.owner {
                Owner::File => "file",
                Owner::Operator { .. } => "operator",
                Owner::Program => "program",
            },
            weight: member.weight,
            priority: member.priority,
            zone: member.zone.clone(),
            max_connections: server.limit(),
            active: server.active(),
            failed: server.is_failed(now_ms),
            ejected: server.is_ejected(now_ms),
            requests: figures.requests,
            connects: figures.connects,
            errors: figures.errors,
            timeouts: figures.timeouts,
            failures: figures.failures,
            waits: figures.waits,
            retries: figures.retries,
            hedges: figures.hedges,
            ejections: figures.ejections,
            mean_us: figures.first_byte.mean(),
            p50_us: figures.first_byte.percentile(50.0),
            p99_us: figures.first_byte.percentile(99.0),
        }
    }
}

/// Why a server gets requests, or gets none, in one word.
fn state_of(server: &forebay_upstream::Server, now_ms: u64) -> &'static str {
    match server.order() {
        ServerOrder::Removed => "removed",
        ServerOrder::Down => "down",
        ServerOrder::Drain | ServerOrder::Leaving => "draining",
        ServerOrder::Up if !server.is_healthy() => "unhealthy",
        ServerOrder::Up if server.is_failed(now_ms) => "failed",
        ServerOrder::Up if server.is_ejected(now_ms) => "ejected",
        ServerOrder::Up => "up",
    }
}

impl Server {
    /// Binds the addresses and starts the workers. `inherited` sockets take the
    /// place of the addresses of the settings.
    pub fn start(settings: Settings, inherited: Vec<Inherited>) -> Result<Self, StartError> {
        let files = Files::read(&settings).map_err(StartError::Tls)?;
        let workers = settings.server.workers.max(1);
        let log = AccessLog::start(&settings.log).map_err(StartError::AccessLog)?;
        let from_outside = !inherited.is_empty();
        let listeners = if from_outside {
            share(inherited, workers)
        } else {
            bind_all(&settings, &settings.listen, workers)
        };
        let listeners = listeners.map_err(|(address, error)| StartError::Listen(address, error))?;
        if from_outside {
            let passed: Vec<_> = listeners.iter().map(|(address, _)| address).collect();
            if let Some(address) = entrance::missing(&settings, &passed) {
                return Err(StartError::NotPassed(address));
            }
        }
        let registry = Registry::new();
        let cache = tier::open(&settings, &registry).map_err(StartError::Disk)?;
        let shared = Arc::new(Shared {
            cache,
            snapshot: ArcSwap::from_pointee(Snapshot::new(settings, files, None)),
            log: ArcSwap::new(log),
            generation: AtomicU64::new(1),
            registry,
            connections: AtomicUsize::new(0),
            next_connection: AtomicU64::new(1),
            upstream_idle: AtomicUsize::new(0),
            joined: Joined::default(),
            started: Instant::now(),
        });
        let resolver = start_resolver(&shared).map_err(StartError::Thread)?;
        // What failed is in the log.
        resolver.settle();
        watch_origins(&shared);
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
            resolver,
        });
        listeners
            .into_iter()
            .for_each(|(address, bound)| control.hand_out(address, bound));
        let watched = pools(&Arc::downgrade(&shared));
        forebay_health::start(watched).map_err(StartError::Thread)?;
        spawn_tidier(&control).map_err(StartError::Thread)?;
        if let Some(disk) = shared.cache.disk() {
            disk.start(&shared.cache).map_err(StartError::Thread)?;
        }
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
        control.shared.tidy(false);
        if let Some(disk) = control.shared.cache.disk() {
            let saved = disk.stop(&control.shared.cache);
            tracing::info!("{saved} objects of memory were written to disk");
        }
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
    /// What the workers share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.control.shared
    }

    /// The pool of this name in the configuration in force.
    pub fn pool(&self, name: &str) -> Option<Arc<forebay_upstream::Pool>> {
        self.control
            .shared
            .snapshot
            .load()
            .pools
            .get(name)
            .map(Arc::clone)
    }

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
    /// Returns the names that are not known. Blocks while names are resolved. The number of workers
    /// and the disk tier stay as they are.
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
            tails: shared.log.load().tail_count() as u64,
            upstream_idle: shared.upstream_idle.load(Relaxed) as u64,
            upstream_active: servers.map(|server| server.active()).sum(),
            workers: self.control.workers.len() as u64,
            uptime_seconds: shared.started.elapsed().as_secs(),
            config_generation: shared.generation.load(Relaxed),
            bans: shared.cache.purges().bans().len() as u64,
            ..tier::gauges(&shared.cache)
        }
    }

    /// Its listeners and pools at this moment.
    pub fn status(&self) -> ServerStatus {
        let snapshot = self.control.shared.snapshot.load();
        let now_ms = worker::unix_ms();
        let pools = snapshot.pools.iter().flat_map(|pool| {
            let members = pool.members().into_iter();
            members.map(move |member| PoolStatus::of(pool, &member, now_ms))
        });
        ServerStatus {
            listening: self.addresses(),
            pools: pools.collect(),
        }
    }

    /// Shows the exchanges that end from now on and fit `filter`; at most `capacity` of them
    /// wait for the reader. What it misses it is told.
    ///
    /// # Errors
    /// There are [`crate::MOST_TAILS`] already, or the filter names what does not exist.
    pub fn tail(&self, filter: TailFilter, capacity: usize) -> Result<Tail, TailError> {
        self.control.shared.log.load().tail(filter, capacity)
    }

    /// The purges that objects are still compared with, the newest first.
    pub fn bans(&self) -> Vec<BanLine> {
        self.control.shared.cache.purges().bans()
    }

    /// The directories of the disk tier; none without one.
    pub fn directories(&self) -> Vec<DirectoryStatus> {
        let disk = self.control.shared.cache.disk();
        disk.map(|disk| disk.status()).unwrap_or_default()
    }

    /// The objects in the index of memory that were delivered most often, the hottest first.
    pub fn hottest(&self, limit: usize) -> Vec<Popular> {
        popular::hottest(&self.control.shared.cache, limit)
    }

    /// The objects in the index of memory with the most bytes, the biggest first.
    pub fn biggest(&self, limit: usize) -> Vec<Popular> {
        popular::biggest(&self.control.shared.cache, limit)
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
        let files = Files::read(&settings).map_err(ReloadError::Tls)?;
        if self.inherited {
            let listening = self.listening.lock();
            let passed: Vec<_> = listening.iter().map(|(_, bound)| bound).collect();
            if let Some(address) = entrance::missing(&settings, &passed) {
                return Err(ReloadError::NotPassed(address));
            }
        }
        let new = self
            .bind_new(&settings)
            .map_err(|(address, error)| ReloadError::Listen(address, error))?;
        let log = self
            .reload_log(&settings, &before)
            .map_err(ReloadError::AccessLog)?;
        let snapshot = Snapshot::new(settings, files, Some(&before));
        self.shared
            .cache
            .budget()
            .set_limit(snapshot.settings.cache.memory);
        let snapshot = Arc::new(snapshot);
        self.shared.snapshot.store(Arc::clone(&snapshot));
        let warnings = self.resolver.settle();
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
        bind_all(settings, &new, self.workers.len())
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
            } else if let ListenAddress::Unix(path) = bound {
                // Who removed the file has let nobody in any more.
                let _ = listener::set_mode(path, settings.socket_mode(path));
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
        self.shared.log.load().restart(new).map(Some)
    }
}

type Bound = Vec<(ListenAddress, Vec<Listener>)>;

fn bind_all(
    settings: &Settings,
    addresses: &[ListenAddress],
    workers: usize,
) -> Result<Bound, (ListenAddress, io::Error)> {
    let bind = |address: &ListenAddress| {
        if listener::is_taken(address) {
            return Err((address.clone(), io::ErrorKind::AddrInUse.into()));
        }
        let mode = match address {
            ListenAddress::Unix(path) => settings.socket_mode(path),
            ListenAddress::Tcp(_) => 0,
        };
        let bound = listener::bind(address, mode, workers);
        let bound = bound.map_err(|error| (address.clone(), error))?;
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
        .event_interval(TURNS)
        .build_local(tokio::runtime::LocalOptions::default())
}

/// Lets the counters show those of each server of the configuration in force.
fn watch_origins(shared: &Arc<Shared>) {
    let watched = Arc::downgrade(shared);
    shared.registry.watch_origins(move || {
        let figures = |shared: Arc<Shared>| shared.snapshot.load().pools.figures(worker::unix_ms());
        watched.upgrade().map_or_else(Vec::new, figures)
    });
    let watched = Arc::downgrade(shared);
    shared.registry.watch_pools(move || {
        let figures = |shared: Arc<Shared>| shared.snapshot.load().pools.pool_figures();
        watched.upgrade().map_or_else(Vec::new, figures)
    });
}

/// The pools in force, for as long as the server is there.
fn pools(shared: &Weak<Shared>) -> impl Fn() -> Option<Vec<Arc<Pool>>> + Send + use<> {
    let shared = Weak::clone(shared);
    move || {
        let snapshot = shared.upgrade()?.snapshot.load_full();
        Some(snapshot.pools.iter().map(Arc::clone).collect())
    }
}

fn start_resolver(shared: &Arc<Shared>) -> io::Result<Resolver> {
    let shared = Arc::downgrade(shared);
    let pools = pools(&shared);
    Resolver::start(move || {
        let snapshot = shared.upgrade()?.snapshot.load_full();
        Some(Asked {
            pools: pools()?,
            resolvers: snapshot.settings.server.resolvers.clone(),
        })
    })
}

impl Shared {
    fn tidy(&self, thoroughly: bool) {
        if let Err(error) = self.cache.purges().flush() {
            tracing::warn!("invalidations cannot be written down: {error}");
        }
        if thoroughly {
            let removed = self.cache.tidy();
            self.registry.shared().add(Counter::Evicted, removed);
        }
    }
}

/// Writes invalidations down, and forgets purges that everything in memory was looked at for.
fn spawn_tidier(control: &Arc<Control>) -> io::Result<JoinHandle<()>> {
    let control = Arc::downgrade(control);
    std::thread::Builder::new()
        .name("tidier".into())
        .spawn(move || {
            for round in 1u32.. {
                std::thread::sleep(FLUSH_EVERY);
                match control.upgrade() {
                    Some(control) if !control.draining.load(Relaxed) => {
                        control.shared.tidy(round % TIDY_AFTER == 0);
                    }
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
            Self::Tls(why) => f.write_str(why),
            Self::NotPassed(address) => not_passed(f, address),
            Self::Disk(error) => write!(f, "cannot open the disk tier: {error}"),
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
            Self::Tls(why) => f.write_str(why),
            Self::NotPassed(address) => not_passed(f, address),
        }
    }
}

impl std::error::Error for ReloadError {}

fn not_passed(f: &mut fmt::Formatter<'_>, address: &ListenAddress) -> fmt::Result {
    write!(
        f,
        "[[listen]] {address}: sockets were passed at the start, and none with this address: \
         its connections would begin without what they are to begin with"
    )
}
