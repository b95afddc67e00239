//! What a connection may do.

use std::sync::Arc;

/// The longest key, in bytes: memcached's, and so that of every protocol here.
pub const KEY_MOST: usize = 250;

/// The longest line of the text protocol that is no `get`, in bytes.
pub const LINE_MOST: usize = 2048;

/// Whether a key may have so many bytes.
pub(crate) fn is_key_length(bytes: usize) -> bool {
    (1..=KEY_MOST).contains(&bytes)
}

/// How much a connection may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest value that is taken; a longer one is read past and refused.
    pub item_bytes: usize,
    /// With this much output waiting, no further command is taken.
    pub output_bytes: usize,
    /// The longest answer that has to be whole (Tyrant's `mget`, `fwmkeys` and `misc`).
    pub answer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            item_bytes: 1 << 20,
            output_bytes: 256 << 10,
            answer_bytes: 64 << 20,
        }
    }
}

/// Who may speak to the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Everybody who can connect.
    #[default]
    Open,
    /// Who knows the token; Tyrant's binary protocol has no way to tell it, and is refused.
    Token {
        /// The user's name; `None`: any.
        user: Option<Arc<str>>,
        /// The token.
        token: Arc<str>,
    },
}

impl Access {
    /// Whether a token must be shown.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        !matches!(self, Self::Open)
    }

    /// Whether these are the right ones, in a time that does not tell how much of them is right.
    #[must_use]
    pub fn admits(&self, name: &[u8], secret: &[u8]) -> bool {
        match self {
            Self::Open => true,
            Self::Token { user, token } => {
                let known = user.as_ref().is_none_or(|user| same(user.as_bytes(), name));
                same(token.as_bytes(), secret) && known
            }
        }
    }
}

fn same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_admits() {
        let access = Access::Token {
            user: None,
            token: "secret".into(),
        };
        assert!(access.admits(b"anybody", b"secret"));
        assert!(!access.admits(b"anybody", b"secre"));
        assert!(!access.admits(b"anybody", b""));
        let access = Access::Token {
            user: Some("me".into()),
            token: "secret".into(),
        };
        assert!(!access.admits(b"you", b"secret"));
    }
}
