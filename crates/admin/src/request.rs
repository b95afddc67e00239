//! What a request to the administration address must be, before anybody looks
//! at what it asks for.
//!
//! The address is meant for programs and for the operator's browser, and a
//! browser can be made to send requests by any page it visits. Two checks keep
//! such pages out: `Host` must be an address or `localhost`, which a name that
//! was pointed here (DNS rebinding) is not; and a request that changes
//! something must not come from another page (`Origin`).

use crate::answer::Answer;
use forebay_http::head::HeadLimits;
use forebay_http::{FieldId, RequestHead, framing};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A head beyond these gets 414 or 431.
pub(crate) const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 4 << 10,
    head_bytes: 8 << 10,
    fields: 64,
};

/// Refuses what is malformed, misdirected or forged. `names` are those that
/// `Host` may have beside IP addresses and `localhost`.
pub(crate) fn check(head: &RequestHead, names: &[String]) -> Result<(), Answer> {
    if let Err(error) = framing::request_body(&head.fields, head.http10) {
        return Err(Answer::refusal(error.status(), error.message()));
    }
    if !head.target.starts_with(b"/") {
        return Err(Answer::refusal(400, "the request target must be a path"));
    }
    match (
        head.fields.count(FieldId::Host),
        head.fields.get(FieldId::Host),
    ) {
        // RFC 9112 section 3.2 asks for it from HTTP/1.1 on; a browser always sends it.
        (0, _) if head.http10 => {}
        (1, Some(host)) if is_local_name(host) || is_one_of(host, names) => {}
        (1, Some(_)) => {
            return Err(Answer::refusal(
                421,
                "ask by IP address, as localhost, or by a name in admin.hosts: other names are not served here",
            ));
        }
        _ => return Err(Answer::refusal(400, "exactly one Host field is needed")),
    }
    if is_forged(head) {
        return Err(Answer::refusal(
            403,
            "requests made by other web pages are refused",
        ));
    }
    Ok(())
}

/// Whether another web page has made this request, where it matters: where
/// something changes, and in the API, whose answers no page of elsewhere needs.
fn is_forged(head: &RequestHead) -> bool {
    let is_api = head.target.starts_with(b"/api/");
    if head.method.is_get_or_head() && !is_api {
        return false;
    }
    let is_own = |site: &[u8]| site == b"same-origin" || site == b"none";
    !is_same_origin(head) || !head.fields.named(b"sec-fetch-site").all(is_own)
}

/// Whether the body is said to be JSON; a form of another page cannot say so.
pub(crate) fn is_json(head: &RequestHead) -> bool {
    let value = head.fields.only(FieldId::ContentType).unwrap_or_default();
    let media_type = value.split(|byte| *byte == b';').next().unwrap_or_default();
    media_type
        .trim_ascii()
        .eq_ignore_ascii_case(b"application/json")
}

/// Whether the client waits to be told that it may send its body (RFC 9110
/// section 10.1.1).
pub(crate) fn expects_continue(head: &RequestHead) -> bool {
    let mut expectations = head.fields.named(b"expect");
    !head.http10 && expectations.any(|value| value.eq_ignore_ascii_case(b"100-continue"))
}

/// Whether `Host`, without its port, is one of `names`.
fn is_one_of(host: &[u8], names: &[String]) -> bool {
    let end = host.iter().position(|byte| *byte == b':');
    let (name, port) = host.split_at(end.unwrap_or(host.len()));
    let is_port = port.is_empty() || port[1..].iter().all(u8::is_ascii_digit);
    let is_name = |own: &String| own.as_bytes().eq_ignore_ascii_case(name);
    is_port && names.iter().any(is_name)
}

