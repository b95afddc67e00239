//! A JSON object for each line.
//!
//! Every server and every administrator has other names for the same things,
//! so a table tells what a key is, and which key is believed when several
//! say the same.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::json_value::{Headers, Scalar, Text, Value};
use super::{Entry, Fault, escape, request_line};
use crate::time;

/// What a key is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Time,
    Took,
    Method,
    Url,
    Line,
    Host,
    Status,
    Bytes,
    Referer,
    Agent,
}

const FIELDS: usize = 10;

/// The field that a key is, and how much it is believed (more is better).
fn field(key: &str) -> Option<(Field, u8)> {
    Some(match key {
        // nginx: seconds with milliseconds. Caddy: seconds with a fraction.
        "msec" | "ts" => (Field::Time, 4),
        "StartUTC" | "start_time" => (Field::Time, 3),
        "time_iso8601" | "time" | "@timestamp" | "timestamp" => (Field::Time, 2),
        "time_local" | "datetime" => (Field::Time, 1),
        "request_time" | "duration" => (Field::Took, 1),
        "method" | "request_method" | "RequestMethod" => (Field::Method, 1),
        // `uri` of nginx is the path after rewriting, of Caddy the one that was asked for.
        "request_uri" | "target" => (Field::Url, 3),
        "uri" | "url" | "RequestPath" => (Field::Url, 2),
        "path" => (Field::Url, 1),
        "request" | "request_line" => (Field::Line, 1),
        "http_host" => (Field::Host, 3),
        "host" | "RequestHost" => (Field::Host, 2),
        "server_name" | "vhost" => (Field::Host, 1),
        "status" | "DownstreamStatus" => (Field::Status, 1),
        "body_bytes_sent" | "bytes" => (Field::Bytes, 2),
        "size" | "bytes_sent" | "DownstreamContentSize" => (Field::Bytes, 1),
        "referer" | "http_referer" | "referrer" | "http_referrer" => (Field::Referer, 1),
        "user_agent" | "http_user_agent" | "agent" => (Field::Agent, 1),
        _ => return None,
    })
}

/// What the line says of each field, by the key that is believed most.
#[derive(Default)]
struct Line<'a> {
    values: [(u8, Scalar<'a>); FIELDS],
}

/// Reads a line. nginx writes bytes that are not UTF-8 as they came, which no JSON reader takes;
/// they are percent-encoded first.
pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, Fault> {
    match std::str::from_utf8(line) {
        Ok(text) => object(text),
        Err(_) => object(&escape::utf8(line)).map(Entry::into_owned),
    }
}

fn object(line: &str) -> Result<Entry<'_>, Fault> {
    let unreadable = |reason: String| Fault::Unreadable(reason.into());
    let mut line: Line<'_> = serde_json::from_str(line)
        .map_err(|error| unreadable(format!("not a JSON object ({error})")))?;
    let at_ms = line.at_ms();
    let (method, url) = match (line.text(Field::Method), line.text(Field::Url)) {
        (Some(method), Some(url)) => (method, url),
        (method, url) => match line.text(Field::Line) {
            Some(text) => {
                let (own_method, own_url) = request_line(text)?;
                (method.unwrap_or(own_method), url.unwrap_or(own_url))
            }
            None if line.has(Field::Method) || line.has(Field::Line) => {
                return Err(Fault::NoRequest);
            }
            None => return Err(unreadable("no key for the method and the URL".into())),
        },
    };
    if !crate::request::is_token(&method) {
        return Err(Fault::NoRequest);
    }
    Ok(Entry {
        at_ms,
        method,
        url,
        host: line.text(Field::Host),
        status: line.number(Field::Status) as u16,
        bytes: line.number(Field::Bytes) as u64,
        referer: line.text(Field::Referer).map(escape::sendable),
        user_agent: line.text(Field::Agent).map(escape::sendable),
    })
}

impl<'a> Line<'a> {
    fn put(&mut self, field: Field, rank: u8, value: Scalar<'a>) {
        let slot = &mut self.values[field as usize];
        // An empty value gives way to any other, but shows that the key was there.
        let better = rank > slot.0 || matches!(slot.1, Scalar::None);
        if better && !(slot.0 > 0 && matches!(value, Scalar::None)) {
            *slot = (rank, value);
        }
    }

    /// Whether there was a key for this, whatever its value.
    fn has(&self, field: Field) -> bool {
        self.values[field as usize].0 > 0
    }

    /// Takes a text out of the line; `-` and nothing are none.
    fn text(&mut self, field: Field) -> Option<Cow<'a, str>> {
        match std::mem::take(&mut self.values[field as usize].1) {
            Scalar::Text(text) if !matches!(&*text, "" | "-") => Some(text),
            _ => None,
        }
    }

    /// A number, or a text that is one; else 0.
    fn number(&self, field: Field) -> f64 {
        match &self.values[field as usize].1 {
            Scalar::Number(number) => *number,
            Scalar::Text(text) => text.parse().unwrap_or(0.0),
            Scalar::None => 0.0,
        }
    }

    /// When the request began. Only a start time is one already; all others are written when
    /// the request has ended.
    fn at_ms(&self) -> Option<i64> {
        const IS_START: u8 = 3;
        let (rank, value) = &self.values[Field::Time as usize];
        let at_ms = match value {
            Scalar::None => return None,
            Scalar::Number(number) => time::number(*number)?,
            Scalar::Text(text) => {
                let text = text.as_bytes();
                time::rfc3339(text)
                    .or_else(|| time::common(text))
                    .or_else(|| time::seconds(text))?
            }
        };
        if *rank == IS_START {
            return Some(at_ms);
        }
        let took_ms = self.number(Field::Took) * 1e3;
        Some(at_ms.saturating_sub(took_ms.max(0.0).round() as i64))
    }
}

impl<'de> Deserialize<'de> for Line<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut line = Line::default();
        deserializer.deserialize_map(Object { line: &mut line })?;
        Ok(line)
    }
}

/// The line's object, or the one under `request` (Caddy).
struct Object<'l, 'de> {
    line: &'l mut Line<'de>,
}

impl<'de> Visitor<'de> for Object<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match field(&key.0) {
                Some((Field::Line, rank)) => map.next_value_seed(Request {
                    line: self.line,
                    rank,
                })?,
                Some((field, rank)) => {
                    let Value(value) = map.next_value()?;
                    self.line.put(field, rank, value);
                }
                None if key.0 == "headers" => {
                    let headers: Headers<'de> = map.next_value()?;
                    self.line.put(Field::Referer, 2, headers.referer);
                    self.line.put(Field::Agent, 2, headers.agent);
                }
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The value of `request`: a request line, or an object with more keys.
struct Request<'l, 'de> {
    line: &'l mut Line<'de>,
    rank: u8,
}

impl<'de> serde::de::DeserializeSeed<'de> for Request<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Request<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request line or an object")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.line
            .put(Field::Line, self.rank, Scalar::Text(text.into()));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.line
            .put(Field::Line, self.rank, Scalar::Text(text.to_owned().into()));
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.line.put(Field::Line, self.rank, Scalar::None);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        Object { line: self.line }.visit_map(map)
    }
}
