//! Where an edge is reached, and how.

use std::fmt;
use std::str::FromStr;

use forebay_tls::ServerName;

/// An edge: `HOST:PORT`, `http://HOST[:PORT]` or, with TLS, `https://HOST[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeAddress {
    /// A name, or an IP address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The connection is encrypted; the certificate must be for this name.
    pub(crate) tls_name: Option<ServerName<'static>>,
}

impl EdgeAddress {
    /// Whether connections to it are encrypted.
    pub fn has_tls(&self) -> bool {
        self.tls_name.is_some()
    }

    /// As it stands in `Host`.
    pub(crate) fn host_sent(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for EdgeAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is no edge: write HOST:PORT, or https://HOST[:PORT] for TLS");
        let (has_tls, authority, own_port) = match text.split_once("://") {
            Some(("http", authority)) => (false, authority, Some(80)),
            Some(("https", authority)) => (true, authority, Some(443)),
            Some(_) => return Err(wrong()),
            None => (false, text, None),
        };
        let authority = match own_port {
            Some(_) => authority.strip_suffix('/').unwrap_or(authority),
            None => authority,
        };
        // What stands in brackets may have colons.
        let (host, rest) = match authority.strip_prefix('[') {
            Some(bracketed) => bracketed.split_once(']').ok_or_else(wrong)?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port = match rest.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|&port| port > 0),
            None if rest.is_empty() => own_port,
            None => None,
        };
        let is_address = authority.starts_with('[');
        let is_good = match is_address {
            true => host.parse::<std::net::Ipv6Addr>().is_ok(),
            false => !host.is_empty() && host.bytes().all(is_of_a_name),
        };
        let port = port.filter(|_| is_good).ok_or_else(wrong)?;
        let name = || ServerName::try_from(host.to_owned());
        let tls_name = has_tls.then(name).transpose().map_err(|_| wrong())?;
        Ok(Self {
            host: host.to_owned(),
            port,
            tls_name,
        })
    }
}

/// Whether a name or an address of IPv4 can have it.
fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._".contains(&byte)
}

impl fmt::Display for EdgeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.has_tls() { "https://" } else { "" };
        write!(f, "{scheme}{}", self.host_sent())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> (String, u16, bool) {
        let edge: EdgeAddress = text.parse().unwrap();
        (edge.host.clone(), edge.port, edge.has_tls())
    }

    #[test]
    fn edges_are_read() {
        for (text, host, port, has_tls, shown) in [
            (
                "edge.example:80",
                "edge.example",
                80,
                false,
                "edge.example:80",
            ),
            (
                "http://edge.example/",
                "edge.example",
                80,
                false,
                "edge.example:80",
            ),
            (
                "https://edge.example",
                "edge.example",
                443,
                true,
                "https://edge.example:443",
            ),
            (
                "https://192.0.2.1:8443/",
                "192.0.2.1",
                8443,
                true,
                "https://192.0.2.1:8443",
            ),
            (
                "https://[::1]:8443",
                "::1",
                8443,
                true,
                "https://[::1]:8443",
            ),
            (
                "[2001:db8::1]:80",
                "2001:db8::1",
                80,
                false,
                "[2001:db8::1]:80",
            ),
        ] {
            assert_eq!(read(text), (host.to_owned(), port, has_tls), "{text}");
            assert_eq!(text.parse::<EdgeAddress>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_edge_is_said_to_be_none() {
        for text in [
            "",
            "edge",
            "edge:",
            "edge:0",
            "edge:65536",
            ":80",
            "::1:80",
            "[::1]",
            "[::1:80",
            "[edge]:80",
            "ftp://edge",
            "https://",
            "https://edge/path",
            "https://edge:x",
            "a b:80",
            "edge/:80",
            "https://user@edge",
        ] {
            assert!(text.parse::<EdgeAddress>().is_err(), "{text}");
        }
    }
}
