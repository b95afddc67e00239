//! `Forwarded` and its older relatives: nothing that one of them holds becomes more in the other.
#![no_main]

use forebay_http::forwarded::{to_x_forwarded, write_forwarded};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let lines = || input.split(|&byte| byte == b'\n');
    let said = to_x_forwarded(lines(), |address| address.starts_with(b"10."));

    // An address is written as one value, whatever is in it: no host stands beside the given one.
    let mut text = Vec::new();
    let addresses = lines().chain([&said.addresses[..]]);
    write_forwarded(addresses, Some(b"given.example"), None, &mut text);
    let read = to_x_forwarded([&text[..]].into_iter(), |_| true);
    assert_eq!(read.host.as_deref(), Some(&b"given.example"[..]));
    assert_eq!(read.proto, None);
});
