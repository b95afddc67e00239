//! A connection for a request: a place at a server, and then an idle connection or a new one.
//!
//! ```text
//!  choose ─▶ place ─▶ idle connection, or open one ─▶ connection
//!    ▲  └▶ all full: queue ─▶ place      │
//!    └────── the next server ◀── it does not come about
//! ```

use std::sync::Arc;
use std::time::Duration;

use forebay_config::settings::{Priority, Timeouts};
use forebay_preface::Ends;
use tokio::time::timeout;

use crate::connection::{Connection, Place, ServerFailure};
use crate::idle::Local;
use crate::open::open;
use crate::pool::{Pool, Taken};
use crate::server::Server;

/// What a request wants of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Where the pool's own say nothing.
    pub timeouts: &'a Timeouts,
    /// Milliseconds since the epoch.
    pub now_ms: u64,
    /// Its class in the queue.
    pub priority: Priority,
    /// What it is distributed by, where the pool does that by key; see [`crate::key`].
    pub key: Option<u64>,
    /// The value of the pool's sticky cookie.
    pub sticky: Option<&'a [u8]>,
    /// No idle connection is used: one has just turned out to be closed.
    pub fresh: bool,
    /// Between whom the client's connection is, for servers that are told by the PROXY protocol.
    pub ends: Option<Ends>,
    /// Whether it waits in the queue when all servers are at their limits.
    pub wait: bool,
}

/// Servers that a request was given to already.
#[derive(Clone, Debug, Default)]
pub struct Tried(Vec<u64>);

impl Tried {
    /// Notes a server.
    pub fn add(&mut self, server: &Server) {
        self.0.push(server.id);
    }

    /// Whether nobody was tried.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub(crate) fn has(&self, server: &Server) -> bool {
        self.0.contains(&server.id)
    }
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
    /// TLS with the server did not come about.
    Insecure,
    /// No server of the pool takes requests: they are down, or there are none.
    NoServer,
    /// All servers stayed at their limits for as long as a request may wait.
    QueueTimedOut,
    /// All servers are at their limits, and as many requests wait as may.
    QueueFull,
}

impl ConnectError {
    /// What happened, in words for the log.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unresolved => "the origin's name does not resolve",
            Self::Unreachable => "the origin cannot be reached",
            Self::Insecure => "TLS with the origin did not come about",
            Self::TimedOut => "the origin did not accept the connection in time",
            Self::NoServer => "no server of the pool takes requests",
            Self::QueueTimedOut => "no connection to the origin became free in time",
            Self::QueueFull => "too many requests wait for the origin already",
        }
    }
}

/// Gets a connection to a server of `pool`. A server that cannot be reached is noted in `tried`, and
/// the next one is asked, as long as there is one.
///
/// # Errors
/// What the last server said, or what became of waiting. Dropping the future leaves the queue.
pub async fn acquire(
    pool: &Arc<Pool>,
    local: &Local,
    ask: &Ask<'_>,
    tried: &mut Tried,
) -> Result<Connection, ConnectError> {
    let mut ask = *ask;
    let (mut error, mut empty_handed) = (None, 0);
    loop {
        let place = match pool.take(local, &ask, tried) {
            Taken::Place(place) => place,
            Taken::Wait(waiting) => {
                let limit = pool.queue_timeout(ask.timeouts);
                let granted = timeout(limit, waiting.granted()).await;
                let place = granted.map_err(|_| pool.queue_timed_out())??;
                ask.now_ms = crate::unix_ms();
                place
            }
            Taken::QueueFull => return Err(ConnectError::QueueFull),
            Taken::Nobody => return Err(error.unwrap_or(ConnectError::NoServer)),
        };
        let server = Arc::clone(place.server());
        match connect(pool, local, &ask, place).await {
            Ok(connection) => return Ok(connection),
            // It is not asked again before it has opened another.
            Err(Missed::None) if empty_handed < MOST_EMPTY_HANDED => {
                empty_handed += 1;
                continue;
            }
            Err(Missed::None) => error = Some(ConnectError::Unreachable),
            Err(Missed::Failed(failure)) => error = Some(failure),
        }
        ask.now_ms = crate::unix_ms();
        tried.add(&server);
    }
}

/// How often a request comes to servers whose connections have just ended until these count as
/// tried. That many end at once only where something else is wrong.
const MOST_EMPTY_HANDED: u32 = 16;

/// Why a place brought no connection.
enum Missed {
    /// None could be opened.
    Failed(ConnectError),
    /// A server that opens them itself has closed those it had. It may do so at any time.
    None,
}

/// A connection for a place: an idle one if there is one, else a new one.
async fn connect(
    pool: &Pool,
    local: &Local,
    ask: &Ask<'_>,
    mut place: Place,
) -> Result<Connection, Missed> {
    let server = place.server();
    let dialed_in = server.address().is_none();
    if (!ask.fresh || dialed_in)
        && let Some(idle) = local.take(server, pool.way, ask.now_ms)
    {
        server.stats().request();
        place.takes_connection();
        return Ok(Connection {
            stream: idle.stream,
            reused: idle.requests > 0,
            opened_ms: idle.opened_ms,
            requests: idle.requests + 1,
            place,
        });
    }
    if dialed_in {
        return Err(Missed::None);
    }
    if ask.fresh && server.shares_connections() {
        server.drop_shelved();
    }
    let limit: Duration = pool
        .settings
        .connect_timeout
        .unwrap_or(ask.timeouts.connect);
    // Large, and not every request is as large: most find an idle connection.
    let opened = Box::pin(open(pool, server, limit, ask.ends.as_ref())).await;
    // What follows counts from here: opening may have taken long.
    let now_ms = crate::unix_ms();
    match opened {
        Ok(stream) => {
            server.stats().request();
            server.stats().connect();
            Ok(Connection {
                stream,
                reused: false,
                opened_ms: now_ms,
                requests: 1,
                place,
            })
        }
        Err(error) => {
            match error {
                // That is the names' fault: it is asked as soon as it has an address.
                ConnectError::Unresolved => server.stats().error(),
                ConnectError::TimedOut => {
                    pool.note_failure(server, ServerFailure::TimedOut, now_ms);
                }
                _ => pool.note_failure(server, ServerFailure::Error, now_ms),
            }
            tracing::debug!(server = %server.label(), ?error, "no connection");
            Err(Missed::Failed(error))
        }
    }
}
