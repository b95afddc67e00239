//! Bearer tokens (RFC 6750 section 2.1).

/// The token of the one `Authorization: Bearer TOKEN` among these fields; none when there is
/// another field beside it. The scheme's case is free.
pub fn token<'a>(mut authorization: impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    let (value, None) = (authorization.next()?, authorization.next()) else {
        return None;
    };
    let (scheme, rest) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| rest.trim_ascii())
}

/// Compares in a time that depends on the length of `given` alone. An empty secret is nobody's.
pub fn is_secret(secret: &[u8], given: &[u8]) -> bool {
    let mut difference = u8::from(secret.len() != given.len()) | u8::from(secret.is_empty());
    for (place, byte) in given.iter().enumerate() {
        let own = match secret.len() {
            0 => 0,
            length => secret[place % length],
        };
        difference |= std::hint::black_box(own ^ byte);
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_token_or_none() {
        let of = |values: &[&'static str]| token(values.iter().map(|value| value.as_bytes()));
        assert_eq!(of(&["Bearer abc"]), Some(&b"abc"[..]));
        assert_eq!(of(&["bEARER  abc "]), Some(&b"abc"[..]));
        for none in [
            &[][..],
            &["Basic abc"],
            &["Bearer"],
            &["Bearer a", "Bearer a"],
        ] {
            assert_eq!(of(none), None, "{none:?}");
        }
    }

    #[test]
    fn only_the_whole_secret_is_it() {
        for (secret, given, same) in [
            ("secret", "secret", true),
            ("secret", "secre", false),
            ("secret", "secrets", false),
            ("secret", "secretsecret", false),
            ("secret", "", false),
            ("", "", false),
        ] {
            assert_eq!(
                is_secret(secret.as_bytes(), given.as_bytes()),
                same,
                "{given}"
            );
        }
    }
}
