//! What operators and file systems call things: addresses, patterns of keys, PHP's
//! `session.save_path` and the names of its files.
#![no_main]

use forebay_session_client::{Address, Pattern, SavePath};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/session/client/src/php/path.rs"]
#[allow(dead_code)]
mod path;

fuzz_target!(|input: &[u8]| {
    if let Ok(text) = std::str::from_utf8(input) {
        // A host of the name `unix` can only be told with a dot behind it.
        if let Ok(address) = text.parse::<Address>()
            && text != "unix"
        {
            assert_eq!(address.to_string().parse(), Ok(address));
        }
        if let Ok(SavePath { root, .. }) = text.parse() {
            assert!(text.ends_with(root.to_str().expect("a part of the text")));
        }
    }
    let cut = input.iter().position(|byte| *byte == b'/');
    let (first, second) = input.split_at(cut.unwrap_or(input.len()));
    let pattern = Pattern::new(first);
    assert_eq!(pattern.matches(second), naive(first, second));
    if let Some(id) = path::identifier(second, first) {
        let harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b",-".contains(byte);
        assert!(id.starts_with(first) && (1..=256).contains(&id.len()));
        assert!(id.iter().all(harmless));
    }
    assert!(path::level(first).is_none_or(|byte| byte != b'.' && byte != b'/'));
});

/// The same, as one would write it down.
fn naive(pattern: &[u8], key: &[u8]) -> bool {
    if !pattern.iter().any(|byte| b"*?".contains(byte)) {
        return key.starts_with(pattern);
    }
    // What of the key the pattern so far may have passed.
    let mut reached = vec![false; key.len() + 1];
    reached[0] = true;
    for byte in pattern {
        let before = reached.clone();
        reached.fill(false);
        for at in 0..=key.len() {
            reached[at] = match byte {
                b'*' => before[at] || (at > 0 && reached[at - 1]),
                _ => at > 0 && before[at - 1] && (*byte == b'?' || *byte == key[at - 1]),
            };
        }
    }
    reached[key.len()]
}
