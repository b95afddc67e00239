//! Credentials that were verified a while ago: verifying is slow by purpose, and browsers send
//! them with every request.
//!
//! No password is kept, only a keyed digest of name, password and the hash they were verified
//! against; the key is made anew with every start. A user whose hash changes is asked again.

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

use crate::passwords::Credentials;

/// How long credentials are taken without being verified again, in milliseconds.
const LIFETIME_MS: u64 = 5 * 60_000;
/// Most that are remembered; beyond: all are forgotten and verified anew.
const MOST: usize = 10_000;

/// A digest of credentials.
pub type Proof = [u8; 32];

/// What was verified, and when; shared by all workers.
#[derive(Debug)]
pub struct Proven {
    key: [u8; 32],
    /// Until when, in milliseconds.
    known: Mutex<HashMap<Proof, u64>>,
}

impl Proven {
    /// With a key that nobody can know.
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            known: Mutex::default(),
        }
    }

    /// The digest of these credentials and the hash they are compared with.
    pub fn proof(&self, credentials: &Credentials, hash: &str) -> Proof {
        let mut digest = Sha256::new();
        digest.update(self.key);
        for part in [
            &credentials.user[..],
            &credentials.password,
            hash.as_bytes(),
        ] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }

    /// Whether they were verified not long ago.
    pub fn is_known(&self, proof: &Proof, now_ms: u64) -> bool {
        self.known
            .lock()
            .get(proof)
            .is_some_and(|until| *until > now_ms)
    }

    /// Remembers them.
    pub fn remember(&self, proof: Proof, now_ms: u64) {
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.retain(|_, until| *until > now_ms);
            if known.len() >= MOST {
                known.clear();
            }
        }
        known.insert(proof, now_ms + LIFETIME_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_verified_is_known_for_a_while_and_for_its_hash_only() {
        let proven = Proven::new([7; 32]);
        let credentials = |user: &str, password: &str| Credentials {
            user: user.into(),
            password: password.into(),
        };
        let proof = proven.proof(&credentials("a", "bc"), "hash");
        assert!(!proven.is_known(&proof, 0));
        proven.remember(proof, 0);
        assert!(proven.is_known(&proof, LIFETIME_MS - 1));
        assert!(!proven.is_known(&proof, LIFETIME_MS));
        for other in [
            proven.proof(&credentials("ab", "c"), "hash"),
            proven.proof(&credentials("a", "bc"), "other"),
            Proven::new([8; 32]).proof(&credentials("a", "bc"), "hash"),
        ] {
            assert_ne!(other, proof);
        }
    }
}
