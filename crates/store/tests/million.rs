//! A million entries: memory of the index, and how long finding them takes.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Instant;

use support::*;

#[test]
fn a_million_entries_are_found_again_and_take_at_most_64_bytes_each() {
    const ENTRIES: u64 = 1_000_000;
    let directory = tempfile::tempdir().unwrap();
    let log = open_sized(directory.path(), 512 << 20, 8 << 20);
    let data = [&b"data"[..]];
    for from in (0..ENTRIES).step_by(1000) {
        let batch: Vec<_> = (from..from + 1000)
            .map(|key| entry(id(key, 0), b"m", &data))
            .collect();
        log.append(&batch).unwrap();
    }
    log.close().unwrap();
    drop(log);

    let begin = Instant::now();
    let log = open_sized(directory.path(), 512 << 20, 8 << 20);
    let opened = begin.elapsed();
    let recovered = recover(&log);
    let found = begin.elapsed();
    let figures = log.figures();
    println!(
        "opened in {opened:?}, {} entries of {} segments found in {found:?}, \
         {:.1} bytes of index an entry",
        recovered.entries,
        recovered.segments,
        figures.index_bytes as f64 / ENTRIES as f64
    );
    assert_eq!((recovered.entries, recovered.scanned), (ENTRIES, 0));
    assert!(figures.index_bytes <= 64 * ENTRIES);
    let last = place_of(&log, id(ENTRIES - 1, 0)).unwrap();
    assert_eq!(joined(&read(&log, last)), b"data");
}
