//! Join: a back end that opens its connections itself becomes a server of a pool (`dial-in`).
//!
//! ```text
//!  Upgrade: forebay-join/1 ─▶ admitted? ─▶ 101 ─┬─ control ─▶ in the pool while it lasts
//!                                └─▶ 403, …      └─ requests ─▶ a connection of the pool
//! ```
//!
//! What both sides say is in `forebay_join::protocol`. A control connection lives as a task of
//! its worker, and does not count among the clients' connections; the others belong to the pool.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use forebay_http::fields::{FieldId, Fields};
use forebay_http::{RequestHead, bearer};
use forebay_join::protocol::{self, Role};
use forebay_stream::Stream;
use forebay_upstream::Pool;
use parking_lot::Mutex;

use crate::client::Client;
use crate::exchange::{Exchange, Step};
use crate::failure::{Failure, Refused};
use crate::fetch;
use crate::h1::{H1, wants_upgrade};
use crate::join_control;
use crate::snapshot::Snapshot;
use crate::worker::Worker;

/// Connections of one back end, where neither the pool nor the back end says less.
const MOST_CONNECTIONS: usize = 1024;
/// A wrong token is answered after so long: guessing takes time.
const WRONG_TOKEN: Duration = Duration::from_secs(1);

/// The control connections there are, by pool and back end: a newer one takes the place of an
/// older one whose end was not noticed.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    current: Mutex<HashMap<(String, String), u64>>,
    next: AtomicU64,
    /// When a refusal was logged last, in seconds, and refusals since.
    refused: Mutex<(u64, u64)>,
}

/// A connection that was admitted.
#[derive(Debug)]
pub(crate) struct Joining {
    pub(crate) role: Role,
    pub(crate) pool: String,
    /// What the pool calls the back end.
    pub(crate) server: String,
    /// Connections that the back end wants at most.
    pub(crate) most: usize,
    pub(crate) token: Vec<u8>,
}

impl Joined {
    /// A control connection begins.
    pub(crate) fn begin(&self, joining: &Joining) -> u64 {
        let number = self.next.fetch_add(1, Relaxed) + 1;
        self.current.lock().insert(joining.key(), number);
        number
    }

    /// Whether no newer one has taken its place.
    pub(crate) fn is_current(&self, joining: &Joining, number: u64) -> bool {
        self.current.lock().get(&joining.key()) == Some(&number)
    }

    /// It has ended. False: a newer one goes on.
    pub(crate) fn end(&self, joining: &Joining, number: u64) -> bool {
        let mut current = self.current.lock();
        let was_current = current.get(&joining.key()) == Some(&number);
        if was_current {
            current.remove(&joining.key());
        }
        was_current
    }

    /// One line a second at most, however many are refused.
    fn tell_refusal(&self, pool: &str, client: Option<std::net::SocketAddr>, now_s: u64) {
        let mut refused = self.refused.lock();
        let (last_s, count) = *refused;
        if last_s == now_s {
            refused.1 = count + 1;
            return;
        }
        *refused = (now_s, 0);
        drop(refused);
        let client = client.map_or_else(|| "a Unix socket".to_owned(), |client| client.to_string());
        tracing::warn!(
            "a back end at {client} was refused: no such token for pool {pool:?} ({count} others before it)"
        );
    }
}

impl Joining {
    fn key(&self) -> (String, String) {
        (self.pool.clone(), self.server.clone())
    }

    /// The pool, if it may still be joined with this token.
    pub(crate) fn pool<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s Arc<Pool>> {
        admitting(snapshot, &self.pool, &self.token)
    }

    /// Connections that it may have open.
    pub(crate) fn most(&self, pool: &Pool) -> usize {
        let most = pool.settings.max_connections.unwrap_or(MOST_CONNECTIONS);
        most.min(self.most).max(1)
    }
}

/// The pool of this name, if `token` admits to it.
fn admitting<'s>(snapshot: &'s Snapshot, name: &str, token: &[u8]) -> Option<&'s Arc<Pool>> {
    let pool = snapshot.pools.get(name)?;
    // All are compared, so that the time does not say which one it was.
    let tokens = pool.settings.join_tokens.iter();
    let admitted = tokens.fold(false, |found, own| {
        found | bearer::is_secret(own.as_bytes(), token)
    });
    admitted.then_some(pool)
}

