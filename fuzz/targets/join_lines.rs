//! The lines of a dial-in's control connection.
//!
//! Promised: no panic; the same lines however they arrive; bounded memory; what is known is
//! written as it was read.

#![no_main]

use forebay_join::protocol::{FromEdge, FromServer, LINE_BYTES, Lines};
use libfuzzer_sys::fuzz_target;

fn read(input: &[u8], piece: usize) -> (Vec<String>, bool) {
    let (mut lines, mut seen) = (Lines::default(), Vec::new());
    for more in input.chunks(piece.max(1)) {
        if !lines.take(more, |line| seen.push(line.to_owned())) {
            return (seen, false);
        }
    }
    (seen, true)
}

fuzz_target!(|data: &[u8]| {
    let Some((&piece, input)) = data.split_first() else {
        return;
    };
    let all = read(input, input.len());
    assert_eq!(all, read(input, piece.into()));
    for line in &all.0 {
        // A byte that is not UTF-8 becomes three.
        assert!(line.len() < 3 * LINE_BYTES);
        if let Some(said) = FromEdge::read(line) {
            assert_eq!(FromEdge::read(said.line().trim_end()), Some(said));
        }
        if let Some(said) = FromServer::read(line) {
            assert_eq!(said.line().trim_end(), line);
        }
    }
});
