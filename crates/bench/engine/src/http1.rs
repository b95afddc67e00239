//! HTTP/1.1 as a client reads it (RFC 9112).

use forebay_http::chunked::{Decoder, Event};
use forebay_http::framing::{self, BodyLength};
use forebay_http::head::HeadLimits;
use forebay_http::{FieldId, ResponseHead};
use forebay_results::Lookup;

use crate::session::{Malformed, Progress, Response, Session};

/// More than any server in use sends.
const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 16 << 10,
    head_bytes: 64 << 10,
    fields: 500,
};
const CHUNK_EXTENSION: usize = 4 << 10;
const TRAILER: usize = 64 << 10;
/// A body that is looked at is kept up to this size; the rest is only counted.
const KEPT_BODY: usize = 4 << 20;

/// One connection: about a hundred bytes while nobody looks at the bodies.
#[derive(Debug)]
pub struct Http1 {
    body: Body,
    status: u16,
    lookup: Lookup,
    reusable: bool,
    body_bytes: u64,
    kept: Option<Box<Kept>>,
}

#[derive(Debug)]
enum Body {
    /// The head is still to come.
    Head,
    Length(u64),
    Chunked(Box<Decoder>),
    UntilClose,
}

/// A response that is looked at.
#[derive(Debug, Default)]
pub struct Kept {
    /// Its head.
    pub head: ResponseHead,
    /// Its body, up to 4 MiB.
    pub body: Vec<u8>,
}

/// What must be known of a request to read its response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// It was HEAD: there is no body.
    pub is_head: bool,
    /// The driver looks at the head.
    pub keep_head: bool,
    /// The driver looks at the body.
    pub keep_body: bool,
}

