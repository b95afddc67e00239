//! Connections that wait for another request.
//!
//! Those to a server without a limit belong to one worker, which finds them without a lock. Those to
//! a server that takes only so many at once stand on the server's [`Shelf`], where every worker
//! finds them: an idle connection of one worker would block another worker's request at a back
//! end that serves one connection at a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use forebay_config::settings::Timeouts;
use parking_lot::Mutex;

use crate::balance::{View, mix};
use crate::connection::Connection;
use crate::open::Way;
use crate::server::{Order, Server, ServerKind};
use forebay_stream::Stream;

/// What one worker has for itself: idle connections, chance, and room to think.
#[derive(Debug)]
pub struct Local {
    /// Unique in the process.
    number: u64,
    by_server: RefCell<BTreeMap<u64, Own>>,
    /// Servers on whose shelves this worker has put connections.
    shelves: RefCell<Vec<Weak<Server>>>,
    count: Cell<usize>,
    chance: Cell<u64>,
    pub(crate) views: RefCell<Vec<View>>,
}

/// One worker's connections to one server.
#[derive(Debug)]
struct Own {
    server: Arc<Server>,
    idle: Vec<IdleConnection>,
}

/// A connection that waits for another request.
#[derive(Debug)]
pub(crate) struct IdleConnection {
    pub(crate) stream: Stream,
    pub(crate) opened_ms: u64,
    /// Requests it has carried.
    pub(crate) requests: u64,
    until_ms: u64,
    /// How it was opened.
    way: Way,
}

/// A server's idle connections, for all workers.
#[derive(Debug, Default)]
pub(crate) struct Shelf(Mutex<Vec<Shelved>>);

#[derive(Debug)]
struct Shelved {
    connection: IdleConnection,
    /// Whose event loop it is registered with.
    worker: u64,
}

impl Default for Local {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Relaxed);
        Self {
            number,
            by_server: RefCell::default(),
            shelves: RefCell::default(),
            count: Cell::new(0),
            chance: Cell::new(mix(number ^ crate::unix_ms())),
            views: RefCell::default(),
        }
    }
}

impl IdleConnection {
    fn is_good(&mut self, now_ms: u64) -> bool {
        self.until_ms > now_ms && !self.stream.has_news()
    }

    /// Whether a request of a pool that opens connections in this way may have it.
    fn serves(&mut self, way: Way, now_ms: u64) -> bool {
        self.way == way && self.is_good(now_ms)
    }
}

impl Local {
    /// How many idle connections there were at the last sweep, and have come and gone since.
    pub fn len(&self) -> usize {
        self.count.get()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number by chance.
    pub(crate) fn seed(&self) -> u64 {
        let next = self.chance.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.chance.set(next);
        mix(next)
    }

    /// Keeps a connection for another request, or closes it where its pool's settings or
    /// `patience_ms`, the server's own word on how long it keeps it, say so. Its place at the
    /// server is free afterwards.
    pub fn keep(&self, connection: Connection, timeouts: &Timeouts, patience_ms: u64, now_ms: u64) {
        let settings = &connection.pool().settings;
        let idle_timeout = settings
            .idle_timeout
            .unwrap_or(timeouts.upstream_keep_alive);
        let kept_ms = patience_ms.min(idle_timeout.as_millis() as u64);
        let too_old = settings.connection_age.is_some_and(|age| {
            now_ms.saturating_sub(connection.opened_ms) >= age.as_millis() as u64
        });
        // What was said of the client at its start holds for all of a connection.
        let is_own = settings.proxy_protocol.is_some();
        if too_old || is_own || kept_ms == 0 || connection.requests >= settings.connection_requests
        {
            return;
        }
        let (most, way) = (settings.idle_connections, connection.pool().way);
        let Connection {
            stream,
            opened_ms,
            requests,
            mut place,
            ..
        } = connection;
        let server = Arc::clone(place.server());
        let idle = IdleConnection {
            stream,
            opened_ms,
            requests,
            until_ms: now_ms.saturating_add(kept_ms),
            way,
        };
        if server.shares_connections() {
            // It stands there before its place is free: who gets the place finds it.
            if server.shelve(idle, self.number, most) {
                place.keep_connection();
                self.note_shelf(&server);
            }
        } else {
            drop(place);
            self.put(server, idle, most);
        }
    }

    fn put(&self, server: Arc<Server>, connection: IdleConnection, most: usize) {
        let mut map = self.by_server.borrow_mut();
        let own = map.entry(server.id).or_insert_with(|| Own {
            server,
            idle: Vec::new(),
        });
        if own.idle.len() < most {
            own.idle.push(connection);
            self.count.set(self.count.get() + 1);
        }
    }

    fn note_shelf(&self, server: &Arc<Server>) {
        let mut shelves = self.shelves.borrow_mut();
        if !shelves
            .iter()
            .any(|noted| noted.as_ptr() == Arc::as_ptr(server))
        {
            shelves.push(Arc::downgrade(server));
        }
    }

    /// A connection to `server` that is still good, and was opened in this way: the one used last.
    pub(crate) fn take(&self, server: &Server, way: Way, now_ms: u64) -> Option<IdleConnection> {
        if server.shares_connections() {
            return server.unshelve(self.number, way, now_ms);
        }
        let mut map = self.by_server.borrow_mut();
        let own = map.get_mut(&server.id)?;
        while let Some(mut connection) = own.idle.pop() {
            self.count.set(self.count.get().saturating_sub(1));
            if connection.serves(way, now_ms) {
                return Some(connection);
            }
        }
        None
    }

    /// Closes those whose time is over, that their server has closed, or whose server is gone.
    pub fn sweep(&self, now_ms: u64) {
        let mut map = self.by_server.borrow_mut();
        map.retain(|_, own| {
            // One that has a limit by now keeps its connections elsewhere.
            if own.server.order() == Order::Removed || own.server.shares_connections() {
                return false;
            }
            // Others wait for the processes that these connections hold.
            if own.server.is_starved(now_ms) {
                return false;
            }
            own.idle.retain_mut(|connection| connection.is_good(now_ms));
            !own.idle.is_empty()
        });
        let mut count: usize = map.values().map(|own| own.idle.len()).sum();
        self.shelves.borrow_mut().retain(|server| {
            let Some(server) = server.upgrade() else {
                return false;
            };
            let left = server.sweep_shelf(self.number, now_ms);
            count += left;
            left > 0
        });
        self.count.set(count);
    }

    /// Closes all that are this worker's own.
    pub fn clear(&self) {
        self.by_server.borrow_mut().clear();
        self.count.set(0);
    }

    /// Puts a connection that a server opened on its shelf.
    /// False: the server is gone.
    pub(crate) fn shelve_new(
        &self,
        server: &Arc<Server>,
        way: Way,
        stream: Stream,
        now_ms: u64,
    ) -> bool {
        let connection = IdleConnection {
            stream,
            opened_ms: now_ms,
            requests: 0,
            until_ms: u64::MAX,
            way,
        };
        let shelved = server.shelve(connection, self.number, usize::MAX);
        if shelved {
            self.note_shelf(server);
        }
        shelved
    }
}

impl Server {
    /// Puts a connection on the shelf. False: there are enough, or the server is gone.
    fn shelve(&self, mut connection: IdleConnection, worker: u64, most: usize) -> bool {
        let is_dialed_in = matches!(self.kind(), ServerKind::DialedIn(_));
        let most = match self.limit() {
            _ if is_dialed_in => usize::MAX,
            Some(limit) => most.min(limit as usize),
            None => most,
        };
        if is_dialed_in {
            // Who opened it decides how long it stays.
            connection.until_ms = u64::MAX;
        }
        let mut shelf = self.shelf.0.lock();
        if shelf.len() >= most || self.order() == Order::Removed {
            return false;
        }
        shelf.push(Shelved { connection, worker });
        true
    }

