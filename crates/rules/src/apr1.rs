//! The MD5 of Apache's `htpasswd` (`$apr1$`) and of old `crypt` (`$1$`): a thousand rounds over
//! password and salt. Weak, and what most files of users still have.

use md5::{Digest, Md5};

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether `password` has this hash, `$apr1$salt$sum` or `$1$salt$sum`.
pub fn verify(password: &[u8], hash: &str) -> bool {
    let magic = ["$apr1$", "$1$"]
        .into_iter()
        .find(|magic| hash.starts_with(magic));
    let Some(magic) = magic else { return false };
    let Some((salt, sum)) = hash[magic.len()..].split_once('$') else {
        return false;
    };
    let salt = &salt.as_bytes()[..salt.len().min(8)];
    crate::passwords::same(&summed(password, salt, magic.as_bytes()), sum.as_bytes())
}

fn summed(password: &[u8], salt: &[u8], magic: &[u8]) -> Vec<u8> {
    let mut inner = Md5::new();
    inner.update(password);
    inner.update(salt);
    inner.update(password);
    let inner = inner.finalize();
    let mut first = Md5::new();
    first.update(password);
    first.update(magic);
    first.update(salt);
    for chunk in password.chunks(16) {
        first.update(&inner[..chunk.len()]);
    }
    let mut bits = password.len();
    while bits > 0 {
        match bits & 1 {
            1 => first.update([0]),
            _ => first.update(&password[..1]),
        }
        bits >>= 1;
    }
    let mut sum = first.finalize();
    for round in 0..1000 {
        let mut next = Md5::new();
        let odd = round & 1 == 1;
        next.update(if odd { password } else { &sum[..] });
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(password);
        }
        next.update(if odd { &sum[..] } else { password });
        sum = next.finalize();
    }
    encoded(&sum)
}

/// In the order and alphabet of `crypt`.
fn encoded(sum: &[u8]) -> Vec<u8> {
    const ORDER: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];
    let at = |index: usize| u32::from(sum.get(index).copied().unwrap_or(0));
    let mut out = Vec::with_capacity(22);
    let mut push = |mut value: u32, digits: usize| {
        for _ in 0..digits {
            out.push(ALPHABET[value as usize & 63]);
            value >>= 6;
        }
    };
    for [high, middle, low] in ORDER {
        push(at(high) << 16 | at(middle) << 8 | at(low), 4);
    }
    push(at(11), 2);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_openssl_has_it() {
        // openssl passwd -apr1 -salt r31..... myPassword; openssl passwd -1 -salt abcdefgh secret
        for (password, hash) in [
            ("myPassword", "$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/"),
            ("secret", "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/"),
            ("", "$apr1$abc$BfqKdn9xFDWJPa3kcp/PH0"),
            ("secret", "$1$abcdefgh$cHJi5PXp/ki/ktXzqlk6I1"),
        ] {
            assert!(verify(password.as_bytes(), hash), "{hash}");
            assert!(!verify(b"other", hash));
        }
        assert!(!verify(b"x", "$apr1$"));
        assert!(!verify(b"x", "$2y$10$x"));
    }
}
