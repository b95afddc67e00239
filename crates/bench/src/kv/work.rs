//! What a key-value load is made of; shared by its threads.

use std::sync::atomic::{AtomicBool, Ordering};

use super::choice::{Distribution, Mix};
use super::ledger::Ledger;
use super::protocol::{Command, Grammar, Key, Store};
use super::value::{Identity, Values};

/// Checked settings.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) mix: Mix,
    pub(super) distribution: Distribution,
    pub(super) keys: u64,
    pub(super) prefix: Vec<u8>,
    /// Counters are kept apart from values: theirs are numbers.
    pub(super) counter_prefix: Vec<u8>,
    pub(super) identity: Identity,
    pub(super) values: Values,
    pub(super) expiry_s: u32,
    /// Keys of one read.
    pub(super) multiget: u16,
    pub(super) verify: bool,
    /// What a read did not find is stored.
    pub(super) refill: bool,
    /// Answers are looked at.
    pub(super) looks: bool,
    /// Values are looked at.
    pub(super) keeps: bool,
    /// What is said first on a connection, and how many commands it is.
    pub(super) greeting: (Vec<u8>, u8),
    pub(super) seed: u64,
    /// A server said that it has no memory: what is gone may have been evicted.
    pub(super) is_full: AtomicBool,
    /// All keys were stored before the load.
    pub(super) is_filled: AtomicBool,
    pub(super) labels: Vec<Command>,
}

impl Work {
    /// The key of a counter.
    pub(super) fn counter(&self, index: u64) -> Key<'_> {
        Key {
            prefix: &self.counter_prefix,
            index,
        }
    }

    /// The number of a key that the server named.
    pub(super) fn index(&self, key: &[u8]) -> Option<u64> {
        let digits = key.strip_prefix(self.prefix.as_slice())?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// What a thread knows to be stored when the load begins.
    pub(super) fn ledger(&self) -> Ledger {
        if self.expiry_s == 0 && self.is_filled.load(Ordering::Relaxed) {
            return Ledger::full(self.keys);
        }
        Ledger::new(self.keys, self.expiry_s)
    }

    /// Whether keys vanish without anybody's fault.
    pub(super) fn may_vanish(&self) -> bool {
        self.mix.has(Command::Delete) || self.is_full.load(Ordering::Relaxed)
    }

    /// Index of a command's label.
    #[inline]
    pub(super) fn label(&self, command: Command) -> u32 {
        let at = self.labels.iter().position(|&label| label == command);
        at.unwrap_or_default() as u32
    }

    /// Appends a write of a key's value.
    #[inline]
    pub(super) fn store<G: Grammar>(&self, out: &mut Vec<u8>, index: u64, version: u64, add: bool) {
        let how = Store {
            add,
            expiry_s: self.expiry_s,
        };
        let key = Key {
            prefix: &self.prefix,
            index,
        };
        let bytes = self.values.size(index);
        G::store(out, key, bytes, how);
        self.values
            .write(out, self.identity.of(index), version, bytes);
        G::stored(out, how);
    }

    /// Appends the first write of a counter.
    pub(super) fn store_counter<G: Grammar>(&self, out: &mut Vec<u8>, index: u64) {
        let how = Store {
            add: true,
            expiry_s: self.expiry_s,
        };
        G::store(out, self.counter(index), 1, how);
        out.push(b'0');
        G::stored(out, how);
    }
}
