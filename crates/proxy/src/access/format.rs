//! A record to a line.
//!
//! Every format is a list of pieces, text and fields in turn, worked out when
//! the log is opened. What differs between plain lines and JSON is only how a
//! value is written.

use super::clock::Clock;
use super::escape;
use super::record::Record;
use forebay_config::log_fields::{self, LogField, Piece};
use forebay_config::settings::LogFormat;
use forebay_http::fields::FieldId;
use std::io::{self, Write};
use std::net::IpAddr;

/// How lines are made; shared by all workers.
pub(super) struct Format {
    pieces: Vec<Piece>,
    json: bool,
}

/// What a field says about one exchange.
enum Value<'a> {
    Absent,
    /// Bytes from outside, to be escaped.
    Text(&'a [u8]),
    /// Text made here, which needs no escaping.
    Clean(&'a [u8]),
    Number(u64),
    /// Microseconds, written as seconds.
    Seconds(u64),
    Address(IpAddr),
    /// The clock's second with these milliseconds.
    Time(u64),
    RequestLine,
}

impl Format {
    /// # Errors
    /// A template that the configuration's check would have refused.
    pub(super) fn of(format: &LogFormat) -> io::Result<Self> {
        let template = |text: &str| {
            log_fields::parse_template(text).map_err(|error| {
                io::Error::new(io::ErrorKind::InvalidInput, format!("log.format: {error}"))
            })
        };
        Ok(match format {
            LogFormat::Combined => Self {
                pieces: template(log_fields::COMBINED)?,
                json: false,
            },
            LogFormat::Custom(text) => Self {
                pieces: template(text)?,
                json: false,
            },
            LogFormat::Json => Self {
                pieces: json_pieces(),
                json: true,
            },
        })
    }

    /// Appends the record's line, its line feed included.
    pub(super) fn append(&self, record: &Record<'_>, clock: &mut Clock, out: &mut Vec<u8>) {
        clock.set(record.unix_ms);
        for piece in &self.pieces {
            let value = match piece {
                Piece::Text(text) => {
                    out.extend_from_slice(text.as_bytes());
                    continue;
                }
                Piece::Field(field) => value_of(*field, record, clock),
                Piece::Header(name) => text(
                    record
                        .fields
                        .named(name.as_bytes())
                        .next()
                        .unwrap_or_default(),
                ),
            };
            if self.json {
                json(&value, record, clock, out);
            } else {
                plain(&value, record, clock, out);
            }
        }
        out.push(b'\n');
    }
}

/// `{"time":` TIME `,"client":` CLIENT … `}`
fn json_pieces() -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (place, field) in log_fields::JSON.iter().enumerate() {
        let opening = if place == 0 { '{' } else { ',' };
        pieces.push(Piece::Text(format!(
            "{opening}\"{}\":",
            log_fields::row(*field).name
        )));
        pieces.push(Piece::Field(*field));
    }
    pieces.push(Piece::Text("}".into()));
    pieces
}

fn value_of<'a>(field: LogField, record: &Record<'a>, clock: &'a Clock) -> Value<'a> {
    match field {
        LogField::Client => record.client.map_or(Value::Absent, Value::Address),
        LogField::Peer => record
            .peer
            .map_or(Value::Absent, |peer| Value::Address(peer.ip())),
        LogField::ClientPort => record
            .peer
            .map_or(Value::Absent, |peer| Value::Number(peer.port().into())),
        LogField::User => text(record.user.unwrap_or_default()),
        LogField::Scheme if record.secure => Value::Clean(b"https"),
        LogField::Scheme => Value::Clean(b"http"),
        LogField::Time => Value::Time(record.unix_ms % 1_000),
        LogField::TimeLocal => Value::Clean(clock.common()),
        LogField::Method => text(record.method),
        LogField::Target => text(record.target),
        LogField::Protocol if record.method.is_empty() => Value::Absent,
        LogField::Protocol => Value::Clean(protocol(record)),
        LogField::RequestLine if record.method.is_empty() => Value::Absent,
        LogField::RequestLine => Value::RequestLine,
        LogField::Host => text(record.host),
        LogField::Site => text(record.site.as_bytes()),
        LogField::Status => Value::Number(record.status.into()),
        LogField::Bytes => Value::Number(record.body_bytes),
        LogField::Duration => Value::Seconds(record.duration_us),
        LogField::FirstByte => Value::Seconds(record.first_byte_us),
        LogField::Cache => text(record.cache.as_bytes()),
        LogField::CacheReason => text(record.reason.as_bytes()),
        LogField::Upstream => record
            .upstream
            .map_or(Value::Absent, |upstream| text(upstream.as_bytes())),
        LogField::UpstreamTime => record
            .upstream
            .map_or(Value::Absent, |_| Value::Seconds(record.upstream_us)),
        LogField::Referer => text(record.fields.get(FieldId::Referer).unwrap_or_default()),
        LogField::UserAgent => text(record.fields.get(FieldId::UserAgent).unwrap_or_default()),
        LogField::Connection => Value::Number(record.connection),
    }
}

