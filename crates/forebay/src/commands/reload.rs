//! `forebay reload`: asks a running server, at its administration address,
//! to read its configuration again.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::cli::ReloadArgs;
use crate::configuration;
use crate::exit::{Failure, Outcome};
use crate::out;

/// For each step of the exchange.
const PATIENCE: Duration = Duration::from_secs(15);

/// More than any answer to a reload has.
const ANSWER_BYTES: u64 = 1 << 20;

/// Runs the command.
///
/// # Errors
/// When the file is bad, the server is not there, or it refused.
pub(crate) fn reload(args: &ReloadArgs) -> Outcome {
    let address = address(args)?;
    let answer = post(address).map_err(|error| Failure::Message(unreachable(address, &error)))?;
    let (status, body) = parse(&answer).ok_or_else(|| {
        Failure::message(format_args!(
            "{address} did not answer as an administration address does"
        ))
    })?;
    let words = words(body);
    if (200..300).contains(&status) {
        out::line(&format!("{address}: the new configuration is in force"));
        words
            .iter()
            .for_each(|word| out::line(&format!("  warning: {word}")));
        return Ok(());
    }
    let reason = if words.is_empty() {
        format!("status {status}")
    } else {
        words.join("\n")
    };
    let space = if reason.contains('\n') { '\n' } else { ' ' };
    Err(Failure::Text(format!(
        "{address} refused, and goes on as before:{space}{reason}"
    )))
}

/// The administration address, from the command line or the checked file.
fn address(args: &ReloadArgs) -> Result<SocketAddr, Failure> {
    let in_file = match &args.config {
        Some(path) => admin_of(path)?,
        None => None,
    };
    let address = args.admin.or(in_file).ok_or_else(|| {
        Failure::message("the file has no [admin] address; send SIGHUP to the server instead, or name it with --admin")
    })?;
    if address.port() == 0 {
        return Err(Failure::message(
            "port 0 stands for any port; name the one the server printed with --admin",
        ));
    }
    Ok(reachable(address))
}

fn admin_of(path: &Path) -> Result<Option<SocketAddr>, Failure> {
    Ok(configuration::read_aloud(path)?.settings.admin)
}

/// A server that listens everywhere is reached on this machine.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    address
}

fn unreachable(address: SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!(
                "nobody listens on {address}: is the server running, with this administration address?"
            )
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!(
                "{address} did not answer within {} seconds",
                PATIENCE.as_secs()
            )
        }
        _ => format!("{address} cannot be asked: {error}"),
    }
}

fn post(address: SocketAddr) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = format!(
        "POST /reload HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer)?;
    Ok(answer)
}

/// Status and body of an answer that the end of the connection delimits.
fn parse(answer: &[u8]) -> Option<(u16, &[u8])> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some((status, &answer[end + 4..]))
}

/// What the server has to say: the warnings or the error of its JSON, or the
/// text as it is.
fn words(body: &[u8]) -> Vec<String> {
    let text = || vec![String::from_utf8_lossy(body).trim().to_owned()];
    let words = match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(serde_json::Value::Object(answer)) => {
            match (answer.get("error"), answer.get("warnings")) {
                (Some(serde_json::Value::String(error)), _) => vec![error.trim_end().to_owned()],
                (_, Some(serde_json::Value::Array(warnings))) => warnings
                    .iter()
                    .filter_map(|warning| warning.as_str().map(str::to_owned))
                    .collect(),
                _ => Vec::new(),
            }
        }
        _ => text(),
    };
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_answer_is_taken_apart() {
        let answer = b"HTTP/1.1 422 Unprocessable Content\r\nA: b\r\n\r\n{}";
        assert_eq!(parse(answer), Some((422, &b"{}"[..])));
        assert_eq!(parse(b"SSH-2.0\r\n\r\n"), None);
        assert_eq!(parse(b"HTTP/1.1 \xff\r\n\r\n"), None);
    }

    #[test]
    fn warnings_errors_and_plain_text_are_all_shown() {
        assert_eq!(words(br#"{"ok":true,"warnings":["a","b"]}"#), ["a", "b"]);
        assert_eq!(words(br#"{"error":"no such pool\n"}"#), ["no such pool"]);
        assert_eq!(words(b"not today\n"), ["not today"]);
        assert!(words(b"").is_empty());
    }

    #[test]
    fn everywhere_is_reached_here() {
        assert_eq!(
            reachable("0.0.0.0:81".parse().unwrap()),
            "127.0.0.1:81".parse().unwrap()
        );
        assert_eq!(
            reachable("[::]:81".parse().unwrap()),
            "[::1]:81".parse().unwrap()
        );
        assert_eq!(
            reachable("10.0.0.1:81".parse().unwrap()),
            "10.0.0.1:81".parse().unwrap()
        );
    }
}
