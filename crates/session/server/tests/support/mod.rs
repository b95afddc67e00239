//! A server in this process over an engine that waits when it is told to, and clients of it.

#![allow(dead_code, clippy::unwrap_used)]

#[path = "../../../tests/support/engine.rs"]
mod engine;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::Plain;
use forebay_session::{
    Answer, Backend, Calls, Clients, Commit, Cursor, Done, Engine, Figures, Item, Progress,
    Request, Ticket, Traffic,
};
use forebay_session_server::{Listen, ListenAddress, Options, Server};

/// How long anything may take before a test fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// A store. Keys that begin with `slow` wait for a ticket (all of `slow:same` for one), those with `safe` for a commit; `fault`
/// is one.
pub(crate) struct Store {
    plain: Arc<Plain>,
    shared: Arc<Shared>,
    events: Mutex<Receiver<Event>>,
}

/// What the server's threads did with the store.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Waits(Ticket),
    Pushed(Commit),
}

/// How a thread is reached, and what its clients did.
type Seam = (Arc<dyn Calls>, Arc<Traffic>);

struct Shared {
    calls: Mutex<Vec<Seam>>,
    waiting: Mutex<Vec<(Arc<dyn Calls>, Ticket)>>,
    progress: Mutex<Vec<Progress>>,
    tickets: AtomicU64,
    asked: AtomicU64,
    events: Mutex<Sender<Event>>,
}

impl Store {
    pub(crate) fn new() -> Arc<Self> {
        let (events, received) = channel();
        Arc::new(Self {
            plain: Arc::new(Plain::new(64 << 20)),
            shared: Arc::new(Shared {
                calls: Mutex::default(),
                waiting: Mutex::default(),
                progress: Mutex::default(),
                tickets: AtomicU64::new(0),
                asked: AtomicU64::new(0),
                events: Mutex::new(events),
            }),
            events: Mutex::new(received),
        })
    }

    /// The next thing that happens.
    pub(crate) fn event(&self) -> Event {
        self.events.lock().unwrap().recv_timeout(DEADLINE).unwrap()
    }

    /// Lets everything go on that waits, until nothing has for a moment and `is_over` says so.
    pub(crate) fn drive(&self, is_over: impl Fn() -> bool) {
        let (mut durable, start) = (0, std::time::Instant::now());
        loop {
            assert!(start.elapsed() < 6 * DEADLINE, "it is not over");
            let event = self.events.lock().unwrap();
            match event.recv_timeout(Duration::from_millis(10)) {
                Ok(Event::Waits(_)) => self.call(),
                Ok(Event::Pushed(commit)) => {
                    for commit in durable + 1..=commit.0 {
                        self.set(Commit(commit), Progress::Durable);
                    }
                    durable = durable.max(commit.0);
                }
                Err(_) if is_over() => return,
                Err(_) => {}
            }
        }
    }

    pub(crate) fn no_event(&self) -> bool {
        self.events.lock().unwrap().try_recv().is_err()
    }

    /// Calls all tickets that are waited for.
    pub(crate) fn call(&self) {
        for (calls, ticket) in self.shared.waiting.lock().unwrap().drain(..) {
            calls.call(ticket);
        }
    }

    /// A commit has got that far.
    pub(crate) fn set(&self, commit: Commit, progress: Progress) {
        self.shared.progress.lock().unwrap()[commit.0 as usize - 1] = progress;
        for (calls, _) in &*self.shared.calls.lock().unwrap() {
            calls.progressed();
        }
    }

    /// How many operations there were.
    pub(crate) fn asked(&self) -> u64 {
        self.shared.asked.load(SeqCst)
    }

    /// How many threads have an engine.
    pub(crate) fn engines(&self) -> usize {
        self.shared.calls.lock().unwrap().len()
    }

    /// What the clients of all threads did.
    pub(crate) fn clients(&self) -> Clients {
        let all = self.shared.calls.lock().unwrap();
        let each = all.iter().map(|(_, traffic)| traffic.clients());
        each.fold(Clients::default(), |sum, one| sum.plus(&one))
    }
}

impl Backend for Store {
    type Engine = Thread;

    fn engine(self: &Arc<Self>, calls: Arc<dyn Calls>, traffic: Arc<Traffic>) -> Thread {
        let mut all = self.shared.calls.lock().unwrap();
        all.push((Arc::clone(&calls), traffic));
        Thread {
            plain: Arc::clone(&self.plain),
            shared: Arc::clone(&self.shared),
            calls,
        }
    }

