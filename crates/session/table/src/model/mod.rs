//! The table beside a naive model, and its own books after every step.

#![allow(clippy::unwrap_used)]

mod audit;
mod held;
mod steps;

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use audit::audit_all;
use held::{Copies, Held, Stored};
use steps::{Model, Step, key_of, step, take};

use crate::{Body, Change, Cursor, Full, Item, Journal, Marks, Options, Put, Table, Value};

/// What a key holds, as the table and the model have it.
fn compare(
    table: &Table,
    journal: &Copies,
    model: &mut Model,
    name: &[u8],
) -> Result<(), TestCaseError> {
    let seen = table.read(name, model.now_s, |item| Held::of(&item));
    match (seen.map(|seen| journal.whole(seen)), model.items.get(name)) {
        (None, None) => {}
        (Some(seen), Some(expected)) => {
            prop_assert_eq!(&Held { era: 0, ..seen }, expected);
        }
        (None, Some(_)) => {
            prop_assert!(table.figures().evicted > 0, "an item is gone");
            model.items.remove(name);
        }
        (Some(_), None) => prop_assert!(false, "an item is there again"),
    }
    Ok(())
}

/// Every live item, by scans of `limit`.
fn all(table: &Table, now_s: u32, limit: usize) -> Vec<(Vec<u8>, Held)> {
    let mut seen = Vec::new();
    let mut cursor = Some(Cursor::default());
    while let Some(from) = cursor {
        let from = Cursor::from_number(from.to_number());
        cursor = table.scan(from, now_s, limit, |key, item| {
            seen.push((key.to_vec(), Held::of(&item)));
        });
    }
    seen
}

fn tiny(memory_bytes: u64, shards: usize, full: Full) -> Options {
    Options {
        full,
        shards,
        segment_bytes: 4096,
        value_bytes: 8000,
        ..Options::within(memory_bytes)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn it_holds_what_a_naive_table_holds(
        steps in proptest::collection::vec(step(), 1..700),
        memory_kib in 16u64..120,
        shards in 1usize..5,
        policy in 0usize..3,
    ) {
        let full = [Full::Evict, Full::Spill, Full::Refuse][policy];
        let journal = Arc::new(Copies::default());
        let options = tiny(memory_kib << 10, shards, full);
        let table = Table::with(options, Some(Arc::clone(&journal) as Arc<dyn Journal>));
        let mut model = Model::default();
        for step in &steps {
            take(&table, &mut model, step);
            audit_all(&table);
            if let Step::Put { key, .. } | Step::Read { key } | Step::Remove { key } = step {
                compare(&table, &journal, &mut model, &key_of(*key))?;
            }
        }
        for key in 0..=255 {
            compare(&table, &journal, &mut model, &key_of(key))?;
        }
        let scanned = all(&table, model.now_s, 7);
        prop_assert_eq!(scanned.len(), model.items.len());
        while table.maintain(model.now_s, 1 << 20).more {}
        audit_all(&table);
        let scanned = scanned.into_iter().map(|(key, item)| (key, journal.whole(item)));
        prop_assert_eq!(&scanned.collect::<HashMap<_, _>>(), &*journal.items.lock());
        prop_assert_eq!(table.figures().items as usize, model.items.len());
    }

    #[test]
    fn what_a_journal_was_told_restores_the_table(
        steps in proptest::collection::vec(step(), 1..300), shards in 1usize..9,
    ) {
        let journal = Arc::new(Copies::default());
        let roomy = tiny(16 << 20, shards, Full::Refuse);
        let table = Table::with(roomy.clone(), Some(Arc::clone(&journal) as Arc<dyn Journal>));
        let mut model = Model::default();
        for step in &steps {
            take(&table, &mut model, step);
        }
        table.read(b"?", model.now_s, |_| ());
        let again = Table::new(Options { shards: 1, ..roomy });
        for (key, held) in &*journal.items.lock() {
            let value = match &held.value {
                Stored::Here(bytes) => Value::Here(bytes),
                Stored::Elsewhere(place) => Value::Elsewhere(*place),
            };
            let Held { flags, expires_s, cas, marks, era, .. } = *held;
            let (last_read_s, was_read, copy) = (0, false, 0);
            let item = Item { value, flags, expires_s, cas, marks, last_read_s, was_read, era, copy };
            again.restore(key, model.now_s, &item).unwrap();
        }
        again.restore_era(table.shared.era.load(std::sync::atomic::Ordering::Relaxed));
        for key in 0..=255 {
            compare(&again, &journal, &mut model, &key_of(key))?;
        }
        let most = all(&again, model.now_s, 9).iter().map(|(_, item)| item.cas).max();
        let (_, next) = again.update(b"new", model.now_s, |_, _| {
            let body = Body::Parts(&[]);
            let marks = Marks::NONE;
            (Change::Put(Put { body, flags: 0, expires_s: 0, marks, cas: None, read: false }), ())
        }).unwrap();
        prop_assert!(most.is_none_or(|most| next > most));
    }
}
