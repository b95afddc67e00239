//! The objects that fill the cache: the same in every run, each at an address of its own.

const SMALLEST: f64 = 100.0;
const LARGEST: f64 = 5_000_000.0;
/// What counts as small: here the cost of keeping an object weighs as much as the object.
const SMALL: u64 = 4096;

/// One object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Object {
    number: usize,
    /// Of its body.
    pub(super) bytes: u64,
}

/// All of them, in the order in which they are fetched.
#[derive(Debug)]
pub(super) struct Objects(Vec<Object>);

impl Object {
    /// Tells the origin the size.
    pub(super) fn path(&self) -> String {
        format!("/{}/{}", self.number, self.bytes)
    }
}

impl Objects {
    /// As many objects as hold `fills` times `budget` bytes. Six tenths are of all sizes (every order of magnitude as
    /// often as any other), then one tenth is small ones only, and the rest is of all sizes again, so that small
    /// objects must make room for large ones.
    pub(super) fn plan(budget: u64, fills: u64) -> Self {
        let mut objects = Self(Vec::new());
        let mut random = Random(0x0BAD_5EED);
        let total = budget * fills;
        objects.add(total / 10 * 6, || mixed(&mut random));
        objects.add(total / 10, || {
            SMALLEST as u64 + random.next() % (SMALL - SMALLEST as u64)
        });
        objects.add(total / 10 * 3, || mixed(&mut random));
        objects
    }

    fn add(&mut self, total: u64, mut size: impl FnMut() -> u64) {
        let mut sum = 0;
        while sum < total {
            let bytes = size();
            self.0.push(Object {
                number: self.0.len(),
                bytes,
            });
            sum += bytes;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Of all bodies together.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|o| o.bytes).sum()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Object> {
        self.0.get(number)
    }

    /// The last one first.
    pub(super) fn latest(&self) -> impl Iterator<Item = &Object> {
        self.0.iter().rev()
    }
}

/// A size whose logarithm is uniform.
fn mixed(random: &mut Random) -> u64 {
    let unit = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
    (SMALLEST * (LARGEST / SMALLEST).powf(unit)) as u64
}

/// The splitmix64 generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_fills_the_budget_as_often_as_asked_with_sizes_of_every_magnitude() {
        let objects = Objects::plan(64 << 20, 10);
        assert!(objects.bytes() >= 640 << 20 && objects.bytes() < 660 << 20);
        let of = |range: std::ops::Range<u64>| {
            objects
                .0
                .iter()
                .filter(|o| range.contains(&o.bytes))
                .count()
        };
        for range in [
            100..1000,
            1000..10_000,
            10_000..100_000,
            100_000..1_000_000,
            1_000_000..5_000_001,
        ] {
            assert!(of(range.clone()) > 50, "{range:?}");
        }
        assert_eq!(of(0..100), 0);
    }
}
