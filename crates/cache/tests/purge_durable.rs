//! Purges and their journal: restarts, failures, many at once.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;

use forebay_cache::purge::{
    Expression, Keep, Order, PurgeError, Purges, Seen, Subject, Verdict, What,
};
use forebay_http::fields::Fields;
use parking_lot::Mutex;

const SEED: u64 = 7;

/// A journal in memory that can fail.
#[derive(Clone, Default)]
struct Memory {
    records: Arc<Mutex<Vec<Vec<u8>>>>,
    fails: Arc<AtomicBool>,
}

impl Memory {
    fn records(&self) -> Vec<Vec<u8>> {
        self.records.lock().clone()
    }

    fn open(&self) -> Purges {
        let (purges, problems) = self.open_with(SEED);
        assert_eq!(problems, [""; 0]);
        purges
    }

    fn open_with(&self, seed: u64) -> (Purges, Vec<String>) {
        Purges::with_journal(seed, Box::new(self.clone()), self.records())
    }

    fn bytes(&self) -> usize {
        self.records.lock().iter().map(Vec::len).sum()
    }

    fn test(&self) -> io::Result<()> {
        match self.fails.load(SeqCst) {
            true => Err(io::Error::other("the disk is full")),
            false => Ok(()),
        }
    }
}

impl Keep for Memory {
    fn append(&self, record: &[u8]) -> io::Result<()> {
        self.test()?;
        self.records.lock().push(record.to_vec());
        Ok(())
    }

    fn rewrite(&self, records: &[Vec<u8>]) -> io::Result<()> {
        self.test()?;
        *self.records.lock() = records.to_vec();
        Ok(())
    }
}

fn subject<'a>(target: &'a str, tags: &'a [u64], fields: &'a Fields) -> Subject<'a> {
    Subject {
        host: b"a.example",
        target: target.as_bytes(),
        status: 200,
        fields,
        key: 99,
        tags,
        asked: 0,
        checked: 0,
    }
}

fn check(purges: &Purges, seen: &Seen, target: &str, tags: &[u64]) -> Verdict {
    purges.check(seen, &subject(target, tags, &Fields::new()))
}

fn tag(name: &str) -> Order {
    hard(What::Tags(vec![name.as_bytes().into()]))
}

fn hard(what: What) -> Order {
    Order { what, soft: false }
}

fn ban(text: &str) -> Order {
    hard(What::Ban(Expression::parse(text).unwrap()))
}

#[test]
fn every_kind_of_purge_holds_after_a_restart() {
    let orders = |soft| {
        let whats = [
            What::All,
            What::Key {
                hashes: vec![1, 99],
                shown: "http://a.example/a".into(),
            },
            What::Prefix {
                host: Some(b"A.Example".as_slice().into()),
                prefix: b"/a".as_slice().into(),
            },
            What::Prefix {
                host: None,
                prefix: b"/".as_slice().into(),
            },
            What::Ban(Expression::parse("status == 200").unwrap()),
            What::Tags(vec![b"x".as_slice().into(), b"news".as_slice().into()]),
            What::Group {
                origin: b"A.example".as_slice().into(),
                name: b"g".as_slice().into(),
            },
        ];
        whats.map(|what| Order { what, soft })
    };
    for order in orders(false).iter().chain(&orders(true)) {
        let journal = Memory::default();
        let purges = journal.open();
        let tags = [
            purges.tag(None, b"news"),
            purges.tag(Some(b"a.Example"), b"g"),
        ];
        let before = Seen::new(purges.moment());
        let done = purges.purge(order).unwrap();
        assert!(done.moment > before.asked() && purges.moment() >= done.moment);
        let after = Seen::new(purges.moment());
        for (run, purges) in [purges, journal.open(), journal.open()].iter().enumerate() {
            let before = Seen::new(before.asked());
            let shown = format!("{order:?} in run {run}");
            assert_eq!(
                check(purges, &before, "/a/1", &tags),
                order.strength(),
                "{shown}"
            );
            assert_eq!(
                check(purges, &before, "/a/1", &tags),
                order.strength(),
                "{shown} again"
            );
            assert_eq!(
                check(purges, &after, "/a/1", &tags),
                Verdict::Current,
                "{shown}"
            );
        }
    }
}

