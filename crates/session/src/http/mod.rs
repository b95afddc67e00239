//! Tokyo Tyrant's HTTP: a record is a resource under its key. Of HTTP/1.1 it has what clients of
//! Tyrant use: lengths, `Connection`, `Expect: 100-continue`; no chunked bodies.

mod head;

use crate::engine::{Answer, Engine, Mode, Op, Store};
use crate::limits::KEY_MOST;
use crate::run::{Run, Step, Stop};
use crate::{number, text};
use head::{After, Head, Method};

/// What a connection begins with that speaks HTTP.
pub(crate) const METHODS: [&[u8]; 5] = [b"GET /", b"HEAD /", b"PUT /", b"POST /", b"DELETE /"];

/// Carries out the request at the head of the input.
pub(crate) fn step<E: Engine>(run: &mut Run<'_, E>, input: &[u8]) -> Step {
    let head = match Head::read(input) {
        Ok(head) => head,
        Err(head::Fault::Short) => return Err(Stop::Need(input.len() + 1)),
        Err(head::Fault::Bad(status)) => {
            answer(run.out, status, &[], After::Close);
            return Err(Stop::Close);
        }
    };
    if head.body_bytes > run.limits.item_bytes {
        answer(run.out, "413 Content Too Large", &[], After::Close);
        return Err(Stop::Close);
    }
    if !admits(run, &head) {
        refuse(run, &head);
        return end(&head, input);
    }
    let Some(body) = input.get(head.bytes..head.bytes + head.body_bytes) else {
        if head.expects && !run.shared.continued {
            run.shared.continued = true;
            run.say(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        return Err(Stop::Need(head.bytes + head.body_bytes));
    };
    run.shared.continued = false;
    run.counts.auth_cmds += u64::from(run.access.is_guarded());
    let mut key = std::mem::take(&mut run.shared.key);
    head.key(&mut key);
    let done = record(run, &head, &key, body);
    run.shared.key = key;
    done?;
    end(&head, input)
}

/// The request is done with, and the connection if it was the last.
fn end(head: &Head<'_>, input: &[u8]) -> Step {
    match head.after {
        After::Close => Err(Stop::Close),
        _ => Ok(input.len().min(head.bytes + head.body_bytes)),
    }
}

fn record<E: Engine>(
    run: &mut Run<'_, E>,
    head: &Head<'_>,
    key: &[u8],
    body: &[u8],
) -> Result<(), Stop> {
    let after = head.after;
    // A script or a command by name, which there is none of here.
    if head.calls && head.method == Method::Post {
        answer(run.out, "501 Not Implemented", b"Not Implemented\n", after);
        return Ok(());
    }
    if key.is_empty() {
        refused(run.out, "400 Bad Request", b"The key is empty\n", head);
        return Ok(());
    }
    if key.len() > KEY_MOST {
        refused(run.out, "414 URI Too Long", b"The key is too long\n", head);
        return Ok(());
    }
    run.apply(key, operation(head, body), |out, counts, given| {
        match head.method {
            Method::Get | Method::Head => {
                text::count_read(counts, false, matches!(given, Answer::Found { .. }));
            }
            Method::Delete => text::count_delete(counts, given),
            Method::Put | Method::Post => text::count_store(counts, false, given),
        }
        match given {
            Answer::Found { item, .. } => found(out, item.value, head),
            Answer::Stored { .. } => answer(out, "201 Created", b"Created\n", after),
            Answer::Deleted => answer(out, "200 OK", b"OK\n", after),
            Answer::NotStored | Answer::Exists => answer(out, "409 Conflict", b"Conflict\n", after),
            Answer::Missing => refused(out, "404 Not Found", b"Not Found\n", head),
            Answer::TooLarge => answer(out, "413 Content Too Large", &[], after),
            Answer::Full => answer(out, "507 Insufficient Storage", &[], after),
            _ => answer(out, "500 Internal Server Error", &[], after),
        }
    })
}

fn operation<'a>(head: &Head<'_>, body: &'a [u8]) -> Op<'a> {
    match head.method {
        Method::Get | Method::Head => Op::Get,
        Method::Delete => Op::Delete { cas: None },
        Method::Put | Method::Post if head.mode == 2 => Op::Concat {
            value: body,
            width: None,
        },
        Method::Put | Method::Post => Op::Store(Store {
            mode: if head.mode == 1 { Mode::Add } else { Mode::Set },
            cas: None,
            invalidate: false,
            encoded: false,
            flags: 0,
            expires_s: 0,
            value: body,
        }),
    }
}

fn found(out: &mut Vec<u8>, value: &[u8], head: &Head<'_>) {
    out.reserve(value.len() + 128);
    header(out, "200 OK", value.len(), head.after);
    if head.method == Method::Get {
        out.extend_from_slice(value);
    }
}

/// Whether the client has shown the token, if one must be.
fn admits<E: Engine>(run: &Run<'_, E>, head: &Head<'_>) -> bool {
    !run.access.is_guarded()
        || head
            .credentials()
            .is_some_and(|(name, token)| run.access.admits(&name, &token))
}

/// Asks for the token, and passes over the body.
fn refuse<E: Engine>(run: &mut Run<'_, E>, head: &Head<'_>) {
    run.counts.auth_cmds += 1;
    run.counts.auth_errors += 1;
    run.say(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"sessions\"\r\n");
    length(run.out, 0, head.after);
    // What is there of it is consumed with the head, the rest when it comes.
    run.shared.swallow = head.missing;
}

/// Appends an answer with a short text.
fn answer(out: &mut Vec<u8>, status: &str, body: &[u8], after: After) {
    header(out, status, body.len(), after);
    out.extend_from_slice(body);
}

/// The same where what was asked may be a head alone, which has no text.
fn refused(out: &mut Vec<u8>, status: &str, body: &[u8], head: &Head<'_>) {
    let body = match head.method {
        Method::Head => &[],
        _ => body,
    };
    answer(out, status, body, head.after);
}

fn header(out: &mut Vec<u8>, status: &str, bytes: usize, after: After) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_bytes());
    out.extend_from_slice(b"\r\nContent-Type: application/octet-stream\r\n");
    length(out, bytes, after);
}

fn length(out: &mut Vec<u8>, bytes: usize, after: After) {
    out.extend_from_slice(match after {
        After::Close => b"Connection: close\r\n".as_slice(),
        After::Keep => b"",
        After::KeepAndSay => b"Connection: keep-alive\r\n",
    });
    out.extend_from_slice(b"Content-Length: ");
    number::write(bytes as u64, out);
    out.extend_from_slice(b"\r\n\r\n");
}
