//! A connection to a store of memcached's protocols: one item at a time, lists and statistics.

use std::io::Write as _;

use forebay_session::{Item, KEY_MOST, is_expired};

use crate::address::{Login, Target};
use crate::clock::now_s;
use crate::error::Error;
use crate::meta::{self, Answer, Seen};
use crate::wire::Wire;
use crate::{VALUE_MOST, key};

/// Up to this many seconds (30 days) memcached counts an expiry from now; beyond it is a unix time.
const RELATIVE_MOST_S: u32 = 60 * 60 * 24 * 30;

/// memcached reads an expiry as a signed number of 32 bits; a later one would be past.
const LAST_S: u32 = i32::MAX as u32;

/// When an item is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// In any case.
    #[default]
    Always,
    /// Where there is none.
    Absent,
    /// Where there is one.
    Present,
    /// Where the one that is there has this number.
    Cas(u64),
}

/// What became of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is stored.
    Stored,
    /// The condition did not hold.
    NotStored,
    /// There is an item with another number.
    Exists,
    /// There is none that could have the number.
    Missing,
    /// Its time is over already; nothing was sent.
    Expired,
    /// The store did not take it, and says why.
    Refused(String),
}

/// A connection to a store.
pub struct Client {
    pub(crate) wire: Wire,
}

impl Client {
    /// Connects, and shows the token if there is one.
    ///
    /// # Errors
    /// When nobody listens there, or the token is not taken.
    pub fn connect(target: &Target) -> Result<Self, Error> {
        let mut client = Self {
            wire: Wire::connect(target)?,
        };
        if let Some(login) = &target.login {
            client.log_in(login)?;
        }
        Ok(client)
    }

    /// As `memcached -Y` takes it: a `set` of any key whose value is `user token`.
    fn log_in(&mut self, login: &Login) -> Result<(), Error> {
        let is_word = |text: &str| !text.is_empty() && !text.contains([' ', '\r', '\n']);
        if !is_word(&login.user) || !is_word(&login.token) {
            let words = "a user and a token are one word each, without blanks";
            return Err(Error::Unaskable(words.into()));
        }
        let bytes = login.user.len() + 1 + login.token.len();
        // Writing to memory does not fail.
        let _ = write!(
            self.wire.output,
            "set auth 0 0 {bytes}\r\n{} {}\r\n",
            login.user, login.token
        );
        self.wire.flush()?;
        let line = self.wire.line()?.to_vec();
        match line.as_slice() {
            b"STORED" => Ok(()),
            line if is_error(line) => Err(self.wire.refused(line)),
            line => Err(self.wire.strange("STORED", line)),
        }
    }

    /// Reads an item: its value is appended to `value`. `None`: there is none.
    ///
    /// # Errors
    /// When the store does not answer, or the key cannot be asked for.
    pub fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Seen>, Error> {
        checked(key)?;
        self.ask(key, true);
        self.wire.flush()?;
        self.answer(value)
    }

    /// What is known of an item, which does not count as reading it.
    ///
    /// # Errors
    /// Those of [`Client::get`].
    pub fn look(&mut self, key: &[u8]) -> Result<Option<Seen>, Error> {
        checked(key)?;
        self.ask(key, false);
        self.wire.flush()?;
        self.answer(&mut Vec::new())
    }

    /// Gathers a read of a key that is writable; its answer is told by [`Client::answer`]. The item
    /// is not marked as read.
    pub(crate) fn ask(&mut self, key: &[u8], with_value: bool) {
        let out = &mut self.wire.output;
        out.extend_from_slice(b"mg ");
        if key::write(out, key) {
            out.extend_from_slice(b" b");
        }
        out.extend_from_slice(b" f t s c l h u");
        out.extend_from_slice(if with_value { b" v\r\n" } else { b"\r\n" });
    }

    /// The answer to the oldest read that was not told yet.
    pub(crate) fn answer(&mut self, value: &mut Vec<u8>) -> Result<Option<Seen>, Error> {
        let line = self.wire.line()?;
        match meta::parse(line) {
            Some(Answer::Done(seen)) => Ok(Some(seen)),
            Some(Answer::Missing) => Ok(None),
            Some(Answer::Value(bytes, seen)) if bytes <= VALUE_MOST => {
                self.wire.take(bytes, value)?;
                match self.wire.array()? {
                    [b'\r', b'\n'] => Ok(Some(seen)),
                    end => Err(self.wire.strange("a value's end", &end)),
                }
            }
            Some(Answer::Error(words)) => {
                let words = words.to_vec();
                Err(self.wire.refused(&words))
            }
            _ => {
                let line = line.to_vec();
                Err(self.wire.strange("an item", &line))
            }
        }
    }

