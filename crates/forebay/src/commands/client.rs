//! The client of a running server's administration, shared by all commands
//! that talk to one: finding it, asking, and saying what went wrong.
//!
//! One request on one connection. Answers end with their connection, so that
//! a stream of lines is read like anything else.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use forebay_admin::Address;
use forebay_config::Settings;
use forebay_config::settings::ListenAddress;
use serde_json::Value;

use crate::cli::ServerArgs;
use crate::exit::Failure;
use crate::out;

/// Where a server is looked for when nothing says where it is.
const USUAL_FILE: &str = "/etc/forebay/forebay.toml";
const USUAL_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);

/// For a connection to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// For each step of the exchange after that: a batch of purges takes its time.
const PATIENCE: Duration = Duration::from_secs(60);
/// More than any answer has that is read whole.
const ANSWER_BYTES: u64 = 64 << 20;
/// The longest head of an answer.
const HEAD_BYTES: u64 = 64 << 10;

/// A server's administration.
pub(crate) struct Client {
    address: Address,
    token: Option<String>,
}

/// An answer that was read whole.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

trait Socket: Read + Write {}
impl<S: Read + Write> Socket for S {}

impl Client {
    /// The server that the options name: by address, by its file, or the usual ones.
    ///
    /// # Errors
    /// When the file cannot be read or has no administration address.
    pub(crate) fn of(args: &ServerArgs) -> Result<Self, Failure> {
        let usual = Path::new(USUAL_FILE);
        let file = match (&args.config, &args.admin) {
            (Some(path), _) => Some(path.as_path()),
            (None, None) if usual.exists() => Some(usual),
            (None, _) => None,
        };
        let settings = file.map(read).transpose()?;
        Self::new(args, settings.as_ref())
    }

    /// The server that the options name, with the settings of their file.
    ///
    /// # Errors
    /// When the file has no administration address.
    pub(crate) fn new(args: &ServerArgs, settings: Option<&Settings>) -> Result<Self, Failure> {
        let address = match (&args.admin, settings) {
            (Some(address), _) => address.clone(),
            (None, Some(settings)) => address_in(settings)?,
            (None, None) => Address::Tcp(USUAL_ADDRESS),
        };
        let in_file = || {
            let admin = &settings?.admin;
            let tokens = [&admin.admin_tokens, &admin.purge_tokens, &admin.read_tokens];
            tokens.into_iter().flatten().next().cloned()
        };
        Ok(Self {
            address: reachable(address)?,
            token: args.token.clone().or_else(in_file),
        })
    }

