//! Ranges: what is resolved lies within the length and merges without overlap.
#![no_main]

use forebay_http::range::{self, ContentRange};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some(content_range) = ContentRange::parse(input) {
        let mut text = Vec::new();
        content_range.write(&mut text);
        assert_eq!(ContentRange::parse(&text), Some(content_range));
    }
    let Some(specs) = range::parse(input, 8) else {
        return;
    };
    assert!((1..=8).contains(&specs.len()));
    for length in [0, 1, 10, 1000, u64::MAX] {
        let mut ranges = range::resolve(&specs, length);
        assert!(ranges.iter().all(|r| r.start < r.end && r.end <= length));
        range::coalesce(&mut ranges);
        ranges.sort_unstable_by_key(|r| r.start);
        assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
    }
});