/// Whether `Host` is an IP address or `localhost`, with or without a port.
fn is_local_name(host: &[u8]) -> bool {
    let Ok(host) = str::from_utf8(host) else {
        return false;
    };
    let (name, rest) = match host.strip_prefix('[') {
        Some(inside) => match inside.split_once(']') {
            Some((address, rest)) if address.parse::<Ipv6Addr>().is_ok() => ("localhost", rest),
            _ => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let known = name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok();
    known && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

/// Whether no page, or only our own, has made this request. Browsers send
/// `Origin` with every POST; programs do not.
fn is_same_origin(head: &RequestHead) -> bool {
    let host = head.fields.get(FieldId::Host).unwrap_or_default();
    head.fields.named(b"origin").all(|origin| {
        let host_of = |scheme| origin.strip_prefix(scheme);
        // `https` where a proxy in front of us speaks TLS.
        host_of(&b"http://"[..])
            .or_else(|| host_of(b"https://"))
            .is_some_and(|from| from.eq_ignore_ascii_case(host))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn status(text: &str) -> u16 {
        let mut head = RequestHead::default();
        head.parse(text.replace('\n', "\r\n").as_bytes(), &LIMITS)
            .unwrap()
            .unwrap();
        check(&head, &["admin.example".into()])
            .err()
            .map_or(200, |answer| answer.status)
    }

    #[test]
    fn addresses_and_localhost_are_names_of_this_server() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:8081",
            "10.1.2.3:80",
            "[::1]",
            "[2001:db8::1]:8081",
            "LocalHost:1",
        ] {
            assert!(is_local_name(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn names_that_could_be_pointed_here_are_not() {
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "[::1",
            "[evil]",
            "::1",
            "[::1]x",
            "localhost:80x",
            "127.0.0.1:8081:1",
            "2130706433",
            "é",
        ] {
            assert!(!is_local_name(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn the_form_of_a_request() {
        assert_eq!(status("GET / HTTP/1.1\nHost: localhost\n\n"), 200);
        assert_eq!(status("GET / HTTP/1.0\n\n"), 200);
        assert_eq!(status("GET / HTTP/1.1\nHost: Admin.example:81\n\n"), 200);
        assert_eq!(status("GET / HTTP/1.1\nHost: admin.example:8x\n\n"), 421);
        assert_eq!(status("GET / HTTP/1.1\nHost: x.admin.example\n\n"), 421);
        assert_eq!(status("GET / HTTP/1.1\n\n"), 400);
        assert_eq!(
            status("GET / HTTP/1.1\nHost: localhost\nHost: localhost\n\n"),
            400
        );
        assert_eq!(status("GET / HTTP/1.1\nHost: evil.example\n\n"), 421);
        assert_eq!(
            status("GET http://localhost/ HTTP/1.1\nHost: localhost\n\n"),
            400
        );
        assert_eq!(
            status("GET / HTTP/1.1\nHost: localhost\nContent-Length: 1\nContent-Length: 2\n\n"),
            400
        );
    }

    #[test]
    fn a_reload_comes_from_a_program_or_from_our_own_page() {
        let post = |fields: &str| {
            status(&format!(
                "POST /reload HTTP/1.1\nHost: 127.0.0.1:81\n{fields}\n"
            ))
        };
        assert_eq!(post(""), 200);
        assert_eq!(post("Origin: http://127.0.0.1:81\n"), 200);
        assert_eq!(post("Origin: http://evil.example\n"), 403);
        assert_eq!(post("Origin: null\n"), 403);
        assert_eq!(post("Origin: http://127.0.0.1:82\n"), 403);
        assert_eq!(
            post("Origin: http://127.0.0.1:81\nOrigin: http://evil.example\n"),
            403
        );
    }

    #[test]
    fn the_api_answers_no_other_page_even_to_look() {
        let get = |path: &str, fields: &str| {
            status(&format!(
                "GET {path} HTTP/1.1\nHost: localhost:81\n{fields}\n"
            ))
        };
        assert_eq!(get("/api/v1/log", ""), 200);
        assert_eq!(get("/api/v1/log", "Sec-Fetch-Site: same-origin\n"), 200);
        assert_eq!(get("/api/v1/log", "Sec-Fetch-Site: none\n"), 200);
        assert_eq!(get("/api/v1/log", "Sec-Fetch-Site: cross-site\n"), 403);
        assert_eq!(get("/api/v1/log", "Sec-Fetch-Site: same-site\n"), 403);
        assert_eq!(get("/api/v1/log", "Origin: http://evil.example\n"), 403);
        assert_eq!(get("/api/v1/log", "Origin: https://localhost:81\n"), 200);
        // A link to the page itself may be anywhere.
        assert_eq!(get("/", "Sec-Fetch-Site: cross-site\n"), 200);
    }
}
