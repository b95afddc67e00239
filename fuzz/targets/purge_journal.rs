//! Records of the purge journal, damaged at will: nothing panics, what is read is written
//! again as the same, and what cannot be read makes all that is older invalid.
#![no_main]

use std::io;

use forebay_cache::purge::{Keep, Purges, Seen, Subject, Verdict, journal};
use forebay_http::fields::Fields;
use libfuzzer_sys::fuzz_target;

struct Nowhere;

impl Keep for Nowhere {
    fn append(&self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn rewrite(&self, _: &[Vec<u8>]) -> io::Result<()> {
        Ok(())
    }
}

fuzz_target!(|record: &[u8]| {
    // The mark of the seeds' hash seed.
    let (entries, problems) = journal::decode(record, 0);
    for record in journal::encode(&entries, 0) {
        assert_eq!(journal::decode(&record, 0), (entries.clone(), vec![]));
    }
    let (purges, told) = Purges::with_journal(1, Box::new(Nowhere), vec![record.to_vec()]);
    assert_eq!(told.len(), problems.len());
    let fields = Fields::new();
    let subject = Subject {
        host: b"a.example",
        target: b"/news",
        status: 200,
        fields: &fields,
        key: 1,
        tags: &[2],
        asked: 0,
        checked: 0,
    };
    let verdict = purges.check(&Seen::new(0), &subject);
    assert!(problems.is_empty() || verdict >= Verdict::Invalid);
    let now = Seen::new(purges.moment());
    assert_eq!(purges.check(&now, &subject), Verdict::Current);
    purges.bans();
});
