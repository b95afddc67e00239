//! TLS to a store: a session over a socket, and whom it is with.

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use forebay_tls::{ClientConfig, ClientConnection, Identity, ServerName, Trust, client_config};
use rustls::StreamOwned;

use crate::address::Address;

/// How a store is spoken to by TLS.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// TLS with the store at this address, whose certificate must be for the host in it. `own` is
    /// shown to a store that asks for a client's certificate.
    ///
    /// # Errors
    /// The address is a path or no name; the certificates that are to be trusted or shown are none.
    /// In words for the operator.
    pub fn new(
        address: &Address,
        trust: Trust<'_>,
        own: Option<Identity<'_>>,
    ) -> Result<Self, String> {
        let Address::Tcp(text) = address else {
            return Err(format!(
                "{address} is a socket of this machine: it does not speak TLS"
            ));
        };
        let host = text
            .rsplit_once(':')
            .map_or(text.as_str(), |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("`{host}` is no name that a certificate can have"))?;
        Ok(Self {
            config: client_config(trust, own, &[])?,
            name,
        })
    }

    /// Agrees on a session.
    pub(crate) fn over(
        &self,
        mut stream: TcpStream,
    ) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let mut session = session.map_err(io::Error::other)?;
        session.complete_io(&mut stream)?;
        Ok(StreamOwned::new(session, stream))
    }
}
