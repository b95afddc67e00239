//! Version 2: binary. Twelve bytes of signature, version and command, family and transport, a
//! length, addresses, and additions (TLVs), which are skipped.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{Ends, Header, MOST_BYTES, Malformed};

pub(crate) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Up to the length's end.
const FIXED: usize = 16;
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;

pub(crate) fn read(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    let Some((fixed, rest)) = bytes.split_at_checked(FIXED) else {
        return Ok(None);
    };
    let (command, family) = (fixed[12], fixed[13]);
    if command != LOCAL && command != PROXY {
        return Err(Malformed("the version or the command is unknown"));
    }
    let length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if FIXED + length > MOST_BYTES {
        return Err(Malformed("it is too long"));
    }
    let Some(block) = rest.get(..length) else {
        return Ok(None);
    };
    let ends = match (command, family) {
        (LOCAL, _) => None,
        (_, TCP4) => Some(ends::<4>(block)?),
        (_, TCP6) => Some(ends::<16>(block)?),
        // Unix sockets, datagrams and what nobody knows: the connection's own addresses hold.
        _ => None,
    };
    Ok(Some(Header {
        ends,
        bytes: FIXED + length,
    }))
}

/// Source, destination and their ports; `N` bytes for an address.
fn ends<const N: usize>(block: &[u8]) -> Result<Ends, Malformed>
where
    [u8; N]: IntoAddress,
{
    const SHORT: Malformed = Malformed("the addresses are cut off");
    let (source, rest) = block.split_first_chunk::<N>().ok_or(SHORT)?;
    let (destination, rest) = rest.split_first_chunk::<N>().ok_or(SHORT)?;
    let (source_port, rest) = rest.split_first_chunk::<2>().ok_or(SHORT)?;
    let (destination_port, _) = rest.split_first_chunk::<2>().ok_or(SHORT)?;
    Ok(Ends {
        source: source.with_port(u16::from_be_bytes(*source_port)),
        destination: destination.with_port(u16::from_be_bytes(*destination_port)),
    })
}

/// The bytes of an address.
trait IntoAddress {
    fn with_port(self, port: u16) -> SocketAddr;
}

impl IntoAddress for [u8; 4] {
    fn with_port(self, port: u16) -> SocketAddr {
        (Ipv4Addr::from(self), port).into()
    }
}

impl IntoAddress for [u8; 16] {
    fn with_port(self, port: u16) -> SocketAddr {
        (Ipv6Addr::from(self), port).into()
    }
}

pub(crate) fn write(ends: Option<&Ends>, out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    let Some(ends) = ends else {
        return out.extend_from_slice(&[LOCAL, 0, 0, 0]);
    };
    match (ends.source, ends.destination) {
        (SocketAddr::V4(from), SocketAddr::V4(to)) => {
            out.extend_from_slice(&[PROXY, TCP4, 0, 12]);
            out.extend_from_slice(&from.ip().octets());
            out.extend_from_slice(&to.ip().octets());
        }
        (from, to) => {
            out.extend_from_slice(&[PROXY, TCP6, 0, 36]);
            for address in [from, to] {
                let octets = match address {
                    SocketAddr::V4(v4) => v4.ip().to_ipv6_mapped().octets(),
                    SocketAddr::V6(v6) => v6.ip().octets(),
                };
                out.extend_from_slice(&octets);
            }
        }
    }
    out.extend_from_slice(&ends.source.port().to_be_bytes());
    out.extend_from_slice(&ends.destination.port().to_be_bytes());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn header(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend_from_slice(&[command, family]);
        bytes.extend_from_slice(&(block.len() as u16).to_be_bytes());
        bytes.extend_from_slice(block);
        bytes
    }

    #[test]
    fn additions_are_skipped_and_unknown_families_say_nothing() {
        let mut block = vec![192, 0, 2, 1, 198, 51, 100, 1, 0xdc, 4, 1, 187];
        block.extend_from_slice(&[0x20, 0, 3, 1, 2, 3]);
        let bytes = header(PROXY, TCP4, &block);
        let read_header = read(&bytes).unwrap().unwrap();
        assert_eq!(read_header.bytes, bytes.len());
        let ends = read_header.ends.unwrap();
        assert_eq!(ends.source.to_string(), "192.0.2.1:56324");
        assert_eq!(ends.destination.to_string(), "198.51.100.1:443");
        for (command, family) in [(LOCAL, 0), (LOCAL, TCP4), (PROXY, 0), (PROXY, 0x31)] {
            let bytes = header(command, family, &[0; 216]);
            assert_eq!(read(&bytes).unwrap().unwrap().ends, None);
        }
    }

    #[test]
    fn what_is_wrong_is_refused() {
        assert!(read(&header(0x11, TCP4, &[0; 12])).is_err(), "version 1");
        assert!(read(&header(0x22, TCP4, &[0; 12])).is_err(), "command 2");
        assert!(read(&header(PROXY, TCP4, &[0; 11])).is_err(), "cut off");
        assert!(read(&header(PROXY, TCP6, &[0; 35])).is_err(), "cut off");
        assert!(read(&header(PROXY, TCP4, &[0; 5000])).is_err(), "too long");
    }
}
