//! Items as a caller keeps them, and a journal that does.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::{Item, Journal, Marks, Place, Value, Why};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Here(Vec<u8>),
    Elsewhere(Place),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) value: Stored,
    pub(super) flags: u32,
    pub(super) expires_s: u32,
    pub(super) cas: u64,
    pub(super) marks: Marks,
    pub(super) era: u32,
}

impl Held {
    pub(super) fn of(item: &Item<'_>) -> Self {
        Self {
            value: match item.value {
                Value::Here(bytes) => Stored::Here(bytes.to_vec()),
                Value::Elsewhere(place) => Stored::Elsewhere(place),
            },
            flags: item.flags,
            expires_s: item.expires_s,
            cas: item.cas,
            marks: item.marks,
            era: item.era,
        }
    }
}

/// What a journal makes of what it is told.
#[derive(Default)]
pub(super) struct Copies(pub(super) Mutex<HashMap<Vec<u8>, Held>>);

impl Journal for Copies {
    fn put(&self, _: usize, key: &[u8], item: &Item<'_>) {
        self.0.lock().insert(key.to_vec(), Held::of(item));
    }

    fn changed(&self, _: usize, key: &[u8], item: &Item<'_>) {
        let old = self.0.lock().insert(key.to_vec(), Held::of(item));
        assert_eq!(old.unwrap().value, Held::of(item).value);
    }

    fn removed(&self, _: usize, key: &[u8], item: &Item<'_>, _: Why) {
        let old = self.0.lock().remove(key);
        assert_eq!(old.unwrap(), Held::of(item));
    }

    fn cleared(&self, _: u32) {}
}
