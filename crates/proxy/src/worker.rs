//! A worker: one thread, one event loop, its own listeners and connections.
//!
//! Everything in a [`Worker`] belongs to its thread; what workers share is in
//! [`Shared`]. Orders come from the control thread through a channel.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use forebay_cache::Cache;
use forebay_cache::body::Body;
use forebay_config::settings::ListenAddress;
use forebay_http::{RequestHead, ResponseHead};
use forebay_stats::{Counter, Registry, WorkerStats};
use forebay_stream::Stream;
use forebay_upstream::Local;
use tokio::sync::{Notify, mpsc};

use crate::access::{AccessLog, WorkerLog};
use crate::buffer::Buffers;
use crate::cgi::Scripts;
use crate::coding::Encoders;
use crate::entrance::{self, Entrance};
use crate::exchange;
use crate::files::Absent;
use crate::forward::Peer;
use crate::join_step::Joined;
use crate::listener::{Accepted, Listener};
use crate::moment::{Clock, Moment};
use crate::snapshot::{Held, Snapshot};
use crate::timers::{TICK, Timers};

/// What all workers share.
pub(crate) struct Shared {
    pub(crate) cache: Arc<Cache>,
    pub(crate) snapshot: ArcSwap<Snapshot>,
    pub(crate) log: ArcSwap<AccessLog>,
    /// Counts snapshots, so that workers see a new one by reading a number.
    pub(crate) generation: AtomicU64,
    pub(crate) registry: Arc<Registry>,
    pub(crate) connections: AtomicUsize,
    pub(crate) next_connection: AtomicU64,
    pub(crate) upstream_idle: AtomicUsize,
    /// Back ends that have joined pools.
    pub(crate) joined: Joined,
    pub(crate) started: Instant,
}

/// What the control thread tells a worker.
#[derive(Debug)]
pub(crate) enum Order {
    /// Accept on this socket too.
    Listen(Listener),
    /// Stop accepting on the socket of this address.
    Unlisten(ListenAddress),
    /// Stop accepting, end idle connections, let exchanges finish.
    Drain,
}

/// One worker's own state.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) stats: Arc<WorkerStats>,
    pub(crate) timers: Rc<Timers>,
    pub(crate) buffers: Rc<Buffers>,
    pub(crate) idle: Local,
    /// Which scripts of applications there are.
    pub(crate) scripts: Scripts,
    /// Where there is no file.
    pub(crate) absent: Absent,
    pub(crate) encoders: Encoders,
    log: RefCell<WorkerLog>,
    snapshot: RefCell<Rc<Held>>,
    generation: Cell<u64>,
    #[expect(
        clippy::vec_box,
        reason = "the box is what is lent; a request is too large to move"
    )]
    requests: RefCell<Vec<Box<Request>>>,
    heads: RefCell<Vec<ResponseHead>>,
    /// Bodies being fetched here, perhaps for clients of other workers.
    filling: RefCell<Vec<Weak<Body>>>,
    scratch: RefCell<Vec<Vec<u8>>>,
    clock: Clock,
    connections: Cell<usize>,
    draining: Cell<bool>,
    emptied: Notify,
}

/// Everything of a request that is worth keeping the allocations of.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// As received; the step machine removes and adds fields.
    pub(crate) head: RequestHead,
    /// The host as received, of which `host` and `authority` were made.
    pub(crate) host_field: Vec<u8>,
    /// Host name in lower case, without port.
    pub(crate) host: Vec<u8>,
    /// Host with port, in lower case: the origin of RFC 9875 and part of the key.
    pub(crate) authority: Vec<u8>,
    /// The port that it does without: that of the scheme by which the client reached us.
    pub(crate) own_port: u16,
    /// The client speaks TLS to us, or to a trusted proxy in front that says so.
    pub(crate) secure: bool,
    /// Path and query.
    pub(crate) target: Vec<u8>,
    /// The path of the script that answers in place of the target's own: a directory's index, or
    /// what `try_files` ends in. Empty: none does. The application is told the target all the same.
    pub(crate) script: Vec<u8>,
    /// The cache key.
    pub(crate) key: Vec<u8>,
}

