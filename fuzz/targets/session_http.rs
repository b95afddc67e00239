//! Tokyo Tyrant's HTTP: at once, in pieces and byte by byte, with one result.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "shared/session.rs"]
mod session;

fuzz_target!(|input: &[u8]| {
    const METHODS: [&[u8]; 5] = [b"GET /", b"HEAD /", b"PUT /", b"POST /", b"DELETE /"];
    if let [how, piece, method, input @ ..] = input {
        let method = METHODS[usize::from(*method) % METHODS.len()];
        session::check([*how, *piece], &[method, input].concat());
    }
});
