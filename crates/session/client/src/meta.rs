//! The head line of an answer of memcached's meta protocol. Pure: bytes in, values out.

/// What a store tells of an item beside its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The client's flags.
    pub flags: u32,
    /// How many seconds it has left; `None`: it does not expire.
    pub ttl_s: Option<u32>,
    /// Its number; every write gives another.
    pub cas: u64,
    /// The length of its value, in bytes.
    pub size_bytes: u64,
    /// How long ago it was read or written, in seconds.
    pub idle_s: u32,
    /// It was read since it was written.
    pub is_fetched: bool,
    /// It was declared out of date.
    pub is_stale: bool,
}

impl Seen {
    /// When it expires, in unix seconds; 0: never.
    #[must_use]
    pub fn expires_s(&self, now_s: u32) -> u32 {
        self.ttl_s.map_or(0, |left| now_s.saturating_add(left))
    }
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer<'a> {
    /// `VA`: a value of so many bytes follows.
    Value(usize, Seen),
    /// `HD` (`OK` before memcached 1.6.10): it was done.
    Done(Seen),
    /// `EN` or `NF`: there is no such item.
    Missing,
    /// `NS`: the mode did not allow it.
    NotStored,
    /// `EX`: the item has another number.
    Exists,
    /// `ERROR …`, `CLIENT_ERROR …` or `SERVER_ERROR …`.
    Error(&'a [u8]),
}

/// Takes a line apart; `None`: it is no answer.
pub(crate) fn parse(line: &[u8]) -> Option<Answer<'_>> {
    let mut words = line
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    Some(match words.next()? {
        b"VA" => {
            let bytes = usize::try_from(number(words.next()?)?).ok()?;
            Answer::Value(bytes, seen(words)?)
        }
        b"HD" | b"OK" => Answer::Done(seen(words)?),
        b"EN" | b"NF" => Answer::Missing,
        b"NS" => Answer::NotStored,
        b"EX" => Answer::Exists,
        b"ERROR" | b"CLIENT_ERROR" | b"SERVER_ERROR" => Answer::Error(line),
        _ => return None,
    })
}

fn seen<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<Seen> {
    let mut seen = Seen::default();
    for word in words {
        let (letter, value) = word.split_first()?;
        match letter {
            b'f' => seen.flags = number_32(value)?,
            b't' if value == b"-1" => seen.ttl_s = None,
            b't' => seen.ttl_s = Some(number_32(value)?),
            b'c' => seen.cas = number(value)?,
            b's' => seen.size_bytes = number(value)?,
            b'l' => seen.idle_s = number_32(value)?,
            b'h' => seen.is_fetched = value == b"1",
            b'X' => seen.is_stale = true,
            _ => {}
        }
    }
    Some(seen)
}

/// A number of digits and nothing else.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        let digit = (*byte as char).to_digit(10)?;
        sum.checked_mul(10)?.checked_add(digit.into())
    })
}

pub(crate) fn number_32(text: &[u8]) -> Option<u32> {
    number(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers_are_told_apart() {
        let seen = Seen {
            flags: 7,
            ttl_s: Some(99),
            cas: 6,
            size_bytes: 1,
            idle_s: 4,
            is_fetched: true,
            is_stale: true,
        };
        assert_eq!(
            parse(b"VA 1 kplain f7 t99 s1 c6 l4 h1 X W"),
            Some(Answer::Value(1, seen))
        );
        assert_eq!(parse(b"HD t-1"), Some(Answer::Done(Seen::default())));
        assert_eq!(parse(b"EN"), Some(Answer::Missing));
        assert_eq!(
            parse(b"SERVER_ERROR x"),
            Some(Answer::Error(b"SERVER_ERROR x"))
        );
    }

    #[test]
    fn what_is_no_answer_is_none() {
        for line in [
            "",
            "VA",
            "VA x",
            "VA -1",
            "VA 1 f-1",
            "VALUE a 0 1",
            "HD t",
            "HD fx",
            "HTTP/1.1 400 Bad",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
        assert_eq!(number(b"18446744073709551616"), None);
    }

    proptest! {
        #[test]
        fn no_line_is_too_much(line in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse(&line);
        }
    }
}