    /// Where it is, as messages name it.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Sends a request; any status is an answer.
    ///
    /// # Errors
    /// When the server cannot be asked or does not speak HTTP.
    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
    ) -> Result<Reply, Failure> {
        let body = body.map(Value::to_string);
        let answer = self.ask(method, target, "HTTP/1.1", body.as_deref());
        let (status, mut rest) = answer.map_err(|error| self.unreachable(&error))?;
        let mut body = Vec::new();
        (&mut rest)
            .take(ANSWER_BYTES)
            .read_to_end(&mut body)
            .map_err(|error| self.unreachable(&error))?;
        Ok(Reply { status, body })
    }

    /// Sends a request that must be granted, and gives the JSON of its answer.
    ///
    /// # Errors
    /// Those of [`Client::send`], and the server's refusal in its own words.
    pub(crate) fn json(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let reply = self.send(method, target, body)?;
        if !(200..300).contains(&reply.status) {
            return Err(self.refused(&reply));
        }
        serde_json::from_slice(&reply.body).map_err(|_| self.not_ours())
    }

    /// Begins to read the lines of a stream; empty ones are left out.
    ///
    /// # Errors
    /// Those of [`Client::json`].
    pub(crate) fn lines(
        &self,
        target: &str,
    ) -> Result<impl Iterator<Item = io::Result<String>> + use<>, Failure> {
        // HTTP/1.0 has no chunks: the lines come as they are.
        let answer = self.ask("GET", target, "HTTP/1.0", None);
        let (status, mut rest) = answer.map_err(|error| self.unreachable(&error))?;
        if status != 200 {
            let mut body = Vec::new();
            let _ = (&mut rest).take(ANSWER_BYTES).read_to_end(&mut body);
            return Err(self.refused(&Reply { status, body }));
        }
        let lines = rest.lines();
        Ok(lines.filter(|line| !line.as_ref().is_ok_and(String::is_empty)))
    }

    /// Status, and what follows the head.
    fn ask(
        &self,
        method: &str,
        target: &str,
        version: &str,
        body: Option<&str>,
    ) -> io::Result<(u16, BufReader<Box<dyn Socket>>)> {
        let (mut socket, host) = self.connect()?;
        let mut request = format!("{method} {target} {version}\r\nHost: {host}\r\n");
        if let Some(token) = &self.token {
            request.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if body.is_some() {
            request.push_str("Content-Type: application/json\r\n");
        }
        if body.is_some() || method != "GET" {
            let length = body.map_or(0, str::len);
            request.push_str(&format!("Content-Length: {length}\r\n"));
        }
        request.push_str("Connection: close\r\n\r\n");
        request.push_str(body.unwrap_or_default());
        // A server that refuses may stop reading; its answer says more than our error.
        let sent = socket.write_all(request.as_bytes());
        let mut reader = BufReader::new(socket);
        match (status(&mut reader), sent) {
            (Ok(status), _) => Ok((status, reader)),
            (Err(_), Err(error)) | (Err(error), Ok(())) => Err(error),
        }
    }

    fn connect(&self) -> io::Result<(Box<dyn Socket>, String)> {
        match &self.address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, CONNECT)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok((Box::new(stream), address.to_string()))
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok((Box::new(stream), "localhost".into()))
            }
        }
    }

    /// What the server said when it refused.
    pub(crate) fn refused(&self, reply: &Reply) -> Failure {
        let words = words(&reply.body).join("\n");
        let words = match (reply.status, words.is_empty()) {
            (401, _) => "a token is needed: give one with --token or in FOREBAY_TOKEN".into(),
            (404, _) if words.starts_with("there is nothing at this path") => {
                format!("it does not know this command ({words})")
            }
            (status, true) => format!("status {status}"),
            (_, false) => words,
        };
        Failure::Message(format!("{} refused: {words}", self.address))
    }

    fn unreachable(&self, error: &io::Error) -> Failure {
        let address = &self.address;
        Failure::Message(match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => format!(
                "nobody listens on {address}: is the server running, with this administration address?"
            ),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                format!("{address} did not answer in time")
            }
            io::ErrorKind::PermissionDenied => {
                format!("{address} may not be used by this user: {error}")
            }
            io::ErrorKind::InvalidData => return self.not_ours(),
            _ => format!("{address} cannot be asked: {error}"),
        })
    }

    fn not_ours(&self) -> Failure {
        Failure::message(format_args!(
            "{} did not answer as an administration address does",
            self.address
        ))
    }
}

fn read(path: &Path) -> Result<Settings, Failure> {
    let color = out::error_color();
    let checked = forebay_config::load(path).map_err(|error| Failure::Text(error.render(color)))?;
    Ok(checked.settings)
}

/// The administration address of a file; a Unix socket first, which needs no token.
fn address_in(settings: &Settings) -> Result<Address, Failure> {
    let addresses = &settings.admin.addresses;
    let is_unix = |address: &&ListenAddress| matches!(address, ListenAddress::Unix(_));
    match addresses.iter().find(is_unix).or(addresses.first()) {
        Some(ListenAddress::Unix(path)) => Ok(Address::Unix(path.clone())),
        Some(ListenAddress::Tcp(address)) => Ok(Address::Tcp(*address)),
        None => Err(Failure::message(
            "the file has no [admin] address; name the server's with --admin (a reload can be had by SIGHUP, too)",
        )),
    }
}

/// A server that listens everywhere is reached on this machine.
fn reachable(address: Address) -> Result<Address, Failure> {
    let Address::Tcp(mut address) = address else {
        return Ok(address);
    };
    if address.port() == 0 {
        return Err(Failure::message(
            "port 0 stands for any port; name the one the server printed with --admin",
        ));
    }
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    Ok(Address::Tcp(address))
}