    /// Stores an item: its value, its flags and its expiry.
    ///
    /// # Errors
    /// When the store does not answer, or the key cannot be written.
    pub fn store(
        &mut self,
        key: &[u8],
        condition: Condition,
        item: Item<'_>,
    ) -> Result<Outcome, Error> {
        checked(key)?;
        if is_expired(item.expires_s, now_s()) {
            return Ok(Outcome::Expired);
        }
        self.offer(key, condition, item)?;
        self.wire.flush()?;
        self.stored()
    }

    /// Gathers a store, or sends it if it is large; its answer is told by [`Client::stored`].
    pub(crate) fn offer(
        &mut self,
        key: &[u8],
        condition: Condition,
        item: Item<'_>,
    ) -> Result<(), Error> {
        let out = &mut self.wire.output;
        out.extend_from_slice(b"ms ");
        let is_encoded = key::write(out, key);
        let _ = write!(out, " {} F{}", item.value.len(), item.flags);
        if is_encoded {
            out.extend_from_slice(b" b");
        }
        if let Some(time) = expiry(item.expires_s, now_s()) {
            let _ = write!(out, " T{time}");
        }
        let _ = match condition {
            Condition::Always => Ok(()),
            Condition::Absent => write!(out, " ME"),
            Condition::Present => write!(out, " MR"),
            Condition::Cas(cas) => write!(out, " C{cas}"),
        };
        out.extend_from_slice(b"\r\n");
        if item.value.len() > LARGE_BYTES {
            self.wire.send(item.value)?;
        } else {
            out.extend_from_slice(item.value);
        }
        self.wire.output.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// The answer to the oldest store that was not told yet.
    pub(crate) fn stored(&mut self) -> Result<Outcome, Error> {
        let line = self.wire.line()?;
        Ok(match meta::parse(line) {
            Some(Answer::Done(_)) => Outcome::Stored,
            Some(Answer::NotStored) => Outcome::NotStored,
            Some(Answer::Exists) => Outcome::Exists,
            Some(Answer::Missing) => Outcome::Missing,
            Some(Answer::Error(words)) if words.starts_with(b"SERVER_ERROR ") => {
                let words = words.strip_prefix(b"SERVER_ERROR ").unwrap_or(words);
                Outcome::Refused(String::from_utf8_lossy(words).into_owned())
            }
            Some(Answer::Error(words)) => {
                let words = words.to_vec();
                return Err(self.wire.refused(&words));
            }
            _ => {
                let line = line.to_vec();
                return Err(self.wire.strange("that it is stored", &line));
            }
        })
    }

    /// Deletes an item; false: there is none.
    ///
    /// # Errors
    /// When the store does not answer, or the key cannot be written.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, Error> {
        checked(key)?;
        let out = &mut self.wire.output;
        out.extend_from_slice(b"md ");
        if key::write(out, key) {
            out.extend_from_slice(b" b");
        }
        out.extend_from_slice(b"\r\n");
        self.wire.flush()?;
        self.stored_or_gone()
    }

    fn stored_or_gone(&mut self) -> Result<bool, Error> {
        match self.stored()? {
            Outcome::Stored => Ok(true),
            Outcome::Missing => Ok(false),
            Outcome::Refused(words) => Err(self.wire.refused(words.as_bytes())),
            _ => Err(self.wire.strange("that it is deleted", b"another outcome")),
        }
    }
}

/// A value beyond this many bytes is sent from where it lies.
const LARGE_BYTES: usize = 64 << 10;

pub(crate) fn is_error(line: &[u8]) -> bool {
    matches!(meta::parse(line), Some(Answer::Error(_)))
}

fn checked(key: &[u8]) -> Result<(), Error> {
    match key::is_writable(key) {
        true => Ok(()),
        false => Err(Error::Unaskable(format!(
            "a key has 1 to {KEY_MOST} bytes, with blanks or control characters at most 186; this one has {}",
            key.len()
        ))),
    }
}

/// An expiry as memcached is told it: seconds from now, so that the two clocks need not agree, or
/// a unix time where it is too far off for that. `None`: never.
fn expiry(expires_s: u32, now_s: u32) -> Option<u32> {
    match (expires_s, expires_s.saturating_sub(now_s)) {
        (0, _) => None,
        // Its last moment came while it was on its way: a second is the least that can be said.
        (_, left @ ..=RELATIVE_MOST_S) => Some(left.max(1)),
        (at_s, _) => Some(at_s.min(LAST_S)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_told_from_now_and_as_a_date_beyond_thirty_days() {
        let now_s = 1_800_000_000;
        assert_eq!(expiry(0, now_s), None);
        assert_eq!(expiry(now_s + 1440, now_s), Some(1440));
        assert_eq!(
            expiry(now_s + RELATIVE_MOST_S, now_s),
            Some(RELATIVE_MOST_S)
        );
        assert_eq!(expiry(now_s + 2_592_001, now_s), Some(1_802_592_001));
        assert_eq!(expiry(u32::MAX, now_s), Some(LAST_S));
        assert_eq!(expiry(now_s, now_s), Some(1));
    }
}
