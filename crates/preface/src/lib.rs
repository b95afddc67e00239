//! The PROXY protocol: what a proxy writes before a connection's first byte, so that the server
//! learns who the client is ("The PROXY protocol, versions 1 & 2", HAProxy, revision 2020/03/05).
//!
//! Pure: it knows neither sockets nor clocks.

mod v1;
mod v2;

use std::fmt;
use std::net::SocketAddr;

/// The longest header that is read: what the standard's addresses need is 107 bytes of text or
/// 232 of binary; the rest is for additions (TLS, unique ids) that are skipped.
pub const MOST_BYTES: usize = 4096;

/// Between whom a connection is, as the proxy saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The client.
    pub source: SocketAddr,
    /// The address that the client connected to; of the same family.
    pub destination: SocketAddr,
}

/// Which form is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A line of text (section 2.1).
    V1,
    /// Binary (section 2.2).
    V2,
}

/// A whole header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// `None` where the proxy does not say (`UNKNOWN`, `LOCAL`, Unix sockets): the addresses of
    /// the connection itself hold.
    pub ends: Option<Ends>,
    /// Its length; what follows belongs to the protocol above.
    pub bytes: usize,
}

/// What stands there is no header of the PROXY protocol: the connection is of no use, for its
/// first bytes cannot be told from a header that somebody forged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no PROXY protocol header: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// Reads a header of either version from the start of `bytes`; `None`: more bytes are needed.
///
/// # Errors
/// It is none, or longer than [`MOST_BYTES`].
pub fn read(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    if starts_like(bytes, v2::SIGNATURE) {
        v2::read(bytes)
    } else if starts_like(bytes, v1::START) {
        v1::read(bytes)
    } else {
        Err(Malformed("it begins otherwise"))
    }
}

/// Appends a header; without `ends` it says that they are not known.
pub fn write(version: Version, ends: Option<&Ends>, out: &mut Vec<u8>) {
    let ends = ends.and_then(of_one_family);
    match version {
        Version::V1 => v1::write(ends.as_ref(), out),
        Version::V2 => v2::write(ends.as_ref(), out),
    }
}

/// Both addresses in one family: IPv4 beside IPv6 is written as IPv4 in IPv6.
fn of_one_family(ends: &Ends) -> Option<Ends> {
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let mapped = |address: SocketAddr| match address {
        SocketAddr::V4(v4) => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        v6 @ SocketAddr::V6(_) => v6,
    };
    let (source, destination) = (plain(ends.source), plain(ends.destination));
    Some(match source.is_ipv4() == destination.is_ipv4() {
        true => Ends {
            source,
            destination,
        },
        false => Ends {
            source: mapped(source),
            destination: mapped(destination),
        },
    })
}

/// Whether `bytes` begin with `start`, as far as there are any.
fn starts_like(bytes: &[u8], start: &[u8]) -> bool {
    let seen = bytes.len().min(start.len());
    bytes[..seen] == start[..seen]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends() -> impl Strategy<Value = Option<Ends>> {
        let address = prop_oneof![
            (any::<[u8; 4]>(), any::<u16>()).prop_map(SocketAddr::from),
            (any::<[u8; 16]>(), any::<u16>()).prop_map(SocketAddr::from),
        ];
        let both = (address.clone(), address).prop_map(|(source, destination)| Ends {
            source,
            destination,
        });
        proptest::option::of(both)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_however_it_arrives(ends in ends(), binary: bool) {
            let version = if binary { Version::V2 } else { Version::V1 };
            let mut bytes = Vec::new();
            write(version, ends.as_ref(), &mut bytes);
            let whole = bytes.len();
            bytes.extend_from_slice(b"GET / HTTP/1.1\r\n");
            for part in 0..whole {
                prop_assert_eq!(read(&bytes[..part]), Ok(None));
            }
            let header = read(&bytes).unwrap().unwrap();
            prop_assert_eq!(header.bytes, whole);
            let expected = ends.as_ref().and_then(of_one_family);
            prop_assert_eq!(header.ends, expected);
        }

        #[test]
        fn no_bytes_are_a_reason_to_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let _ = read(&[v2::SIGNATURE, &bytes].concat());
            let _ = read(&[v1::START, &bytes].concat());
        }
    }

    #[test]
    fn other_protocols_are_told_at_their_first_byte() {
        assert!(read(b"G").is_err());
        assert!(read(b"\x16\x03\x01").is_err());
        assert_eq!(read(b""), Ok(None));
    }
}
