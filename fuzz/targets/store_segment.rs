//! Segments: whatever a file has in it, opening, recovering and reading it ends
//! well, and what is read is what was written.
//!
//! The first byte of the input chooses: a whole segment that is damaged in
//! places, or one that is forged field by field, with right checksums.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use forebay_store::{Id, Kind, Log, New, Options, Place, Verdict, Wait};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let directory = directory();
    let path = directory.join("0000000001.seg");
    let whole = whole();
    // Nothing of the input before may be left.
    for number in 1..64 {
        let _ = fs::remove_file(directory.join(format!("{number:010}.seg")));
    }
    if first % 2 == 0 {
        fs::write(&path, damaged(&whole[usize::from(first / 2 % 2)], rest)).expect("a file");
    } else {
        fs::write(&path, forged(rest)).expect("a file");
    }
    use_it(&directory, first % 2 == 0);
});

const ENTRIES: u64 = 12;

/// Recovers what is there, reads all of it, and gives it up.
fn use_it(directory: &Path, honest: bool) {
    let log = open(directory);
    log.recover(&AtomicBool::new(false));
    for key in 0..=u64::from(u8::MAX) {
        for hit in log.find(key).iter() {
            read(&log, hit.place, honest.then_some(key));
        }
    }
    for segment in log.segments() {
        let _ = log.scan(segment.number, &mut |_, place, _| read(&log, place, None));
    }
    log.reclaim(&mut |_| Verdict::Keep);
    let _ = log.close();
    assert!(log.figures().used_bytes <= log.figures().limit_bytes);
}

fn read(log: &Log, place: Place, written: Option<u64>) {
    let Some(extent) = log.extent(place) else {
        return;
    };
    let _ = extent.read_meta(Wait::Yes);
    let _ = extent.read_data(0..1, Wait::Yes);
    let _ = extent.read_data(70_000..70_001, Wait::Yes);
    let Ok(Some(record)) = extent.read(Wait::Yes) else {
        return;
    };
    let data = record.data.concat();
    assert!(data.len() as u64 + record.meta.len() as u64 <= u64::from(place.bytes));
    if let Some(key) = written {
        assert_eq!((record.id.key, record.kind), (key, Kind::Entry));
        assert_eq!(
            (&record.meta[..], data),
            (&[key as u8; 5][..], content(key))
        );
    }
}

fn content(key: u64) -> Vec<u8> {
    vec![key as u8; key as usize * 97]
}

/// A segment as the log writes it: without a footer, and with one.
fn whole() -> &'static [Vec<u8>; 2] {
    static WHOLE: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let directory = directory();
        let path = directory.join("0000000001.seg");
        let _ = fs::remove_file(&path);
        let log = open(&directory);
        for key in 0..ENTRIES {
            let data = content(key);
            let new = New {
                id: Id { key, variant: 1 },
                kind: if key == 7 { Kind::Piece } else { Kind::Entry },
                meta: &[key as u8; 5],
                data: &[&data],
            };
            log.append(&[new]).expect("space");
        }
        let open = fs::read(&path).expect("a segment");
        log.close().expect("a segment");
        [open, fs::read(&path).expect("a segment")]
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

/// A segment whose checksums are right and whose fields are the input's.
fn forged(input: &[u8]) -> Vec<u8> {
    let mut fields = input.chunks(4).map(|four| {
        let mut field = [0; 4];
        field[..four.len()].copy_from_slice(four);
        u32::from_le_bytes(field)
    });
    let mut next = move || fields.next();
    let mut file = b"FBSEGMNT\x01\0\0\0".to_vec();
    seal(&mut file);
    file.extend_from_slice(&1u64.to_le_bytes());
    file.resize(60, 0);
    seal(&mut file);
    let mut rows = Vec::new();
    for ordinal in 0.. {
        let (Some(shape), Some(meta), Some(data)) = (next(), next(), next()) else {
            break;
        };
        let offset = file.len() as u32;
        record(&mut file, ordinal, shape, meta, data);
        let table = 4 * u64::from(data).div_ceil(65_536);
        let bytes = (48 + table + u64::from(meta) + u64::from(data)).next_multiple_of(16);
        file.resize(
            file.len()
                .max((u64::from(offset) + bytes).min(60_000) as usize),
            0,
        );
        rows.extend_from_slice(&u64::from(shape as u8).to_le_bytes());
        for field in [1, offset ^ (shape >> 24), bytes as u32 | 1, 0] {
            rows.extend_from_slice(&field.to_le_bytes());
        }
        if shape & 0x100 != 0 {
            footer(&mut file, &rows, shape >> 16);
            break;
        }
    }
    file
}

/// Appends a record's head, with a right checksum for where it lies.
fn record(file: &mut Vec<u8>, ordinal: u32, shape: u32, meta: u32, data: u32) {
    let (start, offset) = (file.len(), file.len() as u32);
    file.extend_from_slice(b"fbRc\x01\0\0\0");
    file.extend_from_slice(&u64::from(shape as u8).to_le_bytes());
    // Sums of a content of nothing but zeros, which is what follows, as long
    // as it is short.
    let zeros = vec![0; 60_000];
    let zeros = |length: u32| crc32c::crc32c(&zeros[..(length as usize).min(60_000)]);
    let table = zeros(data).to_le_bytes();
    let table = if data == 0 { &[][..] } else { &table[..] };
    for field in [
        1,
        ordinal,
        meta,
        data,
        crc32c::crc32c(table),
        zeros(meta),
        0,
    ] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    seal_from(file, start, 1, offset);
    file.extend_from_slice(table);
}

/// Appends a footer, its number of rows off by what is given.
fn footer(file: &mut Vec<u8>, rows: &[u8], off_by: u32) {
    let at = file.len() as u32;
    file.extend_from_slice(rows);
    let start = file.len();
    file.extend_from_slice(b"FBTRAILR");
    let count = (rows.len() / 24) as u32;
    for field in [at, count ^ (off_by & 0xff), crc32c::crc32c(rows), 0, 0] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    seal_from(file, start, 1, at);
}

/// Appends the checksum of all there is, as heads of files have it.
fn seal(file: &mut Vec<u8>) {
    let sum = crc32c::crc32c(file);
    file.extend_from_slice(&sum.to_le_bytes());
}

/// Appends a checksum that is bound to a place.
fn seal_from(file: &mut Vec<u8>, start: usize, segment: u64, offset: u32) {
    let sum = crc32c::crc32c(&segment.to_le_bytes());
    let sum = crc32c::crc32c_append(sum, &offset.to_le_bytes());
    let sum = crc32c::crc32c_append(sum, &file[start..]);
    file.extend_from_slice(&sum.to_le_bytes());
}

fn open(directory: &Path) -> Arc<Log> {
    let options = Options {
        path: directory.to_path_buf(),
        size_bytes: 1 << 20,
        segment_bytes: Some(16 << 10),
    };
    Log::open(options).expect("a directory")
}

/// A directory of this process, in memory where there is one.
fn directory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() {
        memory.to_path_buf()
    } else {
        std::env::temp_dir()
    };
    let path = base.join(format!("forebay-fuzz-segment-{}", std::process::id()));
    fs::create_dir_all(&path).expect("a directory");
    path
}
