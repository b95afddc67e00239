//! Back ends that count, workers that ask, and pools between them.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "each test file uses a part of it"
)]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::{IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forebay_config::settings::{
    Pool as PoolSettings, PoolServer, Priority, ServerAddress, Timeouts,
};
use forebay_upstream::{
    Ask, ConnectError, Connection, Local, Pool, Pools, Prepared, Tried, acquire,
};

/// A server that answers each byte with one, and counts.
#[derive(Clone)]
pub struct Backend {
    pub address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    now: AtomicUsize,
    most: AtomicUsize,
    requests: AtomicUsize,
    connections: AtomicUsize,
    order: Mutex<Vec<u8>>,
}

impl Backend {
    /// One that serves any number of connections at once; each answer takes so long.
    pub fn start(takes: Duration) -> Self {
        Self::run(takes, true)
    }

    /// One that serves one connection to its end before it looks at the next.
    pub fn one_connection_at_a_time(takes: Duration) -> Self {
        Self::run(takes, false)
    }

    fn run(takes: Duration, threads: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let backend = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&backend.seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                seen.connections.fetch_add(1, SeqCst);
                let seen = Arc::clone(&seen);
                if threads {
                    std::thread::spawn(move || serve(stream, &seen, takes));
                } else {
                    serve(stream, &seen, takes);
                }
            }
        });
        backend
    }

    /// The most requests that it ever worked on at once.
    pub fn most(&self) -> usize {
        self.seen.most.load(SeqCst)
    }

    pub fn requests(&self) -> usize {
        self.seen.requests.load(SeqCst)
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(SeqCst)
    }

    /// The bytes it was sent, in their order.
    pub fn order(&self) -> Vec<u8> {
        self.seen.order.lock().unwrap().clone()
    }

    pub fn server(&self) -> PoolServer {
        PoolServer::at(self.at())
    }

    pub fn at(&self) -> ServerAddress {
        ServerAddress::Tcp {
            host: "127.0.0.1".into(),
            port: self.address.port(),
        }
    }
}

fn serve(mut stream: TcpStream, seen: &Seen, takes: Duration) {
    let mut byte = [0];
    while matches!(stream.read(&mut byte), Ok(1)) {
        let now = seen.now.fetch_add(1, SeqCst) + 1;
        seen.most.fetch_max(now, SeqCst);
        seen.requests.fetch_add(1, SeqCst);
        seen.order.lock().unwrap().push(byte[0]);
        std::thread::sleep(takes);
        seen.now.fetch_sub(1, SeqCst);
        if stream.write_all(&byte).is_err() {
            return;
        }
    }
}

/// Settings with these servers.
pub fn settings(backends: &[&Backend]) -> PoolSettings {
    PoolSettings {
        servers: backends.iter().map(|backend| backend.server()).collect(),
        ..PoolSettings::default()
    }
}

/// One pool, `app`.
pub fn pools(settings: PoolSettings, before: Option<&Pools>) -> Pools {
    let settings = BTreeMap::from([("app".to_owned(), settings)]);
    Pools::new(Prepared::read(&settings).unwrap(), before)
}

pub fn pool(settings: PoolSettings) -> Arc<Pool> {
    Arc::clone(pools(settings, None).get("app").unwrap())
}

pub fn timeouts() -> Timeouts {
    forebay_config::Settings::default().timeouts
}

pub fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis() as u64
}

/// What a plain request asks for.
pub fn ask(timeouts: &Timeouts) -> Ask<'_> {
    Ask {
        timeouts,
        now_ms: now_ms(),
        priority: Priority::Normal,
        key: None,
        sticky: None,
        fresh: false,
        ends: None,
        wait: true,
    }
}

/// A connection for a plain request.
pub async fn get(pool: &Arc<Pool>, local: &Local) -> Result<Connection, ConnectError> {
    acquire(pool, local, &ask(&timeouts()), &mut Tried::default()).await
}

/// Sends a byte and waits for its answer.
pub async fn exchange(connection: &mut Connection, byte: u8) -> std::io::Result<()> {
    let sent = [byte];
    std::future::poll_fn(|cx| connection.stream.poll_write(cx, &[IoSlice::new(&sent)])).await?;
    // With room for more, a read tells the event loop that there is nothing left.
    let mut answer = [0; 8];
    let read = std::future::poll_fn(|cx| connection.stream.poll_read(cx, &mut answer)).await?;
    if answer[..read] != sent {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Keeps a connection for another request.
pub fn keep(local: &Local, connection: Connection) {
    local.keep(connection, &timeouts(), u64::MAX, now_ms());
}

/// Runs a worker's part on this thread.
pub fn worker<F: Future>(work: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}
