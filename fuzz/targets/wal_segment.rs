//! The write-ahead log: whatever a segment's file has in it, recovery ends well, gives only records
//! whose checksums fit, and leaves a log that can be used.
//!
//! The first byte of the input chooses: a whole segment that is damaged in places, a forged one
//! with right heads, or the input itself.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use forebay_store::Wait;
use forebay_store::wal::{Options, Place, Recovered, Sync, Wal};
use libfuzzer_sys::fuzz_target;

type Records = Vec<(Place, Vec<u8>)>;

fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let whole = whole();
    let bytes = match first % 3 {
        0 => damaged(whole, rest),
        1 => forged(whole, rest),
        _ => rest.to_vec(),
    };
    let directory = emptied();
    fs::write(directory.join("0000000001.wal"), &bytes).expect("a file");
    let Some((log, records, found)) = open(&directory) else {
        return;
    };
    assert_eq!(found.records, records.len() as u64);
    for (place, payload) in &records {
        fits(&bytes, *place, payload);
        let mut again = Vec::new();
        assert!(log.read(*place, Wait::Yes, &mut again).expect("a record"));
        assert_eq!(&again, payload);
    }
    if first % 3 == 0 {
        let mut written = (0..RECORDS).map(content);
        for (_, payload) in &records {
            assert!(
                written.any(|one| &one == payload),
                "no record, or not in order"
            );
        }
    }
    goes_on(&directory, log, records);
});

const RECORDS: u8 = 12;

/// What is appended comes behind what was recovered, and all of it is there at the next start.
fn goes_on(directory: &Path, log: Arc<Wal>, mut records: Records) {
    for number in 0..3 {
        let payload = content(number);
        records.push((log.append(&[&payload]), payload));
    }
    log.close().expect("a disk");
    drop(log);
    let (_, again, found) = open(directory).expect("a log");
    assert_eq!(again, records);
    assert!(!found.torn, "what was torn is cut off once");
}

/// The record's head and payload are in the file, and their checksums are right.
fn fits(file: &[u8], place: Place, payload: &[u8]) {
    let head = &file[place.offset as usize..][..16];
    let number = |at: usize| u32::from_le_bytes(*head[at..].first_chunk().expect("four bytes"));
    let twin = |at: usize| -> Option<[u8; 8]> {
        let sum = crc32c::crc32c(file.get(at..at + 60)?);
        let right = file.get(at + 60..at + 64)? == sum.to_le_bytes();
        file.get(at + 24..at + 32)?
            .try_into()
            .ok()
            .filter(|_| right)
    };
    let tag = twin(0).or_else(|| twin(2048)).expect("a segment's head");
    let bound = [&tag[..], &place.offset.to_le_bytes(), &head[..12]].concat();
    assert_eq!(number(0), u32::from_le_bytes(*b"fbWr"));
    assert_eq!(number(4) as usize, payload.len());
    assert_eq!(number(8), crc32c::crc32c(payload));
    assert_eq!(number(12), crc32c::crc32c(&bound));
    assert_eq!(
        &file[place.offset as usize + 16..][..payload.len()],
        payload
    );
}

fn content(number: u8) -> Vec<u8> {
    vec![number; usize::from(number) * 97]
}

/// A segment as the log writes it.
fn whole() -> &'static [u8] {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let directory = emptied();
        let (log, ..) = open(&directory).expect("a log");
        for number in 0..RECORDS {
            log.append(&[&content(number)]);
        }
        log.close().expect("a disk");
        drop(log);
        fs::read(directory.join("0000000001.wal")).expect("a segment")
    })
}

/// The segment with bytes changed, parts copied and the end cut off, as told.
fn damaged(whole: &[u8], orders: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for order in orders.chunks_exact(6) {
        let number = |n: usize| usize::from(u16::from_le_bytes([order[n], order[n + 1]]));
        let at = number(1) % bytes.len().max(1);
        match order[0] % 4 {
            0 => bytes.truncate(at.max(1)),
            1 => {
                let from = number(3) % bytes.len();
                let length = usize::from(order[5]).min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + length, at);
            }
            _ => bytes[at] ^= order[3],
        }
    }
    bytes
}

/// A segment whose heads have right checksums, and whose lengths, gaps and payloads are the input's.
fn forged(whole: &[u8], orders: &[u8]) -> Vec<u8> {
    let mut file = whole[..4096].to_vec();
    let tag: [u8; 8] = *file[24..].first_chunk().expect("a tag");
    for order in orders.chunks_exact(8) {
        let [a, b, c, d, has, gap, whose, flip] = *order.first_chunk().expect("eight bytes");
        file.extend(std::iter::repeat_n(gap, usize::from(gap)));
        file.resize(file.len().next_multiple_of(8), 0);
        let payload = vec![whose; usize::from(has)];
        // Now and then the length is the payload's own.
        let length = match whose % 2 {
            0 => u32::from(has),
            _ => u32::from_le_bytes([a, b, c, d]),
        };
        let sum = crc32c::crc32c(&payload) ^ u32::from(flip & 1);
        let mut head = b"fbWr".to_vec();
        head.extend_from_slice(&length.to_le_bytes());
        head.extend_from_slice(&sum.to_le_bytes());
        let offset = (file.len() as u32).to_le_bytes();
        let bound = crc32c::crc32c(&[&tag[..], &offset, &head].concat());
        head.extend_from_slice(&bound.to_le_bytes());
        file.extend_from_slice(&head);
        file.extend_from_slice(&payload);
    }
    file
}

fn open(directory: &Path) -> Option<(Arc<Wal>, Records, Recovered)> {
    let options = Options {
        segment_bytes: Some(64 << 10),
        ..Options::new(directory, Sync::Never(std::time::Duration::from_secs(60)))
    };
    let (log, recovery) = Wal::open(options).ok()?;
    let mut records = Vec::new();
    let found = recovery.run(&AtomicBool::new(false), |place, payload| {
        records.push((place, payload.to_vec()));
    });
    Some((log, records, found))
}

/// A directory of this process, in memory where there is one, with nothing in it.
fn emptied() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() {
        memory.to_path_buf()
    } else {
        std::env::temp_dir()
    };
    let path = base.join(format!("forebay-fuzz-wal-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a directory");
    path
}
