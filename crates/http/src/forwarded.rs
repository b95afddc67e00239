//! Whom a request comes from, as proxies tell each other: `Forwarded` (RFC 7239), and the
//! `X-Forwarded-*` fields that are older. Each is read as the other, so that whoever heeds one of
//! them hears the same.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use crate::list::{members, split_once, trim};

/// What a request's `X-Forwarded-*` fields would say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XForwarded {
    /// `X-Forwarded-For`: the addresses, the client's first, without ports. Names that hide one
    /// (section 6.3) and `unknown` stand as they are.
    pub addresses: Vec<u8>,
    /// `X-Forwarded-Host`: what the client asked the first proxy for.
    pub host: Option<Vec<u8>>,
    /// `X-Forwarded-Proto`: the protocol it asked with.
    pub proto: Option<Vec<u8>>,
}

/// Reads all lines of `Forwarded`. What is malformed is passed over.
///
/// Each proxy appends what it saw, so the last element is the word of the peer itself, and one
/// before it counts if the one behind it speaks for a proxy that `is_trusted` by its address. Host
/// and protocol are those of the first that counts: what stands before may be anybody's invention.
pub fn to_x_forwarded<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    is_trusted: impl Fn(&[u8]) -> bool,
) -> XForwarded {
    let elements: Vec<Element<'_>> = values.flat_map(members).map(Element::parse).collect();
    let mut found = XForwarded::default();
    for address in elements.iter().filter_map(|element| element.address()) {
        if !found.addresses.is_empty() {
            found.addresses.extend_from_slice(b", ");
        }
        found.addresses.extend_from_slice(address);
    }
    let mut counts = elements.len().saturating_sub(1);
    while counts > 0
        && elements
            .get(counts)
            .and_then(Element::address)
            .is_some_and(&is_trusted)
    {
        counts -= 1;
    }
    for element in elements.into_iter().skip(counts) {
        found.host = found.host.or(element.host.map(Cow::into_owned));
        found.proto = found.proto.or(element.proto.map(Cow::into_owned));
    }
    found
}

/// What one proxy said.
#[derive(Default)]
struct Element<'a> {
    node: Option<Cow<'a, [u8]>>,
    host: Option<Cow<'a, [u8]>>,
    proto: Option<Cow<'a, [u8]>>,
}

impl<'a> Element<'a> {
    fn parse(text: &'a [u8]) -> Self {
        let mut element = Self::default();
        let mut rest = Some(text);
        while let Some(pairs) = rest {
            let (pair, further) = split_once(pairs, b';');
            rest = further;
            let Some((name, value)) = parameter(pair) else {
                continue;
            };
            if name.eq_ignore_ascii_case(b"for") {
                element.node = Some(value);
            } else if name.eq_ignore_ascii_case(b"host") {
                element.host = Some(value);
            } else if name.eq_ignore_ascii_case(b"proto") {
                element.proto = Some(value);
            }
        }
        element
    }

    fn address(&self) -> Option<&[u8]> {
        self.node.as_deref().map(without_port)
    }
}

/// Appends the members of a `Forwarded` field that say what these `X-Forwarded-*` fields say,
/// separated and not ended. Nothing is appended where they say nothing.
pub fn write_forwarded<'a>(
    addresses: impl Iterator<Item = &'a [u8]>,
    host: Option<&[u8]>,
    proto: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    // Host and protocol are what the first proxy saw, as the first address is.
    let about_first = |out: &mut Vec<u8>| {
        for (name, value) in [("host=", host), ("proto=", proto)] {
            if let Some(value) = value {
                if out.len() > begin {
                    out.push(b';');
                }
                out.extend_from_slice(name.as_bytes());
                write_value(value, out);
            }
        }
    };
    let addresses = addresses.flat_map(members);
    let mut is_first = true;
    for address in addresses.filter(|address| !address.is_empty()) {
        if !is_first {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(b"for=");
        write_node(address, out);
        if is_first {
            about_first(out);
        }
        is_first = false;
    }
    if is_first {
        about_first(out);
    }
}

/// Appends an address as the value of `for`: one of IPv6 in brackets and quotes (section 6).
pub fn write_node(address: &[u8], out: &mut Vec<u8>) {
    let text = std::str::from_utf8(address).unwrap_or_default();
    if text.parse::<Ipv6Addr>().is_ok() {
        out.extend_from_slice(b"\"[");
        out.extend_from_slice(address);
        out.extend_from_slice(b"]\"");
    } else {
        write_value(address, out);
    }
}

