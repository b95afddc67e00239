//! Keeps a browser at the recorder's address while it uses another site:
//! what the site says of its own origin is changed to the recorder's, and back
//! in requests.
//!
//! Pure: text in, text out.

/// The two names of the same site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// `https://shop.example`, without a slash at the end.
    pub(super) target: String,
    /// `http://127.0.0.1:8888`, as the browser calls the recorder.
    pub(super) local: String,
}

/// Cookies with these names are only taken over TLS (RFC 6265bis section 4.1.3): the browser
/// gets them under another.
const PREFIXES: [(&str, &str); 2] = [
    ("__Host-", "recorded-host-"),
    ("__Secure-", "recorded-secure-"),
];

impl Names {
    /// What the target sent, for the browser.
    pub(super) fn to_browser(&self, text: &[u8]) -> Vec<u8> {
        replace(text, &self.target, &self.local)
    }

    /// What the browser sent, for the target.
    pub(super) fn to_target(&self, text: &[u8]) -> Vec<u8> {
        replace(text, &self.local, &self.target)
    }

    /// The same with text.
    pub(super) fn text_to_target(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.to_target(text.as_bytes())).into_owned()
    }
}

/// A `Set-Cookie` that a browser takes from the recorder: without `Domain` and `Secure`, and
/// without `SameSite=None`, which needs `Secure`.
pub(super) fn set_cookie(value: &str) -> String {
    let mut parts = value.split(';');
    let mut cookie = parts.next().unwrap_or_default().to_owned();
    for (theirs, ours) in PREFIXES {
        if let Some(rest) = cookie.strip_prefix(theirs) {
            cookie = format!("{ours}{rest}");
        }
    }
    for part in parts {
        let (name, setting) = part.split_once('=').unwrap_or((part, ""));
        let is = |word: &str| name.trim().eq_ignore_ascii_case(word);
        let is_none = is("SameSite") && setting.trim().eq_ignore_ascii_case("None");
        if !(is("Domain") || is("Secure") || is("Partitioned") || is_none) {
            cookie.push(';');
            cookie.push_str(part);
        }
    }
    cookie
}

/// The `Cookie` that the target knows.
pub(super) fn cookie(value: &str) -> String {
    let back = |pair: &str| {
        for (theirs, ours) in PREFIXES {
            if let Some(rest) = pair.strip_prefix(ours) {
                return format!("{theirs}{rest}");
            }
        }
        pair.to_owned()
    };
    value.split("; ").map(back).collect::<Vec<_>>().join("; ")
}

/// How `//` is written: as it is, in JSON, in a query.
const SLASHES: [(&str, &str); 3] = [
    ("://", "//"),
    (":\\/\\/", "\\/\\/"),
    ("%3A%2F%2F", "%2F%2F"),
];

/// Replaces one origin by another, in each way of writing it, also without a scheme (`//host`).
/// `http` stands for `https` where that is the origin's, since sites redirect from one to the other.
fn replace(text: &[u8], from: &str, to: &str) -> Vec<u8> {
    let (Some((from_scheme, from_host)), Some((to_scheme, to_host))) =
        (from.split_once("://"), to.split_once("://"))
    else {
        return text.to_vec();
    };
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = find(&text[at..], from_host).map(|(start, end)| (at + start, at + end))
    {
        at = found.1;
        let Some(before) = before(&text[copied..found.0], from_scheme) else {
            continue;
        };
        if !is_boundary(&text[found.1..]) {
            continue;
        }
        out.extend_from_slice(&text[copied..found.0 - before.length]);
        if before.has_scheme {
            out.extend_from_slice(to_scheme.as_bytes());
        }
        out.extend_from_slice(before.slashes.as_bytes());
        let coded = before.slashes.contains('%');
        let host = if coded {
            to_host.replace(':', "%3A")
        } else {
            to_host.to_owned()
        };
        out.extend_from_slice(host.as_bytes());
        copied = found.1;
    }
    out.extend_from_slice(&text[copied..]);
    out
}

