//! Listening sockets: bound by the control thread, served by the workers.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;

use forebay_config::settings::ListenAddress;
use forebay_stream::Stream;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// A bound socket that listens, not yet part of an event loop.
#[derive(Debug)]
pub(crate) struct Listener {
    /// As configured; of an inherited socket its address.
    pub(crate) configured: ListenAddress,
    /// As configured or inherited, with the real port.
    pub(crate) address: ListenAddress,
    socket: Bound,
}

#[derive(Debug)]
enum Bound {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// A listener in an event loop.
pub(crate) enum AsyncListener {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

/// A connection, and who it is from.
pub(crate) type Accepted = (Stream, Option<SocketAddr>);

/// Connections that may wait to be accepted; the kernel's own limit cuts it down.
const BACKLOG: i32 = 65_535;

/// Binds `address` once for each worker, so that the kernel spreads connections. A Unix socket's
/// file gets the permissions `mode`.
pub(crate) fn bind(
    address: &ListenAddress,
    mode: u32,
    workers: usize,
) -> io::Result<Vec<Listener>> {
    match address {
        ListenAddress::Tcp(wanted) => {
            let first = bind_tcp(*wanted)?;
            let real = first.local_addr()?;
            let mut sockets = vec![first];
            for _ in 1..workers {
                sockets.push(bind_tcp(real)?);
            }
            let listener = |socket| Listener {
                configured: address.clone(),
                address: ListenAddress::Tcp(real),
                socket: Bound::Tcp(socket),
            };
            Ok(sockets.into_iter().map(listener).collect())
        }
        ListenAddress::Unix(path) => share_unix(&bind_unix(path, mode)?, address, workers),
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    // Inherited by every connection accepted here.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Whether another process listens on `address` already, which `SO_REUSEPORT` would hide.
pub(crate) fn is_taken(address: &ListenAddress) -> bool {
    let ListenAddress::Tcp(address) = address else {
        return false;
    };
    if address.port() == 0 {
        return false;
    }
    let probe = || -> io::Result<()> {
        let socket = Socket::new(
            Domain::for_address(*address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_reuse_address(true)?;
        socket.bind(&(*address).into())
    };
    matches!(probe(), Err(error) if error.kind() == io::ErrorKind::AddrInUse)
}

fn bind_unix(path: &Path, mode: u32) -> io::Result<std::os::unix::net::UnixListener> {
    // A socket that nobody listens on is left from a process that was killed.
    if std::os::unix::net::UnixStream::connect(path)
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        && std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
    {
        std::fs::remove_file(path)?;
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    // Before anybody can connect.
    set_mode(path, mode)?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Says who may connect by the file of a Unix socket.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

fn share_unix(
    listener: &std::os::unix::net::UnixListener,
    address: &ListenAddress,
    workers: usize,
) -> io::Result<Vec<Listener>> {
    let clone = |_| {
        let socket = Bound::Unix(listener.try_clone()?);
        Ok(Listener {
            configured: address.clone(),
            address: address.clone(),
            socket,
        })
    };
    (0..workers).map(clone).collect()
}

/// Shares an inherited TCP socket between the workers.
pub(crate) fn share_tcp(
    listener: &std::net::TcpListener,
    workers: usize,
) -> io::Result<Vec<Listener>> {
    listener.set_nonblocking(true)?;
    socket2::SockRef::from(&listener.as_fd()).set_tcp_nodelay(true)?;
    let address = ListenAddress::Tcp(listener.local_addr()?);
    let clone = |_| {
        let socket = Bound::Tcp(listener.try_clone()?);
        Ok(Listener {
            configured: address.clone(),
            address: address.clone(),
            socket,
        })
    };
    (0..workers).map(clone).collect()
}

/// Shares an inherited Unix socket between the workers.
pub(crate) fn share_inherited_unix(
    listener: &std::os::unix::net::UnixListener,
    workers: usize,
) -> io::Result<Vec<Listener>> {
    listener.set_nonblocking(true)?;
    let path = listener
        .local_addr()?
        .as_pathname()
        .map(Path::to_path_buf)
        .unwrap_or_default();
    share_unix(listener, &ListenAddress::Unix(path), workers)
}

impl Listener {
    /// Enters the current event loop.
    pub(crate) fn into_async(self) -> io::Result<AsyncListener> {
        Ok(match self.socket {
            Bound::Tcp(socket) => AsyncListener::Tcp(tokio::net::TcpListener::from_std(socket)?),
            Bound::Unix(socket) => AsyncListener::Unix(tokio::net::UnixListener::from_std(socket)?),
        })
    }
}

impl AsyncListener {
    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((Stream::from(stream), Some(peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Stream::from(stream), None))
            }
        }
    }
}
