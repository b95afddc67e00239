//! Short ways to write and read.
#![allow(dead_code)]

use forebay_table::{Body, Change, Full, Marks, Number, Options, Put, Refused, Table, Value};

pub(crate) fn put_of<'a>(body: Body<'a>, expires_s: u32) -> Put<'a> {
    Put {
        body,
        flags: 7,
        expires_s,
        marks: Marks::NONE,
        cas: None,
        read: false,
    }
}

/// Another end, and the item counts as read.
pub(crate) fn touch(expires_s: u32) -> Change<'static> {
    Change::Head {
        expires_s,
        marks: Marks::NONE,
        read: true,
        number: Number::Same,
    }
}

/// Other marks for an item that ends then.
pub(crate) fn mark(marks: Marks, expires_s: u32) -> Change<'static> {
    Change::Head {
        expires_s,
        marks,
        read: false,
        number: Number::Same,
    }
}

/// Writes at second `now_s`, and says the `cas`.
pub(crate) fn put(
    table: &Table,
    key: &[u8],
    value: &[u8],
    now_s: u32,
    expires_s: u32,
) -> Result<u64, Refused> {
    let parts = [value];
    let change = Change::Put(put_of(Body::Parts(&parts), expires_s));
    table
        .update(key, now_s, |_, _| (change, ()))
        .map(|(_, cas)| cas)
}

pub(crate) fn get(table: &Table, key: &[u8], now_s: u32) -> Option<Vec<u8>> {
    table.read(key, now_s, |item| match item.value {
        Value::Here(bytes) => bytes.to_vec(),
        Value::Elsewhere(_) => b"elsewhere".to_vec(),
    })
}

pub(crate) fn remove(table: &Table, key: &[u8], now_s: u32) {
    let done = table.update(key, now_s, |_, _| (Change::Remove, ()));
    assert!(done.is_ok());
}

pub(crate) fn options(memory_bytes: u64, full: Full) -> Options {
    Options {
        full,
        ..Options::within(memory_bytes)
    }
}
