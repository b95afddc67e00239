//! The table of sessions beside a map: what is read is what was written last, whatever else was
//! written, moved, ended or cleared meanwhile, and the budget is kept.
#![no_main]

use std::collections::HashMap;

use forebay_table::{Body, Change, Full, Item, Marks, Options, Put, Refused, Table, Value};
use libfuzzer_sys::fuzz_target;

/// What the map knows of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    value: Vec<u8>,
    flags: u32,
    expires_s: u32,
    cas: u64,
}

/// The table and the map.
struct Pair {
    table: Table,
    items: HashMap<Vec<u8>, Held>,
    now_s: u32,
}

fuzz_target!(|input: &[u8]| {
    let Some((first, steps)) = input.split_first() else {
        return;
    };
    let table = Table::new(Options {
        full: [Full::Refuse, Full::Evict][usize::from(first & 1)],
        shards: 1 << (first >> 1 & 3),
        segment_bytes: 4096,
        value_bytes: 9000,
        ..Options::within(16 << 10 << (first >> 3 & 3))
    });
    let mut pair = Pair {
        table,
        items: HashMap::new(),
        now_s: 1000,
    };
    for step in steps.chunks_exact(4) {
        pair.step([step[0], step[1], step[2], step[3]]);
        let (used, most) = (pair.table.used_bytes(), pair.table.options().memory_bytes);
        assert!(used <= most, "{used} of {most} bytes");
    }
    pair.compare_all();
});

impl Pair {
    fn step(&mut self, [what, name, a, b]: [u8; 4]) {
        let key = vec![name; 1 + usize::from(name % 40)];
        let number = u16::from_le_bytes([a, b]);
        match what % 16 {
            0..8 => self.put(key, usize::from(number) % 9100, what),
            8 => self.append(key, usize::from(number) % 600),
            9 => self.remove(key),
            10 => self.compare(&key),
            11 => self.touch(key, number),
            12 => self.pass(u32::from(a % 8)),
            13 if b == 0 => {
                self.table.clear(self.now_s, self.now_s);
                self.items.clear();
            }
            14 => drop(self.table.maintain(self.now_s, usize::from(number))),
            _ => self.compare(&key),
        }
    }

    fn put(&mut self, key: Vec<u8>, length: usize, flags: u8) {
        let value = vec![flags ^ key[0]; length];
        let expires_s = match length % 5 {
            0 => self.now_s + 1 + length as u32 % 9,
            _ => 0,
        };
        let parts: [&[u8]; 1] = [&value];
        let put = put(Body::Parts(&parts), flags.into(), expires_s);
        let done = self.table.update(&key, self.now_s, |_, _| (put, ()));
        self.note(
            key,
            (value, flags.into(), expires_s),
            done.map(|(_, cas)| cas),
        );
    }

    fn append(&mut self, key: Vec<u8>, length: usize) {
        let done = self.table.update(&key, self.now_s, |item, scratch| {
            if let Some(item) = item {
                scratch.extend_from_slice(here(&item));
            }
            scratch.resize(scratch.len() + length, 7);
            (put(Body::Scratch, 7, 0), scratch.clone())
        });
        match done {
            Ok((value, cas)) => self.note(key, (value, 7, 0), Ok(cas)),
            Err(refused) => self.note(key, (Vec::new(), 7, 0), Err(refused)),
        }
    }

    /// A write that was refused leaves what was there.
    fn note(&mut self, key: Vec<u8>, item: (Vec<u8>, u32, u32), done: Result<u64, Refused>) {
        let (value, flags, expires_s) = item;
        match done {
            Err(refused) => assert_ne!(refused, Refused::Key),
            Ok(cas) => {
                let held = Held {
                    value,
                    flags,
                    expires_s,
                    cas,
                };
                if let Some(before) = self.items.insert(key, held) {
                    assert!(before.cas < cas, "a write did not raise the number");
                }
            }
        }
    }

    fn remove(&mut self, key: Vec<u8>) {
        let there = |item: Option<Item<'_>>, _: &mut Vec<u8>| (Change::Remove, item.is_some());
        let done = self.table.update(&key, self.now_s, there);
        let (was_there, _) = done.expect("a removal takes no room");
        let known = self.items.remove(&key).is_some();
        assert!(
            known == was_there || self.may_lack(),
            "an item came back or was lost"
        );
        assert!(known || !was_there);
    }

    fn touch(&mut self, key: Vec<u8>, ttl: u16) {
        let expires_s = match ttl % 12 {
            0 => 0,
            ttl => self.now_s + u32::from(ttl),
        };
        let done = self.table.update(&key, self.now_s, |item, _| match item {
            None => (Change::Keep, ()),
            Some(item) => (
                Change::Head {
                    expires_s,
                    marks: item.marks,
                    read: true,
                    number: forebay_table::Number::Same,
                },
                (),
            ),
        });
        done.expect("a touch takes no room");
        if let Some(held) = self.items.get_mut(&key) {
            held.expires_s = expires_s;
        }
    }

    fn pass(&mut self, seconds: u32) {
        self.now_s += seconds;
        let now_s = self.now_s;
        self.items
            .retain(|_, held| held.expires_s == 0 || held.expires_s > now_s);
    }

    /// Whether something may have gone to make room.
    fn may_lack(&self) -> bool {
        self.table.figures().evicted > 0
    }

    fn compare(&mut self, key: &[u8]) {
        let seen = self.table.read(key, self.now_s, |item| Held {
            value: here(&item).to_vec(),
            flags: item.flags,
            expires_s: item.expires_s,
            cas: item.cas,
        });
        match (seen, self.items.get(key)) {
            (None, None) => {}
            (Some(seen), Some(held)) => assert_eq!(&seen, held),
            (Some(_), None) => panic!("an item is there again"),
            (None, Some(_)) => {
                assert!(self.may_lack(), "an item is gone");
                self.items.remove(key);
            }
        }
    }

    fn compare_all(&mut self) {
        for name in 0..=u8::MAX {
            self.compare(&vec![name; 1 + usize::from(name % 40)]);
        }
        let mut seen = 0;
        let mut cursor = Some(forebay_table::Cursor::default());
        while let Some(from) = cursor {
            cursor = self.table.scan(from, self.now_s, 5, |key, item| {
                seen += 1;
                assert_eq!(self.items.get(key).map(|held| held.cas), Some(item.cas));
            });
        }
        assert_eq!(seen, self.items.len());
    }
}

fn put(body: Body<'_>, flags: u32, expires_s: u32) -> Change<'_> {
    Change::Put(Put {
        body,
        flags,
        expires_s,
        marks: Marks::NONE,
        cas: None,
        read: false,
    })
}

fn here<'a>(item: &Item<'a>) -> &'a [u8] {
    match item.value {
        Value::Here(value) => value,
        Value::Elsewhere(_) => panic!("nothing is kept elsewhere"),
    }
}
