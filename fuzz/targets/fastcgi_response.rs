//! Responses in FastCGI records: whatever comes, and however it is split, the streams are the same
//! and nothing outside of the input is pointed at.
#![no_main]

use forebay_cgi::fastcgi::{Decoder, End, Event, RecordError};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Default, PartialEq)]
struct Seen {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    end: Option<End>,
    error: Option<RecordError>,
}

fn read(input: &[u8], piece: usize) -> Seen {
    let mut seen = Seen::default();
    let (mut decoder, mut held) = (Decoder::default(), Vec::new());
    for more in input.chunks(piece.max(1)) {
        held.extend_from_slice(more);
        loop {
            let whole = decoder.whole_body(&held);
            assert!(whole.is_none_or(|bytes| bytes <= held.len()));
            let (taken, again) = match decoder.next(&held) {
                Ok(Event::Stdout { start, end }) => {
                    assert!(start < end);
                    // What is given back comes again.
                    let half = (end - start) / 2;
                    decoder.give_back(half);
                    seen.stdout.extend_from_slice(&held[start..end - half]);
                    (end - half, true)
                }
                Ok(Event::Stderr { start, end }) => {
                    assert!(start < end);
                    seen.stderr.extend_from_slice(&held[start..end]);
                    (end, true)
                }
                Ok(Event::NeedMore { consumed }) => (consumed, false),
                Ok(Event::End { consumed, end }) => {
                    assert!(consumed <= held.len());
                    seen.end = Some(end);
                    return seen;
                }
                Err(error) => {
                    seen.error = Some(error);
                    return seen;
                }
            };
            held.drain(..taken);
            if !again {
                break;
            }
        }
    }
    seen
}

fuzz_target!(|input: &[u8]| {
    let Some((&piece, response)) = input.split_first() else {
        return;
    };
    assert_eq!(read(response, piece.into()), read(response, response.len()));
});
