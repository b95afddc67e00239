//! CONNECT: bytes both ways, which nobody here can read.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::upstream;
use super::wire::Wire;

const IDLE: Duration = Duration::from_secs(600);

/// Tunnels to a host until one side has ended and the other too.
pub(super) fn run(mut client: Wire, host: &str, port: u16) {
    let Ok(server) = upstream::connect(host, port) else {
        let _ = client.send(b"HTTP/1.1 502 \r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return;
    };
    if client
        .send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .is_ok()
        && let Some((socket, early)) = client.into_socket()
    {
        // An error ends both directions; there is nobody to tell.
        let _ = both(socket, &early, server);
    }
}

fn both(client: TcpStream, early: &[u8], mut server: TcpStream) -> io::Result<()> {
    server.set_read_timeout(Some(IDLE))?;
    server.write_all(early)?;
    let (from_server, to_client) = (server.try_clone()?, client.try_clone()?);
    let back = std::thread::Builder::new()
        .name("tunnel".into())
        .spawn(move || one(from_server, to_client))?;
    one(client, server);
    let _ = back.join();
    Ok(())
}

fn one(mut from: TcpStream, mut to: TcpStream) {
    let whole = io::copy(&mut from, &mut to).is_ok();
    let _ = to.shutdown(Shutdown::Write);
    if !whole {
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
