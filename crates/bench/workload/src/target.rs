//! Where a request goes: a URL, split into what a connection needs and what
//! the request line needs.

use std::fmt;

use forebay_http::uri;

/// A URL of `http`, `https` or `unix` (`unix:/path/to.sock:/page`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Name or address without brackets; empty for a Unix socket.
    pub host: String,
    /// 80 or 443 unless given; 0 for a Unix socket.
    pub port: u16,
    /// A Unix socket instead of host and port.
    pub unix: Option<String>,
    /// Value of `Host`.
    pub authority: String,
    /// `/path?query`, without fragment.
    pub path: String,
}

/// Why a text is no URL that can be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError(pub String);

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// Reads `http://host[:port][/path]`, `https://…`, `host:port[/path]` or
    /// `unix:/socket[:/path]`. Spaces and bytes beyond ASCII in the path are
    /// percent-encoded; a fragment is dropped.
    ///
    /// # Errors
    /// When it is none of these, in words for the user.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let wrong = |why: &str| TargetError(format!("`{text}` is not a URL: {why}"));
        if let Some(rest) = text.strip_prefix("unix:") {
            return Self::parse_unix(rest).ok_or_else(|| wrong("the socket's path is missing"));
        }
        let (tls, rest) = match scheme(text) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, _)) => {
                return Err(wrong(&format!(
                    "the scheme `{scheme}` is not http, https or unix"
                )));
            }
            None => (false, text),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err(wrong("a name and password belong in --user"));
        }
        let host = uri::parse_host(authority.as_bytes())
            .ok_or_else(|| wrong("its host is missing or malformed"))?;
        let name = String::from_utf8_lossy(host.name)
            .trim_matches(['[', ']'])
            .to_ascii_lowercase();
        let path = match path.as_bytes().first() {
            None => "/".into(),
            Some(b'?') => format!("/{path}"),
            Some(_) => path.to_owned(),
        };
        Ok(Self {
            tls,
            host: name,
            port: host.port.unwrap_or(if tls { 443 } else { 80 }),
            unix: None,
            authority: authority.to_ascii_lowercase(),
            path: encode(&path),
        })
    }

    /// `/socket[:/path]`; none without a socket.
    fn parse_unix(text: &str) -> Option<Self> {
        let (socket, path) = match text.split_once(":/") {
            Some((socket, path)) => (socket, format!("/{path}")),
            None => (text, "/".into()),
        };
        (!socket.is_empty()).then(|| Self {
            tls: false,
            host: String::new(),
            port: 0,
            unix: Some(socket.into()),
            authority: "localhost".into(),
            path: encode(path.split('#').next().unwrap_or_default()),
        })
    }

    /// The URL that `reference` (absolute, `//host/…`, `/path`, `?query` or relative) means when
    /// found at this one (RFC 3986 section 5).
    ///
    /// # Errors
    /// When the result is no URL that can be sent to.
    pub fn join(&self, reference: &str) -> Result<Self, TargetError> {
        if scheme(reference).is_some() || reference.starts_with("unix:") {
            return Self::parse(reference);
        }
        if let Some(rest) = reference.strip_prefix("//") {
            let scheme = if self.tls { "https" } else { "http" };
            return Self::parse(&format!("{scheme}://{rest}"));
        }
        let reference = reference.split('#').next().unwrap_or_default();
        let (own_path, _) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let path = match reference.as_bytes().first() {
            None => self.path.clone(),
            Some(b'/') => reference.to_owned(),
            Some(b'?') => format!("{own_path}{reference}"),
            Some(_) => {
                let folder = &own_path[..=own_path.rfind('/').unwrap_or(0)];
                format!("{folder}{reference}")
            }
        };
        let mut target = self.clone();
        target.path = encode(&without_dots(&path));
        Ok(target)
    }

    /// The same place with another path and query, percent-encoded where needed; a fragment is
    /// dropped, dots stay as they are.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Self {
        let path = path.split('#').next().unwrap_or_default();
        let mut target = self.clone();
        target.path = encode(path);
        target
    }

    /// Where the connection goes, for messages: `example.org:443` or the socket.
    pub fn place(&self) -> String {
        match &self.unix {
            Some(socket) => socket.clone(),
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        }
    }

    /// Whether another URL can be asked for on the same connection.
    pub fn same_place(&self, other: &Self) -> bool {
        self.tls == other.tls
            && self.port == other.port
            && self.host == other.host
            && self.unix == other.unix
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.unix, self.tls) {
            (Some(socket), _) => write!(f, "unix:{socket}:{}", self.path),
            (None, true) => write!(f, "https://{}{}", self.authority, self.path),
            (None, false) => write!(f, "http://{}{}", self.authority, self.path),
        }
    }
}