    fn progress(&self, commit: Commit) -> Progress {
        self.shared.progress.lock().unwrap()[commit.0 as usize - 1]
    }

    fn push(&self, commit: Commit) {
        let events = self.shared.events.lock().unwrap();
        let _ = events.send(Event::Pushed(commit));
    }
}

pub(crate) struct Thread {
    plain: Arc<Plain>,
    shared: Arc<Shared>,
    calls: Arc<dyn Calls>,
}

impl Engine for Thread {
    fn apply(&self, request: Request<'_>, answer: &mut dyn FnMut(Answer<'_>)) -> Done {
        let shared = &self.shared;
        shared.asked.fetch_add(1, SeqCst);
        assert_ne!(request.key, b"fault", "as the test asked for");
        if request.key.starts_with(b"slow") && request.resumed.is_none() {
            let ticket = match request.key {
                b"slow:same" => Ticket(u64::MAX),
                _ => Ticket(shared.tickets.fetch_add(1, SeqCst)),
            };
            let waiting = (Arc::clone(&self.calls), ticket);
            shared.waiting.lock().unwrap().push(waiting);
            let _ = shared.events.lock().unwrap().send(Event::Waits(ticket));
            return Done::Pending(ticket);
        }
        self.plain.apply(request, answer);
        let mut progress = shared.progress.lock().unwrap();
        if !request.key.starts_with(b"safe") {
            return Done::Ready(Commit::default());
        }
        progress.push(Progress::Pending);
        Done::Ready(Commit(progress.len() as u64))
    }

    fn flush(&self, at_s: u32, now_s: u32) -> Result<Commit, &'static str> {
        self.plain.flush(at_s, now_s)?;
        Ok(Commit::default())
    }

    fn scan(
        &self,
        cursor: Cursor,
        now_s: u32,
        most: usize,
        each: &mut dyn FnMut(&[u8], Item<'_>, usize),
    ) -> Option<Cursor> {
        self.plain.scan(cursor, now_s, most, each)
    }

    fn figures(&self) -> Figures {
        self.plain.figures()
    }

    fn reset_figures(&self) {}

    fn sync(&self) -> Commit {
        Commit::default()
    }
}

/// A socket on loopback with a port of the system's choice.
pub(crate) fn listen(store: &Arc<Store>) -> Listen<Store> {
    let address = ListenAddress::Tcp(([127, 0, 0, 1], 0).into());
    Listen::new(address, Arc::clone(store))
}

/// A server that accepts.
pub(crate) fn serve(threads: usize, listens: Vec<Listen<Store>>) -> Server {
    let server = start(threads, listens);
    server.accept();
    server
}

/// A server that does not accept yet.
pub(crate) fn start(threads: usize, listens: Vec<Listen<Store>>) -> Server {
    let name = "test".into();
    Server::start(Options { threads, name }, listens).unwrap()
}

/// The address of a server's socket.
pub(crate) fn address(server: &Server, number: usize) -> SocketAddr {
    match server.addresses()[number] {
        ListenAddress::Tcp(address) => address,
        ListenAddress::Unix(_) => panic!("it is no address and port"),
    }
}

/// A client that waits for at most [`DEADLINE`].
pub(crate) fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(address(server, 0)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream
}

/// Sends, and reads as much as is expected.
pub(crate) fn ask(stream: &mut (impl Read + Write), request: &[u8], expected: &[u8]) {
    stream.write_all(request).unwrap();
    expect(stream, expected);
}

/// Reads as much as is expected.
pub(crate) fn expect(stream: &mut impl Read, expected: &[u8]) {
    let mut read = vec![0; expected.len()];
    stream.read_exact(&mut read).unwrap();
    assert!(
        read == expected,
        "{:?} instead of {:?}",
        String::from_utf8_lossy(&read[..read.len().min(200)]),
        String::from_utf8_lossy(&expected[..expected.len().min(200)])
    );
}

/// Whether the server ends the connection without another byte.
pub(crate) fn is_ended(stream: &mut impl Read) -> bool {
    match stream.read(&mut [0; 100]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// Whether a connection is still served.
pub(crate) fn is_served(stream: &mut (impl Read + Write)) {
    ask(stream, b"mn\r\n", b"MN\r\n");
}
