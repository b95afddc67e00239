//! From an entry of the file to a request that can be sent.

use std::collections::HashMap;

use base64::Engine as _;

use super::file::{Pair, PostData, Raw, RawRequest};
use super::{Entry, Notes};
use crate::request::{is_token, is_value};
use crate::{Request, Target};

impl Raw {
    /// The request, unless it was never on the wire.
    pub(super) fn request(&self, notes: &mut Notes) -> Option<Request> {
        let raw = &self.request;
        let scheme = raw.url.split(':').next().unwrap_or_default();
        let fault = if self.from_cache.is_some() {
            Some("left out: answered by the browser's cache")
        } else if !matches!(scheme, "http" | "https") {
            Some("left out: the URL is not http or https")
        } else if !(100.0..=999.0).contains(&self.response.status) {
            Some("left out: no response was recorded (blocked, aborted or failed)")
        } else if !is_token(&raw.method) {
            Some("left out: the method is malformed")
        } else {
            None
        };
        if let Some(fault) = fault {
            notes.add(fault);
            return None;
        }
        let Ok(target) = Target::parse(&raw.url) else {
            notes.add("left out: the URL is malformed");
            return None;
        };
        let mut headers = raw.fields(&target, notes);
        let body = raw.body.as_ref().map(|body| body.bytes(notes));
        if let (Some(data), None) = (&raw.body, find(&headers, "content-type"))
            && is_value(&data.mime)
            && !data.mime.is_empty()
        {
            headers.push(("Content-Type".into(), data.mime.clone()));
        }
        Some(Request {
            method: raw.method.clone(),
            target,
            headers,
            body: body.unwrap_or_default(),
        })
    }

    /// The entry with this request, sent at this time; `labels` are the names of pages.
    pub(super) fn entry(
        &self,
        at_ms: u64,
        request: Request,
        labels: &HashMap<&str, &str>,
    ) -> Entry {
        let label = |id: &String| {
            labels
                .get(id.as_str())
                .map_or(id.clone(), |&label| label.into())
        };
        let mime = &self.response.content.mime;
        Entry {
            at_ms,
            // A float to an integer saturates; a recording says -1 for unknown.
            took_ms: self.time.round() as u64,
            request,
            status: self.response.status as u16,
            mime: mime.split(';').next().unwrap_or_default().trim().into(),
            page: self.pageref.as_ref().map(label),
            think_ms: 0,
        }
    }
}

pub(super) fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let field = headers
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    field.map(|(_, value)| value.as_str())
}

impl RawRequest {
    /// The fields as recorded, without those that whoever sends the request writes itself.
    fn fields(&self, target: &Target, notes: &mut Notes) -> Vec<(String, String)> {
        /// Framing and what holds for one connection only (RFC 9110 section 7.6.1).
        const DROPPED: [&str; 9] = [
            "content-length",
            "transfer-encoding",
            "connection",
            "proxy-connection",
            "keep-alive",
            "te",
            "upgrade",
            "http2-settings",
            "expect",
        ];
        let mut fields = Vec::with_capacity(self.headers.len());
        for Pair { name, value } in &self.headers {
            let own_host =
                name.eq_ignore_ascii_case("host") && value.eq_ignore_ascii_case(&target.authority);
            let dropped = DROPPED.iter().any(|known| name.eq_ignore_ascii_case(known));
            // Names with a colon in front are HTTP/2's (`:authority`).
            if own_host || dropped || name.starts_with(':') {
                continue;
            }
            if is_token(name) && is_value(value) {
                fields.push((name.clone(), value.clone()));
            } else {
                notes.add("sent without a field whose name or value is malformed");
            }
        }
        if find(&fields, "cookie").is_none() && !self.cookies.is_empty() {
            let pairs: Vec<String> = self.cookies.iter().map(Pair::joined).collect();
            let cookie = pairs.join("; ");
            if is_value(&cookie) {
                fields.push(("Cookie".into(), cookie));
            }
        }
        fields
    }
}

impl Pair {
    fn joined(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

impl PostData {
    /// The body: the text when it is there, else what the parameters make.
    fn bytes(&self, notes: &mut Notes) -> Vec<u8> {
        if !self.text.is_empty() || self.params.is_empty() {
            if self.encoding.eq_ignore_ascii_case("base64")
                && let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(&self.text)
            {
                return bytes;
            }
            return self.text.clone().into_bytes();
        }
        if self.mime.starts_with("multipart/") {
            notes.add("sent with an empty body: its multipart form was recorded without its text");
            return Vec::new();
        }
        let pairs: Vec<String> = self.params.iter().map(form_pair).collect();
        pairs.join("&").into_bytes()
    }
}

/// `name=value` of a form (`application/x-www-form-urlencoded`).
fn form_pair(pair: &Pair) -> String {
    format!("{}={}", form_part(&pair.name), form_part(&pair.value))
}

/// Recordings disagree on whether parameters are encoded already: what can be encoded text stays.
fn form_part(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte);
    let bytes = text.as_bytes();
    let escape = |at: usize| {
        let digits = bytes.get(at + 1..at + 3);
        bytes[at] == b'%' && digits.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    let encoded = |(at, &byte): (usize, &u8)| plain(byte) || byte == b'+' || escape(at);
    if bytes.iter().enumerate().all(encoded) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for &byte in bytes {
        match byte {
            b' ' => out.push('+'),
            _ if plain(byte) => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
