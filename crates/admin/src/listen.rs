//! Listening on an address, TCP or Unix, and what is accepted there.

use crate::access::{Address, Peer};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Whoever may write to the file may command the server: owner and group.
const SOCKET_MODE: u32 = 0o660;

/// A listening socket; of a Unix socket the file goes with it.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        _file: SocketFile,
    },
}

/// A connection that was accepted.
pub(crate) enum Accepted {
    Tcp(TcpStream, Peer),
    Unix(UnixStream),
}

impl Listener {
    /// Binds; to be called within a runtime. Gives the address with the port chosen.
    ///
    /// # Errors
    /// When the address cannot be listened on, or is in use.
    pub(crate) fn bind(address: &Address) -> io::Result<(Self, Address)> {
        match address {
            Address::Tcp(address) => {
                let listener = std::net::TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let bound = Address::Tcp(listener.local_addr()?);
                Ok((Self::Tcp(TcpListener::from_std(listener)?), bound))
            }
            Address::Unix(path) => {
                make_way(path)?;
                let listener = UnixListener::bind(path)?;
                // Until then the usual umask leaves writing to the owner alone.
                let _file = SocketFile::of(path)?;
                std::fs::set_permissions(path, PermissionsExt::from_mode(SOCKET_MODE))?;
                Ok((Self::Unix { listener, _file }, address.clone()))
            }
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                Ok(Accepted::Tcp(stream, Peer::of(address)))
            }
            Self::Unix { listener, .. } => Ok(Accepted::Unix(listener.accept().await?.0)),
        }
    }
}

impl Accepted {
    /// Who connected.
    pub(crate) fn peer(&self) -> Peer {
        match self {
            Self::Tcp(_, peer) => *peer,
            Self::Unix(_) => Peer::Socket,
        }
    }

    /// Says `answer` without waiting: a new socket's send buffer takes it whole.
    pub(crate) fn refuse(self, answer: &[u8]) {
        // The runtime does not know yet that the socket can be written, the system does.
        let _ = match self {
            Self::Tcp(stream, _) => stream.into_std().and_then(|mut to| to.write_all(answer)),
            Self::Unix(stream) => stream.into_std().and_then(|mut to| to.write_all(answer)),
        };
    }
}

/// Removes a socket that nobody listens on any more, as a crash leaves it.
fn make_way(path: &Path) -> io::Result<()> {
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the file exists and is not a socket",
        ));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        // Somebody listens, or it cannot be told.
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}

/// The file of a Unix socket; removed when dropped, if it is still ours.
pub(crate) struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            inode: inode(path)?,
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if inode(&self.path).is_ok_and(|now| now == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let found = std::fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}
