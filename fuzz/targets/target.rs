//! URLs: what is taken can be sent, is read again from its own text, and
//! resolves references to what can be sent.
#![no_main]

mod shared;

use forebay_workload::{Request, Target};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (url, reference) = text.split_once('\n').unwrap_or((text, "../a?b#c"));
    let target = match Target::parse(url) {
        Ok(target) => target,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let again = Target::parse(&target.to_string()).expect("its own text is read");
    assert_eq!(again, target);
    can_be_sent(&target);
    if reference.starts_with('/') {
        can_be_sent(&target.with_path(reference));
    }
    if let Ok(joined) = target.join(reference) {
        can_be_sent(&joined);
    }
});

fn can_be_sent(target: &Target) {
    let mut bytes = Vec::new();
    Request::get(target.clone()).write_to(false, &mut bytes);
    shared::is_one_request(&bytes);
    assert!(!target.place().is_empty());
}
