//! What a server is started with.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use forebay_session::{Access, Limits};

use crate::address::ListenAddress;
use crate::tls::Tls;

/// What concerns all stores of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many threads serve; at least one does.
    pub threads: usize,
    /// What the threads are called; a number follows.
    pub name: String,
}

/// A socket that listens already, from whoever started this process.
#[derive(Debug)]
pub enum Inherited {
    /// An address and a port.
    Tcp(std::net::TcpListener),
    /// A Unix socket, whose file belongs to whoever made it.
    Unix(std::os::unix::net::UnixListener),
}

/// One socket, and the store behind it. Sockets of one store share its backend (the same `Arc`).
pub struct Listen<B> {
    /// Where it listens; of an inherited socket only for messages.
    pub address: ListenAddress,
    /// A socket that listens there already.
    pub inherited: Option<Inherited>,
    /// The store.
    pub backend: Arc<B>,
    /// What a connection may take.
    pub limits: Limits,
    /// Who may speak to it.
    pub access: Access,
    /// Clients speak TLS, with this certificate.
    pub tls: Option<Arc<Tls>>,
    /// How many connections the store may have, by all its sockets; what comes beyond is told so
    /// and closed.
    pub max_connections: usize,
    /// What commands that came by half and answers that are not read yet may take in bytes, of all
    /// connections of the store, beyond 16 KiB for each; the one that needs more is closed.
    pub buffers_bytes: usize,
    /// How long a connection may say nothing between commands; `None`: as long as it likes.
    pub idle_timeout: Option<Duration>,
    /// How long a command that came by half, or an answer that is not read, may make no progress.
    /// It may take a second longer.
    pub stalled_timeout: Duration,
    /// The permissions of a Unix socket's file; `None`: what the process's umask leaves.
    pub unix_mode: Option<u32>,
    /// How many connections may wait to be accepted; the kernel's own limit cuts it down.
    pub backlog: u32,
}

impl<B> Listen<B> {
    /// A store at an address, with memcached's limits: 1,024 connections, and no end to idling.
    pub fn new(address: ListenAddress, backend: Arc<B>) -> Self {
        Self {
            address,
            inherited: None,
            backend,
            limits: Limits::default(),
            access: Access::default(),
            tls: None,
            max_connections: 1024,
            buffers_bytes: 256 << 20,
            idle_timeout: None,
            stalled_timeout: Duration::from_secs(60),
            unix_mode: None,
            backlog: 1024,
        }
    }
}

impl<B> fmt::Debug for Listen<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listen")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