    /// Takes one from the shelf: the own worker's that was used last, else another worker's.
    fn unshelve(&self, worker: u64, way: Way, now_ms: u64) -> Option<IdleConnection> {
        loop {
            let mut shelf = self.shelf.0.lock();
            let own = shelf.iter().rposition(|shelved| shelved.worker == worker);
            let found = own.or(shelf.len().checked_sub(1))?;
            let Shelved {
                mut connection,
                worker: owner,
            } = shelf.swap_remove(found);
            drop(shelf);
            if connection.serves(way, now_ms) {
                if owner == worker {
                    return Some(connection);
                }
                if let Some(connection) = connection.hand_over() {
                    return Some(connection);
                }
            }
            self.lose_connection();
        }
    }

    /// Closes what is of no use any more; returns how many of this worker's stay.
    fn sweep_shelf(&self, worker: u64, now_ms: u64) -> usize {
        let is_gone = self.order() == Order::Removed;
        let mut left = 0;
        self.shelf.0.lock().retain_mut(|shelved| {
            if shelved.worker != worker {
                return true;
            }
            let good = !is_gone && shelved.connection.is_good(now_ms);
            if good {
                left += 1;
            } else {
                self.lose_connection();
            }
            good
        });
        left
    }

    /// Closes one idle connection, so that a new one does not exceed the limit.
    pub(crate) fn drop_shelved(&self) {
        if self.shelf.0.lock().pop().is_some() {
            self.lose_connection();
        }
    }

    /// The same where a new one would be one too many, beside those of the requests under way: a
    /// server that serves one connection at a time would never come to it.
    pub(crate) fn leave_room_for_connection(&self) {
        let open = self.active().saturating_add(self.shelved() as u64);
        if self.limit().is_some_and(|limit| open > limit) {
            self.drop_shelved();
        }
    }

    /// Closes all idle connections.
    pub(crate) fn clear_shelf(&self) {
        let dropped = std::mem::take(&mut *self.shelf.0.lock());
        dropped.iter().for_each(|_| self.lose_connection());
    }

    /// Idle connections on the shelf.
    pub fn shelved(&self) -> usize {
        self.shelf.0.lock().len()
    }

    /// A connection that the server had opened is gone: it takes one request less.
    pub(crate) fn lose_connection(&self) {
        if matches!(self.kind(), ServerKind::DialedIn(_)) {
            let less = |limit: u64| Some(limit.saturating_sub(1));
            let _ = self.limit.fetch_update(Relaxed, Relaxed, less);
        }
    }
}

impl IdleConnection {
    /// Moves it from another worker's event loop to this one's.
    fn hand_over(self) -> Option<Self> {
        let stream = self.stream.hand_over().ok()?;
        // What the other event loop has not seen yet is asked of the system.
        (!stream.is_at_end_or_ahead()).then_some(Self { stream, ..self })
    }
}
