//! What the demonstration's origin needs to know of a request.
//!
//! Forebay, which has checked everything before, is this origin's usual
//! client; what is odd is still refused, because a browser may be pointed
//! straight at it.

/// A request head, read once per exchange.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// As sent, `GET`.
    pub(super) method: String,
    /// The path without the query.
    pub(super) path: String,
    /// After the `?`; empty when there is none.
    pub(super) query: String,
    /// All values of `If-None-Match`.
    pub(super) if_none_match: Vec<String>,
    /// The value of `If-Modified-Since`.
    pub(super) if_modified_since: Option<String>,
    /// The value of `Accept-Language`; empty when absent.
    pub(super) accept_language: String,
    /// The value of `Accept-Encoding`; empty when absent.
    pub(super) accept_encoding: String,
    /// Whether the connection may carry another request.
    pub(super) keep_alive: bool,
}

impl Request {
    /// Whether the answer carries a body.
    pub(super) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }
}

/// The length of the head at the start of `bytes`, with the empty line that
/// ends it; `None` when more bytes are needed.
pub(super) fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .map(|at| at + 4)
}

/// Reads a complete head. `None`: not a request this origin answers, and the
/// connection is to be closed after a 400. A body makes the connection one
/// that is closed, because this origin reads none.
pub(super) fn parse(head: &[u8]) -> Option<Request> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || method.is_empty() || !target.starts_with('/') {
        return None;
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        keep_alive: match version {
            "HTTP/1.1" => true,
            "HTTP/1.0" => false,
            _ => return None,
        },
        ..Request::default()
    };
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        if name.is_empty() || name.ends_with([' ', '\t']) || name.starts_with([' ', '\t']) {
            return None;
        }
        request.note(&name.to_ascii_lowercase(), value.trim_matches([' ', '\t']));
    }
    Some(request)
}

impl Request {
    fn note(&mut self, name: &str, value: &str) {
        match name {
            "if-none-match" => self.if_none_match.push(value.to_owned()),
            "if-modified-since" => self.if_modified_since = Some(value.to_owned()),
            "accept-language" => value.clone_into(&mut self.accept_language),
            "accept-encoding" => value.clone_into(&mut self.accept_encoding),
            "transfer-encoding" => self.keep_alive = false,
            "content-length" if value != "0" => self.keep_alive = false,
            "connection" => {
                let mut options = value.split(',').map(str::trim);
                if options.any(|option| option.eq_ignore_ascii_case("close")) {
                    self.keep_alive = false;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_head_ends_at_its_empty_line() {
        assert_eq!(head_length(b"GET / HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(head_length(b"GET / HTTP/1.1\r\n\r\nGET"), Some(18));
    }

    #[test]
    fn the_fields_that_matter_are_read_in_any_case() {
        let request = parse(
            b"GET /vary?_=1 HTTP/1.1\r\nHOST: a\r\nif-none-match: \"x\"\r\nAccept-Language:\tde \r\n\r\n",
        )
        .unwrap();
        assert_eq!(request.path, "/vary");
        assert_eq!(request.query, "_=1");
        assert_eq!(request.if_none_match, ["\"x\""]);
        assert_eq!(request.accept_language, "de");
        assert!(request.keep_alive);
    }

    #[test]
    fn a_connection_is_not_used_again_after_a_body_or_when_asked() {
        for field in [
            "Content-Length: 3",
            "Transfer-Encoding: chunked",
            "Connection: foo, Close",
        ] {
            let head = format!("POST / HTTP/1.1\r\n{field}\r\n\r\n");
            assert!(!parse(head.as_bytes()).unwrap().keep_alive, "{field}");
        }
        assert!(!parse(b"GET / HTTP/1.0\r\n\r\n").unwrap().keep_alive);
    }

    #[test]
    fn what_is_not_a_request_is_refused() {
        for head in [
            "GET /\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1 x\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        ] {
            assert_eq!(parse(head.as_bytes()), None, "{head:?}");
        }
    }
}
