//! Messages on the connection between leader and agent: a line of JSON each.

use std::io::{self, BufRead, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A job with its files is the longest message.
const MOST_BYTES: u64 = 1 << 30;

pub(super) fn write(stream: &TcpStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    (&mut &*stream).write_all(&line)
}

/// The next message; an end of the connection is an error.
pub(super) fn read<T: DeserializeOwned>(reader: &mut BufReader<TcpStream>) -> io::Result<T> {
    let mut line = Vec::new();
    reader.take(MOST_BYTES).read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&line).map_err(|error| {
        let text = format!("not understood: {error}");
        io::Error::new(ErrorKind::InvalidData, text)
    })
}
