//! A connection to a server of a pool: an idle one, or a new one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use forebay_config::settings::{ServerAddress, Timeouts};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::pool::{Pool, Server};
use crate::stream::Stream;

/// A connection in use for one exchange. Dropping it closes it.
#[derive(Debug)]
pub struct Connection {
    /// The socket.
    pub stream: Stream,
    /// Whether it has carried an exchange before.
    pub reused: bool,
    lease: Lease,
}

/// One unit of a server's load, given back when dropped.
#[derive(Debug)]
struct Lease {
    server: Arc<Server>,
    _slot: Option<OwnedSemaphorePermit>,
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// No server's name resolves.
    Unresolved,
    /// Every server refused or could not be reached.
    Unreachable,
    /// The last server did not accept within `timeouts.connect`.
    TimedOut,
    /// All slots stayed taken for `timeouts.queue`.
    QueueTimedOut,
}

/// One worker's idle connections.
#[derive(Debug, Default)]
pub struct Idle {
    by_server: RefCell<BTreeMap<u64, Vec<IdleConnection>>>,
    count: Cell<usize>,
}

#[derive(Debug)]
struct IdleConnection {
    stream: Stream,
    until_ms: u64,
}

impl Connection {
    /// The server it leads to.
    pub fn server(&self) -> &Arc<Server> {
        &self.lease.server
    }
}

impl Lease {
    fn new(server: &Arc<Server>, slot: Option<OwnedSemaphorePermit>) -> Self {
        server.active.fetch_add(1, Relaxed);
        server.stats().request();
        Self {
            server: Arc::clone(server),
            _slot: slot,
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.server.active.fetch_sub(1, Relaxed);
    }
}

impl Idle {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count.get()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps a connection for another exchange until `until_ms`, at most `most` to its server.
    pub fn put(&self, connection: Connection, most: usize, until_ms: u64) {
        let mut map = self.by_server.borrow_mut();
        let idle = map.entry(connection.lease.server.id).or_default();
        if idle.len() < most {
            idle.push(IdleConnection {
                stream: connection.stream,
                until_ms,
            });
            self.count.set(self.count.get() + 1);
        }
    }

    /// The one used last that is still good.
    fn take(&self, server: &Server, now_ms: u64) -> Option<Stream> {
        let mut map = self.by_server.borrow_mut();
        let idle = map.get_mut(&server.id)?;
        while let Some(connection) = idle.pop() {
            self.count.set(self.count.get() - 1);
            if connection.until_ms > now_ms && !connection.stream.has_news() {
                return Some(connection.stream);
            }
        }
        None
    }

    /// Closes those whose time is over or that their server has closed.
    pub fn sweep(&self, now_ms: u64) {
        let mut map = self.by_server.borrow_mut();
        map.retain(|_, idle| {
            idle.retain(|connection| connection.until_ms > now_ms && !connection.stream.has_news());
            !idle.is_empty()
        });
        self.count.set(map.values().map(Vec::len).sum());
    }

    /// Closes all.
    pub fn clear(&self) {
        self.by_server.borrow_mut().clear();
        self.count.set(0);
    }
}

/// Gets a connection to a server of `pool`: each server in turn, each of its addresses in turn.
///
/// With `fresh` no idle connection is used. Waits in the queue of the first
/// server when all have reached `max_connections`.
pub async fn acquire(
    pool: &Pool,
    idle: &Idle,
    timeouts: &Timeouts,
    now_ms: u64,
    fresh: bool,
) -> Result<Connection, ConnectError> {
    let mut error = ConnectError::Unresolved;
    let mut busy: Option<&Arc<Server>> = None;
    for server in pool.order(now_ms) {
        let slot = match &server.slots {
            None => None,
            Some(slots) => match Arc::clone(slots).try_acquire_owned() {
                Ok(slot) => Some(slot),
                Err(_) => {
                    busy.get_or_insert(server);
                    continue;
                }
            },
        };
        match on_server(pool, server, slot, idle, timeouts, now_ms, fresh).await {
            Ok(connection) => return Ok(connection),
            Err(failure) => error = failure,
        }
    }
    let Some(server) = busy else {
        return Err(error);
    };
    let slots = server.slots.clone().ok_or(error)?;
    let slot = timeout(timeouts.queue, slots.acquire_owned())
        .await
        .map_err(|_| ConnectError::QueueTimedOut)?
        .map_err(|_| ConnectError::Unreachable)?;
    on_server(pool, server, Some(slot), idle, timeouts, now_ms, fresh).await
}

async fn on_server(
    pool: &Pool,
    server: &Arc<Server>,
    slot: Option<OwnedSemaphorePermit>,
    idle: &Idle,
    timeouts: &Timeouts,
    now_ms: u64,
    fresh: bool,
) -> Result<Connection, ConnectError> {
    if !fresh && let Some(stream) = idle.take(server, now_ms) {
        return Ok(Connection {
            stream,
            reused: true,
            lease: Lease::new(server, slot),
        });
    }
    match open(server, timeouts.connect).await {
        Ok(stream) => {
            server.stats().connect();
            Ok(Connection {
                stream,
                reused: false,
                lease: Lease::new(server, slot),
            })
        }
        Err(error) => {
            count_failure(server, error);
            if error != ConnectError::Unresolved {
                server.set_failed(now_ms + pool.settings.fail_timeout.as_millis() as u64);
            }
            tracing::debug!(server = %server.label(), ?error, "no connection");
            Err(error)
        }
    }
}

fn count_failure(server: &Server, error: ConnectError) {
    match error {
        ConnectError::TimedOut => server.stats().timeout(),
        _ => server.stats().error(),
    }
}

async fn open(server: &Server, limit: Duration) -> Result<Stream, ConnectError> {
    match server.address() {
        ServerAddress::Unix(path) => {
            let stream = within(limit, UnixStream::connect(path)).await?;
            Ok(Stream::from(stream))
        }
        ServerAddress::Tcp { .. } => {
            let mut error = ConnectError::Unresolved;
            for address in server.addresses().iter() {
                match within(limit, TcpStream::connect(*address)).await {
                    Ok(stream) => {
                        // Only latency suffers without it.
                        let _ = stream.set_nodelay(true);
                        return Ok(Stream::from(stream));
                    }
                    Err(failure) => error = failure,
                }
            }
            Err(error)
        }
    }
}

async fn within<T>(
    limit: Duration,
    connecting: impl Future<Output = io::Result<T>>,
) -> Result<T, ConnectError> {
    match timeout(limit, connecting).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(_)) => Err(ConnectError::Unreachable),
        Err(_) => Err(ConnectError::TimedOut),
    }
}
