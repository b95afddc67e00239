//! Targets, hosts and references: what is resolved resolves to itself.
#![no_main]

use forebay_http::{glob, uri};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some(target) = uri::parse_target(input) {
        match target {
            uri::Target::Origin(path) => assert!(path.starts_with(b"/")),
            uri::Target::Absolute {
                authority, path, ..
            } => {
                assert!(uri::parse_host(authority).is_some() && path.starts_with(b"/"));
            }
            uri::Target::Authority(authority) => assert!(uri::parse_host(authority).is_some()),
            uri::Target::Asterisk => {}
        }
    }
    let cut = input.iter().position(|&b| b == b'\n').unwrap_or(0);
    let (base, reference) = (&input[..cut], &input[cut..]);
    let reference = reference.strip_prefix(b"\n").unwrap_or(reference);
    let _ = glob::matches(base, reference);
    let _ = glob::path_matches(base, reference);
    let Some((authority, target)) = uri::resolve(b"a", base, reference) else {
        return;
    };
    assert!(target.starts_with(b"/"));
    // A base that was never a target may hold anything.
    if uri::parse_target(base).is_some() {
        let absolute = [b"//", &authority[..], &target].concat();
        assert_eq!(
            uri::resolve(b"b", b"/", &absolute),
            Some((authority, target))
        );
    }
});
