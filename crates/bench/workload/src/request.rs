//! One request, and its bytes on an HTTP/1.1 connection.

use crate::Target;

/// A request as the user describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`
    pub method: String,
    /// Where it goes.
    pub target: Target,
    /// Fields in order, without `Host` unless the user gave one, and without `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// Empty for none.
    pub body: Vec<u8>,
}

impl Request {
    /// A `GET` without further fields.
    pub fn get(target: Target) -> Self {
        Self {
            method: "GET".into(),
            target,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Whether the response has no body whatever its fields say.
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Whether a field of this name is there, whatever its case.
    pub fn has(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// Appends the request as HTTP/1.1 sends it (RFC 9112 section 3). `close` asks the server to
    /// close the connection after its response.
    pub fn write_to(&self, close: bool, out: &mut Vec<u8>) {
        let mut line = |parts: &[&str]| {
            for part in parts {
                out.extend_from_slice(part.as_bytes());
            }
            out.extend_from_slice(b"\r\n");
        };
        line(&[&self.method, " ", &self.target.path, " HTTP/1.1"]);
        if !self.has("Host") {
            line(&["Host: ", &self.target.authority]);
        }
        if !self.has("User-Agent") {
            line(&["User-Agent: forebay-bench/", env!("CARGO_PKG_VERSION")]);
        }
        if !self.has("Accept") {
            line(&["Accept: */*"]);
        }
        for (name, value) in &self.headers {
            line(&[name, ": ", value]);
        }
        let takes_body = matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        if !self.body.is_empty() || takes_body {
            line(&["Content-Length: ", &self.body.len().to_string()]);
        }
        if close && !self.has("Connection") {
            line(&["Connection: close"]);
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.body);
    }
}

/// Whether this is a token (RFC 9110 section 5.6.2): a method, or a field's name.
pub(crate) fn is_token(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(part)
}

/// Whether this can stand behind a field's name: no line breaks, no control characters but tabs
/// (RFC 9110 section 5.5). A scenario asks for the same.
pub(crate) fn is_value(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() && c != '\t')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_request_has_what_http_asks_for_and_no_more() {
        let mut request = Request::get(Target::parse("http://a.example:81/x?y").unwrap());
        let mut out = Vec::new();
        request.write_to(false, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with("GET /x?y HTTP/1.1\r\nHost: a.example:81\r\n"),
            "{text}"
        );
        assert!(
            text.ends_with("\r\n\r\n") && !text.contains("Content-Length"),
            "{text}"
        );
        request.method = "POST".into();
        request.headers.push(("host".into(), "other".into()));
        request.body = b"abc".to_vec();
        let mut out = Vec::new();
        request.write_to(true, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("ost: ").count(), 1, "{text}");
        assert!(
            text.ends_with("Content-Length: 3\r\nConnection: close\r\n\r\nabc"),
            "{text}"
        );
    }
}
