//! The origin of the memory test: `GET /NUMBER/SIZE` is answered with SIZE bytes that may be cached for a day.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::Outcome;

/// An origin with a thread for each connection; it lives as long as our process.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    requests: Arc<AtomicU64>,
}

impl Origin {
    /// Listens on a free port.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn start() -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let origin = Self {
            address: listener.local_addr()?,
            requests: Arc::default(),
        };
        let requests = Arc::clone(&origin.requests);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let requests = Arc::clone(&requests);
                // A connection that breaks shows at the client.
                thread::spawn(move || serve(stream, &requests).ok());
            }
        });
        Ok(origin)
    }

    /// How many requests have arrived.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

fn serve(stream: TcpStream, requests: &AtomicU64) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let filler = [b'x'; 64 << 10];
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default();
        let mut left: usize = path
            .rsplit('/')
            .next()
            .and_then(|size| size.parse().ok())
            .unwrap_or(0);
        while line.trim_end() != "" {
            line.clear();
            stream.read_line(&mut line)?;
        }
        requests.fetch_add(1, Ordering::Relaxed);
        let head = format!(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=86400\r\nContent-Length: {left}\r\n\r\n"
        );
        stream.get_mut().write_all(head.as_bytes())?;
        while left > 0 {
            let part = filler.get(..left.min(filler.len())).unwrap_or_default();
            stream.get_mut().write_all(part)?;
            left -= part.len();
        }
    }
}
