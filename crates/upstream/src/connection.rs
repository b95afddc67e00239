//! A connection in use for one exchange, and the place at its server that goes with it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::pool::Pool;
use crate::server::{Server, ServerKind};
use crate::sticky;
use forebay_stream::Stream;

/// A connection in use for one exchange. Dropping it closes it, and then frees its place.
#[derive(Debug)]
pub struct Connection {
    /// The socket.
    pub stream: Stream,
    /// Whether it has carried an exchange before.
    pub reused: bool,
    pub(crate) opened_ms: u64,
    /// Requests it has carried, with this one.
    pub(crate) requests: u64,
    /// Behind the stream: what is closed first is closed before the place is free.
    pub(crate) place: Place,
}

/// One request's place at a server, given to the next who waits when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    pool: Arc<Pool>,
    server: Arc<Server>,
    /// It tries whether a server that failed is back.
    pub(crate) trial: bool,
    /// A connection that the server opened is in use here.
    pub(crate) takes_connection: bool,
}

impl Connection {
    /// The server it leads to.
    pub fn server(&self) -> &Arc<Server> {
        self.place.server()
    }

    /// The pool it was got from.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.place.pool
    }

    /// The server answered with this status, `waited_us` microseconds after the request.
    pub fn answered(&self, status: u16, waited_us: u64, now_ms: u64) {
        let (pool, server) = (&self.place.pool, &self.place.server);
        server.stats().answered(status, waited_us);
        if pool.measures_latency() {
            server.latency.observe(waited_us, now_ms);
        }
        if server.passive.answered() {
            server.came(now_ms);
            tracing::info!(pool = %pool.name, server = %server.label(), "server is back");
        }
    }

    /// Another server was faster; this one had not answered for `waited_us` microseconds.
    pub fn outrun(&self, waited_us: u64, now_ms: u64) {
        if self.place.pool.measures_latency() {
            self.place.server.latency.observe(waited_us, now_ms);
        }
    }

    /// The user whose cookie of the application has this value stays with this server.
    pub fn learn(&self, value: &[u8], now_ms: u64) {
        let (pool, server) = (&self.place.pool, &self.place.server);
        if let Some(sticky) = &pool.settings.sticky {
            pool.core.learned.learn(value, server, sticky.most, now_ms);
        }
    }

    /// What a cookie of ours calls the server.
    pub fn sticky_name(&self) -> [u8; 16] {
        let pool = &self.place.pool;
        sticky::name(pool.sticky_secret(), &pool.name, self.place.server.label())
    }

    /// The server gave no usable answer within `waited_us` microseconds.
    pub fn failed(&self, failure: ServerFailure, waited_us: u64, now_ms: u64) {
        let (pool, server) = (&self.place.pool, &self.place.server);
        if pool.measures_latency() {
            server.latency.observe(waited_us, now_ms);
        }
        pool.note_failure(server, failure, now_ms);
    }
}

/// How a server failed a request, as far as its figures know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFailure {
    /// It could not be reached, broke off, or answered what must not be forwarded.
    Error,
    /// It took too long.
    TimedOut,
}

impl Place {
    /// The place of a request that is counted at `server` already.
    pub(crate) fn counted(pool: Arc<Pool>, server: Arc<Server>) -> Self {
        Self {
            pool,
            server,
            trial: false,
            takes_connection: false,
        }
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// The connection that the server opened was put back.
    pub(crate) fn keep_connection(&mut self) {
        self.takes_connection = false;
    }

    pub(crate) fn takes_connection(&mut self) {
        self.takes_connection = matches!(self.server.kind(), ServerKind::DialedIn(_));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.trial {
            self.server.passive.end_trial();
        }
        if self.takes_connection {
            self.server.lose_connection();
        }
        // Sequentially consistent, with the look at who waits: see `Core::line_up`.
        self.server
            .active
            .fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
        self.pool.core.place_is_free();
        debug_assert!(self.server.active.load(Relaxed) < u64::MAX / 2);
    }
}
