//! A small HTTP/1.1 client for probing servers: one request at a time on a kept connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Outcome;

const TIMEOUT: Duration = Duration::from_secs(20);

/// A kept connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    /// As load generators write it: the same key in the cache.
    host: String,
}

/// A response, its body counted and thrown away.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub(crate) fn connect(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self {
            stream: BufReader::with_capacity(8 << 10, stream),
            host: address.to_string(),
        })
    }

    /// `GET path`.
    ///
    /// # Errors
    /// When the connection fails or ends before the response does.
    pub(crate) fn get(&mut self, path: &str) -> Outcome<Response> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.line()?;
        let status = status
            .split(' ')
            .nth(1)
            .and_then(|s| s.parse().ok())
            .ok_or("no status line")?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let field = self.line()?.to_ascii_lowercase();
            match field.split_once(':') {
                None => break,
                Some(("content-length", value)) => length = value.trim().parse()?,
                Some(("transfer-encoding", value)) => chunked = value.trim() == "chunked",
                Some(_) => {}
            }
        }
        let body_bytes = if chunked {
            self.chunks()?
        } else {
            self.skip(length)?
        };
        Ok(Response { status, body_bytes })
    }

    fn chunks(&mut self) -> Outcome<u64> {
        let mut total = 0;
        loop {
            let size = u64::from_str_radix(
                self.line()?.split(';').next().unwrap_or_default().trim(),
                16,
            )?;
            total += self.skip(size)?;
            self.line()?;
            if size == 0 {
                return Ok(total);
            }
        }
    }

    fn skip(&mut self, bytes: u64) -> Outcome<u64> {
        let read = std::io::copy(&mut self.stream.by_ref().take(bytes), &mut std::io::sink())?;
        if read == bytes {
            Ok(read)
        } else {
            Err(format!("the body ended after {read} of {bytes} bytes").into())
        }
    }

    /// A line without its end; an empty line is one without a colon.
    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err("the connection ended early".into());
        }
        Ok(line.trim_end().to_owned())
    }
}
