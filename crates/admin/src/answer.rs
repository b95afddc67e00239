//! An answer and its wire form. The connection always closes behind it.

use crate::control::Problem;
use forebay_http::{date, fields};
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

/// What pages may do: load what this server has, and nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A whole response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// The methods of the path; written as `Allow` when not empty.
    pub(crate) allow: String,
    pub(crate) body: Cow<'static, [u8]>,
}

impl Answer {
    /// An answer of status 200.
    pub(crate) fn ok(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            content_type,
            allow: String::new(),
            body: Cow::Owned(body.into()),
        }
    }

    /// Something embedded in the program.
    pub(crate) fn embedded(content_type: &'static str, body: &'static [u8]) -> Self {
        Self {
            body: Cow::Borrowed(body),
            ..Self::ok(content_type, Vec::new())
        }
    }

    /// A JSON document.
    pub(crate) fn json(status: u16, value: &impl Serialize) -> Self {
        match serde_json::to_vec_pretty(value) {
            Ok(mut body) => {
                body.push(b'\n');
                Self {
                    status,
                    ..Self::ok("application/json", body)
                }
            }
            Err(error) => Self::refusal(500, &format!("the answer has no JSON form: {error}")),
        }
    }

    /// [`Answer::json`] without white space, for what may be long.
    pub(crate) fn compact(value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self::ok("application/json", body),
            Err(error) => Self::refusal(500, &format!("the answer has no JSON form: {error}")),
        }
    }

    /// A line of text that says what is wrong.
    pub(crate) fn refusal(status: u16, message: &str) -> Self {
        Self {
            status,
            ..Self::ok("text/plain; charset=utf-8", format!("{message}\n"))
        }
    }

    /// The same as an error of the API: `{"error": …}`.
    pub(crate) fn error(status: u16, message: &str) -> Self {
        Self::json(status, &json!({ "error": message }))
    }

    /// A refusal in the words of the API.
    #[must_use]
    pub(crate) fn into_api(self) -> Self {
        if self.status < 400 || self.content_type == "application/json" {
            return self;
        }
        let text = String::from_utf8_lossy(&self.body).trim().to_owned();
        Self {
            allow: self.allow,
            ..Self::error(self.status, &text)
        }
    }

    /// The answer in wire form; without the body for a HEAD request.
    pub(crate) fn to_bytes(&self, head_only: bool) -> Vec<u8> {
        let length = self.body.len().to_string();
        let own = [("Content-Length", length.as_str()), ("Allow", &self.allow)];
        let mut out = head(self.status, self.content_type, &own);
        if !head_only {
            out.extend_from_slice(&self.body);
        }
        out
    }
}

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        Self::error(problem.status(), problem.message())
    }
}

/// The head of an answer that goes on until there is no more to say: chunked,
/// or for a client of HTTP/1.0 until the connection ends.
pub(crate) fn stream_head(content_type: &str, chunked: bool) -> Vec<u8> {
    let coding = if chunked { "chunked" } else { "" };
    head(200, content_type, &[("Transfer-Encoding", coding)])
}

/// A whole head: the fields that every answer has, and its `own`, of which
/// those without a value are left out.
fn head(status: u16, content_type: &str, own: &[(&str, &str)]) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {status} {}\r\nDate: ", reason(status)).into_bytes();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    date::write(now.as_secs(), &mut out);
    out.extend_from_slice(b"\r\n");
    // RFC 9110 section 15.5.2 wants it, RFC 6750 section 3 says how.
    let challenge = if status == 401 {
        "Bearer realm=\"forebay\""
    } else {
        ""
    };
    let common = [
        ("Content-Type", content_type),
        ("WWW-Authenticate", challenge),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", POLICY),
        ("Connection", "close"),
    ];
    let fields = own.iter().chain(&common);
    for (name, value) in fields.filter(|(_, value)| !value.is_empty()) {
        fields::write_line(&mut out, name.as_bytes(), value.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        // The phrase may be empty (RFC 9112 section 4).
        _ => "",
    }
}
