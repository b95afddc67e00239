//! The origin's end of one connection, and the requests that come by it.

use std::io::Write;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};

use crate::DEADLINE;
use crate::head::{Fields, Framing, stated_framing};
use crate::stream::Stream;
use crate::wire::{Broken, Wire};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`
    pub method: String,
    /// `/path?query`
    pub target: String,
    /// In the order of the wire.
    pub fields: Fields,
    /// The content, chunking removed.
    pub body: Vec<u8>,
    /// The trailer section.
    pub trailers: Fields,
    /// The exact bytes.
    pub raw: Vec<u8>,
    /// Which connection of this origin it came by, from 0.
    pub connection: usize,
    /// Which request of this origin it is, from 0.
    pub number: usize,
}

impl Request {
    /// The first value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }
}

/// The origin's end of one connection.
#[derive(Debug)]
pub struct Connection {
    stream: Arc<Stream>,
    wire: Wire,
    /// Which connection this is, from 0.
    pub number: usize,
    open: bool,
    shared: Arc<Shared>,
}

/// What an origin and its connections have in common.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) requests: Mutex<Vec<Request>>,
    pub(crate) arrived: Condvar,
    pub(crate) connections: AtomicUsize,
    pub(crate) live: Mutex<Vec<Arc<Stream>>>,
    pub(crate) stray: Mutex<Vec<u8>>,
    pub(crate) stopped: AtomicBool,
    /// Why requests could not be read: the program must never send such.
    pub(crate) malformed: Mutex<Vec<String>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Connection {
    /// The origin's end of `stream`.
    pub(crate) fn new(stream: Arc<Stream>, number: usize, shared: Arc<Shared>) -> Self {
        Self {
            wire: Wire::new(stream.clone()),
            stream,
            number,
            open: true,
            shared,
        }
    }

    /// Whether the script has left it open.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Ends the record: what was left was no whole request.
    pub(crate) fn finish(mut self) {
        let mut stray = self.wire.take_record();
        stray.extend_from_slice(self.wire.left());
        self.shared.stray.lock().unwrap().extend_from_slice(&stray);
        self.shared
            .live
            .lock()
            .unwrap()
            .retain(|other| !Arc::ptr_eq(other, &self.stream));
    }

    /// A request's head; its body stays on the wire.
    pub fn request_head(&mut self) -> Result<Request, Broken> {
        let head = self.wire.head()?;
        let mut parts = head.start.splitn(3, ' ');
        let (Some(method), Some(target), Some("HTTP/1.1")) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(Broken::Malformed(head.start));
        };
        let (method, target) = (method.to_owned(), target.to_owned());
        let (body, trailers, raw) = (Vec::new(), Fields::default(), Vec::new());
        let number = self.shared.requests.lock().unwrap().len();
        Ok(Request {
            method,
            target,
            fields: head.fields,
            body,
            trailers,
            raw,
            connection: self.number,
            number,
        })
    }

    /// A whole request, recorded.
    ///
    /// # Panics
    /// When what came is not strict HTTP/1.1.
    pub fn request(&mut self) -> Result<Request, Broken> {
        let mut request = self.request_head()?;
        self.request_body(&mut request)?;
        Ok(self.record(request))
    }

    /// The body of a request whose head was read.
    pub fn request_body(&mut self, request: &mut Request) -> Result<(), Broken> {
        let mut framing = stated_framing(&request.fields)
            .map_err(Broken::Malformed)?
            .unwrap_or(Framing::Empty);
        self.wire
            .body(&mut framing, &mut request.trailers, &mut request.body)
    }

    /// The next bytes of a body as they arrive; `None` at its end.
    pub fn request_piece(&mut self, framing: &mut Framing) -> Result<Option<Vec<u8>>, Broken> {
        self.wire.piece(framing, &mut Fields::default())
    }

    /// Notes that a request ended as it must not.
    pub(crate) fn note(&self, end: Broken) {
        if let Broken::Malformed(why) = end {
            self.shared.malformed.lock().unwrap().push(why);
        }
    }

    /// Adds a request to the record.
    pub fn record(&mut self, mut request: Request) -> Request {
        request.raw = self.wire.take_record();
        let mut requests = self.shared.requests.lock().unwrap();
        request.number = requests.len();
        requests.push(request.clone());
        self.shared.arrived.notify_all();
        request
    }

    /// Sends exactly `bytes`; a peer that is gone is no failure here.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        if (&*self.stream).write_all(bytes.as_ref()).is_err() {
            self.open = false;
        }
    }

    /// Sends as much as the peer takes until it stands still for `patience`.
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
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        sent
    }

    /// Shrinks the kernel's buffers.
    pub fn small_buffers(&self) {
        self.stream.small_buffers();
    }

    /// Exactly `count` raw bytes, for tunnels.
    pub fn read_bytes(&mut self, count: usize) -> Result<Vec<u8>, Broken> {
        while self.wire.left().len() < count {
            self.wire.fill()?;
        }
        Ok(self.wire.take(count))
    }

    /// Everything until the peer closes.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        while self.wire.fill().is_ok() {}
        self.wire.take(self.wire.left().len())
    }

    /// Closes both directions with FIN.
    pub fn close(&mut self) {
        self.open = false;
        self.stream.shutdown(Shutdown::Both);
    }

    /// Closes the sending direction.
    pub fn half_close(&mut self) {
        self.stream.shutdown(Shutdown::Write);
    }

    /// Breaks the connection with RST.
    pub fn reset(&mut self) {
        self.open = false;
        self.stream.reset_on_close();
        self.shared
            .live
            .lock()
            .unwrap()
            .retain(|other| !Arc::ptr_eq(other, &self.stream));
    }
}