/// Appends a value: as a token, or quoted (section 4).
fn write_value(value: &[u8], out: &mut Vec<u8>) {
    if !value.is_empty() && value.iter().copied().all(crate::head::is_token) {
        out.extend_from_slice(value);
        return;
    }
    out.push(b'"');
    for &byte in value {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// `NAME=VALUE`, the value without quotes and what they need.
fn parameter(pair: &[u8]) -> Option<(&[u8], Cow<'_, [u8]>)> {
    let (name, value) = split_once(pair, b'=');
    let value = trim(value?);
    let quoted = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    let value = match quoted {
        Some(inner) if inner.contains(&b'\\') => {
            let mut plain = Vec::with_capacity(inner.len());
            let mut bytes = inner.iter();
            while let Some(&byte) = bytes.next() {
                let literal = if byte == b'\\' { bytes.next() } else { None };
                plain.push(*literal.unwrap_or(&byte));
            }
            Cow::Owned(plain)
        }
        Some(inner) => Cow::Borrowed(inner),
        None => Cow::Borrowed(value),
    };
    (!value.is_empty()).then_some((trim(name), value))
}

/// A node's name without its port, one of IPv6 without its brackets.
fn without_port(node: &[u8]) -> &[u8] {
    if let Some(inner) = node.strip_prefix(b"[") {
        let end = inner.iter().position(|&byte| byte == b']');
        return end.map_or(node, |end| &inner[..end]);
    }
    match node.iter().position(|&byte| byte == b':') {
        // More than one colon is an address of IPv6 whose brackets were forgotten.
        Some(colon) if !node[colon + 1..].contains(&b':') => &node[..colon],
        _ => node,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> (String, Option<String>, Option<String>) {
        let trusted = |address: &[u8]| address.starts_with(b"10.");
        let found = to_x_forwarded([value.as_bytes()].into_iter(), trusted);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (
            text(found.addresses),
            found.host.map(text),
            found.proto.map(text),
        )
    }

    fn written(addresses: &str, host: Option<&str>, proto: Option<&str>) -> String {
        let mut out = Vec::new();
        let lines = (!addresses.is_empty()).then_some(addresses.as_bytes());
        write_forwarded(
            lines.into_iter(),
            host.map(str::as_bytes),
            proto.map(str::as_bytes),
            &mut out,
        );
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn the_first_proxy_that_counts_says_what_was_asked_for() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            read("for=192.0.2.60;proto=https;by=203.0.113.43, for=10.0.0.1;proto=http;host=b"),
            ("192.0.2.60, 10.0.0.1".into(), some("b"), some("https"))
        );
        assert_eq!(
            read("For=\"[2001:db8:cafe::17]:4711\" ; Host=\"a.example:8080\""),
            ("2001:db8:cafe::17".into(), some("a.example:8080"), None)
        );
        assert_eq!(
            read("for=_hidden, for=unknown, for=\"1.2.3.4:80\""),
            ("_hidden, unknown, 1.2.3.4".into(), None, None)
        );
        assert_eq!(
            read("for=\"a, b\";host=\"q\\\"q\""),
            ("a, b".into(), some("q\"q"), None)
        );
    }

    #[test]
    fn what_a_client_says_before_its_proxy_does_not_count() {
        let (addresses, host, proto) =
            read("for=6.6.6.6;host=evil;proto=https, for=192.0.2.60;proto=http, for=10.0.0.1");
        assert_eq!(addresses, "6.6.6.6, 192.0.2.60, 10.0.0.1");
        assert_eq!((host, proto), (None, Some("http".to_owned())));
        assert_eq!(read("host=evil, for=192.0.2.60").1, None);
    }

    #[test]
    fn nothing_in_an_address_becomes_a_parameter() {
        let forged = "::\";host=evil;x=\"";
        let there = written(forged, None, Some("https"));
        assert_eq!(there, "for=\"::\\\";host=evil;x=\\\"\";proto=https");
        assert_eq!(read(&there).1, None);
    }

    #[test]
    fn what_is_malformed_is_passed_over() {
        assert_eq!(read("").0, "");
        assert_eq!(read(";;=,for,for=,\"").0, "");
        assert_eq!(read("for=1.2.3.4;proto").0, "1.2.3.4");
    }

    #[test]
    fn older_fields_are_written_as_the_newer_one() {
        assert_eq!(
            written("192.0.2.60, 2001:db8::1", Some("a.example"), Some("https")),
            "for=192.0.2.60;host=a.example;proto=https, for=\"[2001:db8::1]\""
        );
        assert_eq!(written("", None, Some("https")), "proto=https");
        assert_eq!(written(" ,1.2.3.4:80,", None, None), "for=\"1.2.3.4:80\"");
        assert_eq!(written("", Some("a:80"), None), "host=\"a:80\"");
        assert_eq!(written("", None, None), "");
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        for address in ["192.0.2.60", "2001:db8::1", "_x", "unknown"] {
            let there = written(address, Some("h\"\\:1"), Some("https"));
            let back = (
                address.to_owned(),
                Some("h\"\\:1".into()),
                Some("https".into()),
            );
            assert_eq!(read(&there), back);
        }
    }
}