#[test]
fn what_is_not_meant_is_not_hit() {
    let purges = Purges::new(SEED);
    let tags = [purges.tag(None, b"g"), purges.tag(Some(b"b.example"), b"g")];
    let seen = Seen::new(purges.moment());
    let group = |origin: &str| {
        hard(What::Group {
            origin: origin.as_bytes().into(),
            name: b"g".as_slice().into(),
        })
    };
    let prefix = |host: &str, prefix: &str| {
        let host = Some(host.as_bytes().into());
        hard(What::Prefix {
            host,
            prefix: prefix.as_bytes().into(),
        })
    };
    for order in [
        group("a.example"),
        tag("G"),
        prefix("b.example", "/a"),
        prefix("a.example", "/a/11"),
        ban("status == 404"),
        hard(What::Key {
            hashes: vec![98],
            shown: String::new(),
        }),
    ] {
        purges.purge(&order).unwrap();
        assert_eq!(
            check(&purges, &seen, "/a/1", &tags),
            Verdict::Current,
            "{order:?}"
        );
    }
    purges.purge(&group("B.EXAMPLE")).unwrap();
    assert_eq!(check(&purges, &seen, "/a/1", &tags), Verdict::Invalid);
    purges.purge(&tag("g")).unwrap();
    assert_eq!(
        check(&purges, &seen, "/a/1", &tags),
        Verdict::Gone,
        "the stronger one counts"
    );
}

#[test]
fn a_purge_hits_a_response_that_was_asked_for_before_and_stored_after() {
    let purges = Purges::new(SEED);
    let asked = purges.moment();
    purges.purge(&tag("news")).unwrap();
    let stored = Seen::new(asked);
    let tags = [purges.tag(None, b"news")];
    assert_eq!(check(&purges, &stored, "/", &tags), Verdict::Gone);
}

#[test]
fn a_purge_that_cannot_be_written_has_no_effect() {
    let journal = Memory::default();
    let purges = journal.open();
    let tags = [purges.tag(None, b"news"), purges.tag(Some(b"a"), b"g")];
    let (seen, moment) = (Seen::new(purges.moment()), purges.moment());
    journal.fails.store(true, SeqCst);
    let failed = purges.purge(&tag("news"));
    assert!(matches!(failed, Err(PurgeError::Journal(_))), "{failed:?}");
    assert!(
        purges
            .purge_all(&[tag("news"), ban("status == 200")])
            .is_err()
    );
    assert_eq!(purges.moment(), moment);
    assert_eq!(purges.bans(), []);
    assert_eq!(check(&purges, &seen, "/", &tags), Verdict::Current);

    // An invalidation is in effect at once, and is written when that works again.
    let group = hard(What::Group {
        origin: b"a".as_slice().into(),
        name: b"g".as_slice().into(),
    });
    purges.invalidate(&group).unwrap();
    assert!(purges.flush().is_err() && purges.purge(&tag("news")).is_err());
    assert_eq!(check(&purges, &seen, "/", &tags), Verdict::Invalid);
    journal.fails.store(false, SeqCst);
    purges.flush().unwrap();
    let size = journal.bytes();
    purges.flush().unwrap();
    assert_eq!(journal.bytes(), size, "written once");
    let seen = Seen::new(seen.asked());
    assert_eq!(check(&journal.open(), &seen, "/", &tags), Verdict::Invalid);
}

