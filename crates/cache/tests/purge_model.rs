//! Purges against a model that remembers everything and scans.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io;
use std::sync::Arc;

use forebay_cache::purge::{Expression, Keep, Order, Purges, Seen, Subject, Verdict, What};
use forebay_http::fields::Fields;
use parking_lot::Mutex;
use proptest::prelude::*;

const HOSTS: [&str; 2] = ["a.example", "b.example"];
const TARGETS: [&str; 6] = ["/", "/n", "/news", "/news/1?x", "/newspaper", "/sport/2"];
const TAGS: [&str; 3] = ["red", "green", "blue"];
const STATUSES: [u16; 3] = [200, 404, 503];

/// An object, by numbers into the tables above.
#[derive(Clone, Debug)]
struct Thing {
    host: usize,
    target: usize,
    status: usize,
    /// Bits.
    tags: usize,
    groups: usize,
}

/// What to purge, by numbers into the tables above.
#[derive(Clone, Debug)]
enum Target {
    All,
    Key(usize, usize),
    Prefix(Option<usize>, usize),
    Tags(usize, usize),
    Group(usize, usize),
    Status(usize),
    NotHost(usize),
    HasHeader(usize, usize),
    Under(usize, usize),
}

#[derive(Clone, Debug)]
enum Step {
    Ask(Thing),
    Purge(Vec<(Target, bool)>),
    Invalidate(Target, bool),
    Fail(Target),
    Check(usize),
    Retire,
    Restart,
}

#[derive(Clone, Default)]
struct Memory {
    records: Arc<Mutex<Vec<Vec<u8>>>>,
    fails: Arc<Mutex<bool>>,
}

impl Keep for Memory {
    fn append(&self, record: &[u8]) -> io::Result<()> {
        if *self.fails.lock() {
            return Err(io::Error::other("the disk is full"));
        }
        self.records.lock().push(record.to_vec());
        Ok(())
    }

    fn rewrite(&self, records: &[Vec<u8>]) -> io::Result<()> {
        *self.records.lock() = records.to_vec();
        Ok(())
    }
}

impl Target {
    fn order(&self, soft: bool) -> Order {
        let ban =
            |conditions: &[(&str, &str, &str)]| What::Ban(Expression::all_of(conditions).unwrap());
        let what = match *self {
            Self::All => What::All,
            Self::Key(host, target) => What::Key {
                hashes: vec![key(host, target)],
                shown: String::new(),
            },
            Self::Prefix(host, target) => What::Prefix {
                host: host.map(|host| HOSTS[host].as_bytes().into()),
                prefix: TARGETS[target].as_bytes().into(),
            },
            Self::Tags(one, other) => {
                What::Tags([one, other].map(|tag| TAGS[tag].as_bytes().into()).to_vec())
            }
            Self::Group(host, group) => What::Group {
                origin: HOSTS[host].as_bytes().into(),
                name: TAGS[group].as_bytes().into(),
            },
            Self::Status(status) => ban(&[("status", "==", &STATUSES[status].to_string())]),
            Self::NotHost(host) => ban(&[("host", "!=", HOSTS[host])]),
            Self::HasHeader(tag, host) => ban(&[
                ("host", "==", HOSTS[host]),
                ("header.x-tags", "~", TAGS[tag]),
            ]),
            Self::Under(target, status) => {
                let pattern = format!("^{}", TARGETS[target].replace('?', "\\?"));
                let most = STATUSES[status].to_string();
                ban(&[("url", "~", &pattern), ("status", "<=", &most)])
            }
        };
        Order { what, soft }
    }

    fn hits(&self, thing: &Thing) -> bool {
        let has = |bits: usize, tag: usize| bits & 1 << tag != 0;
        let under = |target: usize| TARGETS[thing.target].starts_with(TARGETS[target]);
        match *self {
            Self::All => true,
            Self::Key(host, target) => (host, target) == (thing.host, thing.target),
            Self::Prefix(host, target) => {
                host.is_none_or(|host| host == thing.host) && under(target)
            }
            Self::Tags(one, other) => has(thing.tags, one) || has(thing.tags, other),
            Self::Group(host, group) => host == thing.host && has(thing.groups, group),
            Self::Status(status) => status == thing.status,
            Self::NotHost(host) => host != thing.host,
            Self::HasHeader(tag, host) => host == thing.host && has(thing.tags, tag),
            Self::Under(target, status) => under(target) && thing.status <= status,
        }
    }
}

fn key(host: usize, target: usize) -> u64 {
    (host * 100 + target) as u64
}

/// An object, and what the model says of it.
struct Kept {
    thing: Thing,
    seen: Seen,
    expected: Verdict,
}

struct World {
    purges: Purges,
    journal: Memory,
    objects: Vec<Kept>,
}

impl World {
    fn new() -> Self {
        let journal = Memory::default();
        let purges = Purges::with_journal(1, Box::new(journal.clone()), vec![]).0;
        Self {
            purges,
            journal,
            objects: Vec::new(),
        }
    }

