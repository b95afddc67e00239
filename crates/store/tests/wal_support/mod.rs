//! What the tests of the write-ahead log share.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_store::wal::{Options, Place, Recovered, Sync, Wal};

pub(crate) const SEGMENT: u64 = 64 << 10;

pub(crate) type Found = Vec<(Place, Vec<u8>)>;

pub(crate) fn options(path: &Path, sync: Sync) -> Options {
    Options {
        segment_bytes: Some(SEGMENT),
        ..Options::new(path, sync)
    }
}

pub(crate) fn open_with(options: Options) -> Arc<Wal> {
    let (wal, recovery) = Wal::open(options).unwrap();
    recovery.run(&AtomicBool::new(false), |_, _| {});
    wal
}

/// Opens a log with small segments, whatever is in it.
pub(crate) fn open(path: &Path, sync: Sync) -> Arc<Wal> {
    open_with(options(path, sync))
}

/// Opens a log with small segments, and gives what is in it.
pub(crate) fn reopen(path: &Path) -> (Arc<Wal>, Found, Recovered) {
    let (wal, recovery) = Wal::open(options(path, Sync::Always)).unwrap();
    let mut found = Vec::new();
    let recovered = recovery.run(&AtomicBool::new(false), |place, payload| {
        found.push((place, payload.to_vec()));
    });
    (wal, found, recovered)
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

pub(crate) fn file(path: &Path, number: u32) -> PathBuf {
    path.join(format!("{number:010}.wal"))
}
