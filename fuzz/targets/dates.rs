//! Dates: what is read can be written and read again.
#![no_main]

use forebay_http::date;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some(seconds) = date::parse(input) {
        assert_round_trip(seconds);
    }
    if let Some(seconds) = input.first_chunk() {
        assert_round_trip(u64::from_le_bytes(*seconds) % 253_402_300_800);
    }
});

fn assert_round_trip(seconds: u64) {
    let mut text = Vec::new();
    date::write(seconds, &mut text);
    assert_eq!(text.len(), 29);
    // The leap second at the end of the year 9999 is beyond what can be written.
    assert_eq!(date::parse(&text), Some(seconds.min(253_402_300_799)));
}
