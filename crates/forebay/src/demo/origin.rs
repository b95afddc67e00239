//! The demonstration's origin: a small HTTP/1.1 server on a loopback port,
//! on a thread of its own, so that it competes with the workers as little
//! as a separate program would.
//!
//! It lives until the process ends.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::request::{self, Request};
use super::site::{Answer, Site, http_date};

/// Bytes of a request head; beyond: closed after a 431.
const HEAD_BYTES: usize = 16 << 10;

/// Longer than Forebay keeps an idle connection, so that Forebay closes first.
const IDLE: Duration = Duration::from_secs(120);

/// Starts the origin for `site` on a free loopback port.
///
/// # Errors
/// When no port can be bound or no thread started.
pub(super) fn start(site: Arc<Site>) -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("origin".into())
        .spawn(move || runtime.block_on(accept(listener, site)))?;
    Ok(address)
}

/// Unix seconds.
pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

async fn accept(listener: std::net::TcpListener, site: Arc<Site>) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!("the demonstration's origin cannot listen: {error}"),
    };
    loop {
        match listener.accept().await {
            // An exchange that fails concerns its client alone.
            Ok((stream, _)) => drop(tokio::spawn(converse(stream, Arc::clone(&site)))),
            Err(error) => {
                tracing::warn!("the demonstration's origin cannot accept: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One connection, from its first request to its end.
async fn converse(mut stream: TcpStream, site: Arc<Site>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = Vec::with_capacity(2048);
    loop {
        let Some(length) = read_head(&mut stream, &mut input).await? else {
            return Ok(());
        };
        let Some(request) = request::parse(&input[..length]) else {
            return refuse(&mut stream, "400 Bad Request").await;
        };
        input.drain(..length);
        let answer = site.answer(&request, now());
        tokio::time::sleep(answer.delay).await;
        stream
            .write_all(&serialise(&request, &answer, now()))
            .await?;
        if !request.keep_alive {
            return stream.shutdown().await;
        }
    }
}

/// Reads until `input` starts with a whole head. `None`: the client is done.
async fn read_head(stream: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<Option<usize>> {
    loop {
        if let Some(length) = request::head_length(input) {
            return Ok(Some(length));
        }
        if input.len() > HEAD_BYTES {
            refuse(stream, "431 Request Header Fields Too Large").await?;
            return Ok(None);
        }
        let Ok(read) = tokio::time::timeout(IDLE, stream.read_buf(input)).await else {
            return Ok(None);
        };
        if read? == 0 {
            return Ok(None);
        }
    }
}

async fn refuse(stream: &mut TcpStream, status: &str) -> io::Result<()> {
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// Head and body as they go on the wire. 304 and HEAD have no body
/// (RFC 9110 sections 15.4.5 and 9.3.2).
fn serialise(request: &Request, answer: &Answer, now: u64) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\nDate: {}\r\n",
        answer.status,
        reason(answer.status),
        http_date(now)
    );
    for (name, value) in &answer.fields {
        head.extend([name, ": ", value, "\r\n"]);
    }
    if answer.status != 304 {
        head.push_str(&format!("Content-Length: {}\r\n", answer.body.len()));
    }
    if !request.keep_alive {
        head.push_str("Connection: close\r\n");
    }
    head.push_str("\r\n");
    let mut out = head.into_bytes();
    if !request.is_head() {
        out.extend(&answer.body);
    }
    out
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{Read, Write};

    /// Sends `bytes`, half-closes, and reads to the end.
    fn converse(bytes: &[u8]) -> String {
        let address = start(Arc::new(Site::new(now()))).unwrap();
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn two_requests_share_a_connection() {
        let text = converse(
            b"HEAD /object/6k HTTP/1.1\r\nHost: a\r\n\r\nGET /private HTTP/1.1\r\nHost: a\r\n\r\n",
        );
        assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{text}");
        assert!(text.contains("Content-Length: 6000\r\n"), "{text}");
        assert!(text.ends_with("No shared cache may keep it.\n"), "{text}");
        assert!(!text.contains("water"), "a HEAD has no body: {text}");
    }

    #[test]
    fn nonsense_is_answered_with_400_and_the_end() {
        let text = converse(b"nonsense\r\n\r\nGET / HTTP/1.1\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{text}");
        assert_eq!(text.matches("HTTP/1.1").count(), 1, "{text}");
    }

    #[test]
    fn a_head_without_end_is_given_up() {
        let text = converse(&[b'a'; HEAD_BYTES + 1]);
        assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
    }
}
