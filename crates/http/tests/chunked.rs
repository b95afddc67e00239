//! Properties of the chunked coding: how the bytes are split never matters.

use forebay_http::chunked::{ChunkError, Decoder, Event, LAST_CHUNK, write_chunk_head};
use proptest::prelude::*;

/// What a whole input comes to.
#[derive(Debug, PartialEq)]
struct Outcome {
    body: Vec<u8>,
    trailers: Vec<u8>,
    /// Bytes taken, and whether the body ended there; or why it was refused.
    end: Result<(usize, bool), ChunkError>,
}

/// Decodes `input` handed over in pieces that end at `cuts` and at its end.
fn decode(input: &[u8], cuts: &[usize]) -> Outcome {
    let mut decoder = Decoder::new(32, 128);
    let mut body = Vec::new();
    let mut at = 0;
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (input.len() + 1)).collect();
    ends.push(input.len());
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let end = loop {
        let Some(&piece_end) = ends.peek() else {
            break Ok((at, false));
        };
        let piece = &input[at..piece_end.max(at)];
        match decoder.next(piece) {
            Err(error) => break Err(error),
            Ok(Event::Data {
                start,
                end,
                consumed,
            }) => {
                assert!(start < end && end <= consumed && consumed <= piece.len());
                body.extend_from_slice(&piece[start..end]);
                at += consumed;
            }
            Ok(Event::NeedMore { consumed }) => {
                assert_eq!(consumed, piece.len(), "everything is taken");
                at += consumed;
                ends.next();
            }
            Ok(Event::End { consumed }) => break Ok((at + consumed, true)),
        }
    };
    Outcome {
        body,
        trailers: decoder.trailers().to_vec(),
        end,
    }
}

/// Bytes that get far into the coding, correct or nearly so.
fn coding_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => Just(b"\r\n".to_vec()),
        3 => Just(b"0\r\n".to_vec()),
        2 => Just(b"0\r\n\r\n".to_vec()),
        4 => (1_usize..20).prop_map(|n| [format!("{n:x}\r\n").into_bytes(), vec![b'x'; n], b"\r\n".to_vec()].concat()),
        1 => Just(b"1;a=\"b\"\r\nx\r\n".to_vec()),
        2 => Just(b"ETag: \"x\"\r\n".to_vec()),
        1 => Just(b"Host: x\r\n".to_vec()),
        1 => any::<u8>().prop_map(|b| vec![b]),
        1 => prop::sample::select(b"\r\n ;:\t0aF\"".to_vec()).prop_map(|b| vec![b]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_body_comes_back_whatever_its_chunks_and_splits(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..8),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
        rest in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let mut input = Vec::new();
        for chunk in &chunks {
            write_chunk_head(&mut input, chunk.len());
            input.extend_from_slice(chunk);
            input.extend_from_slice(b"\r\n");
        }
        input.extend_from_slice(LAST_CHUNK);
        let length = input.len();
        input.extend_from_slice(&rest);
        let expected = Outcome { body: chunks.concat(), trailers: Vec::new(), end: Ok((length, true)) };
        prop_assert_eq!(decode(&input, &cuts), expected);
    }

    #[test]
    fn any_split_gives_the_same(input in coding_like(), cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        let whole = decode(&input, &[]);
        prop_assert_eq!(&decode(&input, &cuts), &whole);
        let every_byte: Vec<usize> = (0..input.len()).collect();
        prop_assert_eq!(&decode(&input, &every_byte), &whole);
    }

    #[test]
    fn what_is_cut_off_never_looks_complete(
        body in prop::collection::vec(any::<u8>(), 1..100),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut input = Vec::new();
        write_chunk_head(&mut input, body.len());
        input.extend_from_slice(&body);
        input.extend_from_slice(b"\r\n0\r\nETag: \"x\"\r\n\r\n");
        let shorter = &input[..cut.index(input.len())];
        prop_assert_eq!(decode(shorter, &[]).end, Ok((shorter.len(), false)));
    }
}
