//! NCSA common and combined:
//! `host ident user [21/Nov/2026:20:00:00 +0000] "GET / HTTP/1.1" 200 612 "referer" "agent"`,
//! with or without the last two, with further fields behind, and with a
//! virtual host in front.

use std::borrow::Cow;
use std::net::IpAddr;

use super::{Entry, Fault, escape, request_line};
use crate::time;

pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, Fault> {
    let unreadable = |reason: &'static str| Fault::Unreadable(reason.into());
    let (front, at_ms, rest) = at(line).ok_or(unreadable("no time in brackets"))?;
    let rest = rest
        .strip_prefix(b" \"")
        .ok_or(unreadable("no request in quotes behind the time"))?;
    let (request, rest) = escape::quoted(rest).ok_or(unreadable("the quote is not closed"))?;
    let mut words = rest.trim_ascii_start().splitn(3, |&byte| byte == b' ');
    let status = words.next().and_then(number);
    let status = status
        .and_then(|status| u16::try_from(status).ok())
        .ok_or(unreadable("no status behind the request"))?;
    let bytes = words.next().and_then(number).unwrap_or(0);
    let (referer, user_agent) = strings(words.next().unwrap_or_default());
    let (method, url) = request_line(escape::url(request))?;
    Ok(Entry {
        at_ms: Some(at_ms),
        method,
        url,
        host: virtual_host(front),
        status,
        bytes,
        referer,
        user_agent,
    })
}

/// What stands before the time, the time, and what stands behind it. A user's name may have
/// brackets, so that the first need not be the time's.
fn at(line: &[u8]) -> Option<(&[u8], i64, &[u8])> {
    const MOST_BRACKETS: usize = 8;
    for open in memchr::memchr_iter(b'[', line).take(MOST_BRACKETS) {
        let inside = &line[open + 1..];
        let close = memchr::memchr(b']', inside)?;
        if let Some(at_ms) = time::common(&inside[..close]) {
            return Some((&line[..open], at_ms, &inside[close + 1..]));
        }
    }
    None
}

fn number(text: &[u8]) -> Option<u64> {
    if text == b"-" {
        return Some(0);
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `"referer" "agent"`, when both are there.
fn strings(text: &[u8]) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>) {
    let both = || {
        let (referer, rest) = escape::quoted(text.strip_prefix(b"\"")?)?;
        let (agent, _) = escape::quoted(rest.strip_prefix(b" \"")?)?;
        Some((escape::value(referer), escape::value(agent)))
    };
    both().unwrap_or_default()
}

/// The first word when Apache's `vhost_combined` put it before the client's address.
fn virtual_host(front: &[u8]) -> Option<Cow<'_, str>> {
    let mut words = front.split(|&byte| byte == b' ');
    let (first, second) = (words.next()?, words.next()?);
    // The usual case: `ident` is a dash.
    if second == b"-" {
        return None;
    }
    let address: Result<IpAddr, _> = std::str::from_utf8(second).ok()?.parse();
    address.ok()?;
    let host = std::str::from_utf8(first).ok()?;
    Some(host.strip_suffix(":80").unwrap_or(host).into())
}
