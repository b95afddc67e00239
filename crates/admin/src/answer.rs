//! An answer and its wire form. The connection always closes behind it.

use forebay_http::date;
use std::time::{SystemTime, UNIX_EPOCH};

/// A whole response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// The methods of the path; written as `Allow` when not empty.
    pub(crate) allow: &'static str,
    pub(crate) body: String,
}

impl Answer {
    /// An answer of status 200.
    pub(crate) fn ok(content_type: &'static str, body: String) -> Self {
        Self {
            status: 200,
            content_type,
            allow: "",
            body,
        }
    }

    /// A JSON document.
    pub(crate) fn json(status: u16, value: &serde_json::Value) -> Self {
        Self {
            status,
            content_type: "application/json",
            allow: "",
            body: format!("{value:#}\n"),
        }
    }

    /// A line of text that says what is wrong.
    pub(crate) fn refusal(status: u16, message: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            allow: "",
            body: format!("{message}\n"),
        }
    }

    /// The answer in wire form; without the body for a HEAD request.
    pub(crate) fn to_bytes(&self, head_only: bool) -> Vec<u8> {
        let mut out =
            format!("HTTP/1.1 {} {}\r\nDate: ", self.status, reason(self.status)).into_bytes();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        date::write(now.as_secs(), &mut out);
        let mut line = |name: &str, value: &str| {
            out.extend_from_slice(format!("\r\n{name}: {value}").as_bytes());
        };
        line("Content-Type", self.content_type);
        line("Content-Length", &self.body.len().to_string());
        if !self.allow.is_empty() {
            line("Allow", self.allow);
        }
        line("Cache-Control", "no-store");
        line("X-Content-Type-Options", "nosniff");
        line(
            "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
        );
        line("Connection", "close");
        out.extend_from_slice(b"\r\n\r\n");
        if !head_only {
            out.extend_from_slice(self.body.as_bytes());
        }
        out
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        414 => "URI Too Long",
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
