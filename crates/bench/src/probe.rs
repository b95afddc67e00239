//! A look at the server before the load: one connection to each place, so that
//! a port where nobody listens or a wrong certificate is one clear error.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use forebay_engine::{Address, Endpoint, Endpoints, Tls};
use rustls::ClientConnection;

/// # Errors
/// Why a place cannot be used, in words.
pub(crate) fn all(endpoints: &Endpoints, timeout: Duration) -> Result<(), String> {
    for endpoint in endpoints.all() {
        one(&endpoint, timeout).map_err(|error| words(&endpoint.name, &error))?;
    }
    Ok(())
}

fn one(endpoint: &Endpoint, timeout: Duration) -> io::Result<()> {
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in &endpoint.addresses {
        let tried = match address {
            Address::Unix(path) => UnixStream::connect(path).map(drop),
            Address::Tcp(address) => {
                TcpStream::connect_timeout(address, timeout).and_then(|stream| {
                    endpoint
                        .tls
                        .as_ref()
                        .map_or(Ok(()), |tls| handshake(stream, tls, timeout))
                })
            }
        };
        match tried {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn handshake(mut stream: TcpStream, tls: &Tls, timeout: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let mut connection =
        ClientConnection::new(tls.config.clone(), tls.name.clone()).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(())
}

fn words(place: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => format!("nobody listens on {place} (connection refused)"),
        ErrorKind::NotFound => format!("there is no socket {place}"),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => format!("{place} does not answer"),
        ErrorKind::InvalidData => format!("TLS with {place} failed: {error}"),
        _ => format!("no connection to {place}: {error}"),
    }
}
