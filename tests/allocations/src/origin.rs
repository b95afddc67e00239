//! An origin: `GET /BYTES` is answered with so many bytes that may be cached
//! for an hour; `GET /BYTES/vary` says that they vary by Accept-Encoding.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A thread for each connection; it lives as long as the process.
#[derive(Debug)]
pub struct Origin {
    /// Where it listens.
    pub address: SocketAddr,
    requests: Arc<AtomicU64>,
}

impl Origin {
    /// Listens on a free port of the loopback.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = Self {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
        };
        let requests = Arc::clone(&origin.requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let requests = Arc::clone(&requests);
                // A connection that breaks shows at the client.
                std::thread::spawn(move || serve(stream, &requests).ok());
            }
        });
        origin
    }

    /// Requests answered so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(SeqCst)
    }
}

fn serve(stream: TcpStream, requests: &AtomicU64) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        while line.trim_end() != "" {
            line.clear();
            stream.read_line(&mut line)?;
        }
        requests.fetch_add(1, SeqCst);
        stream.get_mut().write_all(&response(&path))?;
    }
}

fn response(path: &str) -> Vec<u8> {
    let bytes = path
        .split('/')
        .nth(1)
        .and_then(|bytes| bytes.parse().ok())
        .unwrap_or(0);
    let vary = if path.ends_with("/vary") {
        "Vary: Accept-Encoding\r\n"
    } else {
        ""
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Type: text/html\r\nETag: \"one\"\r\n\
         Last-Modified: Sun, 13 Sep 2020 12:10:00 GMT\r\n{vary}Content-Length: {bytes}\r\n\r\n"
    );
    let mut response = head.into_bytes();
    response.resize(response.len() + bytes, b'x');
    response
}
