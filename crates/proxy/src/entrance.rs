//! What stands before the first request of a connection: TLS, or the header of a proxy.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use forebay_config::Settings;
use forebay_config::settings::ListenAddress;
use forebay_stats::Counter;
use forebay_stream::Stream;
use forebay_tls::{ServerConfig, ServerFiles, Session};

use crate::crowd::Counted;
use crate::forward::Peer;
use crate::worker::Worker;

/// What is spoken behind TLS (ALPN, RFC 7301): a client that offers only others is told so.
const PROTOCOLS: &[&[u8]] = &[b"http/1.1", b"http/1.0"];

/// The addresses whose connections are encrypted, with what clients are shown there.
#[derive(Debug, Default)]
pub(crate) struct Certificates(Vec<(ListenAddress, Arc<ServerConfig>)>);

impl Certificates {
    /// Reads the files that the settings name. Blocks.
    ///
    /// # Errors
    /// One cannot be read or does not hold what it should; in words for the operator.
    pub(crate) fn read(settings: &Settings) -> Result<Self, String> {
        let read = settings.secured.iter().map(|(address, tls)| {
            let files = ServerFiles {
                certificate: &tls.certificate,
                key: &tls.key,
                client_ca: tls.client_ca.as_deref(),
            };
            let config = files.read(PROTOCOLS);
            let config = config.map_err(|why| format!("[[listen]] {address}: {why}"))?;
            Ok((address.clone(), config))
        });
        read.collect::<Result<_, String>>().map(Self)
    }

    /// What clients are shown at this address; `None`: no TLS.
    pub(crate) fn of(&self, wanted: &ListenAddress) -> Option<Arc<ServerConfig>> {
        let found = self.0.iter().find(|(address, _)| address == wanted);
        found.map(|(_, config)| Arc::clone(config))
    }
}

/// The first address that is to begin with TLS or the header of a proxy, and that nobody passed: what
/// was passed would be served without.
pub(crate) fn missing(settings: &Settings, passed: &[&ListenAddress]) -> Option<ListenAddress> {
    let secured = settings.secured.iter().map(|(address, _)| address);
    let mut special = secured.chain(&settings.introduced);
    special.find(|own| !passed.contains(own)).cloned()
}

/// How connections at an address begin.
#[derive(Debug)]
pub(crate) struct Entrance {
    /// With a header of the PROXY protocol.
    pub(crate) is_introduced: bool,
    /// With TLS.
    pub(crate) tls: Option<Arc<ServerConfig>>,
}

/// Encrypts a client's connection. `None`: it could not be agreed on in the time that a request's
/// head may take, or the client has as many connections as it may; this one is of no use.
pub(crate) async fn secure(
    worker: &Rc<Worker>,
    stream: Stream,
    peer: &Peer,
    config: Arc<ServerConfig>,
) -> Option<Stream> {
    // Until it is counted as one of HTTP: those that only begin are limited too.
    let _counted = Counted::of(worker, peer)?;
    let patience = worker.snapshot().settings.timeouts.request_head;
    let agreeing = async { stream.secure(Box::new(Session::server(config)?)).await };
    let timer = worker.timers.timer();
    let agreed = timer.within_idle(patience, agreeing).await;
    let agreed = agreed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    if let Err(error) = &agreed {
        worker.stats.increment(Counter::TlsFailed);
        tracing::debug!("a client could not agree on TLS: {error}");
    }
    agreed.ok()
}
