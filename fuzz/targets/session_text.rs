//! memcached's text and meta protocols: at once, in pieces and byte by byte, with one result, over a
//! plain engine and over a store.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "shared/session.rs"]
mod session;

fuzz_target!(|input: &[u8]| {
    let [how, piece, input @ ..] = input else {
        return;
    };
    // Other first bytes are other protocols, which have targets of their own.
    if !matches!(input.first(), Some(0x80 | 0xc8)) {
        session::check([*how, *piece], input);
    }
});