fn text(bytes: &[u8]) -> Value<'_> {
    if bytes.is_empty() {
        Value::Absent
    } else {
        Value::Text(bytes)
    }
}

fn protocol(record: &Record<'_>) -> &'static [u8] {
    if record.http10 {
        b"HTTP/1.0"
    } else {
        b"HTTP/1.1"
    }
}

/// Writes a value into a plain line; what is absent is `-`.
fn plain(value: &Value<'_>, record: &Record<'_>, clock: &Clock, out: &mut Vec<u8>) {
    match value {
        Value::Absent => out.push(b'-'),
        Value::Text(bytes) => escape::plain(bytes, out),
        Value::RequestLine => request_line(record, escape::plain, out),
        value => clean(value, clock, out),
    }
}

/// Writes a value into a JSON line; what is absent is `null`.
fn json(value: &Value<'_>, record: &Record<'_>, clock: &Clock, out: &mut Vec<u8>) {
    match value {
        Value::Absent => out.extend_from_slice(b"null"),
        Value::Number(_) | Value::Seconds(_) => clean(value, clock, out),
        value => {
            out.push(b'"');
            match value {
                Value::Text(bytes) => escape::json(bytes, out),
                Value::RequestLine => request_line(record, escape::json, out),
                value => clean(value, clock, out),
            }
            out.push(b'"');
        }
    }
}

/// Writes a value that looks the same in every format.
fn clean(value: &Value<'_>, clock: &Clock, out: &mut Vec<u8>) {
    match value {
        Value::Clean(bytes) => out.extend_from_slice(bytes),
        Value::Number(number) => integer(*number, out),
        Value::Seconds(micros) => {
            integer(micros / 1_000_000, out);
            fraction(micros % 1_000_000, 6, out);
        }
        Value::Address(address) => ip(*address, out),
        Value::Time(ms) => {
            out.extend_from_slice(clock.rfc3339());
            fraction(*ms, 3, out);
            out.push(b'Z');
        }
        Value::Absent | Value::Text(_) | Value::RequestLine => {}
    }
}

fn request_line(record: &Record<'_>, escape: fn(&[u8], &mut Vec<u8>), out: &mut Vec<u8>) {
    escape(record.method, out);
    out.push(b' ');
    escape(record.target, out);
    out.push(b' ');
    out.extend_from_slice(protocol(record));
}

fn integer(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A point and exactly `digits` (at most 6) digits.
fn fraction(mut number: u64, digits: usize, out: &mut Vec<u8>) {
    let mut text = *b".000000";
    for digit in text[1..=digits].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&text[..=digits]);
}

/// An address; IPv4 in IPv6 as IPv4.
fn ip(address: IpAddr, out: &mut Vec<u8>) {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            for (place, octet) in v4.octets().into_iter().enumerate() {
                if place > 0 {
                    out.push(b'.');
                }
                integer(octet.into(), out);
            }
        }
        // Writing to a Vec cannot fail.
        IpAddr::V6(v6) => drop(write!(out, "{v6}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use forebay_http::fields::Fields;
    use std::sync::OnceLock;

    static AGENT: OnceLock<Fields> = OnceLock::new();
    static FIELDS: OnceLock<Fields> = OnceLock::new();

    fn example<'a>() -> Record<'a> {
        Record {
            unix_ms: 1_795_291_200_123,
            client: Some("192.0.2.7".parse().unwrap()),
            peer: Some("192.0.2.7:51000".parse().unwrap()),
            user: None,
            secure: false,
            connection: 12,
            method: b"GET",
            target: b"/a?b=\"c",
            http10: false,
            host: b"shop.example",
            site: "shop",
            status: 200,
            body_bytes: 6_144,
            duration_us: 1_000_042,
            first_byte_us: 37,
            cache: "hit",
            reason: "",
            upstream: None,
            upstream_us: 0,
            fields: AGENT.get_or_init(|| {
                let mut fields = Fields::new();
                fields.push(FieldId::UserAgent, b"curl/8\n");
                fields.push_named(b"X-Id", b"7");
                fields
            }),
        }
    }

    fn line(format: &LogFormat, record: &Record<'_>) -> String {
        let mut out = Vec::new();
        Format::of(format)
            .unwrap()
            .append(record, &mut Clock::new(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_combined_line() {
        assert_eq!(
            line(&LogFormat::Combined, &example()),
            "192.0.2.7 - - [21/Nov/2026:20:00:00 +0000] \"GET /a?b=\\\"c HTTP/1.1\" 200 6144 \"-\" \"curl/8\\x0a\"\n"
        );
    }

    #[test]
    fn a_json_line() {
        let record = Record {
            upstream: Some("127.0.0.1:9000"),
            upstream_us: 512,
            ..example()
        };
        assert_eq!(
            line(&LogFormat::Json, &record),
            "{\"time\":\"2026-11-21T20:00:00.123Z\",\"client\":\"192.0.2.7\",\"connection\":12,\"method\":\"GET\",\
             \"host\":\"shop.example\",\"target\":\"/a?b=\\\"c\",\"protocol\":\"HTTP/1.1\",\"site\":\"shop\",\
             \"status\":200,\"bytes\":6144,\"duration\":1.000042,\"first_byte\":0.000037,\"cache\":\"hit\",\
             \"cache_reason\":null,\"upstream\":\"127.0.0.1:9000\",\"upstream_time\":0.000512,\"referer\":null,\
             \"user_agent\":\"curl/8\\u000a\"}\n"
        );
    }

    #[test]
    fn a_template_of_the_operator() {
        let format = LogFormat::Custom(
            "{time} {client}:{client_port} {request_line} {{{upstream_time}}}".into(),
        );
        assert_eq!(
            line(&format, &example()),
            "2026-11-21T20:00:00.123Z 192.0.2.7:51000 GET /a?b=\\\"c HTTP/1.1 {-}\n"
        );
    }

    #[test]
    fn whom_a_proxy_speaks_for_is_the_client() {
        let record = Record {
            client: Some("2001:db8::7".parse().unwrap()),
            user: Some(b"anna"),
            secure: true,
            ..example()
        };
        let format = "{client} {peer} {user} {scheme} {header.X-Id} {header.x-other}";
        assert_eq!(
            line(&LogFormat::Custom(format.into()), &record),
            "2001:db8::7 192.0.2.7 anna https 7 -\n"
        );
        let combined = line(&LogFormat::Combined, &record);
        assert!(combined.starts_with("2001:db8::7 - anna ["), "{combined}");
    }

    #[test]
    fn a_request_that_could_not_be_read_is_logged_all_the_same() {
        let record = Record {
            method: b"",
            target: b"",
            client: None,
            status: 400,
            ..example()
        };
        let combined = line(&LogFormat::Combined, &record);
        assert!(combined.starts_with("- - - ["), "{combined}");
        assert!(combined.contains("\"-\" 400 "), "{combined}");
        assert!(line(&LogFormat::Json, &record).contains("\"method\":null,"));
    }

    #[test]
    fn every_field_has_a_value_and_json_quotes_what_is_not_a_number() {
        for row in log_fields::ALL {
            let template = LogFormat::Custom(format!("{{{}}}", row.name));
            assert!(
                line(&template, &example()).len() > 1,
                "{} is empty",
                row.name
            );
            let record = Record {
                upstream: Some("u"),
                user: Some(b"u"),
                fields: FIELDS.get_or_init(|| {
                    let mut fields = Fields::new();
                    fields.push(FieldId::Referer, b"r");
                    fields.push(FieldId::UserAgent, b"a");
                    fields
                }),
                reason: "uri-miss",
                ..example()
            };
            let (clock, mut out) = (Clock::new(), Vec::new());
            json(
                &value_of(row.field, &record, &clock),
                &record,
                &clock,
                &mut out,
            );
            assert_eq!(out[0] != b'"', row.number, "{}", row.name);
        }
    }

    #[test]
    fn addresses_of_both_families() {
        let shown = |text: &str| {
            let mut out = Vec::new();
            ip(text.parse().unwrap(), &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown("255.0.10.1"), "255.0.10.1");
        assert_eq!(shown("2001:db8::1"), "2001:db8::1");
        assert_eq!(shown("::ffff:10.0.0.1"), "10.0.0.1");
    }

    #[test]
    fn a_template_with_an_unknown_field_is_refused() {
        let error = Format::of(&LogFormat::Custom("{no_such}".into()))
            .err()
            .unwrap();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
