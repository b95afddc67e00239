//! Request targets (RFC 9112 section 3.2), hosts (RFC 9110 section 4.2) and
//! references (RFC 3986 section 5).
//!
//! Targets are not normalised: an origin may tell `%41` from `A`. What only
//! some parsers accept (fragments, control bytes, spaces, bytes beyond ASCII,
//! user names in authorities) is refused.

use std::net::Ipv6Addr;

/// Host names are not longer in the DNS.
const LONGEST_NAME: usize = 255;

/// A request target, in one of its four forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// `/path?query`
    Origin(&'a [u8]),
    /// `http://authority/path?query`, as sent to proxies.
    Absolute {
        /// Any scheme, as sent.
        scheme: &'a [u8],
        /// A valid host, perhaps with a port.
        authority: &'a [u8],
        /// `/path?query`; `/` when empty.
        path: &'a [u8],
    },
    /// `host:port`, of CONNECT.
    Authority(&'a [u8]),
    /// `*`, of OPTIONS.
    Asterisk,
}

/// Tells the form of a request target. `None` when it is none; also for
/// `http://host?query`, whose path could not be borrowed and which nobody sends.
pub fn parse_target(target: &[u8]) -> Option<Target<'_>> {
    if !target.iter().all(|&b| is_target_byte(b)) {
        return None;
    }
    if target.starts_with(b"/") {
        return Some(Target::Origin(target));
    }
    if target == b"*" {
        return Some(Target::Asterisk);
    }
    let Some((scheme, rest)) = split_scheme(target).filter(|(_, rest)| rest.starts_with(b"//"))
    else {
        return parse_host(target)?.port.map(|_| Target::Authority(target));
    };
    let (authority, path) = split_authority(&rest[2..]);
    parse_host(authority)?;
    match path {
        b"" => Some(Target::Absolute {
            scheme,
            authority,
            path: b"/",
        }),
        [b'/', ..] => Some(Target::Absolute {
            scheme,
            authority,
            path,
        }),
        _ => None,
    }
}

/// The parts of a `Host` field or of an authority without user name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host<'a> {
    /// Name or IPv4 address in the letter case sent, or IPv6 address in its
    /// brackets.
    pub name: &'a [u8],
    /// The port, if one is given and not empty.
    pub port: Option<u16>,
}

/// Reads `uri-host [":" port]` (RFC 9110 section 7.2). `None` when it is not
/// that, and when it is empty.
pub fn parse_host(value: &[u8]) -> Option<Host<'_>> {
    let name_length = match value.first() {
        Some(b'[') => value
            .iter()
            .position(|&b| b == b']')
            .map_or(value.len(), |at| at + 1),
        _ => memchr::memchr(b':', value).unwrap_or(value.len()),
    };
    let (name, rest) = value.split_at(name_length);
    if !is_host_name(name) {
        return None;
    }
    let port = match rest {
        b"" | b":" => None,
        [b':', digits @ ..] => Some(parse_port(digits)?),
        _ => return None,
    };
    Some(Host { name, port })
}

/// Splits `/path?query` at the first `?`, which belongs to neither.
pub fn split_path(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match target.iter().position(|&b| b == b'?') {
        Some(mark) => (&target[..mark], Some(&target[mark + 1..])),
        None => (target, None),
    }
}

/// Resolves a reference, such as a `Location`, against the target of a request
/// (RFC 3986 section 5.2): authority in lower case and without its scheme's own
/// port, then `/path?query` without dot segments and fragment.
///
/// A reference without authority gives `base_authority` in lower case. `None`
/// for other schemes than http and https, and for what is no reference.
pub fn resolve(
    base_authority: &[u8],
    base_path: &[u8],
    reference: &[u8],
) -> Option<(Vec<u8>, Vec<u8>)> {
    let end = reference
        .iter()
        .position(|&b| b == b'#')
        .unwrap_or(reference.len());
    let reference = &reference[..end];
    if !reference.iter().all(|&b| is_target_byte(b)) {
        return None;
    }
    let (scheme, rest) = match split_scheme(reference) {
        Some((scheme, rest)) => (Some(own_port(scheme)?), rest),
        None => (None, reference),
    };
    if let Some(rest) = rest.strip_prefix(b"//") {
        let (authority, target) = split_authority(rest);
        let host = parse_host(authority)?;
        let mut authority = host.name.to_ascii_lowercase();
        if let Some(port) = host.port.filter(|&port| Some(port) != scheme) {
            authority.push(b':');
            authority.extend_from_slice(itoa::Buffer::new().format(port).as_bytes());
        }
        return Some((authority, without_dots(b"", target)));
    }
    // A scheme without an authority is not a web address.
    if scheme.is_some() {
        return None;
    }
    Some((
        base_authority.to_ascii_lowercase(),
        resolve_path(base_path, rest),
    ))
}

