//! The origin of the crash test: `/G/NUMBER` is answered with the current version of that object, which may be cached
//! for a day. The version is in the `ETag`; tag and first part of the path are what purges name.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use super::content;
use super::ledger::Ledger;
use crate::Outcome;

/// Groups of objects: tags, and the first parts of paths.
pub(super) const GROUPS: usize = 64;

/// Where an object is.
pub(super) fn path(number: usize) -> String {
    format!("/g{}/{number}", number % GROUPS)
}

/// A tag that one in [`GROUPS`] objects has; not the objects of one path.
pub(super) fn tag(number: usize) -> usize {
    number / GROUPS % GROUPS
}

/// Listens on a free port, a thread for each connection, as long as our process lives.
///
/// # Errors
/// When there is none.
pub(super) fn start(ledger: &Arc<Ledger>) -> Outcome<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let ledger = Arc::clone(ledger);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let ledger = Arc::clone(&ledger);
            // A connection that breaks is what this test is about.
            thread::spawn(move || serve(stream, &ledger).ok());
        }
    });
    Ok(address)
}

fn serve(stream: TcpStream, ledger: &Ledger) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default();
        let number = path.rsplit('/').next().and_then(|n| n.parse().ok());
        while line.trim_end() != "" {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
        }
        let found = number.and_then(|n| Some((n, ledger.current(n)?)));
        let Some((number, version)) = found else {
            stream
                .get_mut()
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
            continue;
        };
        let size = content::size(number);
        let mut answer = Vec::with_capacity(size + 256);
        write!(
            answer,
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=86400\r\nETag: \"{number}.{version}\"\r\n\
             Surrogate-Key: t{}\r\nContent-Length: {size}\r\n\r\n",
            tag(number),
        )?;
        ledger.filler.parts(number, version, 0, size, |part| {
            answer.extend_from_slice(part);
            Ok::<_, std::io::Error>(())
        })?;
        stream.get_mut().write_all(&answer)?;
    }
}
