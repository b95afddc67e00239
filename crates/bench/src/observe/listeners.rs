//! Sockets that listen, as `/proc/net/{tcp,tcp6,unix}` lists them for this
//! network namespace.
//!
//! Pure: the files' text in, inodes out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `TCP_LISTEN`
const LISTENING: &str = "0A";

/// A listening TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listener {
    pub(super) address: SocketAddr,
    pub(super) inode: u64,
}

/// The listening sockets of `/proc/net/tcp` or `/proc/net/tcp6`.
pub(super) fn tcp(text: &str) -> Vec<Listener> {
    text.lines().skip(1).filter_map(tcp_line).collect()
}

fn tcp_line(line: &str) -> Option<Listener> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    if *fields.get(3)? != LISTENING {
        return None;
    }
    let (ip, port) = fields.get(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(Listener {
        address: SocketAddr::new(address(ip)?, port),
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// An address as hexadecimal words, each in the machine's byte order.
fn address(hex: &str) -> Option<IpAddr> {
    let mut bytes = Vec::with_capacity(16);
    for at in (0..hex.len()).step_by(8) {
        let word = u32::from_str_radix(hex.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    if let Ok(v4) = <[u8; 4]>::try_from(bytes.as_slice()) {
        return Some(Ipv4Addr::from(v4).into());
    }
    let v6 = <[u8; 16]>::try_from(bytes.as_slice()).ok()?;
    Some(Ipv6Addr::from(v6).into())
}

/// The sockets that a connection to `wanted` can reach: those of exactly this address, or, without
/// such, those that listen at all addresses. `[::]` takes IPv4 too, unless told not to, which these
/// files do not show; so it comes last.
pub(super) fn reached(listeners: &[Listener], wanted: SocketAddr) -> Vec<u64> {
    let wanted_ip = wanted.ip().to_canonical();
    let same_kind = match wanted_ip {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    for ip in [wanted_ip, same_kind, IpAddr::V6(Ipv6Addr::UNSPECIFIED)] {
        let is_here = |listener: &&Listener| {
            let address = listener.address;
            address.port() == wanted.port() && address.ip().to_canonical() == ip
        };
        let found: Vec<u64> = listeners.iter().filter(is_here).map(|l| l.inode).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// The listening sockets of this path in `/proc/net/unix`.
pub(super) fn unix(text: &str, path: &str) -> Vec<u64> {
    let listens = |line: &str| {
        // Num RefCount Protocol Flags Type St Inode Path; the path may hold spaces.
        let mut fields = line.splitn(8, ' ').filter(|field| !field.is_empty());
        let flags = u32::from_str_radix(fields.nth(3)?, 16).ok()?;
        let rest = line.trim_end().strip_suffix(path)?.trim_end();
        let inode = rest.rsplit(' ').next()?.parse().ok()?;
        // __SO_ACCEPTCON
        (flags & 0x10000 != 0).then_some(inode)
    };
    text.lines().skip(1).filter_map(listens).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 x
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 x
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 333 1 x
   3: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 444 1 x
   4: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 445 1 x
   5: nonsense
";
    const TCP6: &str = "  sl  local_address remote_address st ...
   0: 00000000000000000000000000000000:0051 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 555 1 x
   1: 00000000000000000000000001000000:0052 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 666 1 x
   2: 0000000000000000FFFF00000100007F:0053 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 777 1 x
";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_socket_that_takes_the_connection_is_found() {
        let mut all = tcp(TCP);
        all.extend(tcp(TCP6));
        for (wanted, expected) in [
            ("127.0.0.1:8080", &[111][..]),
            ("127.0.0.2:8080", &[222]),
            ("127.0.0.1:80", &[444, 445]),
            ("127.0.0.1:81", &[555]),
            ("[::1]:81", &[555]),
            ("[::1]:82", &[666]),
            ("127.0.0.1:82", &[]),
            ("127.0.0.1:83", &[777]),
            ("[::1]:8080", &[]),
            ("127.0.0.1:9", &[]),
        ] {
            assert_eq!(reached(&all, wanted.parse().unwrap()), expected, "{wanted}");
        }
    }

    #[test]
    fn a_unix_socket_is_found_by_its_path() {
        let text = "Num       RefCount Protocol Flags    Type St Inode Path
00000000f9106b1b: 00000003 00000000 00000000 0001 03 5549197 /run/app.sock
00000000f9106b1c: 00000002 00000000 00010000 0001 01 42 /run/app.sock
00000000f9106b1d: 00000002 00000000 00010000 0001 01 43 /other/run/app.sock
0000000018f02b34: 00000003 00000000 00000000 0001 03  1164
";
        assert_eq!(unix(text, "/run/app.sock"), [42]);
        assert_eq!(unix(text, "/run/none.sock"), [0; 0]);
    }
}
