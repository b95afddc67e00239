//! Addresses and names as an operator writes them: where to listen, a server of
//! a pool, a host, a network. Syntax only; nothing is resolved here.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use crate::settings::{HostSent, ListenAddress, Network, ServerAddress};

/// Why a text is not what it should be, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) message: String,
    pub(crate) suggestion: Option<String>,
}

impl Refused {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            suggestion: None,
        }
    }

    pub(crate) fn write(message: impl Into<String>, instead: impl std::fmt::Display) -> Self {
        Self {
            message: message.into(),
            suggestion: Some(format!("write \"{instead}\"")),
        }
    }
}

/// The longest path of a Unix socket, in bytes (`sun_path` less its final NUL).
const UNIX_PATH_MAX: usize = 107;

/// `127.0.0.1:8080`, `[::1]:8080`, `unix:/run/forebay.sock`.
pub(crate) fn listen(text: &str) -> Result<ListenAddress, Refused> {
    match text.strip_prefix("unix:") {
        Some(path) => Ok(ListenAddress::Unix(unix_path(path)?)),
        None => Ok(ListenAddress::Tcp(socket(text)?)),
    }
}

/// A DNS server: `192.0.2.53`, `[2001:db8::53]:5353`.
pub(crate) fn resolver(text: &str) -> Result<SocketAddr, Refused> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, 53));
    }
    text.parse()
        .map_err(|_| Refused::new(format!("`{text}` is not the IP address of a DNS server")))
}

/// `127.0.0.1:8080`, `[::1]:8080`; a port of 0 takes any free one.
pub(crate) fn socket(text: &str) -> Result<SocketAddr, Refused> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let message = format!("`{text}` is not an IP address with a port");
    let Some((host, digits)) = text.rsplit_once(':') else {
        return Err(match text.parse::<u16>() {
            Ok(port) => Refused::write(message, format_args!("127.0.0.1:{port}")),
            Err(_) => Refused::new(message),
        });
    };
    let Ok(port) = digits.parse::<u16>() else {
        return Err(Refused::new(message));
    };
    Err(match host {
        "" | "*" => Refused::write(message, format_args!("0.0.0.0:{port}")),
        "localhost" => Refused::write(message, format_args!("127.0.0.1:{port}")),
        _ if host.parse::<Ipv6Addr>().is_ok() => {
            Refused::write(message, format_args!("[{host}]:{port}"))
        }
        _ => Refused::new(message),
    })
}

/// A server of a pool: `host:port`, `host`, `[v6]:port`, `unix:/path`, `http://host[:port]`,
/// `https://host[:port]`; and whether it was the last. Without a port: 80, with `https` 443.
pub(crate) fn server(text: &str) -> Result<(ServerAddress, bool), Refused> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Ok((ServerAddress::Unix(unix_path(path)?), false));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return match scheme.to_ascii_lowercase().as_str() {
            "http" => Ok((server_of_url(rest, 80)?, false)),
            "https" => Ok((server_of_url(rest, 443)?, true)),
            _ => Err(Refused::new(format!(
                "`{scheme}://` is not a way to reach a server"
            ))),
        };
    }
    Ok((authority(text, 80)?, false))
}

/// The same, or `srv:_service._proto.name` (RFC 2782).
pub(crate) fn server_or_service(text: &str) -> Result<(ServerAddress, bool), Refused> {
    match text.strip_prefix("srv:") {
        Some(service) if service.starts_with('_') => {
            name(service)?;
            Ok((ServerAddress::Srv(service.to_ascii_lowercase()), false))
        }
        Some(service) => Err(Refused::write(
            format!("`{service}` is not the name of a service"),
            format_args!("srv:_http._tcp.{service}"),
        )),
        None => server(text),
    }
}

/// The address of a server as it stands in the list of a pool: `host:port`, `unix:/path`,
/// `srv:_http._tcp.name`.
///
/// # Errors
/// What is wrong with it, in words; also where it asks for TLS, which the whole pool has or has
/// not.
pub fn server_address(text: &str) -> Result<ServerAddress, String> {
    match server_or_service(text) {
        Ok((address, false)) => Ok(address),
        Ok((address, true)) => Err(format!(
            "whether TLS is spoken is for the pool to say; write {address}"
        )),
        Err(refused) => Err(match refused.suggestion {
            Some(instead) => format!("{}; write {instead}", refused.message),
            None => refused.message,
        }),
    }
}

/// A FastCGI server: `unix:/path`, `host:port`. There is no usual port.
pub(crate) fn fastcgi_server(text: &str) -> Result<ServerAddress, Refused> {
    if text.starts_with('/') {
        return Err(Refused::write(
            "a socket is written with `unix:`",
            format_args!("unix:{text}"),
        ));
    }
    match server(text)? {
        (_, true) => Err(Refused::new("FastCGI is not spoken over https")),
        (address, false) if address_has_port(text) => Ok(address),
        _ => Err(Refused::write(
            "the port is missing",
            format_args!("{text}:9000"),
        )),
    }
}