#[test]
fn moments_never_come_again() {
    let journal = Memory::default();
    let mut last = 0;
    for _ in 0..5 {
        let purges = journal.open();
        assert!(purges.moment() > last);
        // Not flushed: lost with the process.
        purges.invalidate(&tag("news")).unwrap();
        last = purges.moment();
    }
    let purges = Memory::default().open();
    assert!(purges.moment() < last, "a lost journal does not know");
    let kept = Seen::new(last);
    assert_eq!(
        check(&purges, &kept, "/", &[]),
        Verdict::Invalid,
        "so nothing is trusted"
    );
    purges.raise(last);
    let kept = Seen::new(last);
    assert_eq!(check(&purges, &kept, "/", &[]), Verdict::Current);
    purges.purge(&hard(What::All)).unwrap();
    assert_eq!(check(&purges, &kept, "/", &[]), Verdict::Gone);
}

#[test]
fn damage_makes_everything_older_invalid_and_is_repaired() {
    let journal = Memory::default();
    let purges = journal.open();
    let before = purges.moment();
    purges.purge(&tag("news")).unwrap();
    purges.purge(&ban("status == 404")).unwrap();
    let after = purges.moment();
    let whole = journal.records();
    for record in 1..whole.len() {
        for at in 0..whole[record].len() {
            let mut damaged = whole.clone();
            damaged[record].truncate(at);
            let copy = Memory::default();
            *copy.records.lock() = damaged;
            let (purges, problems) = copy.open_with(SEED);
            assert!(!problems.is_empty(), "cut at {at}");
            for asked in [before, after] {
                assert!(check(&purges, &Seen::new(asked), "/", &[]) >= Verdict::Invalid);
            }
            let asked = purges.moment();
            let again = copy.open();
            assert_eq!(check(&again, &Seen::new(asked), "/", &[]), Verdict::Current);
            assert_eq!(check(&again, &Seen::new(after), "/", &[]), Verdict::Invalid);
        }
    }
}

#[test]
fn hashes_of_another_seed_stand_for_everything_of_their_kind() {
    let journal = Memory::default();
    let purges = journal.open();
    let asked = purges.moment();
    purges
        .purge(&Order {
            soft: true,
            ..tag("news")
        })
        .unwrap();
    let (purges, _) = journal.open_with(SEED + 1);
    assert_eq!(
        check(&purges, &Seen::new(asked), "/", &[]),
        Verdict::Current
    );
    let tags = [purges.tag(None, b"sport")];
    assert_eq!(check(&purges, &Seen::new(asked), "/", &tags), Verdict::Soft);
}

#[test]
fn equal_bans_merge_and_keep_what_was_stronger() {
    let purges = Purges::new(SEED);
    let oldest = Seen::new(purges.moment());
    assert!(
        !purges
            .purge(&ban("status == 200 && url ~ ^/a"))
            .unwrap()
            .merged
    );
    let between = Seen::new(purges.moment());
    let soft = Order {
        soft: true,
        ..ban("req.url ~ \"^/a\" && obj.status == 200")
    };
    assert!(purges.purge(&soft).unwrap().merged);
    let lines = purges.bans();
    assert_eq!(lines.len(), 1);
    assert_eq!(check(&purges, &oldest, "/a", &[]), Verdict::Gone);
    assert_eq!(check(&purges, &between, "/a", &[]), Verdict::Soft);
    assert_eq!(
        check(&purges, &Seen::new(purges.moment()), "/a", &[]),
        Verdict::Current
    );
    assert_eq!((purges.bans()[0].tests, purges.bans()[0].hits), (2, 2));
    // A hard ban after the soft one: also those between are gone.
    purges.purge(&ban("status == 200 && url ~ ^/a")).unwrap();
    assert_eq!(check(&purges, &between, "/a", &[]), Verdict::Gone);
}

#[test]
fn an_object_is_tested_once_against_a_ban() {
    let purges = Purges::new(SEED);
    let seen = Seen::new(purges.moment());
    purges.purge(&ban("url ~ ^/b")).unwrap();
    for _ in 0..3 {
        assert_eq!(check(&purges, &seen, "/a", &[]), Verdict::Current);
    }
    purges.purge(&tag("x")).unwrap();
    assert_eq!(check(&purges, &seen, "/a", &[]), Verdict::Current);
    let late = Seen::new(purges.moment());
    assert_eq!(check(&purges, &late, "/a", &[]), Verdict::Current);
    assert_eq!(purges.bans()[0].tests, 1);
}

