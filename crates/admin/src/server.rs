//! Listening, reading one request, answering it, closing.
//!
//! One thread with a single-threaded runtime carries all connections; what
//! asks [`Control`] runs beside it. An [`Admin`] lives as long as its address
//! is served.

use crate::Control;
use crate::answer::Answer;
use crate::request::{self, LIMITS};
use crate::route::{self, Task};
use forebay_http::{Method, RequestHead, head};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{sleep, timeout};

/// Connections at once; beyond: 503.
const CONNECTIONS: usize = 64;
/// For a request's head (beyond: 408), and again for the answer to be taken.
const IO_TIMEOUT: Duration = Duration::from_secs(10);
/// How long what a client still sends is read after its answer.
const LINGER: Duration = Duration::from_secs(1);
/// How long answers under way may take at the end.
const DRAIN: Duration = Duration::from_secs(1);

/// The administration address being served; ends when dropped.
pub struct Admin {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves the administration address on a thread of its own. Port 0 takes any
/// free port; see [`Admin::address`].
///
/// # Errors
/// The address cannot be listened on, or the thread not be started.
pub fn start(address: SocketAddr, control: Arc<dyn Control>) -> io::Result<Admin> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(CONNECTIONS)
        .build()?;
    let listener = {
        let _context = runtime.enter();
        TcpListener::from_std(listener)?
    };
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("admin".into())
        .spawn(move || run(runtime, listener, control, stopped))?;
    Ok(Admin {
        address,
        stop: Some(stop),
        thread: Some(thread),
    })
}

impl Admin {
    /// The address listened on, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Admin {
    /// Frees the address at once and lets answers under way finish for a second.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the administration thread panicked");
        }
    }
}

/// What all connections share.
struct Server {
    control: Arc<dyn Control>,
    slots: Arc<Semaphore>,
    /// Held while the configuration is read again.
    reloading: Mutex<()>,
}

fn run(
    runtime: Runtime,
    listener: TcpListener,
    control: Arc<dyn Control>,
    stopped: oneshot::Receiver<()>,
) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let server = Arc::new(Server {
        control,
        slots,
        reloading: Mutex::new(()),
    });
    runtime.block_on(async {
        tokio::select! {
            () = accept(&listener, &server) => {}
            // Resolves, with an error, when the sender is dropped.
            _ = stopped => {}
        }
        drop(listener);
        let _ = timeout(DRAIN, server.slots.acquire_many(CONNECTIONS as u32)).await;
    });
    // Not the ordinary drop: it would wait for a reload, and a reload that
    // replaces this very `Admin` would wait for it in turn.
    runtime.shutdown_background();
}

async fn accept(listener: &TcpListener, server: &Arc<Server>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match Arc::clone(&server.slots).try_acquire_owned() {
                Ok(slot) => {
                    let server = Arc::clone(server);
                    tokio::spawn(async move { server.serve(stream, slot).await });
                }
                Err(_) => refuse(stream),
            },
            Err(error) => {
                // Mostly a lack of descriptors, which passes; not worth a busy loop.
                tracing::warn!("the administration address cannot accept a connection: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Says 503 without waiting: a new socket's send buffer takes it whole.
fn refuse(stream: TcpStream) {
    let busy = Answer::refusal(503, "too many connections").to_bytes(false);
    // The runtime does not know yet that the socket can be written, the system does.
    let _ = stream
        .into_std()
        .and_then(|mut stream| stream.write_all(&busy));
}

impl Server {
    /// Serves one connection to its end. Errors of the socket end it silently:
    /// there is nobody left to tell.
    async fn serve(&self, mut stream: TcpStream, _slot: OwnedSemaphorePermit) {
        let mut head = RequestHead::default();
        let answer = match timeout(IO_TIMEOUT, read_head(&mut stream, &mut head)).await {
            Ok(Ok(true)) => self.answer(&head).await,
            Ok(Ok(false)) | Ok(Err(ReadError::Socket)) => return,
            Ok(Err(ReadError::Head(error))) => Answer::refusal(error.status(), error.message()),
            Err(_) => Answer::refusal(408, "the request did not arrive in time"),
        };
        let bytes = answer.to_bytes(head.method == Method::Head);
        if let Ok(Ok(())) = timeout(IO_TIMEOUT, stream.write_all(&bytes)).await {
            let _ = timeout(LINGER, linger(&mut stream)).await;
        }
    }

    async fn answer(&self, head: &RequestHead) -> Answer {
        if let Err(refusal) = request::check(head) {
            return refusal;
        }
        match route::route(head) {
            Task::Refuse(answer) => answer,
            Task::Show(show) => self.ask_control(show).await,
            Task::Reload => match self.reloading.try_lock() {
                Ok(_alone) => self.ask_control(route::reload).await,
                Err(_) => route::reload_busy(),
            },
        }
    }

    /// Control may wait for locks, names and files, so it is asked on a thread
    /// where it holds nobody else up.
    async fn ask_control(&self, question: fn(&dyn Control) -> Answer) -> Answer {
        let control = Arc::clone(&self.control);
        match tokio::task::spawn_blocking(move || question(&*control)).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::error!("the administration request failed: {error}");
                Answer::refusal(500, "the request failed; see the error log")
            }
        }
    }
}

enum ReadError {
    Socket,
    Head(head::HeadError),
}

/// Reads a request's head; `false` when the client closed without sending any.
/// A body, if one follows, is never looked at.
async fn read_head(stream: &mut TcpStream, into: &mut RequestHead) -> Result<bool, ReadError> {
    let mut bytes = Vec::with_capacity(1 << 10);
    loop {
        let seen = bytes.len();
        let room = LIMITS.head_bytes - seen;
        let count = (&mut *stream)
            .take(room as u64)
            .read_buf(&mut bytes)
            .await
            .map_err(|_| ReadError::Socket)?;
        if count == 0 {
            // The peer is gone; half a request is answered to nobody.
            return if seen == 0 {
                Ok(false)
            } else {
                Err(ReadError::Socket)
            };
        }
        let full = bytes.len() >= LIMITS.head_bytes;
        if full || head::find_end(&bytes, seen) {
            match into.parse(&bytes, &LIMITS) {
                Ok(Some(_)) => return Ok(true),
                Ok(None) if full => return Err(ReadError::Head(head::HeadError::HeadTooLarge)),
                Ok(None) => {}
                Err(error) => return Err(ReadError::Head(error)),
            }
        }
    }
}

/// Says that nothing more comes and reads what the client still sends: a
/// socket closed with unread bytes is reset, which can take the answer with it
/// (RFC 9112 section 9.6).
async fn linger(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut ignored = [0; 4 << 10];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}
