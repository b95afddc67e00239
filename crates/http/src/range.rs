//! Byte ranges (RFC 9110 section 14): what `Range` asks for, which bytes of a
//! representation that is, and the `Content-Range` that says so.

use std::ops::Range;

use crate::list::trim;

/// One member of a `Range` field, before the length is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeSpec {
    /// `first-last` (both inclusive) or `first-`.
    From {
        /// Offset of the first byte.
        first: u64,
        /// Offset of the last byte; `None`: to the end.
        last: Option<u64>,
    },
    /// `-n`: the last n bytes.
    Suffix(u64),
}

/// Reads a `Range` field of the unit `bytes` (RFC 9110 section 14.1.2).
///
/// `None` means that the field is to be ignored: another unit, a syntax error,
/// a first position behind the last, or more than `max` members. Positions too
/// large for 64 bits count as the largest.
pub fn parse(value: &[u8], max: usize) -> Option<Vec<RangeSpec>> {
    let equals = value.iter().position(|&b| b == b'=')?;
    let (unit, set) = (&value[..equals], &value[equals + 1..]);
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let mut specs = Vec::new();
    for member in set.split(|&b| b == b',') {
        let member = trim(member);
        if member.is_empty() {
            continue;
        }
        if specs.len() == max {
            return None;
        }
        specs.push(parse_spec(member)?);
    }
    (!specs.is_empty()).then_some(specs)
}

fn parse_spec(member: &[u8]) -> Option<RangeSpec> {
    let dash = member.iter().position(|&b| b == b'-')?;
    let (first, last) = (&member[..dash], &member[dash + 1..]);
    match (first.is_empty(), last.is_empty()) {
        (true, true) => None,
        (true, false) => Some(RangeSpec::Suffix(position(last)?)),
        (false, true) => Some(RangeSpec::From {
            first: position(first)?,
            last: None,
        }),
        (false, false) => {
            let (first, last) = (position(first)?, position(last)?);
            (first <= last).then_some(RangeSpec::From {
                first,
                last: Some(last),
            })
        }
    }
}

/// The half-open ranges of a representation of `length` bytes that `specs`
/// select, in the order asked for. Those that cannot be satisfied are left out;
/// an empty result means 416 (RFC 9110 section 15.5.17).
pub fn resolve(specs: &[RangeSpec], length: u64) -> Vec<Range<u64>> {
    let satisfiable = |spec: &RangeSpec| match *spec {
        RangeSpec::From { first, last } => {
            let end = last.map_or(length, |last| last.saturating_add(1).min(length));
            (first < end).then_some(first..end)
        }
        RangeSpec::Suffix(n) => {
            let start = length.saturating_sub(n);
            (start < length).then_some(start..length)
        }
    };
    specs.iter().filter_map(satisfiable).collect()
}

/// Merges ranges that overlap or touch, so that many small ranges cannot ask
/// for more bytes than there are (RFC 9110 section 14.2). Each merged range
/// takes the place of the first of its parts; the others keep their order.
pub fn coalesce(ranges: &mut Vec<Range<u64>>) {
    let mut placed: Vec<(usize, Range<u64>)> = ranges.drain(..).enumerate().collect();
    placed.sort_unstable_by_key(|(place, range)| (range.start, *place));
    placed.dedup_by(|(place, range), (kept_place, kept)| {
        let touches = range.start <= kept.end;
        if touches {
            kept.end = kept.end.max(range.end);
            *kept_place = (*kept_place).min(*place);
        }
        touches
    });
    placed.sort_unstable_by_key(|(place, _)| *place);
    ranges.extend(placed.into_iter().map(|(_, range)| range));
}

/// A `Content-Range` of the unit `bytes` (RFC 9110 section 14.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// First and last position, both inclusive; `None`: `*`, as in a 416.
    pub range: Option<(u64, u64)>,
    /// Length of the whole representation; `None`: `*`, unknown.
    pub complete: Option<u64>,
}

impl ContentRange {
    /// Reads a field value. `None` when it is malformed, of another unit, says
    /// nothing (`*/*`), or contradicts itself: it must hold that
    /// first <= last < complete.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let space = value.iter().position(|&b| b == b' ')?;
        let (unit, rest) = (&value[..space], &value[space + 1..]);
        if !unit.eq_ignore_ascii_case(b"bytes") {
            return None;
        }
        let slash = rest.iter().position(|&b| b == b'/')?;
        let (range, complete) = (&rest[..slash], &rest[slash + 1..]);
        let complete = if complete == b"*" {
            None
        } else {
            Some(exact(complete)?)
        };
        if range == b"*" {
            return complete.is_some().then_some(Self {
                range: None,
                complete,
            });
        }
        let dash = range.iter().position(|&b| b == b'-')?;
        let (first, last) = (exact(&range[..dash])?, exact(&range[dash + 1..])?);
        let holds = first <= last && complete.is_none_or(|complete| last < complete);
        holds.then_some(Self {
            range: Some((first, last)),
            complete,
        })
    }

    /// Appends the field value.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(b"bytes ");
        match self.range {
            Some((first, last)) => {
                out.extend_from_slice(digits.format(first).as_bytes());
                out.push(b'-');
                out.extend_from_slice(digits.format(last).as_bytes());
            }
            None => out.push(b'*'),
        }
        out.push(b'/');
        match self.complete {
            Some(complete) => out.extend_from_slice(digits.format(complete).as_bytes()),
            None => out.push(b'*'),
        }
    }
}

