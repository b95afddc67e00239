//! Tables of chunked bodies, each read whole and byte by byte.

use super::*;

/// The body, the trailers and what was left over.
type Decoded = Result<(Vec<u8>, Vec<u8>, Vec<u8>), ChunkError>;

/// Feeds `input` in pieces of `piece` bytes; a body that does not end is `None`.
fn decode(input: &[u8], piece: usize) -> Option<Decoded> {
    let mut decoder = Decoder::new(16, 64);
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let rest = &input[at..input.len().min(at + piece)];
        match decoder.next(rest) {
            Err(error) => return Some(Err(error)),
            Ok(Event::Data {
                start,
                end,
                consumed,
            }) => {
                assert!(start < end && end <= consumed);
                body.extend_from_slice(&rest[start..end]);
                at += consumed;
            }
            Ok(Event::NeedMore { consumed }) => {
                assert_eq!(consumed, rest.len());
                at += consumed;
                if at == input.len() {
                    return None;
                }
            }
            Ok(Event::End { consumed }) => {
                at += consumed;
                return Some(Ok((
                    body,
                    decoder.trailers().to_vec(),
                    input[at..].to_vec(),
                )));
            }
        }
    }
}

fn both_ways(input: &str) -> Option<Decoded> {
    let whole = decode(input.as_bytes(), usize::MAX >> 1);
    assert_eq!(
        decode(input.as_bytes(), 1),
        whole,
        "byte by byte: {input:?}"
    );
    whole
}

#[test]
fn good_bodies() {
    for (input, body, trailers, rest) in [
        ("0\r\n\r\n", "", "", ""),
        ("5\r\nhello\r\n0\r\n\r\nGET", "hello", "", "GET"),
        ("5\r\nhello\r\n1\r\n!\r\n000\r\n\r\n", "hello!", "", ""),
        (
            "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
            "01234567890123456789",
            "",
            "",
        ),
        ("000000000000001\r\nx\r\n0\r\n\r\n", "x", "", ""),
        ("1;a=b;c=\"\\\"d\"\r\nx\r\n0;z\r\n\r\n", "x", "", ""),
        ("1 ; a\r\nx\r\n0 \t;\r\n\r\n", "x", "", ""),
        ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n", "", ""),
        (
            "0\r\nETag: \"x\"\r\nx:\r\n\r\n0",
            "",
            "ETag: \"x\"\r\nx:\r\n",
            "0",
        ),
    ] {
        let expected = (body.into(), trailers.into(), rest.into());
        assert_eq!(both_ways(input), Some(Ok(expected)), "{input:?}");
    }
}

#[test]
fn bodies_that_do_not_end() {
    for input in [
        "",
        "5",
        "5\r",
        "5\r\n",
        "5\r\nhel",
        "5\r\nhello",
        "0\r\n",
        "0\r\n\r",
        "0\r\na: b\r\n",
    ] {
        assert_eq!(both_ways(input), None, "{input:?}");
    }
}

#[test]
fn what_is_refused() {
    for (input, error) in [
        ("\r\n", ChunkError::Size),
        (" 5\r\nhello", ChunkError::Size),
        ("+5\r\nhello", ChunkError::Size),
        ("-1\r\n", ChunkError::Size),
        ("0x5\r\nhello", ChunkError::Size),
        ("5g\r\n", ChunkError::Size),
        ("5 5\r\n", ChunkError::Size),
        (";a\r\n", ChunkError::Size),
        ("0000000000000001\r\n", ChunkError::Size),
        ("ffffffffffffffff\r\n", ChunkError::Size),
        ("5\nhello", ChunkError::LineEnd),
        ("5\rhello", ChunkError::LineEnd),
        ("5\r\r\n", ChunkError::LineEnd),
        ("5;a\nhello", ChunkError::LineEnd),
        ("5;a\rb\r\n", ChunkError::LineEnd),
        ("5;a\0\r\n", ChunkError::Extension),
        ("5;\x7f\r\n", ChunkError::Extension),
        ("5;23456789abcdefgh\r\n", ChunkError::ExtensionTooLong),
        ("5                 \r\n", ChunkError::ExtensionTooLong),
        ("5\r\nhelloX\r\n", ChunkError::DataEnd),
        ("5\r\nhello\n", ChunkError::DataEnd),
        ("5\r\nhello\rX", ChunkError::DataEnd),
        ("0\r\n\n", ChunkError::LineEnd),
        ("0\r\n\rX", ChunkError::LineEnd),
        ("0\r\na: b\n\r\n", ChunkError::LineEnd),
        ("0\r\na: b\rc\r\n", ChunkError::LineEnd),
        ("0\r\na\n", ChunkError::LineEnd),
        ("0\r\na : b\r\n", ChunkError::Trailer),
        ("0\r\na b\r\n", ChunkError::Trailer),
        ("0\r\na\r\n", ChunkError::Trailer),
        ("0\r\n: b\r\n", ChunkError::Trailer),
        ("0\r\na: b\r\n c\r\n", ChunkError::Trailer),
        ("0\r\na: \0\r\n", ChunkError::Trailer),
        (
            "0\r\nContent-Length: 5\r\n\r\n",
            ChunkError::ForbiddenTrailer,
        ),
        (
            "0\r\nx: y\r\nTRANSFER-ENCODING: a\r\n\r\n",
            ChunkError::ForbiddenTrailer,
        ),
        ("0\r\nhost: a\r\n\r\n", ChunkError::ForbiddenTrailer),
        ("0\r\ntrailer: a\r\n\r\n", ChunkError::ForbiddenTrailer),
    ] {
        assert_eq!(both_ways(input), Some(Err(error)), "{input:?}");
    }
    let long = format!("0\r\na: {}\r\n\r\n", "x".repeat(60));
    assert_eq!(both_ways(&long), Some(Err(ChunkError::TrailerTooLong)));
    let fits = format!("0\r\na: {}\r\n\r\n", "x".repeat(59));
    assert!(matches!(both_ways(&fits), Some(Ok(_))));
}

#[test]
fn extensions_are_limited_by_chunk_not_by_body() {
    let input = "1;23456789abcdefg\r\nx\r\n".repeat(3) + "0\r\n\r\n";
    assert_eq!(
        both_ways(&input),
        Some(Ok((b"xxx".to_vec(), Vec::new(), Vec::new())))
    );
}

#[test]
fn nothing_is_read_behind_the_end() {
    let mut decoder = Decoder::new(0, 0);
    assert_eq!(
        decoder.next(b"0\r\n\r\n1\r\n"),
        Ok(Event::End { consumed: 5 })
    );
    assert_eq!(decoder.next(b"1\r\n"), Ok(Event::End { consumed: 0 }));
}

#[test]
fn chunk_heads() {
    for (len, expected) in [
        (1, "1\r\n"),
        (15, "f\r\n"),
        (16, "10\r\n"),
        (26, "1a\r\n"),
        (0xdead_beef, "deadbeef\r\n"),
    ] {
        let mut out = Vec::new();
        write_chunk_head(&mut out, len);
        assert_eq!(out, expected.as_bytes());
    }
}