#[test]
fn what_is_retired_goes_from_list_and_journal() {
    let journal = Memory::default();
    let purges = journal.open();
    for at in 0..20_000 {
        purges.purge(&tag(&format!("tag {at}"))).unwrap();
    }
    purges.purge(&ban("status == 404")).unwrap();
    let middle = purges.moment();
    purges.purge(&ban("status == 410")).unwrap();
    assert_eq!(purges.bans().len(), 3);
    let bytes = journal.bytes();
    purges.retire(middle).unwrap();
    assert!(!purges.is_empty());
    let shown: Vec<_> = purges
        .bans()
        .into_iter()
        .map(|line| line.expression)
        .collect();
    assert_eq!(shown, ["status == 410"]);
    assert!(
        journal.bytes() < bytes / 1000,
        "{} bytes left",
        journal.bytes()
    );
    let moment = purges.moment();
    drop(purges);
    let purges = journal.open();
    assert!(purges.moment() > moment);
    assert_eq!(purges.bans().len(), 1);
    purges.retire(purges.moment()).unwrap();
    assert!(purges.is_empty());
}

#[test]
fn a_journal_is_bounded_even_if_nothing_is_retired() {
    let journal = Memory::default();
    let purges = journal.open();
    let batch: Vec<Order> = (0..1000).map(|_| tag("news")).collect();
    for _ in 0..2000 {
        purges.purge_all(&batch).unwrap();
    }
    assert!(journal.bytes() < 20 << 20, "{} bytes", journal.bytes());
    let tags = [purges.tag(None, b"news")];
    let (asked, purges) = (purges.moment() - 1, journal.open());
    assert_eq!(check(&purges, &Seen::new(asked), "/", &tags), Verdict::Gone);
}

#[test]
fn a_hard_purge_of_everything_replaces_all_others() {
    let purges = Purges::new(SEED);
    purges.purge(&ban("status == 200")).unwrap();
    purges.purge(&tag("x")).unwrap();
    purges.purge(&hard(What::All)).unwrap();
    let kinds: Vec<_> = purges.bans().iter().map(|line| line.kind).collect();
    assert_eq!(kinds, ["everything"]);
}

#[test]
fn a_hundred_thousand_tags_are_purged_with_one_write() {
    let journal = Memory::default();
    let purges = journal.open();
    let asked = purges.moment();
    let names: Vec<String> = (0..100_000).map(|at| format!("product-{at}")).collect();
    let orders: Vec<Order> = names.iter().map(|name| tag(name)).collect();
    let start = std::time::Instant::now();
    for batch in orders.chunks(10_000) {
        purges.purge_all(batch).unwrap();
    }
    println!("100,000 tags in {:?}", start.elapsed());
    assert!(journal.records().len() <= 1 + 10 * 2);
    let hit = names.iter().filter(|name| {
        let tags = [purges.tag(None, name.as_bytes())];
        check(&purges, &Seen::new(asked), "/", &tags) == Verdict::Gone
    });
    assert_eq!(hit.count(), names.len());
    let tags = [purges.tag(None, b"another")];
    assert_eq!(
        check(&purges, &Seen::new(asked), "/", &tags),
        Verdict::Current
    );
}

#[test]
fn tables_that_are_full_purge_more_never_less() {
    let journal = Memory::default();
    let purges = journal.open();
    let asked = purges.moment();
    let orders: Vec<Order> = (0..2100)
        .map(|at| ban(&format!("url == /{at}")))
        .chain((0..140_000).map(|at| tag(&format!("t{at}"))))
        .collect();
    let middle = purges.purge_all(&orders[..2100]).unwrap()[2099].moment;
    purges.purge_all(&orders[2100..]).unwrap();
    for purges in [purges, journal.open()] {
        assert!(purges.bans().len() <= 2050);
        for at in [0, 600, 2099] {
            let seen = Seen::new(asked);
            assert_eq!(
                check(&purges, &seen, &format!("/{at}"), &[]),
                Verdict::Gone,
                "{at}"
            );
        }
        for at in [0, 70_000, 139_999] {
            let tags = [purges.tag(None, format!("t{at}").as_bytes())];
            assert_eq!(
                check(&purges, &Seen::new(asked), "/", &tags),
                Verdict::Gone,
                "{at}"
            );
        }
        // Without a tag, and asked for after the bans: there is nothing that could hit it.
        assert_eq!(
            check(&purges, &Seen::new(middle), "/", &[]),
            Verdict::Current
        );
    }
}

