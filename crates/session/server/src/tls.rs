//! The certificate that a store shows. Lives as long as the server; what it holds may be replaced.

use std::sync::Arc;

use parking_lot::RwLock;
use rustls::ServerConfig;

/// The settings of TLS sessions. Each connection has those of the moment when it was accepted.
#[derive(Debug)]
pub struct Tls(RwLock<Arc<ServerConfig>>);

impl Tls {
    /// These, until others take their place.
    pub fn new(config: Arc<ServerConfig>) -> Arc<Self> {
        Arc::new(Self(RwLock::new(config)))
    }

    /// New connections have these.
    pub fn replace(&self, config: Arc<ServerConfig>) {
        *self.0.write() = config;
    }

    pub(crate) fn now(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.read())
    }
}
