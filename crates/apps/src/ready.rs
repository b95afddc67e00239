//! Whether a process that was started can be used: it accepts a connection, and answers if it is
//! to be asked.

use std::io;
use std::time::Duration;

use forebay_config::settings::ServerAddress;
use forebay_http::head::{HeadLimits, ResponseHead};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{sleep, timeout};

/// From one attempt to the next, at first; then doubled up to [`SLOWEST`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const SLOWEST: Duration = Duration::from_millis(250);
/// Longer without an answer, an attempt is given up: a process that has just begun to listen may
/// answer the next one sooner.
const ATTEMPT: Duration = Duration::from_secs(10);
/// Of the response's head; the body is of no interest.
const HEAD_BYTES: usize = 64 << 10;

/// Waits until a process at `address` is ready; `path`: until a GET of it is answered with a
/// status of 200 to 399. Goes on for ever: whoever waits has a limit.
pub(crate) async fn ready(address: ServerAddress, path: Option<String>) {
    let mut pause = FIRST_PAUSE;
    while !matches!(
        timeout(ATTEMPT, attempt(&address, path.as_deref())).await,
        Ok(Ok(()))
    ) {
        sleep(pause).await;
        pause = (2 * pause).min(SLOWEST);
    }
}

async fn attempt(address: &ServerAddress, path: Option<&str>) -> io::Result<()> {
    match address {
        ServerAddress::Unix(socket) => ask(UnixStream::connect(socket).await?, path).await,
        ServerAddress::Tcp { host, port } => {
            ask(TcpStream::connect((host.as_str(), *port)).await?, path).await
        }
        ServerAddress::Srv(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

async fn ask(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    path: Option<&str>,
) -> io::Result<()> {
    let Some(path) = path else { return Ok(()) };
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: forebay\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let limits = HeadLimits {
        line_bytes: HEAD_BYTES,
        head_bytes: HEAD_BYTES,
        fields: 1000,
    };
    let mut head = ResponseHead::default();
    let mut input = Vec::new();
    loop {
        if stream.read_buf(&mut input).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Interim responses (RFC 9110 section 15.2) come before the one that counts.
        loop {
            match head.parse(&input, &limits) {
                Ok(None) => break,
                Ok(Some(length)) if head.status < 200 => drop(input.drain(..length)),
                Ok(Some(_)) if (200..400).contains(&head.status) => return Ok(()),
                Ok(Some(_)) | Err(_) => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    async fn answer(response: &'static str) -> io::Result<()> {
        let (ours, mut theirs) = tokio::io::duplex(4096);
        let answering = async move {
            let mut request = [0; 1024];
            let read = theirs.read(&mut request).await.unwrap();
            assert!(request[..read].starts_with(b"GET /up HTTP/1.1\r\n"));
            theirs.write_all(response.as_bytes()).await.unwrap();
        };
        tokio::join!(ask(ours, Some("/up")), answering).0
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_status_below_400_is_ready() {
        assert!(answer("HTTP/1.1 200 OK\r\n\r\n").await.is_ok());
        assert!(
            answer("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n")
                .await
                .is_ok()
        );
        assert!(
            answer("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
                .await
                .is_ok()
        );
        assert!(answer("HTTP/1.1 404 Not Found\r\n\r\n").await.is_err());
        assert!(
            answer("HTTP/1.1 503 Service Unavailable\r\n\r\n")
                .await
                .is_err()
        );
        assert!(answer("HTTP/1.1 2").await.is_err());
        assert!(answer("nonsense\r\n\r\n").await.is_err());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn without_a_path_a_connection_is_enough() {
        let (ours, _theirs) = tokio::io::duplex(16);
        assert!(ask(ours, None).await.is_ok());
    }
}
