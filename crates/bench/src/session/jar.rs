//! The cookies of one session: as much of RFC 6265 as two pages of one server
//! need. Domains and paths are not looked at, expiry only as a way to delete.

use forebay_http::{FieldId, ResponseHead};

/// Cookies of a session, and bytes of each; what is more is not sent.
const MOST_COOKIES: usize = 20;
const MOST_BYTES: usize = 4096;

/// `name=value` each.
#[derive(Debug, Default)]
pub(super) struct Jar(Vec<Box<[u8]>>);

impl Jar {
    /// Takes what a response sets; a cookie that is emptied or has no time to live is dropped.
    pub(super) fn take(&mut self, head: &ResponseHead) {
        for field in head.fields.all(FieldId::SetCookie) {
            let mut parts = field.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
            let pair = parts.next().unwrap_or_default();
            let Some(at) = pair.iter().position(|&byte| byte == b'=') else {
                continue;
            };
            let (name, value) = (&pair[..=at], &pair[at + 1..]);
            self.0.retain(|known| !known.starts_with(name));
            let is_gone =
                value.is_empty() || parts.any(|part| part.eq_ignore_ascii_case(b"max-age=0"));
            if at > 0 && !is_gone && pair.len() <= MOST_BYTES && self.0.len() < MOST_COOKIES {
                self.0.push(pair.into());
            }
        }
    }

    /// Appends the `Cookie` field, if there is anything to send.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for (at, pair) in self.0.iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"Cookie: " } else { b"; " });
            out.extend_from_slice(pair);
        }
        if !self.0.is_empty() {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// A new session has none.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use forebay_http::head::HeadLimits;

    fn sent(jar: &Jar) -> String {
        let mut out = Vec::new();
        jar.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn take(jar: &mut Jar, fields: &str) {
        let limits = HeadLimits {
            line_bytes: 10_000,
            head_bytes: 100_000,
            fields: 100,
        };
        let mut head = ResponseHead::default();
        let text = format!("HTTP/1.1 302 Found\r\n{fields}\r\n");
        head.parse(text.as_bytes(), &limits).unwrap().unwrap();
        jar.take(&head);
    }

    #[test]
    fn cookies_are_kept_replaced_and_dropped() {
        let mut jar = Jar::default();
        assert_eq!(sent(&jar), "");
        take(
            &mut jar,
            "Set-Cookie: a=1; Path=/; HttpOnly\r\nSet-Cookie: ab=2\r\n",
        );
        assert_eq!(sent(&jar), "Cookie: a=1; ab=2\r\n");
        take(&mut jar, "Set-Cookie: a=3; Secure\r\n");
        assert_eq!(sent(&jar), "Cookie: ab=2; a=3\r\n");
        take(
            &mut jar,
            "Set-Cookie: ab=x; Max-Age=0\r\nSet-Cookie: a=\r\nSet-Cookie: =7\r\nSet-Cookie: x\r\n",
        );
        assert_eq!(sent(&jar), "");
    }

    #[test]
    fn a_server_cannot_fill_the_jar_without_end() {
        let mut jar = Jar::default();
        for number in 0..100 {
            take(&mut jar, &format!("Set-Cookie: c{number}=1\r\n"));
        }
        take(
            &mut jar,
            &format!("Set-Cookie: c1={}\r\n", "x".repeat(5000)),
        );
        assert_eq!(sent(&jar).matches('=').count(), MOST_COOKIES - 1);
    }
}