    fn verdict(&self, kept: &Kept) -> Verdict {
        let Thing {
            host,
            target,
            status,
            tags,
            groups,
        } = kept.thing;
        let mut fields = Fields::new();
        let mut hashes = Vec::new();
        for (at, name) in TAGS.iter().enumerate() {
            if tags & 1 << at != 0 {
                fields.push_named(b"X-Tags", name.as_bytes());
                hashes.push(self.purges.tag(None, name.as_bytes()));
            }
            if groups & 1 << at != 0 {
                hashes.push(
                    self.purges
                        .tag(Some(HOSTS[host].as_bytes()), name.as_bytes()),
                );
            }
        }
        let subject = Subject {
            host: HOSTS[host].as_bytes(),
            target: TARGETS[target].as_bytes(),
            status: STATUSES[status],
            fields: &fields,
            key: key(host, target),
            tags: &hashes,
            asked: 0,
            checked: 0,
        };
        self.purges.check(&kept.seen, &subject)
    }

    fn expect(&mut self, target: &Target, soft: bool) {
        let strength = target.order(soft).strength();
        for kept in &mut self.objects {
            if target.hits(&kept.thing) {
                kept.expected = kept.expected.max(strength);
            }
        }
    }

    fn check_all(&self) -> Result<(), TestCaseError> {
        for kept in &self.objects {
            prop_assert_eq!(self.verdict(kept), kept.expected, "{:?}", &kept.thing);
        }
        Ok(())
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Ask(thing) => self.objects.push(Kept {
                thing: thing.clone(),
                seen: Seen::new(self.purges.moment()),
                expected: Verdict::Current,
            }),
            Step::Purge(wishes) => {
                let orders: Vec<_> = wishes
                    .iter()
                    .map(|(what, soft)| what.order(*soft))
                    .collect();
                self.purges.purge_all(&orders).unwrap();
                wishes
                    .iter()
                    .for_each(|(what, soft)| self.expect(what, *soft));
            }
            Step::Invalidate(target, soft) => {
                self.purges.invalidate(&target.order(*soft)).unwrap();
                self.expect(target, *soft);
            }
            Step::Fail(target) => {
                *self.journal.fails.lock() = true;
                prop_assert!(self.purges.purge(&target.order(false)).is_err());
                *self.journal.fails.lock() = false;
            }
            Step::Check(at) => {
                if let Some(kept) = self.objects.get(at % self.objects.len().max(1)) {
                    prop_assert_eq!(self.verdict(kept), kept.expected, "{:?}", &kept.thing);
                }
            }
            Step::Retire => {
                self.check_all()?;
                let oldest = self.objects.iter().map(|kept| kept.seen.checked()).min();
                self.purges
                    .retire(oldest.unwrap_or(self.purges.moment()))
                    .unwrap();
            }
            Step::Restart => self.restart(),
        }
        Ok(())
    }

    /// What objects were judged up to is lost; what they were found to be is not.
    fn restart(&mut self) {
        self.purges.flush().unwrap();
        let records = self.journal.records.lock().clone();
        let (purges, problems) = Purges::with_journal(1, Box::new(self.journal.clone()), records);
        assert_eq!(problems, [""; 0]);
        self.purges = purges;
        for kept in &mut self.objects {
            let asked = kept.seen.asked();
            kept.seen = Seen::restored(asked, asked, kept.seen.verdict());
        }
    }
}

fn thing() -> impl Strategy<Value = Thing> {
    (0..2usize, 0..6usize, 0..3usize, 0..8usize, 0..8usize).prop_map(
        |(host, target, status, tags, groups)| Thing {
            host,
            target,
            status,
            tags,
            groups,
        },
    )
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        1 => Just(Target::All),
        4 => (0..2usize, 0..6usize).prop_map(|(host, target)| Target::Key(host, target)),
        4 => (proptest::option::of(0..2usize), 0..6usize)
            .prop_map(|(host, target)| Target::Prefix(host, target)),
        4 => (0..3usize, 0..3usize).prop_map(|(one, other)| Target::Tags(one, other)),
        4 => (0..2usize, 0..3usize).prop_map(|(host, group)| Target::Group(host, group)),
        2 => (0..3usize).prop_map(Target::Status),
        2 => (0..2usize).prop_map(Target::NotHost),
        2 => (0..3usize, 0..2usize).prop_map(|(tag, host)| Target::HasHeader(tag, host)),
        2 => (0..6usize, 0..3usize).prop_map(|(target, status)| Target::Under(target, status)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => thing().prop_map(Step::Ask),
        4 => proptest::collection::vec((target(), any::<bool>()), 1..4).prop_map(Step::Purge),
        2 => (target(), any::<bool>()).prop_map(|(what, soft)| Step::Invalidate(what, soft)),
        1 => target().prop_map(Step::Fail),
        6 => any::<usize>().prop_map(Step::Check),
        1 => Just(Step::Retire),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn purges_do_to_objects_what_a_scan_would(steps in proptest::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step)?;
        }
        world.check_all()?;
    }
}
