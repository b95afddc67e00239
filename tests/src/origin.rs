//! A scripted origin: answers as a test says and records every byte it got.

use std::net::{Shutdown, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::DEADLINE;
use crate::connection::{Connection, Request, Shared};
use crate::stream::{Address, Stream};

type Script = dyn Fn(&mut Connection) + Send + Sync;

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
        Self::start(move |request, connection| {
            connection.send(&responses[request.number.min(responses.len() - 1)])
        })
    }

    /// Leaves each connection to `script`, from its first byte.
    pub fn raw(script: impl Fn(&mut Connection) + Send + Sync + 'static) -> Self {
        Self::raw_on(TcpListener::bind("127.0.0.1:0").unwrap(), script)
    }

    /// The same on a listener of choice.
    pub fn raw_on(
        listener: TcpListener,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
    ) -> Self {
        let address = Address::Tcp(listener.local_addr().unwrap());
        Self::run(address, Listener::Tcp(listener), Arc::new(script))
    }

    /// The same at a Unix socket.
    pub fn unix(
        path: &Path,
        script: impl Fn(&Request, &mut Connection) + Send + Sync + 'static,
    ) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        Self::run(
            Address::Unix(path.into()),
            Listener::Unix(listener),
            Arc::new(serve(script)),
        )
    }

    fn run(address: Address, listener: Listener, script: Arc<Script>) -> Self {
        let shared = Arc::new(Shared::default());
        let threads = Arc::new(Mutex::new(Vec::new()));
        let acceptor = std::thread::spawn({
            let (shared, threads) = (shared.clone(), threads.clone());
            move || accept(&listener, &shared, &threads, &script)
        });
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
            threads,
        }
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
        let (guard, _) = self
            .shared
            .arrived
            .wait_timeout_while(guard, DEADLINE, |requests| requests.len() < count)
            .unwrap();
        assert!(
            guard.len() >= count,
            "the origin got {} requests, not {count}",
            guard.len()
        );
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
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        self.shared.stray.lock().unwrap().clone()
    }

    fn stop_accepting(&mut self) {
        let Some(acceptor) = self.acceptor.take() else {
            return;
        };
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = Stream::connect(&self.address);
        acceptor.join().unwrap();
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.kill();
        let threads: Vec<_> = self.threads.lock().unwrap().drain(..).collect();
        if !std::thread::panicking() {
            let malformed = self.shared.malformed.lock().unwrap();
            assert!(
                malformed.is_empty(),
                "the origin was sent malformed requests: {malformed:?}"
            );
        }
        // A script waiting for a moment that a failed test never announced would hold this up.
        if !std::thread::panicking() {
            for thread in threads.into_iter().filter(JoinHandle::is_finished) {
                assert!(
                    thread.join().is_ok(),
                    "the origin's script failed; its message is above"
                );
            }
        }
    }
}

fn serve(
    script: impl Fn(&Request, &mut Connection) + Send + Sync + 'static,
) -> impl Fn(&mut Connection) + Send + Sync {
    move |connection| {
        while connection.is_open() {
            match connection.request() {
                Ok(request) => script(&request, connection),
                Err(end) => {
                    connection.note(end);
                    break;
                }
            }
        }
    }
}

fn accept(
    listener: &Listener,
    shared: &Arc<Shared>,
    threads: &Mutex<Vec<JoinHandle<()>>>,
    script: &Arc<Script>,
) {
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
        threads.lock().unwrap().push(std::thread::spawn(move || {
            converse(stream, shared, &*script)
        }));
    }
}

fn converse(stream: Stream, shared: Arc<Shared>, script: &Script) {
    stream.prepare().unwrap();
    let stream = Arc::new(stream);
    shared.live.lock().unwrap().push(stream.clone());
    let number = shared.connections.fetch_add(1, Ordering::SeqCst);
    let mut connection = Connection::new(stream, number, shared);
    script(&mut connection);
    connection.finish();
}