/// Spare allocations of each kind kept by a worker.
const MOST_SPARE: usize = 256;

impl Worker {
    pub(crate) fn new(shared: &Arc<Shared>) -> Rc<Self> {
        Rc::new(Self {
            clock: Clock::new(unix_ms()),
            shared: Arc::clone(shared),
            stats: shared.registry.worker(),
            timers: Rc::new(Timers::default()),
            buffers: Rc::new(Buffers::default()),
            idle: Local::default(),
            scripts: Scripts::default(),
            absent: Absent::default(),
            encoders: Encoders::default(),
            log: RefCell::new(shared.log.load().worker()),
            snapshot: RefCell::new(Rc::new(Held(shared.snapshot.load_full()))),
            generation: Cell::new(shared.generation.load(Relaxed)),
            requests: RefCell::default(),
            heads: RefCell::default(),
            filling: RefCell::default(),
            scratch: RefCell::default(),
            connections: Cell::new(0),
            draining: Cell::new(false),
            emptied: Notify::new(),
        })
    }

    /// The configuration in force.
    #[inline]
    pub(crate) fn snapshot(&self) -> Rc<Held> {
        let generation = self.shared.generation.load(Relaxed);
        if generation != self.generation.get() {
            self.generation.set(generation);
            *self.snapshot.borrow_mut() = Rc::new(Held(self.shared.snapshot.load_full()));
            *self.log.borrow_mut() = self.shared.log.load().worker();
        }
        Rc::clone(&self.snapshot.borrow())
    }

    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.shared.cache
    }

    /// Milliseconds since the Unix epoch.
    #[inline]
    pub(crate) fn now_ms(&self) -> u64 {
        self.now().unix_ms
    }

    /// The moment on both clocks, for one reading of one.
    #[inline]
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(crate) fn log(&self) -> std::cell::Ref<'_, WorkerLog> {
        self.log.borrow()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    pub(crate) fn take_request(&self) -> Box<Request> {
        self.requests.borrow_mut().pop().unwrap_or_default()
    }

    pub(crate) fn put_request(&self, request: Box<Request>) {
        let mut spare = self.requests.borrow_mut();
        if spare.len() < MOST_SPARE && request.head.fields.heap_bytes() < 16 << 10 {
            spare.push(request);
        }
    }

    pub(crate) fn take_head(&self) -> ResponseHead {
        self.heads.borrow_mut().pop().unwrap_or_default()
    }

    pub(crate) fn put_head(&self, head: ResponseHead) {
        let mut spare = self.heads.borrow_mut();
        if spare.len() < MOST_SPARE && (1..16 << 10).contains(&head.fields.heap_bytes()) {
            spare.push(head);
        }
    }

    /// Notes a body that is being fetched here.
    pub(crate) fn note_filling(&self, body: &Arc<Body>) {
        let mut filling = self.filling.borrow_mut();
        if filling.len() == filling.capacity() {
            filling.retain(|body| body.upgrade().is_some_and(|body| !body.is_complete()));
        }
        filling.push(Arc::downgrade(body));
    }

    /// Whether somebody reads a body that is being fetched here.
    fn is_followed(&self) -> bool {
        let filling = self.filling.borrow();
        filling
            .iter()
            .filter_map(Weak::upgrade)
            .any(|body| body.has_readers())
    }

    pub(crate) fn take_scratch(&self) -> Vec<u8> {
        self.scratch.borrow_mut().pop().unwrap_or_default()
    }

    pub(crate) fn put_scratch(&self, scratch: Vec<u8>) {
        let mut spare = self.scratch.borrow_mut();
        if spare.len() < MOST_SPARE && (1..=16 << 10).contains(&scratch.capacity()) {
            spare.push(scratch);
        }
    }

    /// Takes a client connection, unless there are too many.
    fn accept(self: &Rc<Self>, accepted: Accepted, entrance: Entrance) {
        let most = self.snapshot().settings.server.max_connections;
        if self.shared.connections.fetch_add(1, Relaxed) >= most {
            self.shared.connections.fetch_sub(1, Relaxed);
            self.stats.increment(Counter::ConnectionsRefused);
            return;
        }
        self.stats.increment(Counter::ConnectionsAccepted);
        self.connections.set(self.connections.get() + 1);
        let number = self.shared.next_connection.fetch_add(1, Relaxed);
        let (stream, address) = accepted;
        let (worker, is_introduced) = (Rc::clone(self), entrance.is_introduced);
        let counted = Counted(Rc::clone(self));
        // Two kinds of tasks: one without TLS is not to hold room for it.
        match entrance.tls {
            None => tokio::task::spawn_local(async move {
                let _counted = counted;
                exchange::serve(&worker, stream, Peer::new(address), number, is_introduced).await;
            }),
            Some(config) => tokio::task::spawn_local(async move {
                let _counted = counted;
                let peer = Peer::secure(address);
                if let Some(stream) = entrance::secure(&worker, stream, &peer, config).await {
                    exchange::serve(&worker, stream, peer, number, false).await;
                }
            }),
        };
    }
}

