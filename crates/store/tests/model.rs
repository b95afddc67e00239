//! Whatever is done with a log, in whatever order, it has what a map would have.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use forebay_store::{Candidate, Id, Log, Verdict};
use proptest::prelude::*;
use support::*;

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<(u8, u8, usize)>),
    Remove(u8, u8),
    Touch(u8, u8),
    /// Keys below this are kept.
    Reclaim(u8),
    Close,
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = (0u8..20, 0u8..3, 0usize..9_000);
    let step = prop_oneof![
        8 => proptest::collection::vec(one, 1..6).prop_map(Step::Append),
        2 => (0u8..20, 0u8..3).prop_map(|(key, variant)| Step::Remove(key, variant)),
        1 => (0u8..20, 0u8..3).prop_map(|(key, variant)| Step::Touch(key, variant)),
        2 => (0u8..20).prop_map(Step::Reclaim),
        1 => Just(Step::Close),
        1 => Just(Step::Kill),
    ];
    proptest::collection::vec(step, 1..60)
}

/// What should be there, and what may be: a removal does not outlive a restart.
#[derive(Default)]
struct Model {
    there: BTreeMap<Id, Vec<u8>>,
    removed: BTreeMap<Id, Vec<u8>>,
    writes: u64,
}

struct Run {
    directory: tempfile::TempDir,
    log: Option<Arc<Log>>,
    model: Model,
}

impl Run {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = Some(reopen(directory.path()));
        Self {
            directory,
            log,
            model: Model::default(),
        }
    }

    fn log(&self) -> &Arc<Log> {
        self.log.as_ref().unwrap()
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Append(batch) => self.append(&batch),
            Step::Remove(key, variant) => {
                let id = id(key.into(), variant.into());
                let removed = self.log().remove(id, None);
                let before = self.model.there.remove(&id);
                assert_eq!(removed, before.is_some());
                self.model.removed.extend(before.map(|data| (id, data)));
            }
            Step::Touch(key, variant) => self.log().touch(id(key.into(), variant.into())),
            Step::Reclaim(below) => self.reclaim(below.into()),
            Step::Close => {
                self.log().close().unwrap();
                self.restart();
            }
            Step::Kill => self.restart(),
        }
    }

    fn append(&mut self, batch: &[(u8, u8, usize)]) {
        while self.log().needs_reclaim() {
            self.reclaim(5);
        }
        let data: Vec<(Id, Vec<u8>)> = batch
            .iter()
            .map(|(key, variant, length)| {
                self.model.writes += 1;
                (
                    id((*key).into(), (*variant).into()),
                    noise(self.model.writes, *length),
                )
            })
            .collect();
        let slices: Vec<[&[u8]; 1]> = data.iter().map(|(_, data)| [&data[..]]).collect();
        let metas: Vec<&[u8]> = data
            .iter()
            .map(|(_, data)| &data[..data.len() / 9])
            .collect();
        let all = data.iter().zip(&slices).zip(&metas);
        let batch: Vec<_> = all
            .map(|(((id, _), slices), meta)| entry(*id, meta, slices))
            .collect();
        self.log().append(&batch).unwrap();
        for (id, data) in data {
            self.model.removed.remove(&id);
            self.model.there.insert(id, data);
        }
    }

    fn reclaim(&mut self, below: u64) {
        let mut dropped = Vec::new();
        let outcome = self.log().reclaim(&mut |candidate| match candidate {
            Candidate::Entry { id, .. } if id.key >= below => {
                dropped.push(id);
                Verdict::Drop
            }
            _ => Verdict::Keep,
        });
        assert_eq!((outcome.dropped, outcome.lost), (dropped.len() as u64, 0));
        for id in dropped {
            assert!(self.model.there.remove(&id).is_some());
        }
    }

    fn restart(&mut self) {
        self.log = None;
        self.log = Some(reopen(self.directory.path()));
        for (id, data) in std::mem::take(&mut self.model.removed) {
            if place_of(self.log(), id).is_some() {
                self.model.there.insert(id, data);
            }
        }
    }

    fn check(&self) {
        let log = self.log();
        assert_eq!(log.entries(), self.model.there.len() as u64);
        for (id, data) in &self.model.there {
            let place = place_of(log, *id).expect("it was appended");
            let record = read(log, place);
            assert_eq!(record.id, *id);
            assert_eq!(record.meta, data[..data.len() / 9]);
            assert_eq!(&joined(&record), data);
        }
        let keys: BTreeSet<u64> = self.model.there.keys().map(|id| id.key).collect();
        let found: usize = keys.iter().map(|key| log.find(*key).len()).sum();
        assert_eq!(found, self.model.there.len());
        let live: u64 = keys
            .iter()
            .flat_map(|key| log.find(*key).to_vec())
            .map(|hit| u64::from(hit.place.bytes))
            .sum();
        assert_eq!(log.figures().live_bytes, live);
        assert!(taken(self.directory.path()) <= SIZE);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_log_has_what_a_map_would_have(steps in steps()) {
        let mut run = Run::new();
        for step in steps {
            run.step(step);
        }
        run.check();
        run.step(Step::Kill);
        run.check();
    }
}
