//! What a browser and a site say while they are recorded: no exchange is too strange to become a
//! scenario that can be read again, nor to be shown to a browser under another name.
//!
//! The input is texts that end in a zero byte, six for each exchange.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "shared/record.rs"]
#[allow(dead_code)]
mod record;

fuzz_target!(|input: &[u8]| {
    record::check(input);
});