#[test]
fn after_a_purge_returned_nothing_older_is_current_on_any_thread() {
    let journal = Memory::default();
    let purges = Arc::new(journal.open());
    let start = Arc::new(Barrier::new(5));
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let (purges, start) = (Arc::clone(&purges), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                for round in 0..300 {
                    purge_one_round(&purges, thread, round);
                }
            })
        })
        .collect();
    let quiet = Seen::new(purges.moment());
    let tags = [purges.tag(None, b"never purged")];
    start.wait();
    while !threads.iter().all(|thread| thread.is_finished()) {
        assert_eq!(check(&purges, &quiet, "/", &tags), Verdict::Current);
        purges.retire(0).unwrap();
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

fn purge_one_round(purges: &Purges, thread: usize, round: usize) {
    let name = format!("{thread} {}", round % 7);
    let tags = [purges.tag(None, name.as_bytes())];
    let old = Seen::new(purges.moment());
    assert_eq!(check(purges, &old, "/", &tags), Verdict::Current);
    let order = tag(&name);
    let done = match round % 3 {
        0 => purges.invalidate(&order),
        _ => purges.purge(&order),
    };
    assert!(done.unwrap().moment > old.asked());
    let new = Seen::new(purges.moment());
    assert_eq!(check(purges, &old, "/", &tags), Verdict::Gone);
    assert_eq!(check(purges, &new, "/", &tags), Verdict::Current);
}

/// A journal whose writes say that they began and wait until they may end.
struct Slow {
    began: Sender<()>,
    may_end: Mutex<Receiver<()>>,
}

impl Keep for Slow {
    fn append(&self, _: &[u8]) -> io::Result<()> {
        self.began.send(()).map_err(io::Error::other)?;
        self.may_end.lock().recv().map_err(io::Error::other)
    }

    fn rewrite(&self, _: &[Vec<u8>]) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn objects_are_judged_and_invalidated_while_a_purge_is_being_written() {
    let (began, has_begun) = channel();
    let (end, may_end) = channel();
    let keep = Slow {
        began,
        may_end: Mutex::new(may_end),
    };
    let purges = Arc::new(Purges::with_journal(SEED, Box::new(keep), vec![]).0);
    let tags = [purges.tag(None, b"news")];
    let group_tags = [purges.tag(Some(b"a"), b"g"), tags[0]];
    let (old, member) = (Seen::new(purges.moment()), Seen::new(purges.moment()));
    let purging = {
        let purges = Arc::clone(&purges);
        thread::spawn(move || purges.purge(&tag("news")).unwrap())
    };
    has_begun.recv().unwrap();
    assert_eq!(
        check(&purges, &old, "/", &tags),
        Verdict::Current,
        "not durable, not visible"
    );
    let group = hard(What::Group {
        origin: b"a".as_slice().into(),
        name: b"g".as_slice().into(),
    });
    let done = purges.invalidate(&group).unwrap();
    assert_eq!(check(&purges, &member, "/", &group_tags), Verdict::Invalid);
    assert_eq!(check(&purges, &old, "/", &tags), Verdict::Current);
    let meanwhile = Seen::new(purges.moment());
    end.send(()).unwrap();
    assert!(purging.join().unwrap().moment > done.moment);
    for seen in [&old, &member, &meanwhile] {
        assert_eq!(check(&purges, seen, "/", &group_tags), Verdict::Gone);
    }
}
