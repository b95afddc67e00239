//! Response heads: any prefix of a head is incomplete, refused like the whole,
//! or the same head.
#![no_main]

use forebay_http::ResponseHead;
use forebay_http::head::HeadLimits;
use libfuzzer_sys::fuzz_target;

const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 500,
    head_bytes: 2000,
    fields: 20,
};

fuzz_target!(|input: &[u8]| {
    let mut head = ResponseHead::default();
    let whole = head.parse(input, &LIMITS);
    if let Ok(Some(length)) = whole {
        assert!(length <= input.len());
        assert!((100..1000).contains(&head.status));
        forebay_http::framing::remove_hop_by_hop(&mut head.fields);
        let mut lines = Vec::new();
        head.fields.write_to(&mut lines);
    }
    let mut prefix = ResponseHead::default();
    for end in 0..input.len().min(300) {
        match prefix.parse(&input[..end], &LIMITS) {
            Ok(None) => {}
            Ok(Some(length)) => assert_eq!(whole, Ok(Some(length)), "prefix of {end}"),
            Err(error) => assert!(whole.is_err(), "prefix of {end}: {error:?}"),
        }
    }
});
