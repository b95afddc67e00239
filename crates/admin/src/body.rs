//! The body of a request, read whole within a limit.

use crate::answer::Answer;
use forebay_http::chunked::{Decoder, Event};
use forebay_http::framing::BodyLength;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A larger body gets 413.
pub(crate) const BODY_BYTES: usize = 1 << 20;
/// Chunk extensions and trailers beyond these are refused.
const EXTENSION_BYTES: usize = 256;
const TRAILER_BYTES: usize = 1 << 10;
/// Room for one read.
const READ_BYTES: usize = 8 << 10;

/// Why there is no body.
pub(crate) enum BodyError {
    /// The socket failed, or ended before the body did.
    Socket,
    /// The client is told.
    Refused(Answer),
}

/// Reads a body; `read` is what came behind the head already.
///
/// # Errors
/// When it is too large (413), malformed (400), or the socket fails.
pub(crate) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    length: BodyLength,
    read: Vec<u8>,
) -> Result<Vec<u8>, BodyError> {
    match length {
        BodyLength::None | BodyLength::UntilClose => Ok(Vec::new()),
        BodyLength::Length(length) => match usize::try_from(length) {
            Ok(length) if length <= BODY_BYTES => exactly(stream, length, read).await,
            _ => Err(too_large()),
        },
        BodyLength::Chunked => chunked(stream, read).await,
    }
}

async fn exactly(
    stream: &mut (impl AsyncRead + Unpin),
    length: usize,
    mut body: Vec<u8>,
) -> Result<Vec<u8>, BodyError> {
    // What follows the body is nobody's: there is one request on a connection.
    body.truncate(length);
    while body.len() < length {
        let room = (length - body.len()) as u64;
        body.reserve(READ_BYTES);
        more(&mut stream.take(room), &mut body).await?;
    }
    Ok(body)
}

async fn chunked(
    stream: &mut (impl AsyncRead + Unpin),
    mut input: Vec<u8>,
) -> Result<Vec<u8>, BodyError> {
    let mut decoder = Decoder::new(EXTENSION_BYTES, TRAILER_BYTES);
    let mut body = Vec::new();
    let mut from = 0;
    loop {
        let event = decoder
            .next(&input[from..])
            .map_err(|error| BodyError::Refused(Answer::refusal(400, &error.to_string())))?;
        match event {
            Event::Data {
                start,
                end,
                consumed,
            } => {
                if body.len() + (end - start) > BODY_BYTES {
                    return Err(too_large());
                }
                body.extend_from_slice(&input[from + start..from + end]);
                from += consumed;
            }
            Event::NeedMore { .. } => {
                input.clear();
                from = 0;
                input.reserve(READ_BYTES);
                more(stream, &mut input).await?;
            }
            Event::End { .. } => return Ok(body),
        }
    }
}

async fn more(stream: &mut (impl AsyncRead + Unpin), into: &mut Vec<u8>) -> Result<(), BodyError> {
    match stream.read_buf(into).await {
        Ok(0) | Err(_) => Err(BodyError::Socket),
        Ok(_) => Ok(()),
    }
}

fn too_large() -> BodyError {
    let text = format!("a body has at most {BODY_BYTES} bytes here");
    BodyError::Refused(Answer::refusal(413, &text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run(length: BodyLength, first: &[u8], rest: &[u8]) -> Result<Vec<u8>, u16> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut rest = rest;
        runtime
            .block_on(read(&mut rest, length, first.to_vec()))
            .map_err(|error| match error {
                BodyError::Socket => 0,
                BodyError::Refused(answer) => answer.status,
            })
    }

    #[test]
    fn a_length_is_read_exactly_however_it_is_split() {
        assert_eq!(run(BodyLength::Length(4), b"", b"abcdef").unwrap(), b"abcd");
        assert_eq!(run(BodyLength::Length(4), b"ab", b"cdef").unwrap(), b"abcd");
        assert_eq!(run(BodyLength::Length(4), b"abcdef", b"").unwrap(), b"abcd");
        assert_eq!(run(BodyLength::Length(4), b"a", b"b"), Err(0));
        assert_eq!(run(BodyLength::None, b"abc", b"").unwrap(), b"");
    }

    #[test]
    fn chunks_are_put_together_wherever_they_are_split() {
        let text = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: u\r\n\r\nmore";
        for split in 0..text.len() {
            let (first, rest) = text.split_at(split);
            assert_eq!(run(BodyLength::Chunked, first, rest).unwrap(), b"abcde");
        }
        assert_eq!(run(BodyLength::Chunked, b"3\r\nabc", b""), Err(0));
        assert_eq!(run(BodyLength::Chunked, b"3\nabc", b""), Err(400));
    }

    #[test]
    fn the_limit_holds_for_both() {
        let large = vec![b'x'; BODY_BYTES + 1];
        assert_eq!(
            run(BodyLength::Length(BODY_BYTES as u64 + 1), b"", &large),
            Err(413)
        );
        assert_eq!(run(BodyLength::Length(u64::MAX), b"", b""), Err(413));
        assert_eq!(
            run(BodyLength::Length(BODY_BYTES as u64), b"", &large)
                .unwrap()
                .len(),
            BODY_BYTES
        );
        let mut chunks = format!("{:x}\r\n", large.len()).into_bytes();
        chunks.extend_from_slice(&large);
        assert_eq!(run(BodyLength::Chunked, b"", &chunks), Err(413));
    }
}
