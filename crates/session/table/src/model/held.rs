//! Items as a caller keeps them, and a journal that does.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::{Item, Journal, Marks, Place, Value, Why};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Here(Vec<u8>),
    Elsewhere(Place),
}

/// Places from here on are the journal's own.
const SPILLED: u64 = 1 << 63;

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
pub(super) struct Copies {
    pub(super) items: Mutex<HashMap<Vec<u8>, Held>>,
    spilled: Mutex<Vec<Vec<u8>>>,
}

impl Copies {
    /// An item with its value, wherever that is.
    pub(super) fn whole(&self, item: Held) -> Held {
        match item.value {
            Stored::Elsewhere(Place(at, len)) if at >= SPILLED => {
                let value = self.spilled.lock()[(at - SPILLED) as usize].clone();
                assert_eq!(value.len(), len as usize);
                let value = Stored::Here(value);
                Held { value, ..item }
            }
            _ => item,
        }
    }
}

impl Journal for Copies {
    fn put(&self, _: usize, key: &[u8], item: &Item<'_>) {
        self.items.lock().insert(key.to_vec(), Held::of(item));
    }

    fn changed(&self, _: usize, key: &[u8], item: &Item<'_>) {
        let item = self.whole(Held::of(item));
        let old = self.items.lock().insert(key.to_vec(), item.clone());
        assert_eq!(old.unwrap().value, item.value);
    }

    fn removed(&self, _: usize, key: &[u8], item: &Item<'_>, _: Why) {
        let old = self.items.lock().remove(key);
        assert_eq!(old.unwrap(), self.whole(Held::of(item)));
    }

    fn cleared(&self, _: u32) {}

    fn spill(&self, _: usize, key: &[u8], item: &Item<'_>) -> Option<Place> {
        let held = Held::of(item);
        assert_eq!(self.items.lock()[key], held);
        let Stored::Here(value) = held.value else {
            unreachable!("a value that is not in memory is to leave it");
        };
        let mut spilled = self.spilled.lock();
        spilled.push(value);
        Some(Place(
            SPILLED + spilled.len() as u64 - 1,
            item.value.len() as u32,
        ))
    }
}
