//! What the tests of the log share.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_store::{Id, Kind, Log, New, Options, Place, Record, Recovered, Wait};

pub(crate) const SIZE: u64 = 1 << 20;
pub(crate) const SEGMENT: u64 = 32 << 10;

pub(crate) fn id(key: u64, variant: u32) -> Id {
    Id { key, variant }
}

/// Opens a small log without recovering it.
pub(crate) fn open(path: &Path) -> Arc<Log> {
    open_sized(path, SIZE, SEGMENT)
}

pub(crate) fn open_sized(path: &Path, size_bytes: u64, segment_bytes: u64) -> Arc<Log> {
    Log::open(Options {
        path: path.to_path_buf(),
        size_bytes,
        segment_bytes: Some(segment_bytes),
    })
    .unwrap()
}

pub(crate) fn recover(log: &Log) -> Recovered {
    log.recover(&AtomicBool::new(false))
}

/// Opens a small log and finds all that is in it.
pub(crate) fn reopen(path: &Path) -> Arc<Log> {
    let log = open(path);
    recover(&log);
    log
}

pub(crate) fn entry<'a>(id: Id, meta: &'a [u8], data: &'a [&'a [u8]]) -> New<'a> {
    New {
        id,
        kind: Kind::Entry,
        meta,
        data,
    }
}

pub(crate) fn piece<'a>(id: Id, meta: &'a [u8], data: &'a [&'a [u8]]) -> New<'a> {
    New {
        kind: Kind::Piece,
        ..entry(id, meta, data)
    }
}

pub(crate) fn append(log: &Log, id: Id, meta: &[u8], data: &[u8]) -> Place {
    log.append(&[entry(id, meta, &[data])]).unwrap()[0]
}

pub(crate) fn place_of(log: &Log, id: Id) -> Option<Place> {
    let found = log.find(id.key);
    found.iter().find(|hit| hit.id == id).map(|hit| hit.place)
}

pub(crate) fn read(log: &Log, place: Place) -> Record {
    log.extent(place).unwrap().read(Wait::Yes).unwrap().unwrap()
}

pub(crate) fn joined(record: &Record) -> Vec<u8> {
    record.data.concat()
}

/// Bytes that depend on a seed and do not compress.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let bytes = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    });
    bytes.take(length).collect()
}

/// The segments' files by number.
pub(crate) fn files(path: &Path) -> BTreeMap<u64, PathBuf> {
    let files = fs::read_dir(path).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name()?.to_str()?.strip_suffix(".seg")?.parse();
        Some((name.ok()?, path))
    });
    files.collect()
}

/// What all files of a directory take on disk: the longer of length and blocks.
pub(crate) fn taken(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = fs::read_dir(path).unwrap();
    let lengths = files.map(|entry| {
        let metadata = entry.unwrap().metadata().unwrap();
        metadata.len().max(metadata.blocks() * 512)
    });
    lengths.sum()
}
