//! Exports of session stores: whatever a file has in it, reading ends well, gives only what its
//! checksums cover, and what was read whole is written again as the same items.
//!
//! The first byte of the input chooses: the input itself, or a file with right checksums whose
//! fields are the input's.
#![no_main]

use forebay_session::Item;
use forebay_session_client::{Damage, Reader, Writer};
use libfuzzer_sys::fuzz_target;

type Kept = (Vec<u8>, Vec<u8>, u32, u32);

fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let file = match first % 2 {
        0 => rest.to_vec(),
        _ => forged(rest),
    };
    let (items, end) = read(&file);
    let bytes: usize = items
        .iter()
        .map(|(key, value, ..)| key.len() + value.len())
        .sum();
    assert!(bytes <= file.len(), "more than the file has");
    if let Some(Damage::CutOff(whole) | Damage::Corrupt(whole)) = &end {
        assert_eq!(*whole, items.len() as u64);
    }
    if end.is_none() {
        let (again, end) = read(&written(&items));
        assert!(end.is_none() && again == items);
    }
});

fn read(file: &[u8]) -> (Vec<Kept>, Option<Damage>) {
    let mut items = Vec::new();
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(damage) => return (items, Some(damage)),
    };
    let end = loop {
        match reader.next_item() {
            Ok(None) => break None,
            Ok(Some((key, item))) => {
                items.push((
                    key.to_vec(),
                    item.value.to_vec(),
                    item.flags,
                    item.expires_s,
                ));
            }
            Err(damage) => break Some(damage),
        }
    };
    if end.is_none() {
        assert!(matches!(reader.next_item(), Ok(None)), "behind the end");
    }
    (items, end)
}

fn written(items: &[Kept]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).expect("memory");
    for (key, value, flags, expires_s) in items {
        let item = Item {
            value,
            flags: *flags,
            expires_s: *expires_s,
            ..Item::default()
        };
        writer.put(key, item).expect("it was read");
    }
    writer.finish().expect("memory")
}

fn forged(input: &[u8]) -> Vec<u8> {
    let mut file = sealed(b"FBEXPORT\x01\0\0\0");
    for fields in input.chunks(16) {
        let mut head = [0; 16];
        head[..fields.len()].copy_from_slice(fields);
        // Now and then the lengths are those of what follows.
        if head[1] % 2 == 0 {
            head[3] = 0;
            head[5..8].fill(0);
        }
        file.extend_from_slice(&sealed(&head));
        if head[0] == 1 {
            let body = vec![head[8]; usize::from(head[2]) + usize::from(head[4])];
            file.extend_from_slice(&body);
            file.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
        }
    }
    file
}

fn sealed(head: &[u8]) -> Vec<u8> {
    [head, &crc32c::crc32c(head).to_le_bytes()].concat()
}
