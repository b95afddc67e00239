//! A small HTTP/1.1 client for probing servers: one request at a time on a kept connection.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Outcome;

const TIMEOUT: Duration = Duration::from_secs(20);

/// A kept connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    host: String,
}

/// A response, its body counted and thrown away.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
}

/// The head of a response.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Names in small letters.
    fields: Vec<(String, String)>,
}

/// Whoever looks at a response's body: its head, and the next bytes.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&Head, &[u8]);

impl Head {
    /// The first field of that name (in small letters).
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Client {
    /// Connects. Its `Host` is the address, as load generators write it: the same key in the cache.
    ///
    /// # Errors
    /// When nobody listens.
    pub(crate) fn connect(address: SocketAddr) -> Outcome<Self> {
        Self::connect_as(address, &address.to_string())
    }

    /// Connects, to ask for what `host` has.
    ///
    /// # Errors
    /// When nobody listens.
    pub(crate) fn connect_as(address: SocketAddr, host: &str) -> Outcome<Self> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self {
            stream: BufReader::with_capacity(32 << 10, stream),
            host: host.to_owned(),
        })
    }

    /// `GET path`.
    ///
    /// # Errors
    /// When the connection fails or ends before the response does.
    pub(crate) fn get(&mut self, path: &str) -> Outcome<Response> {
        let mut body_bytes = 0;
        let head = self.ask("GET", path, "", "", &mut |_, part| {
            body_bytes += part.len() as u64;
        })?;
        Ok(Response {
            status: head.status,
            body_bytes,
        })
    }

    /// A request with further `fields` (lines with their ends) and a body; the response's body goes to `sink`.
    ///
    /// # Errors
    /// When the connection fails or ends before the response does.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        fields: &str,
        body: &str,
        sink: Sink<'_>,
    ) -> Outcome<Head> {
        let length = match body.len() {
            0 => String::new(),
            length => format!("Content-Length: {length}\r\n"),
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{fields}{length}\r\n{body}",
            self.host
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let head = self.head()?;
        if head.field("transfer-encoding") == Some("chunked") {
            self.chunks(&head, sink)?;
        } else if let Some(length) = head.field("content-length") {
            let length = length.parse()?;
            self.pass(&head, length, sink)?;
        }
        Ok(head)
    }

    fn head(&mut self) -> Outcome<Head> {
        let status = self.line()?;
        let mut head = Head {
            status: status
                .split(' ')
                .nth(1)
                .and_then(|s| s.parse().ok())
                .ok_or("no status line")?,
            fields: Vec::new(),
        };
        while let Some((name, value)) = self.line()?.split_once(':') {
            let field = (name.to_ascii_lowercase(), value.trim().to_owned());
            head.fields.push(field);
        }
        Ok(head)
    }

    fn chunks(&mut self, head: &Head, sink: Sink<'_>) -> Outcome {
        loop {
            let line = self.line()?;
            let size = line.split(';').next().unwrap_or_default();
            let size = u64::from_str_radix(size.trim(), 16)?;
            self.pass(head, size, sink)?;
            self.line()?;
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn pass(&mut self, head: &Head, bytes: u64, sink: Sink<'_>) -> Outcome {
        let mut left = bytes;
        while left > 0 {
            let part = self.stream.fill_buf()?;
            let most = usize::try_from(left).unwrap_or(usize::MAX);
            let part = part.get(..most).unwrap_or(part);
            if part.is_empty() {
                let read = bytes - left;
                return Err(format!("the body ended after {read} of {bytes} bytes").into());
            }
            sink(head, part);
            let read = part.len();
            left -= read as u64;
            self.stream.consume(read);
        }
        Ok(())
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
