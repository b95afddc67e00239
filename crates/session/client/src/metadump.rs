//! The list of all items: `lru_crawler metadump`, which stores stream while they go on serving.

use crate::error::Error;
use crate::key;
use crate::meta::{number, number_32};
use crate::wire::Wire;

/// What a list tells of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dumped {
    /// Its key.
    pub key: Vec<u8>,
    /// When it expires, in unix seconds by the store's clock; 0: never.
    pub expires_s: u32,
    /// When it was last read or written, in unix seconds by the store's clock.
    pub used_s: u32,
    /// Its number.
    pub cas: u64,
    /// It was read since it was written.
    pub is_fetched: bool,
    /// What it takes in the store, in bytes: key, value and the store's own.
    pub size_bytes: u64,
}

/// Takes a line apart; `None`: it is none of a list. Words that are not known are passed over.
pub(crate) fn parse(line: &[u8]) -> Option<Dumped> {
    let mut dumped = Dumped::default();
    for word in line
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty())
    {
        let equals = memchr::memchr(b'=', word)?;
        let (name, value) = (word.get(..equals)?, word.get(equals + 1..)?);
        match name {
            b"key" => dumped.key = key::unescape(value)?,
            b"exp" if value == b"-1" => dumped.expires_s = 0,
            b"exp" => dumped.expires_s = number_32(value)?,
            b"la" => dumped.used_s = number_32(value)?,
            b"cas" => dumped.cas = number(value)?,
            b"fetch" => dumped.is_fetched = value == b"yes",
            b"size" => dumped.size_bytes = number(value)?,
            _ => {}
        }
    }
    (!dumped.key.is_empty()).then_some(dumped)
}

/// A list under way, to be read to its end without a pause. memcached's walk over its hash table
/// is asked for: it misses nothing, but stops other clients while its reader does not read. Its
/// older walk, over its queues, passes over every item that is in use at that moment: of a busy
/// memcached it tells nine in ten. It is asked for only where the better one is not known.
pub(crate) struct Dump<'w> {
    wire: &'w mut Wire,
    /// Nothing was answered yet.
    is_first: bool,
    has_ended: bool,
    /// The older walk is read.
    pub(crate) may_miss: bool,
}

impl<'w> Dump<'w> {
    pub(crate) fn begin(wire: &'w mut Wire) -> Result<Self, Error> {
        wire.output
            .extend_from_slice(b"lru_crawler metadump hash\r\n");
        wire.flush()?;
        Ok(Self {
            wire,
            is_first: true,
            has_ended: false,
            may_miss: false,
        })
    }

    /// The next item; `None`: that was the last.
    pub(crate) fn next_item(&mut self) -> Result<Option<Dumped>, Error> {
        if self.has_ended {
            return Ok(None);
        }
        let line = match self.wire.line()? {
            b"END" => {
                self.has_ended = true;
                return Ok(None);
            }
            line => line,
        };
        let is_first = std::mem::replace(&mut self.is_first, false);
        if let Some(dumped) = parse(line) {
            return Ok(Some(dumped));
        }
        let line = line.to_vec();
        if is_first && (line.starts_with(b"BADCLASS") || line.starts_with(b"CLIENT_ERROR")) {
            self.may_miss = true;
            self.wire
                .output
                .extend_from_slice(b"lru_crawler metadump all\r\n");
            self.wire.flush()?;
            return self.next_item();
        }
        let words = [&b"BUSY"[..], b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"];
        match words.iter().any(|word| line.starts_with(word)) {
            true => Err(self.wire.refused(&line)),
            false => Err(self.wire.strange("a list of items", &line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_of_memcached_is_taken_apart() {
        let line = b"key=a%25b exp=1795350696 la=1795350596 cas=7 fetch=yes cls=1 size=67 flags=3 ";
        let expected = Dumped {
            key: b"a%b".to_vec(),
            expires_s: 1_795_350_696,
            used_s: 1_795_350_596,
            cas: 7,
            is_fetched: true,
            size_bytes: 67,
        };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(
            parse(b"key=a exp=-1").map(|dumped| dumped.expires_s),
            Some(0)
        );
    }

    #[test]
    fn a_line_that_is_cut_or_foreign_is_none() {
        for line in [
            "",
            "END",
            "key=",
            "exp=1",
            "key=a exp=",
            "key=a exp=x",
            "key=% exp=1",
            "ITEM a [1 b; 0 s]",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_much(line in "(key|exp|la|cas|size|fetch)?=?[%a-f0-9 =-]{0,40}") {
            let _ = parse(line.as_bytes());
        }
    }
}
