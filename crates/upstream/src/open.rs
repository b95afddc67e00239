//! How a new connection to a server comes about: the one place where that is done.
//!
//! ```text
//!  address ─▶ socket ─▶ PROXY protocol ─▶ TLS
//! ```

use std::io::{self, IoSlice};
use std::time::Duration;

use forebay_config::settings::{Pool as PoolSettings, ProxyProtocol, ServerAddress};
use forebay_preface::{Ends, Version};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout_at};

use crate::acquire::ConnectError;
use crate::pool::Pool;
use crate::secure::{Secure, number};
use crate::server::{Server, ServerKind};
use forebay_stream::Stream;

/// How connections of a pool come about, as a number made of the settings that say it. One of
/// another number was opened before a reload that changed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way(u64);

impl Way {
    /// Of these settings, and of what their files hold.
    pub(crate) fn of(settings: &PoolSettings, secure: Option<&Secure>) -> Self {
        let PoolSettings {
            protocol,
            proxy_protocol,
            tls,
            ..
        } = settings;
        let said = format!("{protocol:?} {proxy_protocol:?} {tls:?}");
        Self(number(&(said, secure.map(Secure::files))))
    }
}

/// Opens a connection as one for a request is opened, for who asks on nobody's behalf.
///
/// # Errors
/// It does not come about within `limit` for each of the server's addresses.
pub async fn connect(
    pool: &Pool,
    server: &Server,
    limit: Duration,
) -> Result<Stream, ConnectError> {
    open(pool, server, limit, None).await
}

/// Opens a connection: of several addresses of the server each is the first in its turn, the others
/// are tried after it, each for at most `limit`. `ends` is
/// the client's connection, of which the server is told where the pool's settings say so.
pub(crate) async fn open(
    pool: &Pool,
    server: &Server,
    limit: Duration,
    ends: Option<&Ends>,
) -> Result<Stream, ConnectError> {
    match server.kind() {
        ServerKind::Listed(ServerAddress::Unix(path)) => {
            let until = Instant::now() + limit;
            let stream = within(until, UnixStream::connect(path)).await?;
            prepare(pool, server, stream.into(), ends, until).await
        }
        ServerKind::Listed(ServerAddress::Tcp { .. } | ServerAddress::Srv(_)) => {
            open_tcp(pool, server, limit, ends).await
        }
        // It had connections when it was chosen; they are gone.
        ServerKind::DialedIn(_) => Err(ConnectError::Unreachable),
    }
}

async fn open_tcp(
    pool: &Pool,
    server: &Server,
    limit: Duration,
    ends: Option<&Ends>,
) -> Result<Stream, ConnectError> {
    let mut error = ConnectError::Unresolved;
    for address in server.addresses.in_turn(crate::unix_ms()) {
        let until = Instant::now() + limit;
        let prepared = match within(until, TcpStream::connect(address.at)).await {
            Ok(stream) => {
                // Only latency suffers without it.
                let _ = stream.set_nodelay(true);
                prepare(pool, server, stream.into(), ends, until).await
            }
            Err(failure) => Err(failure),
        };
        match prepared {
            Ok(stream) => {
                address.reached();
                return Ok(stream);
            }
            Err(failure) => {
                address.failed(crate::unix_ms());
                error = failure;
            }
        }
    }
    Err(error)
}

/// What comes before the first request.
async fn prepare(
    pool: &Pool,
    server: &Server,
    mut stream: Stream,
    ends: Option<&Ends>,
    until: Instant,
) -> Result<Stream, ConnectError> {
    if let Some(version) = pool.settings.proxy_protocol {
        within(until, introduce(&mut stream, version, ends)).await?;
    }
    let Some(secure) = &pool.secure else {
        return Ok(stream);
    };
    let shaken = timeout_at(until, secure.shake(stream, server.host())).await;
    let shaken = shaken.map_err(|_| ConnectError::TimedOut)?;
    shaken.map_err(|error| {
        tracing::warn!(pool = %pool.name, server = %server.label(), "no TLS with the server: {error}");
        ConnectError::Insecure
    })
}

/// Says who the client is.
async fn introduce(
    stream: &mut Stream,
    version: ProxyProtocol,
    ends: Option<&Ends>,
) -> io::Result<()> {
    let version = match version {
        ProxyProtocol::V1 => Version::V1,
        ProxyProtocol::V2 => Version::V2,
    };
    let mut header = Vec::new();
    forebay_preface::write(version, ends, &mut header);
    let mut rest = &header[..];
    while !rest.is_empty() {
        let slices = [IoSlice::new(rest)];
        let sent = std::future::poll_fn(|cx| stream.poll_write(cx, &slices)).await?;
        rest = &rest[sent..];
    }
    Ok(())
}

async fn within<T>(
    until: Instant,
    connecting: impl Future<Output = io::Result<T>>,
) -> Result<T, ConnectError> {
    match timeout_at(until, connecting).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(_)) => Err(ConnectError::Unreachable),
        Err(_) => Err(ConnectError::TimedOut),
    }
}
