//! What a journal is told.

#![allow(clippy::unwrap_used)]

mod common;

use std::sync::{Arc, Mutex};

use common::{get, mark, options, put, put_of, remove, touch};
use forebay_table::{Body, Change, Full, Item, Journal, Marks, Place, Table, Value, Why};

/// Lines, in the order in which it was told.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Lines {
    fn add(&self, what: &str, key: &[u8], item: &Item<'_>) {
        let key = String::from_utf8_lossy(key);
        let value = match item.value {
            Value::Here(bytes) => bytes.len().to_string(),
            Value::Elsewhere(Place(a, b)) => format!("{a}/{b}"),
        };
        let line = format!("{what} {key} {value} ends {}", item.expires_s);
        self.0.lock().unwrap().push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Journal for Lines {
    fn put(&self, _: usize, key: &[u8], item: &Item<'_>) {
        self.add("put", key, item);
    }

    fn changed(&self, _: usize, key: &[u8], item: &Item<'_>) {
        self.add("changed", key, item);
    }

    fn removed(&self, _: usize, key: &[u8], item: &Item<'_>, why: Why) {
        self.add(&format!("{why:?}"), key, item);
    }

    fn cleared(&self, era: u32) {
        self.0.lock().unwrap().push(format!("cleared {era}"));
    }
}

fn journaled(memory_bytes: u64) -> (Table, Arc<Lines>) {
    let lines = Arc::new(Lines::default());
    let journal = Arc::clone(&lines) as Arc<dyn Journal>;
    let table = Table::with(options(memory_bytes, Full::Evict), Some(journal));
    (table, lines)
}

#[test]
fn every_change_is_told_and_no_read_is() {
    let (table, lines) = journaled(8 << 20);
    put(&table, b"a", b"one", 1, 50).unwrap();
    get(&table, b"a", 2);
    table.update(b"a", 2, |_, _| (Change::Keep, ())).unwrap();
    table.update(b"a", 2, |_, _| (Change::Read, ())).unwrap();
    table.update(b"a", 2, |_, _| (touch(60), ())).unwrap();
    table
        .update(b"a", 2, |_, _| (mark(Marks::STALE, 60), ()))
        .unwrap();
    let elsewhere = Change::Put(put_of(Body::Elsewhere(Place(8, 9)), 70));
    table.update(b"a", 2, |_, _| (elsewhere, ())).unwrap();
    remove(&table, b"a", 2);
    remove(&table, b"a", 2);
    let told = [
        "put a 3 ends 50",
        "changed a 3 ends 60",
        "changed a 3 ends 60",
        "put a 8/9 ends 70",
        "Removed a 8/9 ends 70",
    ];
    assert_eq!(lines.take(), told);
}

#[test]
fn what_goes_by_itself_is_told_with_the_reason() {
    let (table, lines) = journaled(8 << 20);
    put(&table, b"a", b"1", 1, 10).unwrap();
    put(&table, b"b", b"1", 1, 0).unwrap();
    table.clear(20, 1);
    lines.take();
    table.maintain(10, 1 << 20);
    assert_eq!(lines.take(), ["Expired a 1 ends 10"]);
    table.maintain(20, 1 << 20);
    assert_eq!(lines.take(), ["cleared 1", "Cleared b 1 ends 0"]);
    for n in 0..10u32 {
        put(&table, n.to_string().as_bytes(), &[0; 1 << 20], 20, 0).unwrap();
    }
    let told = lines.take();
    assert_eq!(
        told.iter().filter(|line| line.starts_with("put ")).count(),
        10
    );
    let evicted = told
        .iter()
        .filter(|line| line.starts_with("Evicted "))
        .count();
    assert_eq!(evicted as u64, table.figures().evicted);
    assert!(evicted > 0);
}

#[test]
fn what_is_restored_is_not_told_again() {
    let (table, lines) = journaled(8 << 20);
    let item = Item {
        value: Value::Here(b"restored"),
        flags: 3,
        expires_s: 99,
        cas: 1000,
        marks: Marks::NONE,
        last_read_s: 5,
        was_read: true,
        era: 2,
        copy: 5,
    };
    table.restore(b"a", 7, &item).unwrap();
    table.restore(b"b", 7, &Item { era: 1, ..item }).unwrap();
    table.restore(b"c", 7, &item).unwrap();
    table.restore_removed(b"c", 7);
    assert_eq!(table.read(b"a", 7, |seen| seen == item), Some(true));
    assert!(lines.take().is_empty());
    assert_eq!(get(&table, b"b", 7), None, "it was written before a clear");
    assert_eq!(get(&table, b"c", 7), None);
    assert!(put(&table, b"new", b"v", 7, 0).unwrap() > 1000);
}
