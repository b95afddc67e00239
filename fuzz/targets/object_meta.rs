//! The meta of an object's record on disk, damaged at will: it is refused, or read without
//! harm.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    forebay_cache::disk::is_meta(bytes);
});
