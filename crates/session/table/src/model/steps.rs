//! Steps, done in a table and in a naive model of it.

use std::collections::HashMap;

use proptest::prelude::*;

use super::held::{Held, Stored};
use crate::{Body, Change, Item, Marks, Number, Place, Put, Refused, Table};

#[derive(Clone, Debug)]
pub(super) enum Step {
    Put { key: u8, len: usize, ttl: u32 },
    Elsewhere { key: u8, place: u32 },
    Grow { key: u8, by: usize },
    Touch { key: u8, ttl: u32 },
    Mark { key: u8, marks: u8 },
    Remove { key: u8 },
    Read { key: u8 },
    Clear { after: u32 },
    Wait { seconds: u32 },
    Maintain { work: usize },
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![5 => 0usize..200, 3 => 200usize..1100, 1 => 1100usize..9000];
    let ttl = prop_oneof![2 => Just(0u32), 1 => 1u32..20];
    prop_oneof![
        12 => (any::<u8>(), len.clone(), ttl.clone())
            .prop_map(|(key, len, ttl)| Step::Put { key, len, ttl }),
        1 => (any::<u8>(), any::<u32>()).prop_map(|(key, place)| Step::Elsewhere { key, place }),
        2 => (any::<u8>(), 0usize..600).prop_map(|(key, by)| Step::Grow { key, by }),
        2 => (any::<u8>(), ttl).prop_map(|(key, ttl)| Step::Touch { key, ttl }),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(key, marks)| Step::Mark { key, marks }),
        3 => any::<u8>().prop_map(|key| Step::Remove { key }),
        6 => any::<u8>().prop_map(|key| Step::Read { key }),
        1 => (0u32..9).prop_map(|after| Step::Clear { after: if after > 5 { 0 } else { after } }),
        2 => (0u32..6).prop_map(|seconds| Step::Wait { seconds }),
        2 => (0usize..20_000).prop_map(|work| Step::Maintain { work }),
    ]
}

/// The model: what every key holds unless it was evicted.
#[derive(Default)]
pub(super) struct Model {
    pub(super) items: HashMap<Vec<u8>, Held>,
    pub(super) now_s: u32,
    clear_at: Option<u32>,
}

impl Model {
    fn wait(&mut self, seconds: u32) {
        self.now_s += seconds;
        if self.clear_at.is_some_and(|at| at <= self.now_s) {
            self.clear_at = None;
            self.items.clear();
        }
        let now_s = self.now_s;
        self.items
            .retain(|_, item| item.expires_s == 0 || item.expires_s > now_s);
    }
}

pub(super) fn key_of(key: u8) -> Vec<u8> {
    vec![key; 1 + usize::from(key % 40)]
}

fn value_of(key: u8, len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| key.wrapping_mul(31).wrapping_add(at as u8))
        .collect()
}

/// Writes, and does the same to the model if it was done.
fn put(table: &Table, model: &mut Model, key: u8, expires_s: u32, make: Make) {
    let name = key_of(key);
    let put = |body| Put {
        body,
        flags: u32::from(key),
        expires_s,
        marks: Marks(3),
        cas: None,
        read: false,
    };
    let slices: Vec<&[u8]> = make.parts.iter().map(Vec::as_slice).collect();
    let done = table.update(&name, model.now_s, |item, scratch| {
        let old = item.map(|item| Held::of(&item).value);
        let (body, value) = match make.body {
            Kind::Parts => (Body::Parts(&slices), Stored::Here(slices.concat())),
            Kind::Elsewhere(place) => (Body::Elsewhere(place), Stored::Elsewhere(place)),
            Kind::Grown => {
                if let Some(Stored::Here(bytes)) = old {
                    scratch.extend_from_slice(&bytes);
                }
                scratch.extend_from_slice(&slices.concat());
                (Body::Scratch, Stored::Here(scratch.clone()))
            }
        };
        (Change::Put(put(body)), value)
    });
    match done {
        Ok((value, cas)) => {
            let item = Held {
                value,
                flags: u32::from(key),
                expires_s,
                cas,
                marks: Marks(3),
                era: 0,
            };
            model.items.insert(name, item);
        }
        Err(refused) => assert_ne!(refused, Refused::Key),
    }
}

/// What is put.
struct Make {
    parts: Vec<Vec<u8>>,
    body: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Parts,
    Elsewhere(Place),
    Grown,
}

/// Does a step in the table and in the model.
pub(super) fn take(table: &Table, model: &mut Model, step: &Step) {
    match *step {
        Step::Put { .. } | Step::Elsewhere { .. } | Step::Grow { .. } => write(table, model, step),
        Step::Touch { key, ttl } => {
            let expires_s = if ttl == 0 { 0 } else { model.now_s + ttl };
            let end = |item: &mut Held| item.expires_s = expires_s;
            change(table, model, key, true, end);
        }
        Step::Mark { key, marks } => {
            let mark = |item: &mut Held| item.marks = Marks(marks);
            change(table, model, key, false, mark);
        }
        Step::Remove { key } => {
            let name = key_of(key);
            let now_s = model.now_s;
            let done = table.update(&name, now_s, |_, _| (Change::Remove, ()));
            done.unwrap();
            model.items.remove(&key_of(key));
        }
        Step::Read { .. } => {}
        Step::Clear { after } => {
            table.clear(model.now_s + after, model.now_s);
            model.clear_at = Some(model.now_s + after);
            model.wait(0);
        }
        Step::Wait { seconds } => model.wait(seconds),
        Step::Maintain { work } => {
            table.maintain(model.now_s, work);
        }
    }
}

/// A step that writes a value.
fn write(table: &Table, model: &mut Model, step: &Step) {
    match *step {
        Step::Put { key, len, ttl } => {
            let value = value_of(key, len);
            let (a, b) = value.split_at(len / 3);
            let parts = vec![a.to_vec(), Vec::new(), b.to_vec()];
            let body = Kind::Parts;
            let expires_s = if ttl == 0 { 0 } else { model.now_s + ttl };
            put(table, model, key, expires_s, Make { parts, body });
        }
        Step::Elsewhere { key, place } => {
            let body = Kind::Elsewhere(Place(u64::from(place) << 20, place));
            let parts = Vec::new();
            put(table, model, key, 0, Make { parts, body });
        }
        Step::Grow { key, by } => {
            let (parts, body) = (vec![value_of(key, by)], Kind::Grown);
            put(table, model, key, 0, Make { parts, body });
        }
        _ => {}
    }
}

/// Changes what stands beside a value.
fn change(table: &Table, model: &mut Model, key: u8, read: bool, same: impl Fn(&mut Held)) {
    let name = key_of(key);
    let change = |item: Option<Item<'_>>, _: &mut Vec<u8>| match item {
        None => (Change::Keep, ()),
        Some(item) => {
            let mut held = Held::of(&item);
            same(&mut held);
            let head = Change::Head {
                expires_s: held.expires_s,
                marks: held.marks,
                read,
                number: Number::Same,
            };
            (head, ())
        }
    };
    table.update(&name, model.now_s, change).unwrap();
    model.items.get_mut(&name).map(same);
}
