//! Request heads: any prefix of a head is incomplete, refused like the whole,
//! or the same head; what was read can be written and read again.
#![no_main]

use forebay_http::head::HeadLimits;
use forebay_http::{RequestHead, framing};
use libfuzzer_sys::fuzz_target;

const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 500,
    head_bytes: 2000,
    fields: 20,
};

fuzz_target!(|input: &[u8]| {
    let mut head = RequestHead::default();
    let whole = head.parse(input, &LIMITS);
    // What `head` holds is only defined after a complete one.
    if let Ok(Some(length)) = whole {
        assert!(length <= input.len());
        let _ = framing::request_body(&head.fields, head.http10);
        let _ = framing::keeps_alive(&head.fields, head.http10);
        read_again(&head);
        framing::remove_hop_by_hop(&mut head.fields);
    }
    let mut prefix = RequestHead::default();
    for end in 0..input.len().min(300) {
        match prefix.parse(&input[..end], &LIMITS) {
            Ok(None) => {}
            Ok(Some(length)) => assert_eq!(whole, Ok(Some(length)), "prefix of {end}"),
            Err(error) => assert!(whole.is_err(), "prefix of {end}: {error:?}"),
        }
    }
});

fn read_again(head: &RequestHead) {
    let mut written = Vec::new();
    head.write_to(&mut written);
    let generous = HeadLimits {
        line_bytes: 1 << 16,
        head_bytes: 1 << 16,
        fields: 100,
    };
    let mut again = RequestHead::default();
    assert_eq!(again.parse(&written, &generous), Ok(Some(written.len())));
    assert_eq!(again.target, head.target);
    let mut twice = Vec::new();
    again.write_to(&mut twice);
    assert_eq!(written, twice);
}