/// Whether a request that asks to leave HTTP wants to join a pool. Where no pool can be joined
/// this is a request like any other.
pub(crate) fn wants_to_join(head: &RequestHead, snapshot: &Snapshot) -> bool {
    if !wants_upgrade(head) {
        return false;
    }
    let mut protocols = head.fields.all(FieldId::Upgrade);
    let named = protocols.any(|name| name.eq_ignore_ascii_case(protocol::PROTOCOL.as_bytes()));
    let joinable = |pool: &Arc<Pool>| !pool.settings.join_tokens.is_empty();
    named && snapshot.pools.iter().any(joinable)
}

impl Exchange<'_, H1> {
    /// Admits a back end, or refuses it; afterwards the connection is not HTTP any more.
    pub(crate) async fn join(&mut self) -> Result<Step, Failure> {
        let joining = match self.admit_back_end() {
            Ok(joining) => joining,
            Err(refused) => {
                if refused.status == 403 {
                    tokio::time::sleep(WRONG_TOKEN).await;
                }
                self.client.close_after();
                return Err(refused.into());
            }
        };
        self.outcome.status = 101;
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {}\r\n",
            protocol::PROTOCOL
        );
        self.client.stage_interim(head.as_bytes());
        fetch::flush(self.client, self.snapshot).await?;
        self.client.leave_http(joining);
        Ok(Step::Finish)
    }

    fn admit_back_end(&self) -> Result<Joining, Refused> {
        let fields = &self.request.head.fields;
        let malformed = Refused::new(400, "a malformed request to join a pool");
        let role = only(fields, protocol::ROLE)
            .and_then(Role::read)
            .ok_or(malformed)?;
        let name = only(fields, protocol::SERVER).filter(|name| protocol::is_name(name));
        let name = String::from_utf8_lossy(name.ok_or(malformed)?);
        let pool = String::from_utf8_lossy(only(fields, protocol::POOL).ok_or(malformed)?);
        let most = match only(fields, protocol::CONNECTIONS) {
            None => MOST_CONNECTIONS,
            Some(number) => std::str::from_utf8(number)
                .ok()
                .and_then(|number| number.parse().ok())
                .ok_or(malformed)?,
        };
        let token = bearer::token(fields.all(FieldId::Authorization)).unwrap_or_default();
        let Some(found) = admitting(self.snapshot, &pool, token) else {
            let joined = &self.worker.shared.joined;
            joined.tell_refusal(&pool, self.peer.address, self.now_ms() / 1000);
            return Err(Refused::new(403, "this pool cannot be joined so"));
        };
        let joining = Joining {
            role,
            pool: pool.into_owned(),
            server: format!("join:{name}"),
            most,
            token: token.to_vec(),
        };
        if role == Role::Requests {
            let Some(server) = found.find(&joining.server) else {
                return Err(Refused::new(409, "its control connection comes first"));
            };
            let open = server.limit().unwrap_or(0) as usize;
            if open >= joining.most(found) {
                return Err(Refused::new(409, "it has as many connections as it may"));
            }
        }
        Ok(joining)
    }
}

fn only<'f>(fields: &'f Fields, name: &'f str) -> Option<&'f [u8]> {
    let mut values = fields.named(name.as_bytes());
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// Takes over a connection that was admitted and is not HTTP any more.
pub(crate) fn take_over(worker: &Rc<Worker>, stream: Stream, joining: Joining) {
    match joining.role {
        Role::Control => {
            let worker = Rc::clone(worker);
            tokio::task::spawn_local(async move {
                join_control::run(&worker, stream, joining).await;
            });
        }
        Role::Requests => {
            let snapshot = worker.snapshot();
            // It may have left while its connection was admitted: then this one is of no use.
            if let Some(pool) = joining.pool(&snapshot)
                && let Some(server) = pool.find(&joining.server)
            {
                pool.supply(&worker.idle, &server, stream);
            }
        }
    }
}
