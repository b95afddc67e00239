//! The server as its owner sees it: started, accepting, drained.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::JoinHandle;
use std::time::Instant;

use forebay_session::Backend;
use mio::{Poll, Waker};
use parking_lot::Mutex;

use crate::accept::Shared;
use crate::address::ListenAddress;
use crate::bind::{Listener, SocketFile, bind};
use crate::mailbox::Mailbox;
use crate::options::{Listen, Options};
use crate::store::Port;
use crate::worker::{WAKER, Worker};

/// Why a server was not started.
#[derive(Debug)]
pub struct StartError {
    /// The address that cannot be listened on; `None`: it was not about one.
    pub address: Option<ListenAddress>,
    /// What the system says.
    pub error: io::Error,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Some(address) => write!(f, "cannot listen on {address}: {}", self.error),
            None => write!(f, "cannot start the session stores: {}", self.error),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self {
            address: None,
            error,
        }
    }
}

/// The threads that serve session stores. When it is dropped, every connection is cut.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<ListenAddress>,
    mailboxes: Vec<Arc<Mailbox>>,
    threads: Mutex<Vec<JoinHandle<usize>>>,
    /// Removed last.
    _files: Vec<SocketFile>,
}

impl Server {
    /// Binds all sockets and starts the threads. Clients can connect from now on, and wait until
    /// [`Server::accept`]. Each thread asks each backend for an engine at once.
    ///
    /// # Errors
    /// An address cannot be listened on, or a thread not be started; nothing is left behind.
    pub fn start<B: Backend>(
        options: Options,
        listens: Vec<Listen<B>>,
    ) -> Result<Self, StartError> {
        let mut sockets = Sockets::bind(listens)?;
        let threads = options.threads.max(1);
        let polls: Vec<Poll> = (0..threads)
            .map(|_| Poll::new())
            .collect::<Result<_, _>>()?;
        let mailbox = |poll: &Poll| Ok(Arc::new(Mailbox::new(Waker::new(poll.registry(), WAKER)?)));
        let mailboxes: Vec<_> = polls.iter().map(mailbox).collect::<io::Result<_>>()?;
        let shared = Arc::new(Shared {
            ports: std::mem::take(&mut sockets.ports),
            mailboxes: mailboxes.clone(),
            loads: (0..threads).map(|_| AtomicUsize::new(0)).collect(),
            open: sockets.zeros(),
            held: sockets.zeros(),
        });
        // From here on whatever goes wrong is undone by dropping it.
        let server = Self {
            addresses: sockets.addresses,
            mailboxes,
            threads: Mutex::default(),
            _files: sockets.files,
        };
        for (number, poll) in polls.into_iter().enumerate() {
            let (shared, backends) = (Arc::clone(&shared), sockets.backends.clone());
            let listeners = std::mem::take(&mut sockets.listeners);
            let thread = std::thread::Builder::new()
                .name(format!("{}-{number}", options.name))
                .spawn(move || work(number, poll, shared, &backends, listeners))?;
            server.threads.lock().push(thread);
        }
        Ok(server)
    }

    /// Where it listens, in the order given, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<ListenAddress> {
        self.addresses.clone()
    }

    /// Begins to accept.
    pub fn accept(&self) {
        if let Some(first) = self.mailboxes.first() {
            first.post(|letters| letters.accept = true);
        }
    }

    /// Stops accepting, closes connections between commands, lets the others finish theirs, with
    /// what waits for commits, and cuts at `deadline` what is left. Returns how many were cut, once
    /// all threads have ended; only the first call does anything.
    pub fn drain(&self, deadline: Instant) -> usize {
        for mailbox in &self.mailboxes {
            mailbox.post(|letters| letters.drain = Some(deadline));
        }
        let threads = std::mem::take(&mut *self.threads.lock());
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or(0));
        ended.sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.drain(Instant::now());
    }
}

/// The sockets of a server, bound; a socket has the same number in each list, but for the files.
struct Sockets<B> {
    addresses: Vec<ListenAddress>,
    listeners: Vec<Listener>,
    ports: Vec<Port>,
    files: Vec<SocketFile>,
    /// Each store once.
    backends: Vec<Arc<B>>,
}

impl<B> Sockets<B> {
    /// A number for each store.
    fn zeros(&self) -> Vec<AtomicUsize> {
        self.backends.iter().map(|_| AtomicUsize::new(0)).collect()
    }

    fn bind(listens: Vec<Listen<B>>) -> Result<Self, StartError> {
        let mut sockets = Self {
            addresses: Vec::new(),
            listeners: Vec::new(),
            ports: Vec::new(),
            files: Vec::new(),
            backends: Vec::new(),
        };
        for mut listen in listens {
            let (listener, address, file) = bind(&mut listen).map_err(|error| StartError {
                address: Some(listen.address.clone()),
                error,
            })?;
            sockets.addresses.push(address);
            sockets.listeners.push(listener);
            sockets.files.extend(file);
            let port = Port::new(listen, &mut sockets.backends);
            sockets.ports.push(port);
        }
        Ok(sockets)
    }
}

/// A thread's life.
fn work<B: Backend>(
    number: usize,
    poll: Poll,
    shared: Arc<Shared>,
    backends: &[Arc<B>],
    listeners: Vec<Listener>,
) -> usize {
    let Some(mailbox) = shared.mailboxes.get(number).map(Arc::clone) else {
        return 0;
    };
    let mut worker = Worker::new(number, poll, shared, mailbox, backends, listeners);
    worker.run().unwrap_or_else(|error| {
        tracing::error!(
            "session store: thread {number} has ended, and its connections with it: {error}; \
             restart the server"
        );
        0
    })
}
