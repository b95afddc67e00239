//! Journals: whatever a file has in it, it is opened, and then it works. Of a
//! journal that was damaged, only what was written is read, in its order.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};

use forebay_store::{Journal, JournalError};
use libfuzzer_sys::fuzz_target;

const RECORDS: [&[u8]; 5] = [
    b"purge /a",
    b"",
    b"ban x",
    b"tag 17",
    b"the last one of them",
];

fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let path = path();
    if first % 2 == 0 {
        fs::write(&path, rest).expect("a file");
        use_it(&path);
        return;
    }
    let _ = fs::remove_file(&path);
    let (journal, _) = Journal::open(&path).expect("a journal");
    journal.append_all(&RECORDS).expect("space");
    drop(journal);
    let mut bytes = fs::read(&path).expect("a journal");
    for order in rest.chunks_exact(3) {
        let at = usize::from(order[1]) % bytes.len().max(1);
        match order[0] % 8 {
            0 => bytes.truncate(at.max(1)),
            _ => bytes[at] ^= order[2],
        }
    }
    fs::write(&path, bytes).expect("a file");
    let mut written = RECORDS.iter();
    for record in use_it(&path) {
        assert!(
            written.any(|one| *one == record),
            "{record:?} was not written"
        );
    }
});

/// Opens the journal, appends to it and opens it again. Gives what was in it.
fn use_it(path: &Path) -> Vec<Vec<u8>> {
    let (journal, before) = match Journal::open(path) {
        Ok(opened) => opened,
        Err(JournalError::Version { .. }) => return Vec::new(),
        Err(error) => panic!("{error}"),
    };
    journal.append(b"appended").expect("space");
    drop(journal);
    let (journal, after) = Journal::open(path).expect("a journal");
    assert_eq!(after[..before.len()], before);
    assert_eq!(after[before.len()..], [b"appended".to_vec()]);
    assert_eq!(
        journal.bytes(),
        fs::metadata(path).expect("a journal").len()
    );
    before
}

/// A file of this process, in memory where there is such a directory.
fn path() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() {
        memory.to_path_buf()
    } else {
        std::env::temp_dir()
    };
    base.join(format!("forebay-fuzz-journal-{}", std::process::id()))
}