/// Whether a server that is not an URL was written with what is needed to reach it.
fn address_has_port(text: &str) -> bool {
    text.starts_with("unix:")
        || text
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

/// `client`, `server`, or a host.
pub(crate) fn whose_host(text: &str) -> Result<HostSent, Refused> {
    match text {
        "client" => Ok(HostSent::Client),
        "server" => Ok(HostSent::Server),
        other => host_sent(other).map(HostSent::Fixed),
    }
}

/// A host that is sent to servers: a name or an address, perhaps with a port.
pub(crate) fn host_sent(text: &str) -> Result<String, Refused> {
    authority(text, 80)?;
    Ok(text.to_ascii_lowercase())
}

/// What follows `http://`: only an empty path may come after host and port.
fn server_of_url(rest: &str, usual: u16) -> Result<ServerAddress, Refused> {
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if path.is_empty() {
        return authority(host, usual);
    }
    Err(Refused::write(
        format!("a server has no path, but `/{path}` follows it"),
        host,
    ))
}

/// `host[:port]`, `v4[:port]`, `v6`, `[v6][:port]`.
fn authority(text: &str, usual: u16) -> Result<ServerAddress, Refused> {
    let tcp = |host: &str, port| ServerAddress::Tcp {
        host: host.to_ascii_lowercase(),
        port,
    };
    if text.parse::<IpAddr>().is_ok() {
        return Ok(tcp(text, usual));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (inner, after) = rest.split_once(']').unwrap_or((rest, ""));
        if inner.parse::<Ipv6Addr>().is_err() {
            return Err(Refused::new(format!("`{inner}` is not an IPv6 address")));
        }
        return Ok(tcp(
            inner,
            port(after.strip_prefix(':'), after.is_empty().then_some(usual))?,
        ));
    }
    let (host, digits) = match text.split_once(':') {
        Some((host, digits)) => (host, Some(digits)),
        None => (text, None),
    };
    name(host)?;
    Ok(tcp(host, port(digits, digits.is_none().then_some(usual))?))
}

/// The port that is written, or the usual one where none is.
fn port(digits: Option<&str>, usual: Option<u16>) -> Result<u16, Refused> {
    if let Some(usual) = usual {
        return Ok(usual);
    }
    let digits = digits.unwrap_or("");
    match digits.parse() {
        Ok(0) | Err(_) => Err(Refused::new(format!(
            "`{digits}` is not a port (1 to 65535)"
        ))),
        Ok(port) => Ok(port),
    }
}

fn unix_path(path: &str) -> Result<PathBuf, Refused> {
    if path.is_empty() || path.contains('\0') {
        return Err(Refused::new("`unix:` is followed by the path of a socket"));
    }
    if path.len() > UNIX_PATH_MAX {
        let message = format!("the path of a socket has at most {UNIX_PATH_MAX} bytes");
        return Err(Refused::new(message));
    }
    Ok(PathBuf::from(path))
}

/// A host of a site: `shop.example`, `*.shop.example`, `*`, an address; in lower case, without a
/// dot at the end.
pub(crate) fn host(text: &str) -> Result<String, Refused> {
    let lower = text.to_lowercase();
    let host = lower.strip_suffix('.').unwrap_or(&lower);
    if let Some((_, rest)) = host.split_once("://") {
        return Err(bare_host("a host is written without scheme", rest));
    }
    if host == "*" || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return Ok(host.into());
    }
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = inner
        .unwrap_or(host)
        .parse::<Ipv6Addr>()
        .ok()
        .map(|ip| format!("[{ip}]"))
    {
        return Ok(address);
    }
    if host.contains(['/', ':']) {
        return Err(bare_host("a host is written without port and path", host));
    }
    let labels = host.strip_prefix("*.").unwrap_or(host);
    if labels.contains('*') {
        let message = "`*` stands alone or for the first labels of a host";
        return Err(Refused::write(message, "*.shop.example"));
    }
    name(labels)?;
    Ok(host.into())
}

/// Refuses `text` and suggests the host in it, if there is one.
fn bare_host(message: &str, text: &str) -> Refused {
    match text.split(['/', ':']).next() {
        Some(bare) if name(bare).is_ok() => Refused::write(message, bare),
        _ => Refused::new(message),
    }
}

/// A DNS name in its ASCII form; underscores occur in container networks.
fn name(text: &str) -> Result<(), Refused> {
    if !text.is_ascii() {
        return Err(Refused::new(format!(
            "`{text}` must be in its ASCII form (`xn--…`)"
        )));
    }
    let label = |label: &str| {
        let byte = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(byte) && !label.starts_with('-')
    };
    if text.len() > 253 || !text.split('.').all(label) {
        return Err(Refused::new(format!(
            "`{text}` is not a host name or address"
        )));
    }
    Ok(())
}