/// Milliseconds since the Unix epoch by the system's clock.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// A connection in the counts, until dropped.
struct Counted(Rc<Worker>);

impl Drop for Counted {
    fn drop(&mut self) {
        let worker = &self.0;
        worker.shared.connections.fetch_sub(1, Relaxed);
        worker.connections.set(worker.connections.get() - 1);
        worker.stats.increment(Counter::ConnectionsClosed);
        if worker.connections.get() == 0 {
            worker.emptied.notify_waiters();
        }
    }
}

/// Runs a worker until it was drained and its last connection has ended.
pub(crate) async fn run(shared: Arc<Shared>, mut orders: mpsc::UnboundedReceiver<Order>) {
    let worker = Worker::new(&shared);
    let mut acceptors: HashMap<ListenAddress, Vec<tokio::task::JoinHandle<()>>> = HashMap::new();
    let ticking = tokio::task::spawn_local(tick(Rc::clone(&worker)));
    while let Some(order) = orders.recv().await {
        match order {
            Order::Listen(listener) => {
                let address = listener.address.clone();
                let accepting = tokio::task::spawn_local(accept(Rc::clone(&worker), listener));
                acceptors.entry(address).or_default().push(accepting);
            }
            Order::Unlisten(address) => {
                acceptors
                    .remove(&address)
                    .into_iter()
                    .flatten()
                    .for_each(|task| task.abort());
            }
            Order::Drain => break,
        }
    }
    acceptors
        .into_values()
        .flatten()
        .for_each(|task| task.abort());
    worker.draining.set(true);
    worker.timers.end_idle();
    while worker.connections.get() > 0 {
        worker.emptied.notified().await;
    }
    while worker.is_followed() {
        tokio::time::sleep(TICK).await;
    }
    ticking.abort();
}

async fn accept(worker: Rc<Worker>, listener: Listener) {
    let addresses = [listener.configured.clone(), listener.address.clone()];
    let listener = match listener.into_async() {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!("cannot accept connections: {error}");
            return;
        }
    };
    loop {
        match listener.accept().await {
            Ok(accepted) => {
                let entrance = worker.snapshot().entrance(&addresses);
                worker.accept(accepted, entrance);
            }
            Err(error) => {
                // Usually no file descriptor is left: those that close make room.
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(TICK).await;
            }
        }
    }
}

async fn tick(worker: Rc<Worker>) {
    let started = worker.shared.started;
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut idle_before = 0;
    loop {
        interval.tick().await;
        worker.clock.follow(unix_ms());
        worker.timers.sweep(started.elapsed().as_millis() as u64);
        worker.idle.sweep(worker.now_ms());
        let idle = worker.idle.len();
        worker
            .shared
            .upstream_idle
            .fetch_add(idle.wrapping_sub(idle_before), Relaxed);
        idle_before = idle;
        // A reload is noticed here too, by workers without requests.
        worker.snapshot().pools.tick(worker.now_ms());
    }
}

/// Marks a stream so that closing it tells the peer that something broke.
pub(crate) fn reset_on_close(stream: &Stream) {
    if let Some(stream) = stream.tcp() {
        let _ = socket2::SockRef::from(stream).set_linger(Some(std::time::Duration::ZERO));
    }
}
