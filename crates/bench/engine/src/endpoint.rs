//! Where connections go.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;

/// One place that can be connected to.
#[derive(Debug)]
pub struct Endpoint {
    /// For messages.
    pub name: String,
    /// At least one; users take them in turn.
    pub addresses: Vec<Address>,
    /// TLS, if it is spoken there.
    pub tls: Option<Tls>,
}

/// An address of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// How TLS is spoken with an endpoint.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Trust and versions.
    pub config: Arc<ClientConfig>,
    /// The name sent as SNI and looked for in the certificate.
    pub name: ServerName<'static>,
}

/// All endpoints of a run. More may be added while it runs; an index stays what it is.
#[derive(Clone, Debug, Default)]
pub struct Endpoints(Arc<RwLock<Vec<Arc<Endpoint>>>>);

impl Endpoints {
    /// Adds one and returns its index.
    pub fn add(&self, endpoint: Endpoint) -> u32 {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::new(endpoint));
        (all.len() - 1) as u32
    }

    /// All there are now.
    pub fn all(&self) -> Vec<Arc<Endpoint>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
