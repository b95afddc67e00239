//! URLs of key-value servers: which protocol, where, and what is said first.

use forebay_http::uri;
use forebay_workload::Target;

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// memcached's text protocol.
    Text,
    /// memcached's meta protocol.
    Meta,
    /// memcached's binary protocol.
    Binary,
    /// Redis'.
    Resp,
}

const SCHEMES: [(&str, Protocol, bool); 10] = [
    ("memcached", Protocol::Text, false),
    ("memcacheds", Protocol::Text, true),
    ("memcached+meta", Protocol::Meta, false),
    ("memcacheds+meta", Protocol::Meta, true),
    ("memcached+binary", Protocol::Binary, false),
    ("memcacheds+binary", Protocol::Binary, true),
    ("redis", Protocol::Resp, false),
    ("rediss", Protocol::Resp, true),
    ("valkey", Protocol::Resp, false),
    ("valkeys", Protocol::Resp, true),
];

/// A key-value server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) protocol: Protocol,
    /// Where it is; the path has no meaning.
    pub(crate) place: Target,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: u32,
}

impl Server {
    /// Reads `memcached://host[:port]`, `memcached:///run/memcached.sock`,
    /// `redis://[[user]:password@]host[:port][/database]`,
    /// `redis://[[user]:password@]/run/redis.sock[?db=number]`; `memcached+meta` and
    /// `memcached+binary` for the other protocols, an `s` behind the name for TLS.
    ///
    /// # Errors
    /// When it is none of these, in words for the user; a password is not repeated.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("the URL of the key-value server is wrong: {why}");
        let (scheme, rest) = text.split_once("://").ok_or_else(|| {
            wrong("it does not begin with memcached://, memcached+meta:// or redis://")
        })?;
        let known = SCHEMES
            .iter()
            .find(|(name, ..)| scheme.eq_ignore_ascii_case(name));
        let &(_, protocol, tls) = known.ok_or_else(|| {
            wrong(&format!(
                "`{scheme}` is none of memcached, memcached+meta, memcached+binary, redis and valkey"
            ))
        })?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (credentials, host) = match authority.rsplit_once('@') {
            Some((credentials, host)) => (Some(credentials), host),
            None => (None, authority),
        };
        let (user, password) =
            split(credentials).ok_or_else(|| wrong("a %-escape is malformed"))?;
        if protocol != Protocol::Resp && credentials.is_some() {
            return Err(wrong("memcached's protocols are spoken without a password"));
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let is_socket = host.is_empty() && path.len() > 1;
        let place = match is_socket {
            true if tls => return Err(wrong("TLS is not spoken over a Unix socket")),
            true => socket(path),
            false => {
                tcp(host, protocol, tls).ok_or_else(|| wrong("its host is missing or malformed"))?
            }
        };
        let database = match (is_socket, query.strip_prefix("db=")) {
            (_, Some(database)) => database,
            (false, None) => path.trim_matches('/'),
            (true, None) => "",
        };
        let database = match (protocol, database) {
            (_, "") => 0,
            (Protocol::Resp, number) => number
                .parse()
                .map_err(|_| wrong("its path is not the number of a database"))?,
            _ => {
                return Err(wrong(
                    "memcached has no databases; a path is a Unix socket's, behind ///",
                ));
            }
        };
        Ok(Self {
            protocol,
            place,
            user,
            password,
            database,
        })
    }
}

fn socket(path: &str) -> Target {
    Target {
        tls: false,
        host: String::new(),
        port: 0,
        unix: Some(path.to_owned()),
        authority: String::new(),
        path: "/".into(),
    }
}

fn tcp(text: &str, protocol: Protocol, tls: bool) -> Option<Target> {
    let host = uri::parse_host(text.as_bytes())?;
    let name = std::str::from_utf8(host.name).ok()?;
    Some(Target {
        tls,
        host: name.trim_matches(['[', ']']).to_ascii_lowercase(),
        port: host.port.unwrap_or(match protocol {
            Protocol::Text | Protocol::Meta | Protocol::Binary => 11211,
            Protocol::Resp => 6379,
        }),
        unix: None,
        authority: text.to_ascii_lowercase(),
        path: "/".into(),
    })
}

/// User and password; without a `:` it is a password alone.
fn split(credentials: Option<&str>) -> Option<(Option<String>, Option<String>)> {
    let Some(text) = credentials else {
        return Some((None, None));
    };
    let (user, password) = text.split_once(':').unwrap_or(("", text));
    let user = decode(user)?;
    Some(((!user.is_empty()).then_some(user), Some(decode(password)?)))
}

fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        out.push((digit()? * 16 + digit()?) as u8);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn places_are_found() {
        for (text, protocol, place) in [
            ("memcached://localhost", Protocol::Text, "localhost:11211"),
            ("memcached://[::1]:7/", Protocol::Text, "[::1]:7"),
            ("memcached+meta://Cache:7", Protocol::Meta, "cache:7"),
            ("memcached:///run/m.sock", Protocol::Text, "/run/m.sock"),
            ("memcached+binary://b", Protocol::Binary, "b:11211"),
            ("REDIS://localhost", Protocol::Resp, "localhost:6379"),
            (
                "valkey://:p@/run/v.sock?db=3",
                Protocol::Resp,
                "/run/v.sock",
            ),
        ] {
            let server = Server::parse(text).unwrap();
            assert_eq!(server.protocol, protocol, "{text}");
            assert_eq!(server.place.place(), place, "{text}");
        }
        assert!(Server::parse("rediss://a").unwrap().place.tls);
    }

    #[test]
    fn credentials_and_database_are_found() {
        let server = Server::parse("redis://app:p%40ss:w@h:1/12").unwrap();
        assert_eq!(server.user.as_deref(), Some("app"));
        assert_eq!(server.password.as_deref(), Some("p@ss:w"));
        assert_eq!(server.database, 12);
        let server = Server::parse("redis://:secret@/run/r.sock?db=3").unwrap();
        assert_eq!((server.user, server.database), (None, 3));
        assert_eq!(server.password.as_deref(), Some("secret"));
    }

    #[test]
    fn what_is_no_server_is_refused_in_words() {
        for (text, part) in [
            ("localhost:11211", "begin with"),
            ("http://a", "`http`"),
            ("memcached://", "host"),
            ("memcached://a/3", "no databases"),
            ("memcached://:p@a", "without a password"),
            ("redis://a/x", "number of a database"),
            ("redis://:%zz@a", "escape"),
            ("rediss:///run/r.sock", "TLS"),
        ] {
            let error = Server::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let error = Server::parse("redis://:hunter2@a/x").unwrap_err();
        assert!(!error.contains("hunter2"));
    }
}
