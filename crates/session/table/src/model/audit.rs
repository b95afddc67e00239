//! A table's books against what lies in it.

use crate::Table;
use crate::index::At;
use crate::large;
use crate::record::{DEAD, Header, LARGE};
use crate::shard::{Now, Shard};

/// A shard's books against what lies in it.
fn audit(table: &Table, shard: &Shard) {
    let (mut items, mut payload, mut large, mut elsewhere) = (0, 0, 0, 0);
    for (number, segment) in (0..).zip(&shard.segments) {
        let (mut end, mut live, mut here) = (0, 0, 0);
        while let Some((offset, header)) = segment.next(end) {
            end = offset + header.takes();
            if header.has(DEAD) {
                continue;
            }
            let segment_and_offset = At {
                segment: number,
                offset,
            };
            audit_item(table, shard, segment_and_offset, &header);
            live += header.needs();
            here += 1;
            payload += header.payload();
            elsewhere += header.elsewhere();
            if header.has(LARGE) {
                large += large::charge(header.value_len as usize);
            }
        }
        let counted = (segment.filled, segment.live, segment.items);
        assert_eq!((end, live, here), counted);
        items += here;
    }
    assert_eq!(items, shard.index.items());
    assert_eq!(payload, shard.counts.payload);
    assert_eq!(elsewhere, shard.counts.elsewhere);
    let segments: usize = shard.segments.iter().map(|one| one.bytes.len()).sum();
    let spare = shard.spare.as_ref().unwrap().len();
    let held = (segments + spare) as u64 + shard.index.bytes() + large;
    assert_eq!(shard.held, held);
}

/// The index knows the item, and its segment's bounds hold for it.
fn audit_item(table: &Table, shard: &Shard, at: At, header: &Header) {
    let now = Now {
        shared: &table.shared,
        era: 0,
        now_s: 0,
    };
    assert!(shard.slot_of(now, at, header).is_some());
    let segment = &shard.segments[at.segment as usize];
    assert!(header.expires_s == 0 || segment.earliest_s <= header.expires_s);
    assert!(segment.oldest_era <= header.era);
}

pub(super) fn audit_all(table: &Table) {
    let mut held = 0;
    for shard in &table.shards {
        let shard = shard.0.lock();
        audit(table, &shard);
        held += shard.held;
    }
    assert_eq!(held, table.used_bytes());
    assert!(held <= table.options().memory_bytes);
}
