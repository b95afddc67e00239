//! One session: plain bytes on one side, a wire on the other.
//!
//! The wire is whatever reads and writes without waiting; where it says `WouldBlock`, so does
//! the session, and is to be asked again when the wire is ready. What was written and did not fit
//! on the wire yet leaves with the next call of any kind.

use std::io::{self, BufRead as _, ErrorKind, IoSlice, Read, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

/// Encrypted bytes that may wait for the wire; beyond, nothing more is taken.
const MOST_WAITING: usize = 64 << 10;

/// A session of either side.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    /// Plain bytes are there that were not read yet, or their end.
    has_plain: bool,
}

impl Session {
    /// A client's session with the server of this name; nothing is sent yet.
    ///
    /// # Errors
    /// The settings do not allow it.
    pub fn client(config: Arc<ClientConfig>, name: ServerName<'static>) -> io::Result<Self> {
        let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        Ok(Self::of(connection.into()))
    }

    /// A server's session with whoever has connected; nothing is read yet.
    ///
    /// # Errors
    /// The settings do not allow it.
    pub fn server(config: Arc<ServerConfig>) -> io::Result<Self> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Self::of(connection.into()))
    }

    fn of(mut connection: Connection) -> Self {
        connection.set_buffer_limit(Some(MOST_WAITING));
        Self {
            connection,
            has_plain: false,
        }
    }

    /// Takes the handshake on as far as it goes; `WouldBlock` while it is not done.
    ///
    /// # Errors
    /// `InvalidData` for what TLS refuses (a certificate that is not trusted, say), else what the
    /// wire says.
    pub fn handshake(&mut self, wire: &mut (impl Read + Write)) -> io::Result<()> {
        while self.connection.is_handshaking() {
            self.flush(wire)?;
            if self.connection.is_handshaking() {
                self.receive(wire)?;
            }
        }
        // The last message need not have left for the first request to be staged behind it.
        would_block_is_fine(self.flush(wire))
    }

    /// Reads plain bytes; 0 is the end that the peer announced.
    ///
    /// # Errors
    /// `UnexpectedEof` when the wire ended without that announcement (RFC 8446 section 6.1):
    /// something may be missing.
    pub fn read(&mut self, wire: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => {
                    let mut reader = self.connection.reader();
                    self.has_plain = reader.fill_buf().is_ok();
                    return read;
                }
            }
            // What came is read even where nothing can be sent any more: an answer may be among it.
            let _ = self.flush(wire);
            self.receive(wire)?;
        }
    }

    /// Takes plain bytes, and sends what the wire takes of them. They have left when [`Session::flush`]
    /// says so.
    ///
    /// # Errors
    /// `WouldBlock` when so much waits already that nothing was taken.
    pub fn write(
        &mut self,
        wire: &mut (impl Read + Write),
        slices: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        would_block_is_fine(self.flush(wire))?;
        let is_empty = slices.iter().all(|slice| slice.is_empty());
        let taken = self.connection.writer().write_vectored(slices)?;
        if taken == 0 && !is_empty {
            return Err(ErrorKind::WouldBlock.into());
        }
        would_block_is_fine(self.flush(wire))?;
        Ok(taken)
    }

    /// Sends what waits for the wire.
    ///
    /// # Errors
    /// `WouldBlock` while some of it is left.
    pub fn flush(&mut self, wire: &mut impl Write) -> io::Result<()> {
        while self.connection.wants_write() {
            if self.connection.write_tls(wire)? == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    /// Announces that nothing more comes.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Whether something waits for the wire to take it.
    pub fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Whether the two sides have not agreed yet.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether plain bytes, or their end, can be read without the wire.
    pub fn has_plain(&self) -> bool {
        self.has_plain
    }

    /// Whether nothing came, beside what concerns the session alone (tickets for later sessions
    /// come whenever the server likes).
    pub fn is_quiet(&mut self, wire: &mut (impl Read + Write)) -> bool {
        loop {
            match self.receive(wire) {
                Ok(()) => {}
                Err(error) => {
                    return error.kind() == ErrorKind::WouldBlock && !self.has_plain;
                }
            }
            match self.connection.reader().fill_buf() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Plain bytes nobody asked for, or the end.
                _ => return false,
            }
        }
    }

    /// Reads from the wire once.
    fn receive(&mut self, wire: &mut (impl Read + Write)) -> io::Result<()> {
        let read = self.connection.read_tls(wire)?;
        let processed = self.connection.process_new_packets();
        match processed {
            // They may come with the last message of the handshake.
            Ok(state) => {
                self.has_plain |= state.plaintext_bytes_to_read() > 0 || state.peer_has_closed();
            }
            Err(error) => {
                // The peer is told why, if it still listens.
                let _ = self.flush(wire);
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
        }
        if read == 0 && self.connection.is_handshaking() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

fn would_block_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        done => done,
    }
}
