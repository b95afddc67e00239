#![allow(clippy::unwrap_used)]

use forebay_session::Item;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Damage, Reader, Writer};

type Kept = (Vec<u8>, Vec<u8>, u32, u32);

fn written(items: &[Kept]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (key, value, flags, expires_s) in items {
        let item = Item {
            value,
            flags: *flags,
            expires_s: *expires_s,
            ..Item::default()
        };
        writer.put(key, item).unwrap();
    }
    writer.finish().unwrap()
}

fn read(file: &[u8]) -> (Vec<Kept>, Result<(), Damage>) {
    let mut items = Vec::new();
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(damage) => return (items, Err(damage)),
    };
    loop {
        match reader.next_item() {
            Ok(None) => return (items, Ok(())),
            Ok(Some((key, item))) => items.push((
                key.to_vec(),
                item.value.to_vec(),
                item.flags,
                item.expires_s,
            )),
            Err(damage) => return (items, Err(damage)),
        }
    }
}

fn some() -> Vec<Kept> {
    vec![
        (b"a".to_vec(), b"one".to_vec(), 0, 0),
        (
            b"b\0 \n".to_vec(),
            vec![7; 100_000],
            u32::MAX,
            1_900_000_000,
        ),
        (b"c".to_vec(), Vec::new(), 2, 1),
    ]
}

#[test]
fn a_file_cut_off_anywhere_is_noticed() {
    let file = written(&some());
    for end in (0..200).chain(file.len() - 200..file.len()) {
        let (items, outcome) = read(&file[..end]);
        assert!(
            matches!(outcome, Err(Damage::CutOff(_) | Damage::Foreign)),
            "{end}: {outcome:?}"
        );
        assert!(some().starts_with(&items));
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let mut file = written(&some()[..1]);
    for at in 0..file.len() * 8 {
        file[at / 8] ^= 1 << (at % 8);
        assert!(read(&file).1.is_err(), "bit {at}");
        file[at / 8] ^= 1 << (at % 8);
    }
    assert!(read(&file).1.is_ok());
}

#[test]
fn a_missing_record_and_a_second_file_are_noticed() {
    let (one, two) = (written(&some()[..1]), written(&some()[..2]));
    // The end mark of the longer file behind the records of the shorter one.
    let mixed = [&one[..one.len() - 20], &two[two.len() - 20..]].concat();
    let outcome = read(&mixed).1;
    assert!(matches!(outcome, Err(Damage::Count { said: 2, found: 1 })));
    let outcome = read(&[one.clone(), two].concat()).1;
    assert!(matches!(outcome, Err(Damage::Trailing)));
    assert!(matches!(read(b"a|i:1;").1, Err(Damage::Foreign)));
}

#[test]
fn a_later_version_is_named() {
    let mut head = super::head::file();
    head[8] = 9;
    let checksum = crc32c::crc32c(&head[..12]).to_le_bytes();
    head[12..].copy_from_slice(&checksum);
    assert!(matches!(read(&head).1, Err(Damage::Version(9))));
}

proptest! {
    #[test]
    fn what_is_written_is_read(items in vec((vec(any::<u8>(), 0..300), vec(any::<u8>(), 0..300), any::<u32>(), any::<u32>()), 0..20)) {
        let (found, outcome) = read(&written(&items));
        prop_assert!(outcome.is_ok());
        prop_assert_eq!(found, items);
    }

    #[test]
    fn no_file_is_too_much(head in any::<bool>(), bytes in vec(any::<u8>(), 0..200)) {
        let mut file = if head { super::head::file().to_vec() } else { Vec::new() };
        file.extend_from_slice(&bytes);
        prop_assert!(read(&file).1.is_err());
    }
}
