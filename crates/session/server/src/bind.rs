//! Listening sockets. What is set on one is inherited by every connection that it accepts, so that
//! accepting costs one system call.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mio::net::{TcpListener, UnixListener};
use mio::{Interest, Registry, Token};
use socket2::{Domain, SockAddr, SockRef, Socket, TcpKeepalive, Type};

use crate::address::ListenAddress;
use crate::options::{Inherited, Listen};
use crate::wire;

/// When a silent peer is first asked whether it is still there, how often it is asked again, and
/// how often it may leave that unanswered.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMES: u32 = 3;

/// A socket that listens.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The file of a Unix socket that was made here. It goes when this does, unless somebody else's
/// has taken its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    number: (u64, u64),
}

/// What came of binding: the socket, its address with the real port, and its file.
pub(crate) type Bound = (Listener, ListenAddress, Option<SocketFile>);

/// Binds one socket and lets it listen; nothing is accepted.
pub(crate) fn bind<B>(listen: &mut Listen<B>) -> io::Result<Bound> {
    match (listen.inherited.take(), &listen.address) {
        (Some(Inherited::Tcp(socket)), _) => tcp(socket),
        (Some(Inherited::Unix(socket)), address) => {
            socket.set_nonblocking(true)?;
            let listener = Listener::Unix(UnixListener::from_std(socket));
            Ok((listener, address.clone(), None))
        }
        (None, ListenAddress::Tcp(address)) => tcp(bind_tcp(*address, listen.backlog)?),
        (None, ListenAddress::Unix(path)) => bind_unix(path, listen),
    }
}

fn tcp(socket: std::net::TcpListener) -> io::Result<Bound> {
    socket.set_nonblocking(true)?;
    let options = SockRef::from(&socket);
    options.set_tcp_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_EVERY)
        .with_retries(KEEPALIVE_TIMES);
    options.set_tcp_keepalive(&keepalive)?;
    let address = ListenAddress::Tcp(socket.local_addr()?);
    let listener = Listener::Tcp(TcpListener::from_std(socket));
    Ok((listener, address, None))
}

fn bind_tcp(address: SocketAddr, backlog: u32) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

fn bind_unix<B>(path: &Path, listen: &Listen<B>) -> io::Result<Bound> {
    match UnixStream::connect(path) {
        Ok(_) => return Err(ErrorKind::AddrInUse.into()),
        // Left by a process that was killed.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused && is_socket(path) => {
            std::fs::remove_file(path)?;
        }
        Err(_) => {}
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let made = std::fs::symlink_metadata(path)?;
    let file = SocketFile {
        path: path.to_owned(),
        number: (made.dev(), made.ino()),
    };
    // Before anybody can connect.
    if let Some(mode) = listen.unix_mode {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    }
    socket.listen(i32::try_from(listen.backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    let listener = Listener::Unix(UnixListener::from_std(socket.into()));
    Ok((listener, listen.address.clone(), Some(file)))
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let now = std::fs::symlink_metadata(&self.path);
        if now.is_ok_and(|now| (now.dev(), now.ino()) == self.number) {
            // What cannot be removed is found stale by whoever comes next.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Listener {
    /// Enters an event loop.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => registry.register(listener, token, Interest::READABLE),
            Self::Unix(listener) => registry.register(listener, token, Interest::READABLE),
        }
    }

    /// Takes a connection that waits.
    pub(crate) fn accept(&self) -> io::Result<wire::Socket> {
        Ok(match self {
            Self::Tcp(listener) => wire::Socket::Tcp(listener.accept()?.0),
            Self::Unix(listener) => wire::Socket::Unix(listener.accept()?.0),
        })
    }
}

/// Says to a peer that it cannot stay; whether it hears it is its affair.
pub(crate) fn refuse(socket: &wire::Socket) {
    let text = b"ERROR Too many open connections\r\n";
    let _ = rustix::net::send(socket.as_fd(), text, rustix::net::SendFlags::NOSIGNAL);
}
