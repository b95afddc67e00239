//! One connection to an edge: opened, upgraded, and, where it is for requests, tied to a
//! connection to the local server when the first one comes.

use std::fmt;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use forebay_http::head::{HeadLimits, ResponseHead};
use forebay_stream::Stream;
use forebay_tls::Session;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Join;
use crate::address::EdgeAddress;
use crate::protocol::{self, Role, Upgrade};
use crate::relay::{self, Scratch};

/// From the attempt to reach an edge to its answer. A wrong token is answered late.
const PATIENCE: Duration = Duration::from_secs(10);
/// Of the answer's head.
const HEAD_BYTES: usize = 16 << 10;
/// After so long without a byte the system asks whether an edge is there (TCP keep-alive).
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Why an edge could not be joined.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It could not be reached, or did not answer.
    Unreachable(io::Error),
    /// It answered with this status.
    Status(u16),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) => write!(f, "it cannot be reached: {error}"),
            Self::Status(403) => f.write_str(
                "it refuses the token, or does not let anybody join this pool (403): \
                 compare --pool and --token with join_tokens there",
            ),
            Self::Status(status) => {
                write!(f, "it answers with status {status} where 101 was expected")
            }
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error)
    }
}

/// A connection that has left HTTP, and what was read behind the answer.
pub(crate) struct Upgraded {
    pub(crate) stream: Stream,
    pub(crate) read: Vec<u8>,
}

/// Opens a connection to `edge` and upgrades it.
pub(crate) async fn upgrade(
    edge: &EdgeAddress,
    join: &Join,
    role: Role,
) -> Result<Upgraded, Refused> {
    let upgrading = async {
        let mut stream = connect(edge, join).await?;
        let upgrade = Upgrade {
            token: &join.token,
            pool: &join.pool,
            name: &join.name,
            most: join.most,
        };
        stream
            .write_all(protocol::request(&edge.host_sent(), upgrade, role).as_bytes())
            .await?;
        let (status, read) = answer(&mut stream).await?;
        match status {
            101 => Ok(Upgraded { stream, read }),
            status => Err(Refused::Status(status)),
        }
    };
    let late = |_| Refused::Unreachable(io::ErrorKind::TimedOut.into());
    timeout(PATIENCE, upgrading).await.map_err(late)?
}

async fn connect(edge: &EdgeAddress, join: &Join) -> io::Result<Stream> {
    let stream = TcpStream::connect((edge.host.as_str(), edge.port)).await?;
    // Only latency suffers without it.
    let _ = stream.set_nodelay(true);
    if let Err(error) = socket_keep_alive(&stream) {
        tracing::debug!("edge {edge}: no TCP keep-alive: {error}");
    }
    match (&edge.tls_name, &join.tls) {
        (Some(name), Some(config)) => {
            let session = Session::client(Arc::clone(config), name.clone())?;
            Stream::from(stream).secure(Box::new(session)).await
        }
        (Some(_), None) => Err(io::Error::other("nobody was said to be trusted")),
        (None, _) => Ok(stream.into()),
    }
}

/// Half-open connections are noticed by it where no requests come.
fn socket_keep_alive(stream: &TcpStream) -> rustix::io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
    sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE / 6)?;
    sockopt::set_tcp_keepcnt(stream, 3)
}

async fn answer(stream: &mut Stream) -> io::Result<(u16, Vec<u8>)> {
    let limits = HeadLimits {
        line_bytes: HEAD_BYTES,
        head_bytes: HEAD_BYTES,
        fields: 100,
    };
    // Mostly all of the answer, and of the request behind it.
    let (mut head, mut read) = (ResponseHead::default(), Vec::new());
    let mut piece = [0; 1024];
    loop {
        match head.parse(&read, &limits) {
            Ok(Some(length)) => {
                drop(read.drain(..length));
                return Ok((head.status, read));
            }
            Ok(None) => {}
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.message())),
        }
        match stream.read(&mut piece).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read.extend_from_slice(&piece[..more]),
        }
    }
}

/// How a connection for requests ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The edge did not take it.
    Refused(Refused),
    /// The local server does not accept connections.
    LocalGone(io::Error),
    /// As connections do; `used`: it has carried something.
    Closed {
        /// Whether a request came.
        used: bool,
    },
}

/// A connection for requests, from its opening to its end. The local server is connected to when
/// the first bytes come: one that serves a single connection at a time is not held by idle ones.
pub(crate) async fn carry(
    edge: Rc<EdgeAddress>,
    join: Rc<Join>,
    scratch: Scratch,
    opened: impl FnOnce(),
) -> Ended {
    let Upgraded { mut stream, read } = match upgrade(&edge, &join, Role::Requests).await {
        Ok(upgraded) => upgraded,
        Err(refused) => return Ended::Refused(refused),
    };
    opened();
    let first = match read.is_empty() {
        true => relay::read_first(&mut stream, &scratch).await,
        false => Ok(read),
    };
    let Ok(first) = first else {
        return Ended::Closed { used: false };
    };
    let local = match join.local.connect().await {
        Ok(local) => local,
        Err(error) => return Ended::LocalGone(error),
    };
    // How it ended is seen by who waits for the answer.
    let _ = relay::run(stream, local, first, &scratch).await;
    Ended::Closed { used: true }
}