/// Splits `https://rest`; a URL within a query makes no scheme of what stands before it.
pub(crate) fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let first = scheme.as_bytes().first()?;
    (first.is_ascii_alphabetic() && scheme.bytes().all(part)).then_some((scheme, rest))
}

/// Removes `.` and `..` (RFC 3986 section 5.2.4).
fn without_dots(path: &str) -> String {
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    };
    let mut segments: Vec<&str> = Vec::new();
    let mut last_is_folder = false;
    for segment in path.split('/').skip(1) {
        last_is_folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    let mut out = String::from("/");
    out.push_str(&segments.join("/"));
    if last_is_folder && !out.ends_with('/') {
        out.push('/');
    }
    if let Some(query) = query {
        out.push('?');
        out.push_str(query);
    }
    out
}

/// Percent-encodes what may not stand in a request line; what is encoded already stays.
fn encode(path: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            0x21..=0x7e
                if !matches!(
                    byte,
                    b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
                ) =>
            {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn urls_are_split() {
        let target = Target::parse("https://Shop.Example:8443/a b?q=ü#part").unwrap();
        assert!(target.tls);
        assert_eq!((target.host.as_str(), target.port), ("shop.example", 8443));
        assert_eq!(target.path, "/a%20b?q=%C3%BC");
        assert_eq!(
            target.to_string(),
            "https://shop.example:8443/a%20b?q=%C3%BC"
        );
        let target = Target::parse("http://[::1]:81").unwrap();
        assert_eq!(
            (target.place().as_str(), target.path.as_str()),
            ("[::1]:81", "/")
        );
        let target = Target::parse("localhost:9000?x").unwrap();
        assert_eq!((target.port, target.path.as_str()), (9000, "/?x"));
        let target = Target::parse("localhost/x?to=http://a/").unwrap();
        assert_eq!(target.path, "/x?to=http://a/");
        assert_eq!(target.with_path("/é b#c").path, "/%C3%A9%20b");
        assert!(Target::parse("HTTPS://a/").unwrap().tls);
        let target = Target::parse("unix:/run/app.sock:/x").unwrap();
        assert_eq!(
            (target.place().as_str(), target.path.as_str()),
            ("/run/app.sock", "/x")
        );
    }

    #[test]
    fn what_is_no_url_is_refused_with_a_reason() {
        for (text, part) in [
            ("ftp://a/", "scheme `ftp`"),
            ("http:///x", "host"),
            ("http://a b/", "host"),
            ("http://a:99999/", "host"),
            ("", "host"),
            ("unix:", "socket"),
        ] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn references_are_resolved() {
        let base = Target::parse("http://a.example/b/c/d?q").unwrap();
        for (reference, expected) in [
            ("g", "http://a.example/b/c/g"),
            ("../g?y#s", "http://a.example/b/g?y"),
            ("../../../g", "http://a.example/g"),
            ("./", "http://a.example/b/c/"),
            ("..", "http://a.example/b/"),
            ("/g", "http://a.example/g"),
            ("?y", "http://a.example/b/c/d?y"),
            ("", "http://a.example/b/c/d?q"),
            ("//h.example/x", "http://h.example/x"),
            (
                "g?to=http://h.example/",
                "http://a.example/b/c/g?to=http://h.example/",
            ),
            ("https://h.example", "https://h.example/"),
        ] {
            assert_eq!(
                base.join(reference).unwrap().to_string(),
                expected,
                "{reference}"
            );
        }
    }
}
