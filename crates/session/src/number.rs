//! Numbers as memcached reads them (C's `strtoul` and its kin behind a check of what follows), and
//! as it writes them.

/// What stands at the head of a text: a sign, digits; `None` beyond 64 bits or without digits.
struct Digits {
    negative: bool,
    value: u64,
    bytes: usize,
}

/// White space to C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn digits(text: &[u8]) -> Option<Digits> {
    let blank = text.iter().take_while(|byte| is_space(**byte)).count();
    let signed = text.get(blank..)?;
    let (negative, sign) = match signed.first() {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    };
    let mut value = 0_u64;
    let mut count = 0;
    for byte in signed
        .get(sign..)?
        .iter()
        .take_while(|b| b.is_ascii_digit())
    {
        value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        count += 1;
    }
    (count > 0).then_some(Digits {
        negative,
        value,
        bytes: blank + sign + count,
    })
}

/// The head of a text that is followed by its end or by white space.
fn whole(text: &[u8]) -> Option<Digits> {
    let found = digits(text)?;
    match text.get(found.bytes) {
        None | Some(0) => Some(found),
        Some(byte) => is_space(*byte).then_some(found),
    }
}

/// An unsigned number of 64 bits. A negative one is taken where C's conversion gives one below
/// 2^63, as memcached does.
pub(crate) fn unsigned(text: &[u8]) -> Option<u64> {
    let found = whole(text)?;
    match found.negative {
        false => Some(found.value),
        true => {
            let wrapped = found.value.wrapping_neg();
            (wrapped <= i64::MAX as u64).then_some(wrapped)
        }
    }
}

/// An unsigned number of 32 bits; of a longer one the lower half counts, as in memcached.
pub(crate) fn unsigned_32(text: &[u8]) -> Option<u32> {
    unsigned(text).map(|value| value as u32)
}

/// A signed number of 32 bits; of a longer one the lower half counts, as in memcached.
pub(crate) fn signed_32(text: &[u8]) -> Option<i32> {
    let found = whole(text)?;
    let value = match found.negative {
        false => i64::try_from(found.value).ok()?,
        true => 0_i64.checked_sub_unsigned(found.value)?,
    };
    Some(value as i32)
}

/// Appends a number in decimal digits.
pub(crate) fn write(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_and_refused_as_memcached_does() {
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), None);
        assert_eq!(unsigned(b"-1"), None);
        assert_eq!(unsigned(b"-0"), Some(0));
        assert_eq!(unsigned(b"+5"), Some(5));
        assert_eq!(unsigned(b"7 "), Some(7));
        assert_eq!(unsigned(b"7x"), None);
        assert_eq!(unsigned(b""), None);
        assert_eq!(unsigned(b"-"), None);
        assert_eq!(signed_32(b"-5"), Some(-5));
        assert_eq!(signed_32(b"1.5"), None);
    }
}
