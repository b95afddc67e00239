//! Connections to the servers that the browser means.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use forebay_workload::Target;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::wire::{Stream, Wire};

const CONNECT: Duration = Duration::from_secs(10);
/// Longer than any page takes that a load test is made of.
const RESPONSE: Duration = Duration::from_secs(120);

/// Opens connections, and keeps one for the next request to the same place.
pub(super) struct Upstream {
    tls: Option<Arc<ClientConfig>>,
    kept: Option<(Target, Wire)>,
}

impl Upstream {
    pub(super) fn new(tls: Option<Arc<ClientConfig>>) -> Self {
        Self { tls, kept: None }
    }

    /// A connection to where `target` lies. One that was used before may turn out to be closed, so
    /// only requests that can be sent again get it: `may_reuse`.
    pub(super) fn take(&mut self, target: &Target, may_reuse: bool) -> io::Result<(Wire, bool)> {
        match self.kept.take() {
            Some((place, wire)) if may_reuse && place.same_place(target) => Ok((wire, true)),
            _ => self.open(target).map(|wire| (wire, false)),
        }
    }

    /// Keeps a connection on which another request may follow.
    pub(super) fn keep(&mut self, target: &Target, wire: Wire) {
        self.kept = Some((target.clone(), wire));
    }

    fn open(&self, target: &Target) -> io::Result<Wire> {
        let socket = connect(&target.host, target.port)?;
        socket.set_read_timeout(Some(RESPONSE))?;
        socket.set_write_timeout(Some(RESPONSE))?;
        if !target.tls {
            return Ok(Wire::new(Stream::Plain(socket)));
        }
        let config = self
            .tls
            .clone()
            .ok_or_else(|| io::Error::other("TLS is not set up"))?;
        let name = ServerName::try_from(target.host.clone()).map_err(io::Error::other)?;
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        Ok(Wire::new(Stream::Tls(Box::new(StreamOwned::new(
            session, socket,
        )))))
    }
}

/// A TCP connection to the first address that takes it.
pub(super) fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::other(format!("the name {host} has no address"));
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
