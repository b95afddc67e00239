//! A scripted client: sends exact bytes, reads strictly.

use std::io::Write;
use std::net::Shutdown;
use std::sync::Arc;

use crate::head::Framing;
use crate::response::Response;
use crate::stream::{Address, Stream};
use crate::wire::{Broken, Wire};

/// The host that requests name unless a test says otherwise.
pub const HOST: &str = "test.example";

/// A connection to the program.
#[derive(Debug)]
pub struct Client {
    stream: Arc<Stream>,
    wire: Wire,
}

/// A response that broke off: what had come, and why.
pub type Received = Result<Response, (Option<Box<Response>>, Broken)>;

impl Client {
    /// Connects.
    ///
    /// # Panics
    /// When nobody listens.
    #[track_caller]
    pub fn connect(address: &Address) -> Self {
        let stream =
            Stream::connect(address).unwrap_or_else(|e| panic!("cannot connect to {address}: {e}"));
        let stream = Arc::new(stream);
        Self {
            wire: Wire::new(stream.clone()),
            stream,
        }
    }

    /// Connects with small kernel buffers.
    #[track_caller]
    pub fn connect_small(address: &Address) -> Self {
        let client = Self::connect(address);
        client.stream.small_buffers();
        client
    }

    /// Sends exactly `bytes`.
    ///
    /// # Panics
    /// When the peer does not take them.
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        if let Err(e) = (&*self.stream).write_all(bytes.as_ref()) {
            panic!("cannot send: {e}");
        }
        self
    }

    /// Sends what the peer is willing to take; it may have closed already.
    pub fn send_anyway(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let _ = (&*self.stream).write_all(bytes.as_ref());
        self
    }

    /// Sends as much as goes into the kernel's and the peer's buffers within
    /// `patience` of standing still; returns how much that was.
    pub fn send_until_blocked(&mut self, bytes: &[u8], patience: std::time::Duration) -> usize {
        let Stream::Tcp(stream) = &*self.stream else {
            panic!("only over TCP")
        };
        stream.set_write_timeout(Some(patience)).unwrap();
        let mut sent = 0;
        while sent < bytes.len() {
            match (&*self.stream).write(&bytes[sent..]) {
                Ok(n) => sent += n,
                Err(_) => break,
            }
        }
        stream.set_write_timeout(Some(crate::DEADLINE)).unwrap();
        sent
    }

    /// Sends every byte in a segment of its own.
    #[track_caller]
    pub fn send_byte_by_byte(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        for byte in bytes.as_ref() {
            self.send([*byte]);
        }
        self
    }

    /// Sends a request; `fields` are whole lines without their ends.
    #[track_caller]
    pub fn send_request(
        &mut self,
        method: &str,
        target: &str,
        fields: &[&str],
        body: &str,
    ) -> &mut Self {
        let mut text = format!("{method} {target} HTTP/1.1\r\n");
        if !fields
            .iter()
            .any(|f| f.to_ascii_lowercase().starts_with("host:"))
        {
            text.push_str(&format!("Host: {HOST}\r\n"));
        }
        for field in fields {
            text.push_str(field);
            text.push_str("\r\n");
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.send(text + "\r\n" + body)
    }

    /// One GET.
    #[track_caller]
    pub fn get(&mut self, target: &str) -> Response {
        self.get_with(target, &[])
    }

    /// One GET with more fields.
    #[track_caller]
    pub fn get_with(&mut self, target: &str, fields: &[&str]) -> Response {
        self.exchange("GET", target, fields, "")
    }

    /// One exchange.
    #[track_caller]
    pub fn exchange(
        &mut self,
        method: &str,
        target: &str,
        fields: &[&str],
        body: &str,
    ) -> Response {
        self.send_request(method, target, fields, body);
        self.read_for(method)
    }

    /// The response to a GET.
    #[track_caller]
    pub fn read(&mut self) -> Response {
        self.read_for("GET")
    }

    /// The response to a request with `method`.
    ///
    /// # Panics
    /// When it is malformed, incomplete or late.
    #[track_caller]
    pub fn read_for(&mut self, method: &str) -> Response {
        match self.try_read_for(method) {
            Ok(response) => response,
            Err((partial, why)) => panic!("{why:?}; had received {partial:#?}"),
        }
    }

    /// The response to a GET, or what came of it.
    pub fn try_read(&mut self) -> Received {
        self.try_read_for("GET")
    }

    /// The response to a request with `method`, or what came of it.
    pub fn try_read_for(&mut self, method: &str) -> Received {
        let mut response = self.try_read_head(method).map_err(|why| (None, why))?;
        loop {
            match self.piece(&mut response) {
                Ok(Some(piece)) => response.body.extend_from_slice(&piece),
                Ok(None) => return Ok(response),
                Err(why) => return Err((Some(Box::new(response)), why)),
            }
        }
    }

    /// A final response's head, its body left on the wire; interim responses
    /// before it are collected.
    #[track_caller]
    pub fn read_head(&mut self) -> Response {
        self.try_read_head("GET")
            .unwrap_or_else(|why| panic!("no response head: {why:?}"))
    }

    fn try_read_head(&mut self, method: &str) -> Result<Response, Broken> {
        let mut interim = Vec::new();
        loop {
            let response = self.any_head(method)?;
            if (100..200).contains(&response.status) && response.status != 101 {
                interim.push((response.status, response.fields));
                continue;
            }
            return Ok(Response {
                interim,
                ..response
            });
        }
    }

    /// The next head, interim or final.
    #[track_caller]
    pub fn read_any_head(&mut self) -> Response {
        self.any_head("GET")
            .unwrap_or_else(|why| panic!("no response head: {why:?}"))
    }

    fn any_head(&mut self, method: &str) -> Result<Response, Broken> {
        Response::new(self.wire.head()?, method).map_err(Broken::Malformed)
    }

    fn piece(&mut self, response: &mut Response) -> Result<Option<Vec<u8>>, Broken> {
        let mut framing = response.framing;
        let piece = self.wire.piece(&mut framing, &mut response.trailers);
        // An ended body stays told apart from one that never was.
        if !matches!(
            (response.framing, framing),
            (Framing::Chunked(_), Framing::Empty)
        ) {
            response.framing = framing;
        }
        piece
    }

    /// Reads on until at least `count` bytes of the body have come.
    #[track_caller]
    pub fn read_body(&mut self, response: &mut Response, count: usize) {
        while response.body.len() < count {
            match self.piece(response) {
                Ok(Some(piece)) => response.body.extend_from_slice(&piece),
                other => panic!("{other:?} after {} of {count} bytes", response.body.len()),
            }
        }
    }

    /// Reads the rest of the body.
    pub fn read_rest(&mut self, response: &mut Response) -> Result<(), Broken> {
        while let Some(piece) = self.piece(response)? {
            response.body.extend_from_slice(&piece);
        }
        Ok(())
    }

    /// Exactly `count` raw bytes, for tunnels.
    #[track_caller]
    pub fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        while self.wire.left().len() < count {
            if let Err(why) = self.wire.fill() {
                panic!(
                    "{why:?} after {:?}",
                    String::from_utf8_lossy(self.wire.left())
                );
            }
        }
        self.wire.take(count)
    }

    /// Everything until the peer closes, and whether it closed cleanly.
    pub fn read_to_end(&mut self) -> (Vec<u8>, Broken) {
        loop {
            if let Err(why) = self.wire.fill() {
                return (self.wire.take(self.wire.left().len()), why);
            }
        }
    }

    /// Expects that the peer closes without another byte.
    #[track_caller]
    pub fn expect_close(&mut self) {
        let (bytes, why) = self.read_to_end();
        assert!(
            bytes.is_empty(),
            "more bytes before the close: {:?}",
            String::from_utf8_lossy(&bytes)
        );
        assert!(
            matches!(why, Broken::Closed | Broken::Reset),
            "not closed: {why:?}"
        );
    }

    /// Says that nothing more will be sent.
    pub fn finish(&mut self) -> &mut Self {
        self.stream.shutdown(Shutdown::Write);
        self
    }

    /// Leaves with RST.
    pub fn reset(self) {
        self.stream.reset_on_close();
    }

    /// The port this connection comes from.
    pub fn local_port(&self) -> u16 {
        self.stream.local_port()
    }

    /// How long one read may wait.
    pub fn set_read_deadline(&mut self, deadline: std::time::Duration) {
        self.stream.set_read_deadline(deadline).unwrap();
    }
}
