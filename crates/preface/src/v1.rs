//! Version 1: a line of text, `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{Ends, Header, Malformed};

pub(crate) const START: &[u8] = b"PROXY ";
/// With its line end (section 2.1).
const MOST: usize = 107;

pub(crate) fn read(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    let window = &bytes[..bytes.len().min(MOST)];
    let Some(end) = window.iter().position(|&byte| byte == b'\n') else {
        return match window.len() {
            MOST => Err(Malformed("the line is too long")),
            _ => Ok(None),
        };
    };
    let line = window[..end]
        .strip_suffix(b"\r")
        .ok_or(Malformed("the line does not end in CR LF"))?;
    let line = str::from_utf8(line).map_err(|_| Malformed("the line is not ASCII"))?;
    Ok(Some(Header {
        ends: line_ends(line)?,
        bytes: end + 1,
    }))
}

fn line_ends(line: &str) -> Result<Option<Ends>, Malformed> {
    let mut words = line.split(' ').skip(1);
    let family = words.next().unwrap_or_default();
    if family == "UNKNOWN" {
        // Whatever follows is to be ignored.
        return Ok(None);
    }
    let mut address = |wrong| words.next().ok_or(Malformed(wrong));
    let source = ip(family, address("the source is missing")?)?;
    let destination = ip(family, address("the destination is missing")?)?;
    let source_port = port(address("the source's port is missing")?)?;
    let destination_port = port(address("the destination's port is missing")?)?;
    if words.next().is_some() {
        return Err(Malformed("something follows the ports"));
    }
    Ok(Some(Ends {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
    }))
}

fn ip(family: &str, word: &str) -> Result<IpAddr, Malformed> {
    const WRONG: Malformed = Malformed("an address is not of its family");
    match family {
        "TCP4" => word.parse::<Ipv4Addr>().map(Into::into).map_err(|_| WRONG),
        "TCP6" => word.parse::<Ipv6Addr>().map(Into::into).map_err(|_| WRONG),
        _ => Err(Malformed("the family is none of TCP4, TCP6 and UNKNOWN")),
    }
}

/// Digits, without a sign or a leading zero.
fn port(word: &str) -> Result<u16, Malformed> {
    const WRONG: Malformed = Malformed("a port is not a number");
    let plain = word.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (word.len() > 1 && word.starts_with('0')) {
        return Err(WRONG);
    }
    word.parse().map_err(|_| WRONG)
}

pub(crate) fn write(ends: Option<&Ends>, out: &mut Vec<u8>) {
    let Some(ends) = ends else {
        return out.extend_from_slice(b"PROXY UNKNOWN\r\n");
    };
    let family = if ends.source.is_ipv4() {
        "TCP4"
    } else {
        "TCP6"
    };
    let (from, to) = (ends.source, ends.destination);
    let line = format!(
        "PROXY {family} {} {} {} {}\r\n",
        from.ip(),
        to.ip(),
        from.port(),
        to.port()
    );
    out.extend_from_slice(line.as_bytes());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_the_line() {
        let read = |line: &str| read(line.as_bytes()).map(|header| header.unwrap());
        let header = read("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\nGET").unwrap();
        assert_eq!(header.bytes, 45);
        let ends = header.ends.unwrap();
        assert_eq!(ends.source.to_string(), "192.0.2.1:56324");
        assert_eq!(ends.destination.to_string(), "198.51.100.1:443");
        let ends = read("PROXY TCP6 ::1 2001:db8::2 1 2\r\n").unwrap().ends;
        assert_eq!(ends.unwrap().source.to_string(), "[::1]:1");
        for unknown in ["PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff:f::1 ::2 1 2\r\n"] {
            assert_eq!(read(unknown).unwrap().ends, None);
        }
        for wrong in [
            "PROXY \r\n",
            "PROXY TCP4\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 56324\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443 \r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 56324 65536\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 +1 443\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 01 443\r\n",
            "PROXY TCP4 ::1 ::2 1 2\r\n",
            "PROXY TCP4 192.0.2.1  198.51.100.1 1 2\r\n",
            "PROXY UDP4 192.0.2.1 198.51.100.1 1 2\r\n",
        ] {
            assert!(super::read(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        let endless = format!("PROXY TCP4 {}", "1".repeat(200));
        assert!(super::read(endless.as_bytes()).is_err());
    }
}
