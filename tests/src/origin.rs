//! A scripted origin: answers as a test says and records every byte it got.

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use crate::DEADLINE;
use crate::head::{Fields, Framing, stated_framing};
use crate::stream::{Address, Stream};
use crate::wire::{Broken, Wire};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`
    pub method: String,
    /// `/path?query`
    pub target: String,
    /// In the order of the wire.
    pub fields: Fields,
    /// The content, chunking removed.
    pub body: Vec<u8>,
    /// The trailer section.
    pub trailers: Fields,
    /// The exact bytes.
    pub raw: Vec<u8>,
    /// Which connection of this origin it came by, from 0.
    pub connection: usize,
    /// Which request of this origin it is, from 0.
    pub number: usize,
}

impl Request {
    /// The first value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }
}

/// The origin's end of one connection.
#[derive(Debug)]
pub struct Connection {
    stream: Arc<Stream>,
    wire: Wire,
    /// Which connection this is, from 0.
    pub number: usize,
    open: bool,
    shared: Arc<Shared>,
}

type Script = dyn Fn(&mut Connection) + Send + Sync;

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    arrived: Condvar,
    connections: AtomicUsize,
    live: Mutex<Vec<Arc<Stream>>>,
    stray: Mutex<Vec<u8>>,
    stopped: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// A listening origin; stops when dropped.
#[derive(Debug)]
pub struct Origin {
    address: Address,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Origin {
    /// Answers every whole request with what `script` does to the connection.
    pub fn start(script: impl Fn(&Request, &mut Connection) + Send + Sync + 'static) -> Self {
        Self::raw(serve(script))
    }

    /// Answers every request with the same bytes.
    pub fn fixed(response: impl AsRef<[u8]>) -> Self {
        let response = response.as_ref().to_vec();
        Self::start(move |_, connection| connection.send(&response))
    }

    /// Answers the n-th request with the n-th bytes, the last ones again and again.
    pub fn sequence(responses: &[String]) -> Self {
        let responses = responses.to_vec();
        Self::start(move |request, connection| connection.send(&responses[request.number.min(responses.len() - 1)]))
    }

    /// Leaves each connection to `script`, from its first byte.
    pub fn raw(script: impl Fn(&mut Connection) + Send + Sync + 'static) -> Self {
        Self::raw_at(([127, 0, 0, 1], 0).into(), script)
    }

    /// The same at an address of choice.
    pub fn raw_at(address: SocketAddr, script: impl Fn(&mut Connection) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        Self::run(address, Listener::Tcp(listener), Arc::new(script))
    }

    /// The same at a Unix socket.
    pub fn unix(path: &Path, script: impl Fn(&Request, &mut Connection) + Send + Sync + 'static) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        Self::run(Address::Unix(path.into()), Listener::Unix(listener), Arc::new(serve(script)))
    }

    fn run(address: Address, listener: Listener, script: Arc<Script>) -> Self {
        let shared = Arc::new(Shared::default());
        let threads = Arc::new(Mutex::new(Vec::new()));
        let acceptor = std::thread::spawn({
            let (shared, threads) = (shared.clone(), threads.clone());
            move || accept(&listener, &shared, &threads, &script)
        });
        Self { address, shared, acceptor: Some(acceptor), threads }
    }

    /// How a pool names it: `127.0.0.1:9000` or `unix:/path`.
    pub fn server(&self) -> String {
        self.address.to_string()
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The whole requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// How many whole requests came so far.
    pub fn count(&self) -> usize {
        self.shared.requests.lock().unwrap().len()
    }

    /// How many connections were opened so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The newest request.
    ///
    /// # Panics
    /// When there was none.
    #[track_caller]
    pub fn last(&self) -> Request {
        self.requests().pop().expect("the origin was never asked")
    }

    /// Waits until `count` whole requests have come.
    ///
    /// # Panics
    /// When they do not come before the deadline.
    #[track_caller]
    pub fn wait_for(&self, count: usize) -> Vec<Request> {
        let guard = self.shared.requests.lock().unwrap();
        let (guard, _) =
            self.shared.arrived.wait_timeout_while(guard, DEADLINE, |requests| requests.len() < count).unwrap();
        assert!(guard.len() >= count, "the origin got {} requests, not {count}", guard.len());
        guard.clone()
    }

    /// Stops listening and breaks every connection, as a crash would.
    pub fn kill(&mut self) {
        self.stop_accepting();
        for stream in self.shared.live.lock().unwrap().drain(..) {
            stream.shutdown(Shutdown::Both);
        }
    }

    /// Closes the connections that are open and goes on listening.
    pub fn close_connections(&self) {
        for stream in self.shared.live.lock().unwrap().drain(..) {
            stream.shutdown(Shutdown::Both);
        }
    }

    /// Bytes that came but were no whole request. Waits for every connection
    /// to end, so the program must be stopped before.
    pub fn stray(mut self) -> Vec<u8> {
        self.stop_accepting();
        let threads: Vec<_> = self.threads.lock().unwrap().drain(..).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        self.shared.stray.lock().unwrap().clone()
    }

    fn stop_accepting(&mut self) {
        let Some(acceptor) = self.acceptor.take() else { return };
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = Stream::connect(&self.address);
        acceptor.join().unwrap();
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.kill();
        let threads: Vec<_> = self.threads.lock().unwrap().drain(..).collect();
        // A script waiting for a moment that a failed test never announced would hold this up.
        if !std::thread::panicking() {
            for thread in threads.into_iter().filter(JoinHandle::is_finished) {
                assert!(thread.join().is_ok(), "the origin's script failed; its message is above");
            }
        }
    }
}

fn serve(script: impl Fn(&Request, &mut Connection) + Send + Sync + 'static) -> impl Fn(&mut Connection) + Send + Sync {
    move |connection| {
        while connection.open {
            match connection.request() {
                Ok(request) => script(&request, connection),
                Err(_) => break,
            }
        }
    }
}

fn accept(listener: &Listener, shared: &Arc<Shared>, threads: &Mutex<Vec<JoinHandle<()>>>, script: &Arc<Script>) {
    loop {
        let stream = match listener {
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        };
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let (shared, script) = (shared.clone(), script.clone());
        threads.lock().unwrap().push(std::thread::spawn(move || converse(stream, shared, &*script)));
    }
}

fn converse(stream: Stream, shared: Arc<Shared>, script: &Script) {
    stream.prepare().unwrap();
    let stream = Arc::new(stream);
    shared.live.lock().unwrap().push(stream.clone());
    let number = shared.connections.fetch_add(1, Ordering::SeqCst);
    let mut connection =
        Connection { wire: Wire::new(stream.clone()), stream: stream.clone(), number, open: true, shared };
    script(&mut connection);
    let mut stray = connection.wire.take_record();
    stray.extend_from_slice(connection.wire.left());
    connection.shared.stray.lock().unwrap().extend_from_slice(&stray);
    connection.shared.live.lock().unwrap().retain(|other| !Arc::ptr_eq(other, &stream));
}

impl Connection {
    /// A request's head; its body stays on the wire.
    pub fn request_head(&mut self) -> Result<Request, Broken> {
        let head = self.wire.head()?;
        let mut parts = head.start.splitn(3, ' ');
        let (Some(method), Some(target), Some("HTTP/1.1")) = (parts.next(), parts.next(), parts.next()) else {
            return Err(Broken::Malformed(head.start));
        };
        let (method, target) = (method.to_owned(), target.to_owned());
        let (body, trailers, raw) = (Vec::new(), Fields::default(), Vec::new());
        let number = self.shared.requests.lock().unwrap().len();
        Ok(Request { method, target, fields: head.fields, body, trailers, raw, connection: self.number, number })
    }

    /// A whole request, recorded.
    ///
    /// # Panics
    /// When what came is not strict HTTP/1.1.
    pub fn request(&mut self) -> Result<Request, Broken> {
        let mut request = self.request_head()?;
        self.request_body(&mut request)?;
        Ok(self.record(request))
    }

    /// The body of a request whose head was read.
    pub fn request_body(&mut self, request: &mut Request) -> Result<(), Broken> {
        let mut framing = stated_framing(&request.fields).map_err(Broken::Malformed)?.unwrap_or(Framing::Empty);
        self.wire.body(&mut framing, &mut request.trailers, &mut request.body)
    }

    /// The next bytes of a body as they arrive; `None` at its end.
    pub fn request_piece(&mut self, framing: &mut Framing) -> Result<Option<Vec<u8>>, Broken> {
        self.wire.piece(framing, &mut Fields::default())
    }

    /// Adds a request to the record.
    pub fn record(&mut self, mut request: Request) -> Request {
        request.raw = self.wire.take_record();
        let mut requests = self.shared.requests.lock().unwrap();
        request.number = requests.len();
        requests.push(request.clone());
        self.shared.arrived.notify_all();
        request
    }

    /// Sends exactly `bytes`; a peer that is gone is no failure here.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        if (&*self.stream).write_all(bytes.as_ref()).is_err() {
            self.open = false;
        }
    }

    /// Sends as much as the peer takes until it stands still for `patience`.
    pub fn send_until_blocked(&mut self, bytes: &[u8], patience: std::time::Duration) -> usize {
        let Stream::Tcp(stream) = &*self.stream else { panic!("only over TCP") };
        stream.set_write_timeout(Some(patience)).unwrap();
        let mut sent = 0;
        while sent < bytes.len() {
            match (&*self.stream).write(&bytes[sent..]) {
                Ok(n) => sent += n,
                Err(_) => break,
            }
        }
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        sent
    }

    /// Shrinks the kernel's buffers.
    pub fn small_buffers(&self) {
        self.stream.small_buffers();
    }

    /// Exactly `count` raw bytes, for tunnels.
    pub fn read_bytes(&mut self, count: usize) -> Result<Vec<u8>, Broken> {
        while self.wire.left().len() < count {
            self.wire.fill()?;
        }
        Ok(self.wire.take(count))
    }

    /// Everything until the peer closes.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        while self.wire.fill().is_ok() {}
        self.wire.take(self.wire.left().len())
    }

    /// Closes both directions with FIN.
    pub fn close(&mut self) {
        self.open = false;
        self.stream.shutdown(Shutdown::Both);
    }

    /// Closes the sending direction.
    pub fn half_close(&mut self) {
        self.stream.shutdown(Shutdown::Write);
    }

    /// Breaks the connection with RST.
    pub fn reset(&mut self) {
        self.open = false;
        self.stream.reset_on_close();
        self.shared.live.lock().unwrap().retain(|other| !Arc::ptr_eq(other, &self.stream));
    }
}
