//! A FastCGI application that gives every request the same page (FastCGI 1.0), as a back end.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::Outcome;

/// Types of records.
const END_REQUEST: u8 = 3;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;

/// Starts it with a thread for each connection; it lives as long as our process.
///
/// # Errors
/// When there is no free port.
pub(super) fn start(body_bytes: usize) -> Outcome<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let fields =
        "Content-Type: text/html\r\nCache-Control: no-store\r\nX-Powered-By: nothing\r\n\r\n";
    let page = [fields.as_bytes(), &vec![b'x'; body_bytes]].concat();
    let length = u16::try_from(page.len())?;
    let answer = [
        &record(STDOUT, length)[..],
        &page,
        &record(STDOUT, 0),
        &record(END_REQUEST, 8),
        &[0; 8],
    ];
    let answer = answer.concat();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            // A connection that breaks shows at the client.
            thread::spawn(move || serve(stream, &answer).ok());
        }
    });
    Ok(address)
}

/// The head of a record of the one request that a connection carries at a time.
fn record(kind: u8, length: u16) -> [u8; 8] {
    let [high, low] = length.to_be_bytes();
    [1, kind, 0, 1, high, low, 0, 0]
}

/// Answers when the request's body is over.
fn serve(stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let mut content = Vec::new();
    loop {
        let mut head = [0; 8];
        stream.read_exact(&mut head)?;
        let [_, kind, _, _, high, low, padding, _] = head;
        let length = u16::from_be_bytes([high, low]);
        content.resize(usize::from(length) + usize::from(padding), 0);
        stream.read_exact(&mut content)?;
        if kind == STDIN && length == 0 {
            stream.get_mut().write_all(answer)?;
        }
    }
}
