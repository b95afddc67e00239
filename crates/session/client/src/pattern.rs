//! Which keys are meant: those that begin alike, or those of a shape with `*` and `?`.

/// A choice among keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// All.
    #[default]
    All,
    /// Those that begin so.
    Prefix(Vec<u8>),
    /// Those of this shape: `*` stands for any bytes, `?` for one.
    Shape(Vec<u8>),
}

impl Pattern {
    /// A text with `*` or `?` is a shape, another one a beginning.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        match text {
            b"" | b"*" => Self::All,
            text if memchr::memchr2(b'*', b'?', text).is_some() => Self::Shape(text.to_vec()),
            text => Self::Prefix(text.to_vec()),
        }
    }

    /// Whether this key is meant.
    #[must_use]
    pub fn matches(&self, key: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Prefix(prefix) => key.starts_with(prefix),
            Self::Shape(shape) => has_shape(shape, key),
        }
    }
}

/// Goes back to the last `*` where something does not fit: never more steps than the two lengths
/// multiplied.
fn has_shape(shape: &[u8], key: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(byte) = key.get(from) {
        match shape.get(at) {
            Some(b'*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            Some(wanted) if *wanted == b'?' || wanted == byte => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((behind, begin)) = star else {
                    return false;
                };
                star = Some((behind, begin + 1));
                (at, from) = (behind, begin + 1);
            }
        }
    }
    shape
        .get(at..)
        .unwrap_or_default()
        .iter()
        .all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_chosen_by_beginning_and_by_shape() {
        for (pattern, key, expected) in [
            ("", "a", true),
            ("memc.", "memc.a", true),
            ("memc.", "a.memc.", false),
            ("*.lock", "idtwo.lock", true),
            ("*.lock", "a.lock.b", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("?*", "", false),
            ("**", "", true),
        ] {
            let found = Pattern::new(pattern.as_bytes()).matches(key.as_bytes());
            assert_eq!(found, expected, "{pattern} {key}");
        }
    }
}
