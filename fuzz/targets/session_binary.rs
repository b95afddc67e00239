//! memcached's binary protocol: at once, in pieces and byte by byte, with one result.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "shared/session.rs"]
mod session;

fuzz_target!(|input: &[u8]| {
    if let [how, piece, input @ ..] = input {
        session::check([*how, *piece], &[&[0x80], input].concat());
    }
});
