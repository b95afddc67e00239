//! Tokyo Tyrant's binary protocol, as far as it takes to read everything a server holds.

use forebay_session::Item;

use crate::address::Target;
use crate::clock::now_s;
use crate::error::Error;
use crate::pattern::Pattern;
use crate::wire::Wire;
use crate::{Each, VALUE_MOST};

const MAGIC: u8 = 0xc8;
const ITER_INIT: u8 = 0x50;
const ITER_NEXT: u8 = 0x51;
const MGET: u8 = 0x31;
const DONE: u8 = 0;

/// How many keys are asked for, and then read, at a time.
const BATCH: usize = 64;

/// The longest key that is taken, in bytes.
const KEY_BYTES: usize = 64 << 10;

/// A connection to a Tokyo Tyrant.
pub struct Tyrant {
    wire: Wire,
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Records that were handed on.
    pub items: u64,
    /// Bytes of their values.
    pub bytes: u64,
    /// Records that were named, and were gone when they were read.
    pub gone: u64,
}

impl Tyrant {
    /// Connects. The protocol has no way to show a token.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(target: &Target) -> Result<Self, Error> {
        Ok(Self {
            wire: Wire::connect(target)?,
        })
    }

    /// Hands every record whose key is chosen to `each`; it has no flags, and expires `ttl_s`
    /// seconds from now if that is given. A Tyrant has one walk over its keys for all its clients:
    /// nobody else may walk at the same time.
    ///
    /// # Errors
    /// When the server does not answer, and those of `each`.
    pub fn each_item(
        &mut self,
        pattern: &Pattern,
        ttl_s: Option<u32>,
        each: &mut Each<'_>,
    ) -> Result<Taken, Error> {
        self.wire.output.extend_from_slice(&[MAGIC, ITER_INIT]);
        self.wire.flush()?;
        let [code] = self.wire.array()?;
        if code != DONE {
            return Err(self.wire.refused(b"it does not begin a walk over its keys"));
        }
        let mut taken = Taken::default();
        let mut keys = Vec::with_capacity(BATCH);
        loop {
            let is_last = self.name(&mut keys)?;
            let asked = keys.len() as u64;
            keys.retain(|key: &Vec<u8>| pattern.matches(key));
            if !keys.is_empty() {
                self.read(&keys, ttl_s, &mut taken, each)?;
            }
            keys.clear();
            if is_last || asked == 0 {
                return Ok(taken);
            }
        }
    }

    /// The next keys; true: those were the last.
    fn name(&mut self, keys: &mut Vec<Vec<u8>>) -> Result<bool, Error> {
        for _ in 0..BATCH {
            self.wire.output.extend_from_slice(&[MAGIC, ITER_NEXT]);
        }
        self.wire.flush()?;
        let mut is_last = false;
        for _ in 0..BATCH {
            let [code] = self.wire.array()?;
            if code != DONE {
                is_last = true;
                continue;
            }
            let key = self.sized(KEY_BYTES)?;
            keys.push(key);
        }
        Ok(is_last)
    }

    fn read(
        &mut self,
        keys: &[Vec<u8>],
        ttl_s: Option<u32>,
        taken: &mut Taken,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        let found = match self.ask(keys)? {
            Some(found) => found,
            // Together they are more than the server answers at once.
            None if keys.len() > 1 => {
                let (these, those) = keys.split_at(keys.len() / 2);
                self.read(these, ttl_s, taken, each)?;
                return self.read(those, ttl_s, taken, each);
            }
            None => {
                return Err(self
                    .wire
                    .refused(b"it does not give a record that it named"));
            }
        };
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for _ in 0..found {
            let key_bytes = self.length(KEY_BYTES)?;
            let value_bytes = self.length(VALUE_MOST)?;
            key.clear();
            value.clear();
            self.wire.take(key_bytes, &mut key)?;
            self.wire.take(value_bytes, &mut value)?;
            let item = Item {
                value: &value,
                expires_s: ttl_s.map_or(0, |ttl_s| now_s().saturating_add(ttl_s)),
                ..Item::default()
            };
            each(&key, item)?;
            taken.items += 1;
            taken.bytes += value.len() as u64;
        }
        taken.gone += keys.len() as u64 - u64::from(found);
        Ok(())
    }

    /// How many of the records follow; `None`: it does not give them.
    fn ask(&mut self, keys: &[Vec<u8>]) -> Result<Option<u32>, Error> {
        let out = &mut self.wire.output;
        out.extend_from_slice(&[MAGIC, MGET]);
        out.extend_from_slice(&(keys.len() as u32).to_be_bytes());
        for key in keys {
            out.extend_from_slice(&(key.len() as u32).to_be_bytes());
            out.extend_from_slice(key);
        }
        self.wire.flush()?;
        let [code] = self.wire.array()?;
        match self.wire.u32()? {
            found if found as usize > keys.len() => Err(self
                .wire
                .strange("records", b"more of them than were asked for")),
            found => Ok((code == DONE).then_some(found)),
        }
    }

    fn length(&mut self, most: usize) -> Result<usize, Error> {
        match self.wire.u32()? as usize {
            bytes if bytes <= most => Ok(bytes),
            _ => Err(self.wire.strange("a length", b"one beyond every limit")),
        }
    }

    fn sized(&mut self, most: usize) -> Result<Vec<u8>, Error> {
        let bytes = self.length(most)?;
        let mut taken = Vec::new();
        self.wire.take(bytes, &mut taken)?;
        Ok(taken)
    }
}