fn resolve_path(base: &[u8], reference: &[u8]) -> Vec<u8> {
    let (base_path, _) = split_path(base);
    match reference {
        b"" => without_dots(b"", base),
        [b'?', ..] => {
            let mut target = without_dots(b"", base_path);
            target.extend_from_slice(reference);
            target
        }
        [b'/', ..] => without_dots(b"", reference),
        _ => {
            let folder = base_path
                .iter()
                .rposition(|&b| b == b'/')
                .map_or(0, |slash| slash + 1);
            without_dots(&base_path[..folder], reference)
        }
    }
}

/// The path of `folder` followed by `target`, without `.` and `..` (RFC 3986
/// section 5.2.4) and always from `/` on, then the query of `target`.
fn without_dots(folder: &[u8], target: &[u8]) -> Vec<u8> {
    let (path, query) = split_path(target);
    let mut out = Vec::with_capacity(folder.len() + target.len() + 1);
    let whole = [folder, path].concat();
    let mut segments = whole
        .strip_prefix(b"/")
        .unwrap_or(&whole)
        .split(|&b| b == b'/')
        .peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            b"." => {}
            b".." => {
                let parent = out.iter().rposition(|&b| b == b'/').unwrap_or(0);
                out.truncate(parent);
            }
            _ => {
                out.push(b'/');
                out.extend_from_slice(segment);
                continue;
            }
        }
        if last {
            out.push(b'/');
        }
    }
    if let Some(query) = query {
        out.push(b'?');
        out.extend_from_slice(query);
    }
    out
}

/// Splits `scheme:` off (RFC 3986 section 3.1).
fn split_scheme(v: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = v.iter().position(|&b| b == b':')?;
    let (scheme, rest) = (&v[..colon], &v[colon + 1..]);
    let valid = scheme.first()?.is_ascii_alphabetic()
        && scheme
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b));
    valid.then_some((scheme, rest))
}

/// Splits what follows `//` where path or query begin.
fn split_authority(v: &[u8]) -> (&[u8], &[u8]) {
    v.split_at(v.iter().position(|b| b"/?".contains(b)).unwrap_or(v.len()))
}

/// The port that a scheme of the web has when none is given.
fn own_port(scheme: &[u8]) -> Option<u16> {
    if scheme.eq_ignore_ascii_case(b"http") {
        Some(80)
    } else if scheme.eq_ignore_ascii_case(b"https") {
        Some(443)
    } else {
        None
    }
}

/// Visible ASCII but `#`.
fn is_target_byte(b: u8) -> bool {
    b.is_ascii_graphic() && b != b'#'
}

/// A registered name, an IPv4 address, or an IPv6 address in brackets (RFC 3986
/// section 3.2.2).
/// `unreserved / sub-delims` of RFC 3986 section 2.
const REG_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        table[i] = b.is_ascii_alphanumeric()
            || matches!(
                b,
                b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')'
            )
            || matches!(b, b'*' | b'+' | b',' | b';' | b'=');
        i += 1;
    }
    table
};

fn is_host_name(name: &[u8]) -> bool {
    if let [b'[', address @ .., b']'] = name {
        return std::str::from_utf8(address).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok());
    }
    let mut rest = name;
    while let [b, following @ ..] = rest {
        rest = match (b, following) {
            (b'%', [a, b, following @ ..]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => {
                following
            }
            (b, _) if REG_NAME[usize::from(*b)] => following,
            _ => return false,
        };
    }
    (1..=LONGEST_NAME).contains(&name.len())
}

fn parse_port(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0_u16, |port, b| {
        let digit = b.is_ascii_digit().then(|| u16::from(b - b'0'))?;
        port.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
#[path = "uri_tests.rs"]
mod tests;
