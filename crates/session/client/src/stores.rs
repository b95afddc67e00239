//! Items put into a running store, many at a time.

use forebay_session::{Item, is_expired};

use crate::address::Target;
use crate::client::{Client, Condition, Outcome};
use crate::clock::now_s;
use crate::error::Error;
use crate::key;

/// So many items, or bytes of them, are under way before answers are read: few enough that the
/// answers wait in the socket while the store is still being written to.
const BATCH_ITEMS: usize = 128;
const BATCH_BYTES: usize = 256 << 10;

/// What became of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Stored.
    pub stored: u64,
    /// Bytes of the values that were stored.
    pub bytes: u64,
    /// Left out because the store has the key, and was to keep what it has.
    pub kept: u64,
    /// Left out because their time is over.
    pub expired: u64,
    /// Not taken: too large, no room, or a key that cannot be written. Each was reported.
    pub refused: u64,
}

/// A store that is being filled.
pub struct Stores<'r> {
    client: Client,
    condition: Condition,
    report: &'r mut dyn FnMut(&[u8], &str),
    /// Keys and lengths of the values whose answers are awaited.
    pending: Vec<(Vec<u8>, u64)>,
    pending_bytes: usize,
    restored: Restored,
}

impl<'r> Stores<'r> {
    /// Connects. With `keep`, what is in the store is not overwritten. `report` is told the key of
    /// each item that the store does not take, and why.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(
        target: &Target,
        keep: bool,
        report: &'r mut dyn FnMut(&[u8], &str),
    ) -> Result<Self, Error> {
        Ok(Self {
            client: Client::connect(target)?,
            condition: if keep {
                Condition::Absent
            } else {
                Condition::Always
            },
            report,
            pending: Vec::with_capacity(BATCH_ITEMS),
            pending_bytes: 0,
            restored: Restored::default(),
        })
    }

    /// Puts an item in; its answer may come later.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn put(&mut self, key: &[u8], item: Item<'_>) -> Result<(), Error> {
        if is_expired(item.expires_s, now_s()) {
            self.restored.expired += 1;
            return Ok(());
        }
        if !key::is_writable(key) {
            self.restored.refused += 1;
            (self.report)(key, "the key is longer than memcached's protocol allows");
            return Ok(());
        }
        self.client.offer(key, self.condition, item)?;
        self.pending.push((key.to_vec(), item.value.len() as u64));
        self.pending_bytes += item.value.len();
        if self.pending.len() >= BATCH_ITEMS || self.pending_bytes >= BATCH_BYTES {
            self.settle()?;
        }
        Ok(())
    }

    /// Waits for all answers.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn finish(mut self) -> Result<Restored, Error> {
        self.settle()?;
        Ok(self.restored)
    }

    /// What was answered so far.
    #[must_use]
    pub fn restored(&self) -> Restored {
        self.restored
    }

    fn settle(&mut self) -> Result<(), Error> {
        self.client.wire.flush()?;
        self.pending_bytes = 0;
        for (key, bytes) in self.pending.drain(..) {
            let restored = &mut self.restored;
            match self.client.stored()? {
                Outcome::Stored => {
                    restored.stored += 1;
                    restored.bytes += bytes;
                }
                Outcome::Expired => restored.expired += 1,
                Outcome::NotStored | Outcome::Exists | Outcome::Missing => restored.kept += 1,
                Outcome::Refused(words) => {
                    restored.refused += 1;
                    (self.report)(&key, &words);
                }
            }
        }
        Ok(())
    }
}
