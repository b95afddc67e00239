//! Keys as they are written in commands and in lists.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use forebay_session::KEY_MOST;

/// The length of a key in base64.
fn encoded_bytes(key: &[u8]) -> usize {
    key.len().div_ceil(3) * 4
}

/// Whether a key stands in a line as it is.
fn is_plain(key: &[u8]) -> bool {
    key.iter().all(|byte| *byte > b' ' && *byte != 0x7f)
}

/// Whether a key can be written in a command at all.
pub(crate) fn is_writable(key: &[u8]) -> bool {
    let bytes = if is_plain(key) {
        key.len()
    } else {
        encoded_bytes(key)
    };
    (1..=KEY_MOST).contains(&bytes)
}

/// Appends a key as a command's second word; true: it is in base64, and the flag `b` has to say so.
pub(crate) fn write(out: &mut Vec<u8>, key: &[u8]) -> bool {
    if is_plain(key) {
        out.extend_from_slice(key);
        return false;
    }
    out.extend_from_slice(STANDARD.encode(key).as_bytes());
    true
}

/// A key as `metadump` shows it: what is not harmless stands as `%` and two hexadecimal digits.
/// `None`: it is not well written.
pub(crate) fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        if *byte != b'%' {
            key.push(*byte);
            continue;
        }
        let (digits, tail) = rest.split_first_chunk::<2>()?;
        let [high, low] = digits.map(|digit| (digit as char).to_digit(16));
        key.push(u8::try_from(high? * 16 + low?).ok()?);
        rest = tail;
    }
    (!key.is_empty()).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_with_blanks_is_written_in_base64() {
        let mut out = Vec::new();
        assert!(!write(&mut out, b"memc.sess.key.a-b,c"));
        assert!(write(&mut out, b"a b"));
        assert_eq!(out, b"memc.sess.key.a-b,cYSBi");
        assert!(is_writable(&[b'a'; 250]) && !is_writable(&[b'a'; 251]));
        assert!(is_writable(&[0; 186]) && !is_writable(&[0; 188]) && !is_writable(b""));
    }

    #[test]
    fn a_key_that_is_badly_escaped_is_none() {
        assert_eq!(unescape(b"a%25b%00"), Some(b"a%b\0".to_vec()));
        for text in ["", "%", "%2", "%zz", "a%+1"] {
            assert_eq!(unescape(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_escaped_comes_back(key in proptest::collection::vec(any::<u8>(), 1..300)) {
            let text: String = key.iter().map(|byte| format!("%{byte:02X}")).collect();
            prop_assert_eq!(unescape(text.as_bytes()), Some(key));
        }
    }
}
