//! Who a client is, and whether it may.

use std::net::{IpAddr, Ipv6Addr};

use forebay_config::settings::Network;

/// Whether a client may, by its address: `deny` is stronger than `allow`, and an empty `allow` is
/// everybody. One without an address (on a Unix socket of this machine) is in no network.
pub fn may(client: Option<IpAddr>, allow: &[Network], deny: &[Network]) -> bool {
    let Some(client) = client else {
        return allow.is_empty();
    };
    let within = |list: &[Network]| list.iter().any(|net| net.contains(client));
    !within(deny) && (allow.is_empty() || within(allow))
}

/// The client behind proxies: the last address of `X-Forwarded-For` that is not a trusted proxy's,
/// where the peer is one. What stands before that may be anybody's invention.
pub fn client<'a>(
    peer: Option<IpAddr>,
    forwarded_for: impl Iterator<Item = &'a [u8]>,
    trusted: &[Network],
) -> Option<IpAddr> {
    let peer = peer.map(|ip| ip.to_canonical());
    let is_trusted = |ip: IpAddr| trusted.iter().any(|net| net.contains(ip));
    if !peer.is_none_or(is_trusted) {
        return peer;
    }
    let members: Vec<&[u8]> = forwarded_for
        .flat_map(|value| value.split(|&b| b == b','))
        .collect();
    let mut found = peer;
    for member in members.into_iter().rev() {
        let Some(ip) = address(member.trim_ascii()) else {
            break;
        };
        found = Some(ip);
        if !is_trusted(ip) {
            break;
        }
    }
    found
}

/// Whether an address, as proxies write it, is one of a trusted proxy.
pub fn is_trusted(text: &[u8], trusted: &[Network]) -> bool {
    address(text).is_some_and(|ip| trusted.iter().any(|net| net.contains(ip)))
}

/// An address as proxies write it: bare, in brackets, or with a port.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?.trim_matches('"');
    let bare = text.parse::<IpAddr>().ok();
    let with_port = || {
        text.parse::<std::net::SocketAddr>()
            .ok()
            .map(|own| own.ip())
    };
    let bracketed = || {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
    };
    let found = bare.or_else(with_port).or_else(bracketed)?;
    Some(found.to_canonical())
}

/// What counts as one client in limits: an IPv4 address, or the 64 bits of an IPv6 network, of
/// which a single client has all.
pub fn one_client(ip: IpAddr) -> u128 {
    match ip.to_canonical() {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6) >> 64 << 64 | 1 << 63,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn net(text: &str, prefix: u8) -> Network {
        Network {
            address: text.parse().unwrap(),
            prefix,
        }
    }

    #[test]
    fn deny_is_stronger_than_allow() {
        let allow = [net("10.0.0.0", 8)];
        let deny = [net("10.1.0.0", 16)];
        let ip = |text: &str| Some(text.parse().unwrap());
        assert!(may(ip("10.2.0.1"), &allow, &deny));
        assert!(!may(ip("10.1.0.1"), &allow, &deny));
        assert!(!may(ip("192.0.2.1"), &allow, &deny));
        assert!(may(ip("192.0.2.1"), &[], &deny));
        assert!(may(ip("::ffff:10.2.0.1"), &allow, &deny));
        assert!(!may(None, &allow, &deny));
        assert!(may(None, &[], &deny));
    }

    #[test]
    fn the_client_is_the_last_that_no_trusted_proxy_is() {
        let trusted = [net("10.0.0.0", 8)];
        let ask = |peer: &str, field: &str| {
            let values = [field.as_bytes()];
            let found = client(Some(peer.parse().unwrap()), values.into_iter(), &trusted);
            found.unwrap().to_string()
        };
        assert_eq!(ask("192.0.2.1", "1.1.1.1"), "192.0.2.1");
        assert_eq!(ask("10.0.0.1", "1.1.1.1"), "1.1.1.1");
        assert_eq!(ask("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2"), "1.1.1.1");
        assert_eq!(ask("10.0.0.1", "6.6.6.6, junk"), "10.0.0.1");
        assert_eq!(ask("10.0.0.1", ""), "10.0.0.1");
        assert_eq!(ask("10.0.0.1", "[2001:db8::1]:80"), "2001:db8::1");
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        let of = |text: &str| one_client(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("0.0.0.0"), of("::"));
    }
}
