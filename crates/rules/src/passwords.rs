//! A file of `htpasswd`: names and hashes of passwords, and the credentials of RFC 7617.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// Names and the hashes of their passwords.
#[derive(Clone, Debug, Default)]
pub struct Passwords(HashMap<Box<[u8]>, Box<str>>);

/// A name and a password, as a client says them.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user's name.
    pub user: Vec<u8>,
    /// The password.
    pub password: Vec<u8>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Passwords do not get into logs.
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// From the value of `Authorization` (RFC 7617 section 2).
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (scheme, rest) = value.split_at_checked(6)?;
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return None;
        }
        let decoded = STANDARD.decode(rest.trim_ascii()).ok()?;
        let colon = decoded.iter().position(|&b| b == b':')?;
        Some(Self {
            user: decoded[..colon].to_vec(),
            password: decoded[colon + 1..].to_vec(),
        })
    }
}

impl Passwords {
    /// Reads the text of a file; `complain` gets the number of each line that is not understood.
    /// Hashes of a kind that is not known are such lines: they would let nobody in.
    pub fn parse(text: &str, mut complain: impl FnMut(usize, &'static str)) -> Self {
        let mut users = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((user, hash)) = line.split_once(':') else {
                complain(number + 1, "there is no `:` between name and hash");
                continue;
            };
            // What follows another colon is a comment of some programs.
            let hash = hash.split(':').next().unwrap_or(hash);
            match is_known(hash) {
                true => {
                    users.insert(user.as_bytes().into(), hash.into());
                }
                false => complain(
                    number + 1,
                    "the hash is of no kind that is known (bcrypt, SHA-crypt, apr1, {SHA})",
                ),
            }
        }
        Self(users)
    }

    /// The hash of some user, to compare with where there is no such user: that it takes as long
    /// does not tell who is one.
    pub fn any_hash(&self) -> Option<&str> {
        self.0.values().next().map(|hash| &**hash)
    }

    /// The hash of a user's password.
    pub fn hash(&self, user: &[u8]) -> Option<&str> {
        self.0.get(user).map(|hash| &**hash)
    }
}

fn is_known(hash: &str) -> bool {
    const KINDS: [&str; 9] = [
        "$2a$", "$2b$", "$2x$", "$2y$", "$5$", "$6$", "$apr1$", "$1$", "{SHA}",
    ];
    KINDS.iter().any(|kind| hash.starts_with(kind))
}

/// Whether a password has a hash. Slow by purpose, up to some tenths of a second: not for a thread
/// that others wait for.
pub fn verify(password: &[u8], hash: &str) -> bool {
    if let Some(sum) = hash.strip_prefix("{SHA}") {
        let own = STANDARD.encode(Sha1::digest(password));
        return same(own.as_bytes(), sum.as_bytes());
    }
    if hash.starts_with("$2") {
        return bcrypt::verify(password, hash).unwrap_or(false);
    }
    if hash.starts_with("$5$") || hash.starts_with("$6$") {
        return sha_crypt(password, hash);
    }
    crate::apr1::verify(password, hash)
}

fn sha_crypt(password: &[u8], hash: &str) -> bool {
    use sha_crypt::PasswordVerifier as _;
    let verifier = sha_crypt::ShaCrypt::default();
    verifier.verify_password(password, hash).is_ok()
}

/// Whether both are the same, in a time that does not tell where they differ.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_hash() {
        let text = format!(
            "# users\n\nsha:{{SHA}}5en6G6MezRroT3XKqkdPOmY/BfQ=\nfive:{}\nsix:{}\napr:{}\nbcrypt:{}\nbad:plain\nnone\n",
            "$5$abcdefgh$gruCpC7VkOTspMQTTSAR8mtlO9Upms.fwqE5y16JVM.",
            "$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/cZ/1GM/O6IND4WQhG.",
            "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/",
            bcrypt::hash("secret", 4).unwrap(),
        );
        let mut complaints = Vec::new();
        let users = Passwords::parse(&text, |line, _| complaints.push(line));
        assert_eq!(complaints, [8, 9]);
        for user in ["sha", "five", "six", "apr", "bcrypt"] {
            let hash = users.hash(user.as_bytes()).unwrap();
            assert!(verify(b"secret", hash), "{user}");
            assert!(!verify(b"Secret", hash), "{user}");
            assert!(!verify(b"", hash), "{user}");
        }
        assert_eq!(users.hash(b"bad"), None);
    }

    #[test]
    fn credentials() {
        let parse = |text: &str| Credentials::parse(text.as_bytes());
        let found = parse("Basic QWxhZGRpbjpvcGVuOnNlc2FtZQ==").unwrap();
        assert_eq!(
            (&found.user[..], &found.password[..]),
            (&b"Aladdin"[..], &b"open:sesame"[..])
        );
        assert!(parse("basic QWxhZGRpbjpvcGVuOnNlc2FtZQ==").is_some());
        for bad in ["", "Basic", "Basic !", "Basic QQ==", "Bearer QWxhZGRpbjpv"] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
