//! One line of an access log in each format: refused, or a request that can
//! be looked at; the format that a line is taken for is one that reads it.
#![no_main]

use forebay_workload::log::{Fault, Format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    for format in [Format::Combined, Format::Squid, Format::Json] {
        match format.parse(line) {
            Ok(entry) => {
                assert!(!entry.method.is_empty() && !entry.url.is_empty());
                assert!(entry.method.bytes().all(forebay_http::head::is_token));
            }
            Err(Fault::Unreadable(words)) => assert!(!words.is_empty()),
            Err(Fault::NoRequest) => {}
        }
    }
    if let Some(format) = Format::detect(line) {
        let reads = |line: &[u8]| !matches!(format.parse(line), Err(Fault::Unreadable(_)));
        let mut lines = line.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        assert!(lines.any(reads), "no line is in the format");
    }
});