impl Http1 {
    /// The response that is complete, if it was to be kept.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    fn begin(&mut self, head: &mut ResponseHead, expect: Expect) -> Result<(), Malformed> {
        let length = framing::response_body(&head.fields, head.http10, head.status, expect.is_head)
            .map_err(|error| Malformed(error.message()))?;
        self.status = head.status;
        self.lookup = lookup(head);
        self.reusable = framing::keeps_alive(&head.fields, head.http10);
        self.body_bytes = 0;
        self.body = match length {
            BodyLength::None => Body::Length(0),
            BodyLength::Length(bytes) => Body::Length(bytes),
            BodyLength::Chunked => Body::Chunked(Box::new(Decoder::new(CHUNK_EXTENSION, TRAILER))),
            BodyLength::UntilClose => Body::UntilClose,
        };
        if expect.keep_head || expect.keep_body {
            let kept = self.kept.get_or_insert_default();
            std::mem::swap(&mut kept.head, head);
            kept.body.clear();
        } else {
            self.kept = None;
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], expect: Expect) {
        self.body_bytes += bytes.len() as u64;
        if expect.keep_body
            && let Some(kept) = &mut self.kept
        {
            let room = KEPT_BODY.saturating_sub(kept.body.len());
            kept.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end(&mut self) -> Response {
        self.body = Body::Head;
        Response {
            which: 0,
            status: self.status,
            lookup: self.lookup,
            body_bytes: self.body_bytes,
            reusable: self.reusable,
            fault: None,
        }
    }

    fn chunks(&mut self, input: &[u8], expect: Expect) -> Result<Progress, Malformed> {
        let mut at = 0;
        loop {
            let Body::Chunked(decoder) = &mut self.body else {
                return Ok(Progress {
                    consumed: at,
                    done: None,
                });
            };
            let event = decoder.next(&input[at..]);
            match event.map_err(|_| Malformed("a chunk is malformed"))? {
                Event::Data { start, end, .. } => {
                    self.take(&input[at + start..at + end], expect);
                    at += end;
                }
                Event::NeedMore { consumed } => {
                    return Ok(Progress {
                        consumed: at + consumed,
                        done: None,
                    });
                }
                Event::End { consumed } => {
                    return Ok(Progress {
                        consumed: at + consumed,
                        done: Some(self.end()),
                    });
                }
            }
        }
    }
}

impl Session for Http1 {
    type Expect = Expect;
    type Scratch = ResponseHead;

    fn new() -> Self {
        Self {
            body: Body::Head,
            status: 0,
            lookup: Lookup::Unknown,
            reusable: true,
            body_bytes: 0,
            kept: None,
        }
    }

    #[inline]
    fn receive(
        &mut self,
        head: &mut ResponseHead,
        input: &[u8],
        expect: Expect,
    ) -> Result<Progress, Malformed> {
        let mut at = 0;
        while matches!(self.body, Body::Head) {
            let parsed = head
                .parse(&input[at..], &LIMITS)
                .map_err(|error| Malformed(error.message()))?;
            let Some(taken) = parsed else {
                return Ok(Progress {
                    consumed: at,
                    done: None,
                });
            };
            at += taken;
            if (100..200).contains(&head.status) && head.status != 101 {
                continue;
            }
            self.begin(head, expect)?;
        }
        match &mut self.body {
            Body::Length(left) => {
                let take = (*left).min((input.len() - at) as u64) as usize;
                *left -= take as u64;
                let is_complete = *left == 0;
                self.take(&input[at..at + take], expect);
                Ok(Progress {
                    consumed: at + take,
                    done: is_complete.then(|| self.end()),
                })
            }
            Body::UntilClose => {
                self.take(&input[at..], expect);
                Ok(Progress {
                    consumed: input.len(),
                    done: None,
                })
            }
            Body::Chunked(_) | Body::Head => {
                let progress = self.chunks(&input[at..], expect)?;
                Ok(Progress {
                    consumed: at + progress.consumed,
                    ..progress
                })
            }
        }
    }

    fn closed(&mut self) -> Option<Response> {
        if !matches!(self.body, Body::UntilClose) {
            return None;
        }
        self.reusable = false;
        Some(self.end())
    }
}

/// What a response says of caches: `Cache-Status` (RFC 9211; the cache nearest to the client is
/// last), else `X-Cache`, else `Age`.
fn lookup(head: &ResponseHead) -> Lookup {
    let fields = &head.fields;
    if fields.has(FieldId::CacheStatus) {
        let nearest = fields.all(FieldId::CacheStatus).last().unwrap_or_default();
        let nearest = nearest
            .rsplit(|&byte| byte == b',')
            .next()
            .unwrap_or(nearest);
        let is_hit = nearest
            .split(|&byte| byte == b';')
            .any(|parameter| parameter.trim_ascii() == b"hit");
        return if is_hit { Lookup::Hit } else { Lookup::Miss };
    }
    if fields.has(FieldId::Other)
        && let Some(value) = fields
            .named(b"X-Cache")
            .chain(fields.named(b"X-Cache-Status"))
            .next()
    {
        let has = |word: &[u8]| {
            value
                .windows(word.len())
                .any(|part| part.eq_ignore_ascii_case(word))
        };
        return match (has(b"hit"), has(b"miss")) {
            (true, _) => Lookup::Hit,
            (false, true) => Lookup::Miss,
            (false, false) => Lookup::Unknown,
        };
    }
    match fields.get(FieldId::Age) {
        Some(age) if age != b"0" => Lookup::Hit,
        _ => Lookup::Unknown,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Feeds `input` in pieces of every size and returns the responses.
    fn responses(input: &[u8], expect: Expect) -> Vec<Response> {
        let mut results = Vec::new();
        for piece in 1..=input.len() {
            let (mut session, mut head) = (Http1::new(), ResponseHead::default());
            let (mut from, mut found) = (0, Vec::new());
            for to in (piece..input.len()).step_by(piece).chain([input.len()]) {
                loop {
                    let progress = session
                        .receive(&mut head, &input[from..to], expect)
                        .unwrap();
                    from += progress.consumed;
                    found.extend(progress.done);
                    if progress.done.is_none() || from == to {
                        break;
                    }
                }
            }
            found.extend(session.closed());
            results.push(found);
        }
        assert!(
            results.windows(2).all(|pair| pair[0] == pair[1]),
            "{results:?}"
        );
        results.swap_remove(0)
    }

    #[test]
    fn responses_follow_each_other_in_any_framing() {
        let input = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
            HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: 1\r\n\r\n\
            HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n\
            HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end";
        let found = responses(input, Expect::default());
        let seen: Vec<_> = found
            .iter()
            .map(|r| (r.status, r.body_bytes, r.reusable))
            .collect();
        assert_eq!(
            seen,
            [
                (200, 3, true),
                (404, 3, true),
                (304, 0, true),
                (200, 10, false)
            ]
        );
    }

    #[test]
    fn head_has_no_body() {
        let expect = Expect {
            is_head: true,
            ..Expect::default()
        };
        let found = responses(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", expect);
        assert_eq!(found[0].body_bytes, 0);
    }

    #[test]
    fn what_is_looked_at_is_kept() {
        let expect = Expect {
            keep_body: true,
            ..Expect::default()
        };
        let (mut session, mut head) = (Http1::new(), ResponseHead::default());
        let input = b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 5\r\n\r\nhello";
        assert!(
            session
                .receive(&mut head, input, expect)
                .unwrap()
                .done
                .is_some()
        );
        let kept = session.kept().unwrap();
        assert_eq!(kept.body, b"hello");
        assert_eq!(kept.head.fields.get(FieldId::ETag), Some(&b"\"x\""[..]));
    }

    #[test]
    fn caches_are_believed_in_order() {
        for (fields, expected) in [
            (
                "Cache-Status: origin; fwd=miss, edge; hit; ttl=3",
                Lookup::Hit,
            ),
            (
                "Cache-Status: origin; hit, edge; fwd=uri-miss",
                Lookup::Miss,
            ),
            ("X-Cache: HIT from squid\r\nAge: 0", Lookup::Hit),
            ("X-Cache: MISS", Lookup::Miss),
            ("X-Cache-Status: EXPIRED\r\nAge: 5", Lookup::Unknown),
            ("Age: 5", Lookup::Hit),
            ("Age: 0", Lookup::Unknown),
            ("Server: x", Lookup::Unknown),
        ] {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{fields}\r\n\r\n");
            let found = responses(text.as_bytes(), Expect::default());
            assert_eq!(found[0].lookup, expected, "{fields}");
        }
    }

    #[test]
    fn what_is_not_http_is_refused() {
        let mut head = ResponseHead::default();
        for input in [
            &b"SSH-2.0-OpenSSH\r\n"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        ] {
            assert!(
                Http1::new()
                    .receive(&mut head, input, Expect::default())
                    .is_err()
            );
        }
    }
}