/// Where a host stands, its colon perhaps percent-encoded.
fn find(text: &[u8], host: &str) -> Option<(usize, usize)> {
    let coded = host.replace(':', "%3A");
    let starts = |at: usize, word: &str| {
        text.get(at..at + word.len())
            .is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    (0..text.len()).find_map(|at| {
        let word = [host, &coded].into_iter().find(|word| starts(at, word))?;
        Some((at, at + word.len()))
    })
}

/// What stands before a host and belongs to its origin.
struct Before {
    length: usize,
    has_scheme: bool,
    /// With the colon, when there is a scheme.
    slashes: &'static str,
}

fn before(text: &[u8], scheme: &str) -> Option<Before> {
    let ends = |text: &[u8], word: &str| {
        text.len() >= word.len()
            && text[text.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
    };
    for (with_colon, bare) in SLASHES {
        if ends(text, with_colon) {
            let rest = &text[..text.len() - with_colon.len()];
            let schemes = if scheme == "https" {
                &["https", "http"][..]
            } else {
                &["http"][..]
            };
            let known = schemes.iter().find(|scheme| ends(rest, scheme))?;
            return Some(Before {
                length: known.len() + with_colon.len(),
                has_scheme: true,
                slashes: with_colon,
            });
        }
        if ends(text, bare) {
            let rest = &text[..text.len() - bare.len()];
            let opens = rest
                .last()
                .is_none_or(|byte| b"\"'(= \t\r\n,<>`".contains(byte));
            return opens.then_some(Before {
                length: bare.len(),
                has_scheme: false,
                slashes: bare,
            });
        }
    }
    None
}

/// Whether a host ends here: `shop.example` is no part of `shop.example.org` or `shop.example:81`.
fn is_boundary(rest: &[u8]) -> bool {
    let more = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.:@_".contains(byte);
    let is_port = rest.len() >= 3 && rest[..3].eq_ignore_ascii_case(b"%3A");
    match rest {
        // The end of a sentence.
        [b'.', next, ..] if !next.is_ascii_alphanumeric() => true,
        [b'.'] | [] => true,
        [first, ..] => !more(first) && !is_port,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names() -> Names {
        Names {
            target: "https://shop.example".into(),
            local: "http://127.0.0.1:8888".into(),
        }
    }

    #[test]
    fn an_origin_is_replaced_in_each_way_of_writing() {
        for (theirs, ours) in [
            ("https://shop.example/a", "http://127.0.0.1:8888/a"),
            ("http://Shop.Example", "http://127.0.0.1:8888"),
            (
                "src=\"//shop.example/x.js\"",
                "src=\"//127.0.0.1:8888/x.js\"",
            ),
            (
                r#""https:\/\/shop.example\/a""#,
                r#""http:\/\/127.0.0.1:8888\/a""#,
            ),
            (
                "?to=https%3A%2F%2Fshop.example%2Fa",
                "?to=http%3A%2F%2F127.0.0.1%3A8888%2Fa",
            ),
            ("see https://shop.example.", "see http://127.0.0.1:8888."),
            (
                "https://shop.example https://shop.example",
                "http://127.0.0.1:8888 http://127.0.0.1:8888",
            ),
            ("https://shop.example.org/", "https://shop.example.org/"),
            ("https://shop.example:8443/", "https://shop.example:8443/"),
            ("https://www.shop.example/", "https://www.shop.example/"),
            ("mail@shop.example", "mail@shop.example"),
            ("https://a/x//shop.example/", "https://a/x//shop.example/"),
            ("", ""),
        ] {
            let found = names().to_browser(theirs.as_bytes());
            assert_eq!(String::from_utf8(found).unwrap(), ours, "{theirs}");
        }
    }

    #[test]
    fn what_the_browser_sends_becomes_the_targets() {
        for (ours, theirs) in [
            ("http://127.0.0.1:8888/cart", "https://shop.example/cart"),
            (
                "back=http%3a%2f%2f127.0.0.1%3a8888%2Fcart",
                "back=https%3A%2F%2Fshop.example%2Fcart",
            ),
            ("http://127.0.0.1:88880/", "http://127.0.0.1:88880/"),
        ] {
            assert_eq!(names().text_to_target(ours), theirs);
        }
    }

    #[test]
    fn cookies_stay_and_come_back() {
        for (theirs, ours) in [
            (
                "a=1; Domain=shop.example; Path=/; Secure; HttpOnly",
                "a=1; Path=/; HttpOnly",
            ),
            ("a=1; SameSite=None;secure", "a=1"),
            ("a=1; SameSite=Lax", "a=1; SameSite=Lax"),
            ("__Host-id=7; Secure; Path=/", "recorded-host-id=7; Path=/"),
        ] {
            assert_eq!(set_cookie(theirs), ours);
        }
        assert_eq!(
            cookie("a=1; recorded-host-id=7; recorded-secure-x=2"),
            "a=1; __Host-id=7; __Secure-x=2"
        );
    }
}