/// Reads a head; gives its status.
fn status(reader: &mut impl BufRead) -> io::Result<u16> {
    let mut head = reader.take(HEAD_BYTES);
    let mut line = Vec::new();
    head.read_until(b'\n', &mut line)?;
    let status = str::from_utf8(&line)
        .ok()
        .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    let status = status.ok_or(io::ErrorKind::InvalidData)?;
    while line != b"\r\n" {
        line.clear();
        if head.read_until(b'\n', &mut line)? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(status)
}

/// What the server has to say: the warnings or the error of its JSON, or the
/// text as it is.
pub(crate) fn words(body: &[u8]) -> Vec<String> {
    let text = || vec![String::from_utf8_lossy(body).trim().to_owned()];
    let words = match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(answer)) => match (answer.get("error"), answer.get("warnings")) {
            (Some(Value::String(error)), _) => vec![error.trim_end().to_owned()],
            (_, Some(Value::Array(warnings))) => warnings
                .iter()
                .filter_map(|warning| warning.as_str().map(str::to_owned))
                .collect(),
            _ => Vec::new(),
        },
        _ => text(),
    };
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// `?name=value&…` of the parameters that have a value, encoded.
pub(crate) fn query<'a>(
    parameters: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> String {
    let mut out = String::new();
    for (name, value) in parameters {
        if let Some(value) = value {
            out.push(if out.is_empty() { '?' } else { '&' });
            out.push_str(&format!("{name}={}", encode(value)));
        }
    }
    out
}

fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(byte.into())
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_answer_is_taken_apart() {
        let mut answer = &b"HTTP/1.1 422 Unprocessable Content\r\nA: b\r\n\r\n{}"[..];
        assert_eq!(status(&mut answer).unwrap(), 422);
        assert_eq!(answer, b"{}");
        for wrong in [
            &b"SSH-2.0\r\n\r\n"[..],
            b"HTTP/1.1 \xff\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nA: b\r\n",
            b"",
        ] {
            assert!(status(&mut &wrong[..]).is_err());
        }
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
        for (address, expected) in [
            ("0.0.0.0:81", "127.0.0.1:81"),
            ("[::]:81", "[::1]:81"),
            ("10.0.0.1:81", "10.0.0.1:81"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
        ] {
            let reached = reachable(address.parse().unwrap()).unwrap();
            assert_eq!(reached.to_string(), expected);
        }
        assert!(reachable("127.0.0.1:0".parse().unwrap()).is_err());
    }

    #[test]
    fn parameters_are_encoded() {
        let target = query([
            ("url", Some("http://a/b?c=d&e")),
            ("limit", None),
            ("x", Some("é")),
        ]);
        assert_eq!(target, "?url=http%3A%2F%2Fa%2Fb%3Fc%3Dd%26e&x=%C3%A9");
        assert_eq!(query([("a", None)]), "");
    }

    #[test]
    fn the_file_gives_a_socket_and_the_strongest_token() {
        let mut settings = Settings::default();
        settings.admin.addresses = vec![
            ListenAddress::Tcp("127.0.0.1:81".parse().unwrap()),
            ListenAddress::Unix("/run/a.sock".into()),
        ];
        settings.admin.read_tokens = vec!["reader".into()];
        settings.admin.admin_tokens = vec!["ruler".into()];
        let client = Client::new(&ServerArgs::default(), Some(&settings)).unwrap();
        assert_eq!(client.address(), "unix:/run/a.sock");
        assert_eq!(client.token.as_deref(), Some("ruler"));
        let told = ServerArgs {
            admin: Some("127.0.0.1:82".parse().unwrap()),
            token: Some("mine".into()),
            ..ServerArgs::default()
        };
        let client = Client::new(&told, Some(&settings)).unwrap();
        assert_eq!(
            (client.address().as_str(), client.token.as_deref()),
            ("127.0.0.1:82", Some("mine"))
        );
    }
}