/// A position of a request: beyond 64 bits it is simply past every end.
fn position(v: &[u8]) -> Option<u64> {
    v.iter().try_fold(0_u64, |n, b| {
        b.is_ascii_digit()
            .then(|| n.saturating_mul(10).saturating_add(u64::from(b - b'0')))
    })
}

/// A number of a response, which must be exact.
fn exact(v: &[u8]) -> Option<u64> {
    if v.is_empty() {
        return None;
    }
    v.iter().try_fold(0_u64, |n, b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::single_range_in_vec_init, clippy::type_complexity)]
    use super::*;

    fn from(first: u64, last: Option<u64>) -> RangeSpec {
        RangeSpec::From { first, last }
    }

    #[test]
    fn range_fields() {
        for (value, expected) in [
            ("bytes=0-499", Some(vec![from(0, Some(499))])),
            ("BYTES=500-", Some(vec![from(500, None)])),
            ("bytes=-5", Some(vec![RangeSpec::Suffix(5)])),
            ("bytes=-0", Some(vec![RangeSpec::Suffix(0)])),
            (
                "bytes=0-0,-1",
                Some(vec![from(0, Some(0)), RangeSpec::Suffix(1)]),
            ),
            (
                "bytes= 0-0 ,\t,4-5",
                Some(vec![from(0, Some(0)), from(4, Some(5))]),
            ),
            (
                "bytes=0-99999999999999999999999",
                Some(vec![from(0, Some(u64::MAX))]),
            ),
            ("bytes=0-1,2-3,4-5,6-7", None),
            ("bytes=5-4", None),
            ("bytes=", None),
            ("bytes=,", None),
            ("bytes=-", None),
            ("bytes=--1", None),
            ("bytes=1", None),
            ("bytes=a-b", None),
            ("bytes=0x1-2", None),
            ("bytes=0 - 1", None),
            ("bytes =0-1", None),
            ("bytes 0-1", None),
            ("lines=0-1", None),
            ("0-1", None),
            ("", None),
        ] {
            assert_eq!(parse(value.as_bytes(), 3), expected, "{value}");
        }
    }

    #[test]
    fn resolved_against_a_length() {
        let cases: [(&str, u64, &[Range<u64>]); 10] = [
            ("bytes=0-1", 10, &[0..2]),
            ("bytes=0-99", 10, &[0..10]),
            ("bytes=9-", 10, &[9..10]),
            ("bytes=10-", 10, &[]),
            ("bytes=-3", 10, &[7..10]),
            ("bytes=-30", 10, &[0..10]),
            ("bytes=-0", 10, &[]),
            ("bytes=-1", 0, &[]),
            ("bytes=0-18446744073709551615", u64::MAX, &[0..u64::MAX]),
            ("bytes=20-30,5-6,0-0", 10, &[5..7, 0..1]),
        ];
        for (value, length, expected) in cases {
            let specs = parse(value.as_bytes(), 16).unwrap_or_default();
            assert_eq!(resolve(&specs, length), expected, "{value} of {length}");
        }
    }

    #[test]
    fn coalesced() {
        let cases: [(&[Range<u64>], &[Range<u64>]); 5] = [
            (&[], &[]),
            (&[0..2, 4..6], &[0..2, 4..6]),
            (&[4..6, 0..2], &[4..6, 0..2]),
            (&[4..6, 0..2, 2..4], &[0..6]),
            (
                &[20..30, 8..9, 0..10, 25..35, 40..41],
                &[20..35, 0..10, 40..41],
            ),
        ];
        for (given, expected) in cases {
            let mut ranges = given.to_vec();
            coalesce(&mut ranges);
            assert_eq!(ranges, expected, "{given:?}");
        }
    }

    #[test]
    fn content_ranges() {
        let written = |range, complete| Some(ContentRange { range, complete });
        for (value, expected) in [
            ("bytes 0-4/10", written(Some((0, 4)), Some(10))),
            ("bytes 0-4/*", written(Some((0, 4)), None)),
            ("bytes */10", written(None, Some(10))),
            ("bytes */*", None),
            ("bytes 4-3/10", None),
            ("bytes 0-10/10", None),
            ("bytes 0-4", None),
            ("bytes -4/10", None),
            ("bytes 0-/10", None),
            ("bytes 0-4/", None),
            ("bytes  0-4/10", None),
            ("bytes=0-4/10", None),
            ("bytes 0-4/99999999999999999999", None),
            ("items 0-4/10", None),
        ] {
            let parsed = ContentRange::parse(value.as_bytes());
            assert_eq!(parsed, expected, "{value}");
            if let Some(content_range) = parsed {
                let mut out = Vec::new();
                content_range.write(&mut out);
                assert_eq!(out, value.as_bytes());
            }
        }
    }
}