/// `10.0.0.0/8`, `2001:db8::/32`, or a single address.
pub(crate) fn network(text: &str) -> Result<Network, Refused> {
    let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
    let Ok(address) = address.parse::<IpAddr>() else {
        return Err(Refused::new(format!("`{address}` is not an IP address")));
    };
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let prefix: u8 = match prefix.parse() {
        Ok(prefix) => prefix,
        Err(_) if !text.contains('/') => longest,
        Err(_) => return Err(Refused::new(format!("`{prefix}` is not a prefix length"))),
    };
    if prefix > longest {
        let message = format!("the prefix of this address is at most {longest}");
        return Err(Refused::new(message));
    }
    // The same as IPv4, which is what addresses are compared as.
    if address.to_canonical().is_ipv4() && address.is_ipv6() && prefix >= 96 {
        let (address, prefix) = (address.to_canonical(), prefix - 96);
        return Ok(Network { address, prefix });
    }
    Ok(Network { address, prefix })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn listening() {
        for text in ["127.0.0.1:8080", "[::1]:0", "unix:/run/f.sock"] {
            assert_eq!(listen(text).unwrap().to_string(), text);
        }
        for (text, instead) in [
            (":8080", Some("0.0.0.0:8080")),
            ("*:80", Some("0.0.0.0:80")),
            ("localhost:80", Some("127.0.0.1:80")),
            ("8080", Some("127.0.0.1:8080")),
            ("::1:8080", Some("[::1]:8080")),
            ("127.0.0.1", None),
            ("127.0.0.1:99999", None),
            ("unix:", None),
            ("", None),
        ] {
            let refused = listen(text).unwrap_err();
            let expected = instead.map(|instead| format!("write \"{instead}\""));
            assert_eq!(refused.suggestion, expected, "{text}: {}", refused.message);
        }
        assert!(listen(&format!("unix:/{}", "x".repeat(107))).is_err());
    }

    #[test]
    fn servers() {
        for (text, shown) in [
            ("127.0.0.1:9000", "127.0.0.1:9000"),
            ("10.1.2.3", "10.1.2.3:80"),
            ("[2001:db8::1]:81", "[2001:db8::1]:81"),
            ("[::1]", "[::1]:80"),
            ("::1", "[::1]:80"),
            ("App.example:9000", "app.example:9000"),
            ("app", "app:80"),
            ("app_1:3000", "app_1:3000"),
            ("unix:/run/app.sock", "unix:/run/app.sock"),
            ("http://app.example", "app.example:80"),
            ("HTTP://app.example:81/", "app.example:81"),
            ("https://app.example", "app.example:443"),
        ] {
            assert_eq!(server(text).unwrap().0.to_string(), shown, "{text}");
        }
        for (text, part) in [
            ("ftp://app.example", "not a way to reach"),
            ("http://app.example/path", "has no path"),
            ("app:0", "not a port"),
            ("app:", "not a port"),
            ("app:70000", "not a port"),
            ("[::1]x", "not a port"),
            ("[::z]:80", "not an IPv6 address"),
            ("", "not a host name"),
            ("a b", "not a host name"),
            ("münchen.example", "ASCII form"),
        ] {
            let refused = server(text).unwrap_err();
            assert!(
                refused.message.contains(part),
                "{text}: {}",
                refused.message
            );
        }
    }

    #[test]
    fn hosts() {
        for (text, expected) in [
            ("Shop.Example", "shop.example"),
            ("shop.example.", "shop.example"),
            ("*.shop.example", "*.shop.example"),
            ("*", "*"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("::1", "[::1]"),
        ] {
            assert_eq!(host(text).unwrap(), expected);
        }
        for (text, instead) in [
            ("shop.example:80", Some("shop.example")),
            ("http://shop.example/", Some("shop.example")),
            ("shop.example/x", Some("shop.example")),
            ("*shop.example", Some("*.shop.example")),
            ("a.*.example", Some("*.shop.example")),
            ("", None),
            ("a..b", None),
            ("[::1]:80", None),
            ("-a.example", None),
            ("shöp.example", None),
        ] {
            let refused = host(text).unwrap_err();
            let expected = instead.map(|instead| format!("write \"{instead}\""));
            assert_eq!(refused.suggestion, expected, "{text}: {}", refused.message);
        }
    }

    #[test]
    fn networks() {
        let block = network("10.0.0.0/8").unwrap();
        assert!(block.contains("10.200.1.1".parse().unwrap()));
        assert!(!block.contains("11.0.0.1".parse().unwrap()));
        assert_eq!(network("192.0.2.7").unwrap().prefix, 32);
        assert_eq!(network("2001:db8::/32").unwrap().prefix, 32);
        for text in [
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/x",
            "proxy",
            "10.0.0/8",
        ] {
            assert!(network(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", near in "[\\[\\]a-z0-9.:/*-]{0,24}") {
            for text in [text, near] {
                let _ = (listen(&text), server(&text), network(&text));
                if let Ok(host) = host(&text) {
                    prop_assert_eq!(super::host(&host), Ok(host.clone()));
                }
            }
        }
    }
}
