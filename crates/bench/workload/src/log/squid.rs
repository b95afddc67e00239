//! Squid's native format:
//! `1066036250.603 310 192.0.2.7 TCP_MISS/200 1624 GET http://a.example/ - HIER_DIRECT/192.0.2.9 text/html`

use super::{Entry, Fault, escape};
use crate::time;

pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, Fault> {
    let unreadable = |reason: &'static str| Fault::Unreadable(reason.into());
    // The elapsed time is padded with spaces.
    let mut words = line
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty());
    let mut next = || words.next();
    let ended_ms = next().and_then(time::seconds);
    let ended_ms = ended_ms.ok_or(unreadable("no time in seconds at the beginning"))?;
    let elapsed = next().and_then(integer);
    let elapsed = elapsed.ok_or(unreadable("no elapsed time behind the time"))?;
    let _client = next();
    let (status, bytes) = (next().and_then(status), next().and_then(integer));
    let status = status.ok_or(unreadable("no result code and status (`TCP_MISS/200`)"))?;
    let bytes = bytes.ok_or(unreadable("no number of bytes behind the status"))?;
    let (Some(method), Some(url)) = (next(), next()) else {
        return Err(unreadable("the line ends before the URL"));
    };
    let method = std::str::from_utf8(method).unwrap_or_default();
    // What Squid writes for connections that brought no request.
    if matches!(method, "NONE" | "-")
        || !crate::request::is_token(method)
        || url.starts_with(b"error:")
    {
        return Err(Fault::NoRequest);
    }
    Ok(Entry {
        at_ms: Some(ended_ms.saturating_sub(elapsed.max(0))),
        method: method.into(),
        url: escape::url(url),
        status,
        bytes: u64::try_from(bytes).unwrap_or(0),
        ..Entry::default()
    })
}

fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `TCP_MISS/200`
fn status(text: &[u8]) -> Option<u16> {
    let (_, status) = std::str::from_utf8(text).ok()?.split_once('/')?;
    status.parse().ok()
}
