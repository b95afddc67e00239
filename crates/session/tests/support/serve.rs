//! A connection on a socket, with a thread of its own.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

use forebay_session::{Connection, Counts, Engine, State};

/// Serves one client until either side ends it.
pub(crate) fn serve(
    mut stream: TcpStream,
    engine: &impl Engine,
    mut connection: Connection,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut counts = Counts::default();
    let (mut input, mut filled, mut output) = (vec![0; 16 << 10], 0, Vec::new());
    loop {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now_s = now.as_secs() as u32;
        let taken = connection.take(&input[..filled], engine, now_s, &mut output, &mut counts);
        input.copy_within(taken.consumed..filled, 0);
        filled -= taken.consumed;
        stream.write_all(&output)?;
        output.clear();
        match taken.state {
            State::Full => continue,
            State::Close => return Ok(()),
            State::Wait(ticket) => connection.resume(ticket),
            State::More { bytes } => {
                if input.len() < bytes.max(filled + 1) {
                    input.resize(bytes.max(filled * 2), 0);
                }
                match stream.read(&mut input[filled..])? {
                    0 => return Ok(()),
                    read => filled += read,
                }
            }
        }
    }
}
