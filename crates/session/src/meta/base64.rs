//! Keys in base64 as memcached takes them: padded, whatever the last bits are, and with foreign
//! characters passed over.

/// What a character stands for; `None`: it is passed over.
fn sextet(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        b'=' => 0,
        _ => return None,
    }))
}

/// Decodes a key in place; false: it is not in base64, or empty.
pub(super) fn decode(key: &mut Vec<u8>) -> bool {
    let known = key.iter().filter(|byte| sextet(**byte).is_some()).count();
    if known == 0 || known % 4 != 0 {
        return false;
    }
    // What is written is never ahead of what is read: three bytes for four.
    let (mut written, mut block, mut count, mut padding) = (0, 0, 0, 0);
    for at in 0..key.len() {
        let byte = key.get(at).copied().unwrap_or_default();
        let Some(bits) = sextet(byte) else { continue };
        padding += usize::from(byte == b'=');
        block = block << 6 | bits;
        count += 1;
        if count < 4 {
            continue;
        }
        let [_, bytes @ ..] = u32::to_be_bytes(block);
        if padding > 2 {
            return false;
        }
        for byte in bytes.iter().take(3 - padding) {
            if let Some(place) = key.get_mut(written) {
                *place = *byte;
                written += 1;
            }
        }
        if padding > 0 {
            break;
        }
        (block, count) = (0, 0);
    }
    key.truncate(written);
    written > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Option<Vec<u8>> {
        let mut key = text.as_bytes().to_vec();
        decode(&mut key).then_some(key)
    }

    #[test]
    fn a_key_is_decoded_as_memcached_does() {
        assert_eq!(decoded("Zm9v"), Some(b"foo".to_vec()));
        assert_eq!(decoded("Zg=="), Some(b"f".to_vec()));
        assert_eq!(decoded("Zh=="), Some(b"f".to_vec()));
        assert_eq!(decoded("Zm9vZg==Zm9v"), Some(b"foof".to_vec()));
        assert_eq!(decoded("Z:m9v"), Some(b"foo".to_vec()));
        assert_eq!(decoded("Zg"), None);
        assert_eq!(decoded("===="), None);
        assert_eq!(decoded("*"), None);
    }
}
