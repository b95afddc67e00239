//! HAR files: what is sent is one request each, in order.
#![no_main]

mod shared;

use forebay_workload::{Base, Target, har};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(har) = har::read(text) else {
        return;
    };
    assert!(
        har.entries
            .windows(2)
            .all(|pair| pair[0].at_ms <= pair[1].at_ms)
    );
    let server = Target::parse("https://[::1]:8443/x").expect("a URL");
    for base in [Base::recorded(), Base::server(server)] {
        let replay = har::replay(&har, &base);
        assert!(replay.order.len() as u64 + replay.skipped.total() <= har.entries.len() as u64);
        for request in &replay.requests {
            let mut bytes = Vec::new();
            request.write_to(false, &mut bytes);
            shared::is_one_request(&bytes);
        }
    }
});
