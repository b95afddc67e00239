//! Chunked bodies: read whole, byte by byte and in pieces, with one result.
#![no_main]

use forebay_http::chunked::{ChunkError, Decoder, Event};
use libfuzzer_sys::fuzz_target;

type Outcome = (Vec<u8>, Vec<u8>, Result<(usize, bool), ChunkError>);

fuzz_target!(|input: &[u8]| {
    let [piece, input @ ..] = input else {
        return;
    };
    let whole = decode(input, input.len());
    assert_eq!(decode(input, 1), whole);
    assert_eq!(decode(input, usize::from(*piece).max(1)), whole);
});

fn decode(input: &[u8], piece: usize) -> Outcome {
    let mut decoder = Decoder::new(64, 256);
    let (mut body, mut at, mut limit) = (Vec::new(), 0, 0);
    let end = loop {
        limit = limit.max(at);
        let rest = &input[at..limit];
        match decoder.next(rest) {
            Err(error) => break Err(error),
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
                    break Ok((at, false));
                }
                limit = input.len().min(at + piece);
            }
            Ok(Event::End { consumed }) => break Ok((at + consumed, true)),
        }
    };
    assert!(decoder.trailers().len() <= 256);
    (body, decoder.trailers().to_vec(), end)
}
