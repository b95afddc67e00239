//! Where a store is, and what it is told first.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::tls::Tls;

/// memcached's port, which Forebay's stores have as well.
pub const DEFAULT_PORT: u16 = 11211;

/// Where a store listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `HOST:PORT`; the name is looked up when a connection is made.
    Tcp(String),
    /// The path of a socket.
    Unix(PathBuf),
}

impl Default for Address {
    fn default() -> Self {
        Self::Tcp(format!("127.0.0.1:{DEFAULT_PORT}"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    /// `HOST:PORT`, `HOST` (port 11211), `[IPv6]:PORT` or `unix:PATH`; a host that stands for all
    /// of a machine's addresses means this machine.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err("a path is missing behind `unix:`".into()),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let (host, port) = split(text)?;
        let host = match host {
            "" | "*" | "0.0.0.0" => "127.0.0.1",
            "[::]" => "[::1]",
            host => host,
        };
        Ok(Self::Tcp(format!("{host}:{port}")))
    }
}

fn split(text: &str) -> Result<(&str, u16), String> {
    let expected = || format!("`{text}` is no address: expected HOST:PORT or unix:PATH");
    if text.is_empty() || text.contains(['/', ' ']) {
        return Err(expected());
    }
    let is_bracketed = text.starts_with('[') && text.ends_with(']');
    let (host, port) = match text.rsplit_once(':') {
        Some((host, _)) if !is_bracketed && host.contains(':') && !host.ends_with(']') => {
            return Err(format!(
                "`{text}`: an IPv6 address stands in brackets, [::1]:11211"
            ));
        }
        Some((host, port)) if !is_bracketed => (host, port.parse().map_err(|_| expected())?),
        _ => (text, DEFAULT_PORT),
    };
    match port {
        0 => Err("port 0 stands for any port; name the one the store listens on".into()),
        port => Ok((host, port)),
    }
}

/// What a store with a token is told before anything else.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user's name; one word. Stores that know only a token take any.
    pub user: String,
    /// The token; one word.
    pub token: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// A store, and how it is spoken to.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it is.
    pub address: Address,
    /// What it is told first, if it asks for it.
    pub login: Option<Login>,
    /// If its address speaks TLS.
    pub tls: Option<Tls>,
    /// For a connection to come about.
    pub connect: Duration,
    /// For each wait for the store after that.
    pub patience: Duration,
}

impl Target {
    /// A store without a token, given ten seconds to connect and a minute for each answer.
    #[must_use]
    pub fn new(address: Address) -> Self {
        Self {
            address,
            login: None,
            tls: None,
            connect: Duration::from_secs(10),
            patience: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written_elsewhere() {
        for (text, expected) in [
            ("127.0.0.1:11311", "127.0.0.1:11311"),
            ("cache.example", "cache.example:11211"),
            (":11212", "127.0.0.1:11212"),
            ("0.0.0.0:11212", "127.0.0.1:11212"),
            ("[::1]:5", "[::1]:5"),
            ("[::]", "[::1]:11211"),
            ("unix:/run/s.sock", "unix:/run/s.sock"),
        ] {
            let address = text.parse::<Address>().map(|address| address.to_string());
            assert_eq!(address.as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "unix:",
            "a:b",
            "a:0",
            "::1:11211",
            "http://a/",
            "a:65536",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_is_not_shown_by_accident() {
        let login = Login {
            user: "me".into(),
            token: "secret".into(),
        };
        assert!(!format!("{login:?}").contains("secret"));
    }
}
