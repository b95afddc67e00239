//! Values that can be checked: which key they belong to, which write made
//! them, how long they are, and what follows from it byte by byte.
//!
//! `<key: 16 hex><version: 12 hex><length: 8 hex><filler>`; the filler is cut
//! out of one block of noise at a place that key and version decide, so that a
//! value put together from two writes is seen. A value that is shorter than
//! its head is cut off.

use forebay_workload::Sizes;

const KEY_DIGITS: usize = 16;
const VERSION_DIGITS: usize = 12;
const LENGTH_DIGITS: usize = 8;
/// The shortest value that can be checked, in bytes.
pub(crate) const HEAD: usize = KEY_DIGITS + VERSION_DIGITS + LENGTH_DIGITS;
/// Fits into the processor's second cache.
const NOISE: usize = 64 << 10;
const NOISE_SEED: u64 = 0x666f_7265_6261_7921;

/// Writes and checks values. The same in every run: what one run stored, another can check.
#[derive(Debug)]
pub(crate) struct Values {
    noise: Box<[u8]>,
    sizes: Sizes,
    seed: u64,
}

impl Values {
    /// Values of these sizes; the size of a key's value is a function of seed and key.
    pub(crate) fn new(sizes: Sizes, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(NOISE_SEED);
        Self {
            noise: (0..NOISE).map(|_| random.alphanumeric() as u8).collect(),
            sizes,
            seed,
        }
    }

    /// Length of a key's value in bytes.
    #[inline]
    pub(crate) fn size(&self, index: u64) -> u64 {
        self.sizes.of(self.seed, index)
    }

    /// Appends a value of `size` bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>, id: u64, version: u64, size: u64) {
        let size = size as usize;
        let end = out.len() + size;
        hex(out, id, KEY_DIGITS);
        hex(out, version, VERSION_DIGITS);
        hex(out, size as u64, LENGTH_DIGITS);
        if out.len() >= end {
            return out.truncate(end);
        }
        let mut at = place(id, version);
        while out.len() < end {
            let piece = (NOISE - at).min(end - out.len());
            out.extend_from_slice(&self.noise[at..at + piece]);
            at = 0;
        }
    }

    /// Whether this is a whole value of the key.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn check(&self, value: &[u8], id: u64) -> Result<(), &'static str> {
        let (head, mut filler) = value
            .split_at_checked(HEAD)
            .ok_or("wrong value: too short")?;
        let (key, rest) = head.split_at(KEY_DIGITS);
        let (version, length) = rest.split_at(VERSION_DIGITS);
        let (Some(key), Some(version), Some(length)) = (unhex(key), unhex(version), unhex(length))
        else {
            return Err("wrong value: not one that was written by this load");
        };
        if key != id {
            return Err("wrong value: that of another key");
        }
        if length != value.len() as u64 {
            return Err("torn value: not as long as it was written");
        }
        let mut at = place(id, version);
        while !filler.is_empty() {
            let piece = (NOISE - at).min(filler.len());
            if filler[..piece] != self.noise[at..at + piece] {
                return Err("torn value: not all of it is of the same write");
            }
            filler = &filler[piece..];
            at = 0;
        }
        Ok(())
    }
}

/// Where in the noise a filler begins; that of a key's next 65,535 writes begins elsewhere.
fn place(id: u64, version: u64) -> usize {
    ((id ^ version) % NOISE as u64) as usize
}

/// A number that stands for a key in its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity(u64);

impl Identity {
    /// Of keys with a prefix.
    pub(crate) fn new(prefix: &[u8]) -> Self {
        // FNV-1a
        let hash = prefix
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        Self(hash)
    }

    /// Of one key.
    pub(crate) fn of(self, index: u64) -> u64 {
        let mixed = (self.0 ^ index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    }
}

fn hex(out: &mut Vec<u8>, number: u64, digits: usize) {
    let mut text = [0; 16];
    for (at, digit) in text.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (60 - 4 * at)) as usize & 15];
    }
    out.extend_from_slice(&text[16 - digits..]);
}

fn unhex(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |sum, &byte| {
        let digit = char::from(byte).to_digit(16)?;
        Some(sum << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(id: u64, version: u64, size: u64) -> Vec<u8> {
        let mut out = Vec::new();
        Values::new(Sizes::Constant(1), 0).write(&mut out, id, version, size);
        out
    }

    fn check(value: &[u8], id: u64) -> Result<(), &'static str> {
        Values::new(Sizes::Constant(1), 0).check(value, id)
    }

    #[test]
    fn a_value_is_of_its_size_and_whole() {
        let identity = Identity::new(b"k:");
        for size in [0, 1, 35, 36, 37, 1024, 65_535, 65_536, 300_000] {
            let written = value(identity.of(7), 3, size);
            assert_eq!(written.len() as u64, size);
            assert_eq!(check(&written, identity.of(7)).is_ok(), size >= HEAD as u64);
        }
    }

    #[test]
    fn another_keys_value_is_wrong() {
        let identity = Identity::new(b"k:");
        let other = Identity::new(b"k:1");
        assert_ne!(identity.of(12), other.of(2));
        let written = value(identity.of(7), 3, 100);
        let words = check(&written, identity.of(8));
        assert_eq!(words, Err("wrong value: that of another key"));
        assert!(check(b"something that somebody else stored there", 1).is_err());
    }

    #[test]
    fn two_writes_in_one_value_are_seen_wherever_they_meet() {
        let id = Identity::new(b"k:").of(7);
        for size in [60, 1024, 70_000] {
            let (old, new) = (value(id, 3, size), value(id, 4, size));
            for meet in [HEAD, size as usize / 2 + 18, size as usize - 12] {
                let torn = [&new[..meet], &old[meet..]].concat();
                assert!(check(&torn, id).is_err(), "{size} torn at {meet}");
            }
            assert!(check(&new[..new.len() - 1], id).is_err());
            assert!(check(&[&new[..], b"x"].concat(), id).is_err());
        }
    }
}
