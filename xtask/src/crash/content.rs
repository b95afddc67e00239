//! The objects of the crash test: how large each is, and what each version of it looks like. Every byte is a function
//! of number, version and place, so that a byte of another object, of an older version or from elsewhere in the same
//! body is seen to be wrong.

use std::fmt;

/// The shortest and the longest of the usual ones.
const SMALLEST: f64 = 1000.0;
const LARGEST: f64 = 300_000.0;
/// One in so many is large: it goes to disk in pieces while it is fetched.
const ONE_LARGE_IN: u64 = 50;
const LARGE_BYTES: u64 = 3_000_000;
/// Bodies are made of blocks, each with a label of its own.
const BLOCK: usize = 4096;
const LABEL: usize = 24;
/// What fills the blocks is cut from this many bytes.
const FILLER: usize = 64 << 10;

/// The splitmix64 generator: all that is random here, from seeds that are printed.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Evenly from 0 up to, not including, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The length of an object, in bytes; the same in every version.
pub(super) fn size(number: usize) -> usize {
    let mut random = Random(number as u64);
    if random.next().is_multiple_of(ONE_LARGE_IN) {
        return (LARGE_BYTES + random.next() % (LARGE_BYTES / 4)) as usize;
    }
    (SMALLEST * (LARGEST / SMALLEST).powf(random.unit())) as usize
}

/// Bytes that all bodies are cut from.
pub(super) struct Filler(Vec<u8>);

impl fmt::Debug for Filler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filler").finish_non_exhaustive()
    }
}

impl Filler {
    pub(super) fn new() -> Self {
        let mut random = Random(0xF111);
        let words = std::iter::repeat_with(|| random.next()).take((FILLER + BLOCK) / 8);
        Self(words.flat_map(u64::to_le_bytes).collect())
    }

    /// Calls `each` with the parts of `number`'s body in this version, from `start` to `end`.
    pub(super) fn parts<E>(
        &self,
        number: usize,
        version: u32,
        start: usize,
        end: usize,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = start;
        while at < end {
            let (block, within) = (at / BLOCK, at % BLOCK);
            let until = BLOCK.min(within + end - at);
            let label = label(number, version, block);
            if within < LABEL {
                each(label.get(within..until.min(LABEL)).unwrap_or_default())?;
            }
            if until > LABEL {
                let from = (mix(number as u64 ^ mix(block as u64)) % FILLER as u64) as usize;
                let from_here = from + within.max(LABEL) - LABEL;
                each(
                    self.0
                        .get(from_here..from + until - LABEL)
                        .unwrap_or_default(),
                )?;
            }
            at += until - within;
        }
        Ok(())
    }

    /// Where `part`, which begins at `start` of that body, differs from it.
    pub(super) fn differs(
        &self,
        number: usize,
        version: u32,
        start: usize,
        part: &[u8],
    ) -> Option<usize> {
        let mut seen = 0;
        let end = start + part.len();
        let found = self.parts(number, version, start, end, |right| {
            let is = part.get(seen..seen + right.len()).unwrap_or_default();
            if is != right {
                let same = is.iter().zip(right).take_while(|(a, b)| a == b).count();
                return Err(start + seen + same);
            }
            seen += right.len();
            Ok(())
        });
        found.err()
    }
}

/// What a block begins with.
fn label(number: usize, version: u32, block: usize) -> [u8; LABEL] {
    let mut label = [0; LABEL];
    let words = [number as u64, u64::from(version), block as u64];
    for (place, word) in label.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    label
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn body(filler: &Filler, number: usize, version: u32, start: usize, end: usize) -> Vec<u8> {
        let mut body = Vec::new();
        filler
            .parts(number, version, start, end, |part| {
                body.extend_from_slice(part);
                Ok::<_, ()>(())
            })
            .unwrap();
        body
    }

    #[test]
    fn a_part_is_what_the_whole_has_there() {
        let filler = Filler::new();
        let whole = body(&filler, 7, 3, 0, 20_000);
        assert_eq!(whole.len(), 20_000);
        for (start, end) in [
            (0, 1),
            (5, 30),
            (23, 25),
            (4090, 4100),
            (4096, 12_288),
            (19_999, 20_000),
        ] {
            assert_eq!(
                body(&filler, 7, 3, start, end),
                whole[start..end],
                "{start}"
            );
            assert_eq!(filler.differs(7, 3, start, &whole[start..end]), None);
        }
    }

    #[test]
    fn a_wrong_byte_another_object_an_older_version_and_a_misplaced_block_are_seen() {
        let filler = Filler::new();
        let mut whole = body(&filler, 7, 3, 0, 20_000);
        assert!(filler.differs(8, 3, 0, &whole).is_some());
        assert!(filler.differs(7, 2, 0, &whole).is_some());
        assert!(filler.differs(7, 3, BLOCK, &whole[..BLOCK]).is_some());
        whole[12_345] ^= 1;
        assert_eq!(filler.differs(7, 3, 0, &whole), Some(12_345));
    }

    #[test]
    fn sizes_are_of_every_magnitude_and_some_are_large() {
        let sizes: Vec<usize> = (0..2000).map(size).collect();
        let of = |range: std::ops::Range<usize>| sizes.iter().filter(|s| range.contains(s)).count();
        assert!(of(1000..10_000) > 400 && of(10_000..100_000) > 400 && of(100_000..300_001) > 200);
        assert!((15..90).contains(&of(3_000_000..3_750_000)));
    }
}
