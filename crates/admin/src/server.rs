//! Listening and accepting; the thread that carries all connections.
//!
//! One thread with a single-threaded runtime; what asks [`Control`] runs beside
//! it. An [`Admin`] lives as long as its addresses are served.

use crate::access::{Address, Denied, Doors, Role};
use crate::answer::Answer;
use crate::api::figures;
use crate::connection::denied;
use crate::control::Control;
use crate::history::History;
use crate::listen::Listener;
use crate::waiting::Waiting;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// Connections at once; beyond: 503.
pub(crate) const CONNECTIONS: usize = 64;
/// Followers of the log among them; beyond: 503.
pub(crate) const FOLLOWERS: usize = 16;
/// How long a connection that was told to give way may take to do it.
const GIVE_WAY: Duration = Duration::from_secs(1);
/// How long answers under way may take at the end.
const DRAIN: Duration = Duration::from_secs(1);
/// How often the history gets a row.
const SAMPLE: Duration = Duration::from_secs(1);

/// The administration being served; ends when dropped.
pub struct Admin {
    addresses: Vec<Address>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves the administration on a thread of its own: at one address, or as
/// [`Access`](crate::Access) says, which [`Doors`] may change. Port 0 takes any free port; see [`Admin::addresses`].
///
/// A Unix socket's file that nobody listens on is replaced, and the file
/// removed at the end; its mode is 0660.
///
/// # Errors
/// An address cannot be listened on, or the thread not be started.
pub fn start(access: impl Into<Doors>, control: Arc<dyn Control>) -> io::Result<Admin> {
    let doors: Doors = access.into();
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(CONNECTIONS + FOLLOWERS)
        .build()?;
    let (listeners, addresses): (Vec<Listener>, Vec<Address>) = {
        let _context = runtime.enter();
        let access = doors.now();
        let bound = access.listen.iter().map(|address| {
            Listener::bind(address)
                .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))
        });
        bound.collect::<io::Result<Vec<_>>>()?.into_iter().unzip()
    };
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("admin".into())
        .spawn(move || run(runtime, listeners, doors, control, stopped))?;
    Ok(Admin {
        addresses,
        stop: Some(stop),
        thread: Some(thread),
    })
}

impl Admin {
    /// The addresses listened on, with the ports that were chosen.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The first TCP address; the unspecified one when there are Unix sockets only.
    pub fn address(&self) -> SocketAddr {
        let tcp = self.addresses.iter().find_map(|address| match address {
            Address::Tcp(address) => Some(*address),
            Address::Unix(_) => None,
        });
        tcp.unwrap_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into())
    }
}

impl Drop for Admin {
    /// Frees the addresses at once and lets answers under way finish for a second.
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
pub(crate) struct Server {
    pub(crate) doors: Doors,
    pub(crate) control: Arc<dyn Control>,
    pub(crate) history: Arc<History>,
    slots: Arc<Semaphore>,
    pub(crate) waiting: Waiting,
    pub(crate) followers: Arc<Semaphore>,
    /// Held while the configuration is read again.
    pub(crate) reloading: Mutex<()>,
    /// Turns true when the addresses are given up.
    pub(crate) stopping: watch::Receiver<bool>,
}

fn run(
    runtime: Runtime,
    listeners: Vec<Listener>,
    doors: Doors,
    control: Arc<dyn Control>,
    stopped: oneshot::Receiver<()>,
) {
    let (stop_all, stopping) = watch::channel(false);
    let server = Arc::new(Server {
        doors,
        control,
        history: Arc::default(),
        slots: Arc::new(Semaphore::new(CONNECTIONS)),
        waiting: Waiting::default(),
        followers: Arc::new(Semaphore::new(FOLLOWERS)),
        reloading: Mutex::new(()),
        stopping,
    });
    runtime.block_on(async {
        let sampling = tokio::spawn(sample(Arc::clone(&server)));
        let accepting: Vec<_> = listeners
            .into_iter()
            .map(|listener| tokio::spawn(accept(listener, Arc::clone(&server))))
            .collect();
        // Resolves, with an error, when the sender is dropped.
        let _ = stopped.await;
        sampling.abort();
        for task in accepting {
            task.abort();
            // The listener is gone when the task is.
            let _ = task.await;
        }
        stop_all.send_replace(true);
        let _ = timeout(DRAIN, server.slots.acquire_many(CONNECTIONS as u32)).await;
    });
    // Not the ordinary drop: it would wait for a reload, and a reload that
    // replaces this very `Admin` would wait for it in turn.
    runtime.shutdown_background();
}

impl Server {
    /// A place for one more connection: if need be that of one that has asked for nothing yet.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let free = Arc::clone(&self.slots).try_acquire_owned().ok();
        if free.is_some() || !self.waiting.displace() {
            return free;
        }
        let left = timeout(GIVE_WAY, Arc::clone(&self.slots).acquire_owned()).await;
        left.ok()?.ok()
    }
}

async fn accept(listener: Listener, server: Arc<Server>) {
    loop {
        match listener.accept().await {
            // Nothing is said to other machines without tokens: they get no place either.
            Ok(accepted) if server.doors.now().is_closed_to(accepted.peer()) => {
                accepted.refuse(&denied(Denied::NoTokens, Role::Read).to_bytes(false));
            }
            Ok(accepted) => match server.place().await {
                Some(slot) => {
                    let server = Arc::clone(&server);
                    tokio::spawn(async move {
                        server.serve(accepted).await;
                        drop(slot);
                    });
                }
                None => {
                    accepted.refuse(&Answer::refusal(503, "too many connections").to_bytes(false));
                }
            },
            Err(error) => {
                // Mostly a lack of descriptors, which passes; not worth a busy loop.
                tracing::warn!("the administration address cannot accept a connection: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Gives the history its rows.
async fn sample(server: Arc<Server>) {
    let mut clock = interval(SAMPLE);
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        clock.tick().await;
        let server = Arc::clone(&server);
        let taken = tokio::task::spawn_blocking(move || {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let (control, history) = (&*server.control, &server.history);
            history.add(control.snapshot(), &figures::gauges(control), now.as_secs());
        });
        // A panic in there is in the log; the next row may do better.
        let _ = taken.await;
    }
}
