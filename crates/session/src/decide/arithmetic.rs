//! Counters: memcached's in digits, Tyrant's in bytes.

use super::{Change, Reply, no, scratched};
use crate::engine::{Answer, Arithmetic, Item, Marks};
use crate::number;

/// Up or down.
pub(super) fn count(
    how: &Arithmetic,
    old: Option<&Item<'_>>,
    scratch: &mut Vec<u8>,
) -> (Change, Reply) {
    let item = match (old, how.initial) {
        (Some(item), _) => item,
        (None, None) => return no(Answer::Missing),
        (None, Some((value, expires_s))) => {
            number::write(value, scratch);
            let change = scratched(0, expires_s, Marks::default());
            return (change, reply(value, 0, true));
        }
    };
    let value = match changed(how, item) {
        Ok(value) => value,
        Err(answer) => return no(answer),
    };
    number::write(value, scratch);
    // A number that got shorter is padded: clients may rely on the length, as in memcached. One
    // that got longer is a new item there.
    let marks = match scratch.len() > item.value.len() {
        true => Marks::default(),
        false => item.marks,
    };
    if scratch.len() < item.value.len() {
        scratch.resize(item.value.len(), b' ');
    }
    let expires_s = how.expires_s.unwrap_or(item.expires_s);
    let change = scratched(item.flags, expires_s, marks);
    (change, reply(value, item.expires_s, false))
}

fn reply(value: u64, expires_s: u32, made: bool) -> Reply {
    Reply::Number {
        value,
        expires_s,
        made,
    }
}

/// The new value of a counter.
fn changed(how: &Arithmetic, item: &Item<'_>) -> Result<u64, Answer<'static>> {
    if item.value.is_empty() {
        return Err(Answer::NotNumber);
    }
    if how.cas.is_some_and(|cas| cas != item.cas) {
        return Err(Answer::Exists);
    }
    match number::unsigned(item.value) {
        None => Err(Answer::NotNumber),
        Some(value) if how.up => Ok(value.wrapping_add(how.delta)),
        Some(value) => Ok(value.saturating_sub(how.delta)),
    }
}

/// Tyrant's whole numbers.
pub(super) fn add_int(add: i32, old: Option<&Item<'_>>, scratch: &mut Vec<u8>) -> (Change, Reply) {
    // Tyrant keeps the number in its host's order, which is little-endian wherever it ran.
    let sum = match old {
        None => add,
        Some(item) => match item.value.try_into() {
            Ok(bytes) => i32::from_le_bytes(bytes).wrapping_add(add),
            Err(_) => return no(Answer::NotNumber),
        },
    };
    scratch.extend_from_slice(&sum.to_le_bytes());
    let (flags, expires_s) = old.map_or((0, 0), |item| (item.flags, item.expires_s));
    (
        scratched(flags, expires_s, Marks::default()),
        Reply::Is(Answer::Sum(sum)),
    )
}

/// A fraction's unit: 10^-12.
const FRACTION: i64 = 1_000_000_000_000;

/// Tyrant's numbers with a fraction.
pub(super) fn add_real(
    whole: i64,
    fraction: i64,
    old: Option<&Item<'_>>,
    scratch: &mut Vec<u8>,
) -> (Change, Reply) {
    let (mut sum_whole, mut sum_fraction) = (whole, fraction);
    if let Some(item) = old {
        let Some((before_whole, before_fraction)) = real(item.value) else {
            return no(Answer::NotNumber);
        };
        sum_whole = before_whole.wrapping_add(whole);
        sum_fraction = before_fraction.wrapping_add(fraction);
        sum_whole = sum_whole.wrapping_add(sum_fraction / FRACTION);
        sum_fraction %= FRACTION;
    }
    scratch.extend_from_slice(&sum_whole.to_le_bytes());
    scratch.extend_from_slice(&sum_fraction.to_le_bytes());
    let (flags, expires_s) = old.map_or((0, 0), |item| (item.flags, item.expires_s));
    let reply = Reply::Is(Answer::SumReal(sum_whole, sum_fraction));
    (scratched(flags, expires_s, Marks::default()), reply)
}

/// A number of Tyrant's that is not whole, as it is kept.
fn real(value: &[u8]) -> Option<(i64, i64)> {
    let (whole, fraction) = value.split_first_chunk::<8>()?;
    let fraction = <[u8; 8]>::try_from(fraction).ok()?;
    Some((i64::from_le_bytes(*whole), i64::from_le_bytes(fraction)))
}
