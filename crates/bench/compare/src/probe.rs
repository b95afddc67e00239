//! A small HTTP/1.1 client that sees whether a server answers: one request, one connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(20);
/// More than any document of a suite has.
const MOST_BODY_BYTES: u64 = 64 << 20;

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// `GET path`, with the same `Host` as the load, so that it is the same object of a cache.
///
/// # Errors
/// When nobody listens, or the connection ends before the response does.
pub(crate) fn get(address: SocketAddr, path: &str) -> Result<Answer, String> {
    let read = || -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        answer(BufReader::new(stream))
    };
    read().map_err(|e| e.to_string())
}

fn answer(mut stream: impl std::io::BufRead) -> std::io::Result<Answer> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        stream.by_ref().take(16 << 10).read_line(&mut line)?;
        if line.trim_end().is_empty() {
            break;
        }
        head.push(line.trim_end().to_ascii_lowercase());
    }
    let status = head.first().and_then(|l| l.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or_else(|| broken("no status line"))?;
    let field = |name: &str| {
        head.iter()
            .find_map(|l| l.strip_prefix(name))
            .map(str::trim)
    };
    let mut body = Vec::new();
    if field("transfer-encoding:").is_some_and(|v| v == "chunked") {
        chunks(stream, &mut body)?;
    } else if let Some(length) = field("content-length:").and_then(|v| v.parse().ok()) {
        exactly(&mut stream, length, &mut body)?;
    } else {
        stream.take(MOST_BODY_BYTES).read_to_end(&mut body)?;
    }
    Ok(Answer { status, body })
}

fn chunks(mut stream: impl std::io::BufRead, body: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        let mut line = String::new();
        stream.by_ref().take(1024).read_line(&mut line)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(|_| broken("not a chunk"))?;
        exactly(&mut stream, size, body)?;
        if size == 0 {
            return Ok(());
        }
        exactly(&mut stream, 2, &mut Vec::new())?;
    }
}

fn exactly(
    stream: &mut impl std::io::BufRead,
    bytes: u64,
    body: &mut Vec<u8>,
) -> std::io::Result<()> {
    if body.len() as u64 + bytes > MOST_BODY_BYTES {
        return Err(broken("a body without end"));
    }
    let read = stream.take(bytes).read_to_end(body)?;
    if read as u64 == bytes {
        Ok(())
    } else {
        Err(broken("the body ended early"))
    }
}

fn broken(what: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(response: &str) -> Option<Vec<u8>> {
        answer(response.as_bytes()).ok().map(|a| a.body)
    }

    #[test]
    fn the_body_ends_where_the_head_says() {
        let whole = Some(b"abc".to_vec());
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd"),
            whole
        );
        assert_eq!(
            body(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n"
            ),
            whole
        );
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\nabc"), whole);
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        for response in [
            "",
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nabc",
        ] {
            assert_eq!(body(response), None, "{response:?}");
        }
    }
}
