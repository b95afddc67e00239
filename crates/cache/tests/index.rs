//! The index under random operations, against a list of what must be there.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Waker};

use forebay_cache::body::{Body, Writer};
use forebay_cache::flight::Lead;
use forebay_cache::object::{Content, Draft, Url};
use forebay_cache::terms::Terms;
use forebay_cache::vary::Selector;
use forebay_cache::{Cache, Found, Limits, Object, Turn};
use forebay_config::settings::Policy;
use forebay_http::{Fields, ResponseHead};
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    waiters: 3,
    variants: 3,
    object_bytes: 1 << 20,
};
/// Few, so that much happens to each.
const KEYS: u8 = 3;
const NOW: u64 = 1_600_000_000_000;

/// What may happen to the cache; the first number is always the key's.
#[derive(Clone, Debug)]
enum Step {
    /// A complete response is stored; `Some`: it varies, and answers a request that says so.
    Publish(u8, Option<u8>, usize),
    /// A request looks for it.
    Find(u8, u8),
    Invalidate(u8),
    /// What a request finds is taken out.
    Remove(u8, u8),
    /// What a request finds is confirmed by the origin.
    Refresh(u8, u8),
    /// What a request finds is hit so often.
    Hit(u8, u8, u8),
    /// The origin's answer turned out not to be shared.
    Shun(u8),
}

fn steps(sizes: impl Strategy<Value = usize>) -> impl Strategy<Value = Vec<Step>> {
    let (key, request) = (0..KEYS, 0..4u8);
    let at = || (key.clone(), request.clone());
    let variant = prop_oneof![Just(None), (0..4u8).prop_map(Some)];
    let step = prop_oneof![
        6 => (key.clone(), variant, sizes).prop_map(|(key, variant, bytes)| Step::Publish(key, variant, bytes)),
        4 => at().prop_map(|(key, request)| Step::Find(key, request)),
        1 => key.clone().prop_map(Step::Invalidate),
        1 => at().prop_map(|(key, request)| Step::Remove(key, request)),
        1 => at().prop_map(|(key, request)| Step::Refresh(key, request)),
        2 => (at(), 1..5u8).prop_map(|((key, request), times)| Step::Hit(key, request, times)),
        1 => key.clone().prop_map(Step::Shun),
    ];
    proptest::collection::vec(step, 0..120)
}

fn text(key: u8) -> Vec<u8> {
    format!("shop.example/{key}").into_bytes()
}

fn request(kind: u8) -> Fields {
    let mut fields = Fields::new();
    fields.push_named(b"X-Kind", &[b'a' + kind]);
    fields
}

fn terms() -> Terms {
    Terms {
        response_ms: NOW,
        initial_age_ms: 0,
        lifetime_ms: 60_000,
        grace_ms: 0,
        error_ms: 0,
        keep_ms: 60_000,
        last_modified: None,
        date: NOW / 1000,
        always_validate: false,
        never_stale: false,
    }
}

/// The head of a response that varies or not.
fn head(varies: bool) -> ResponseHead {
    let mut head = ResponseHead {
        status: 200,
        reason: b"OK".to_vec(),
        ..ResponseHead::default()
    };
    if varies {
        head.fields.push_named(b"Vary", b"X-Kind");
    }
    head
}

fn draft<'a>(head: &'a ResponseHead, variant: Option<u8>, body: Arc<Body>) -> Draft<'a> {
    let selector = Selector::of(
        &head.fields,
        &request(variant.unwrap_or(0)),
        &Policy::default(),
    )
    .unwrap();
    Draft {
        response: head,
        terms: terms(),
        selector,
        url: Url::default(),
        tags: Box::default(),
        asked: 0,
        withheld: &[],
        stamp: None,
        content: Content::Whole(body),
    }
}

fn publish(
    cache: &Arc<Cache>,
    key: u8,
    variant: Option<u8>,
    bytes: usize,
    lead: Option<Lead>,
) -> Arc<Object> {
    let (text, head) = (text(key), head(variant.is_some()));
    let body = Body::complete(cache.budget(), &[&vec![key; bytes]]);
    cache
        .publish(
            &cache.key(&text),
            draft(&head, variant, body),
            lead,
            &LIMITS,
        )
        .0
}

fn find(cache: &Cache, key: u8, kind: u8) -> Option<Arc<Object>> {
    match cache.find(&cache.key(&text(key)), &request(kind), &Policy::default()) {
        Found::Object(object) => Some(object),
        Found::OtherVariants | Found::Nothing | Found::Shunned { .. } => None,
    }
}

fn turn(cache: &Arc<Cache>, key: u8) -> Turn {
    let nobody = Fields::new();
    cache.turn(
        &cache.key(&text(key)),
        &nobody,
        &Policy::default(),
        None,
        NOW,
        &LIMITS,
    )
}

/// Every object that a request of any kind finds.
fn reachable(cache: &Cache) -> usize {
    let found = (0..KEYS).flat_map(|key| (0..4).filter_map(move |kind| find(cache, key, kind)));
    let mut objects: Vec<_> = found.map(|object| Arc::as_ptr(&object)).collect();
    objects.sort();
    objects.dedup();
    objects.len()
}

/// What is stored under one key: variant, object, whether it is invalid. Newest last.
type Stored = Vec<(Option<u8>, Arc<Object>, bool)>;

/// What must be in a cache whose memory is never short.
#[derive(Default)]
struct Model(BTreeMap<u8, Stored>);

impl Model {
    fn publish(&mut self, key: u8, variant: Option<u8>, object: Arc<Object>) {
        let stored = self.0.entry(key).or_default();
        stored.retain(|(other, ..)| other.is_some() && variant.is_some() && *other != variant);
        while stored.len() >= LIMITS.variants {
            stored.remove(0);
        }
        stored.push((variant, object, false));
    }

    fn find(&mut self, key: u8, kind: u8) -> Option<&mut (Option<u8>, Arc<Object>, bool)> {
        let stored = self.0.get_mut(&key)?;
        stored
            .iter_mut()
            .rev()
            .find(|(variant, ..)| variant.is_none_or(|variant| variant == kind))
    }

    fn remove(&mut self, object: &Arc<Object>) {
        self.0
            .values_mut()
            .for_each(|stored| stored.retain(|(_, other, _)| !Arc::ptr_eq(other, object)));
    }

    fn objects(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

fn same(a: Option<&Arc<Object>>, b: Option<&Arc<Object>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// Does a step to cache and model, and compares what both say.
fn step(cache: &Arc<Cache>, model: &mut Model, step: &Step) {
    match *step {
        Step::Publish(key, variant, bytes) => {
            let object = publish(cache, key, variant, bytes, None);
            model.publish(key, variant, object);
        }
        Step::Find(key, kind) => {
            let (found, expected) = (find(cache, key, kind), model.find(key, kind));
            assert!(same(
                found.as_ref(),
                expected.as_ref().map(|(_, object, _)| object)
            ));
            let is_invalid = found.as_ref().map(|object| cache.is_invalid(object));
            assert_eq!(is_invalid, expected.map(|(.., invalid)| *invalid));
        }
        Step::Invalidate(key) => {
            let stored = model.0.entry(key).or_default();
            let valid = stored.iter().filter(|(.., invalid)| !invalid).count();
            assert_eq!(cache.invalidate(&cache.key(&text(key))), valid);
            stored.iter_mut().for_each(|(.., invalid)| *invalid = true);
        }
        Step::Remove(key, kind) => {
            if let Some(object) = find(cache, key, kind) {
                cache.remove(&object);
                cache.remove(&object);
                model.remove(&object);
            }
        }
        Step::Refresh(key, kind) => {
            if let Some((variant, object, invalid)) = model.find(key, kind) {
                let (text, head) = (text(key), head(variant.is_some()));
                let body = Arc::clone(object.whole().unwrap());
                let new = cache.refresh(object, &cache.key(&text), draft(&head, *variant, body));
                (*object, *invalid) = (new, false);
            }
        }
        Step::Hit(key, kind, times) => {
            let found = find(cache, key, kind);
            (0..times).for_each(|_| found.iter().for_each(|object| object.touch()));
        }
        Step::Shun(key) => {
            if let Turn::Lead(lead) = turn(cache, key) {
                lead.not_shared(NOW, 1000);
                assert!(
                    matches!(turn(cache, key), Turn::Shunned),
                    "the next one goes by itself at once"
                );
            }
        }
    }
    assert_eq!(cache.objects(), model.objects() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn with_room_for_all_the_index_is_a_list_of_objects(story in steps(0..3000usize)) {
        let cache = Cache::new(1 << 30, 7);
        let mut model = Model::default();
        story.iter().for_each(|one| step(&cache, &mut model, one));
        for key in 0..KEYS {
            for kind in 0..4 {
                step(&cache, &mut model, &Step::Find(key, kind));
            }
        }
        let all: Vec<_> = std::mem::take(&mut model.0).into_values().flatten().map(|(_, object, _)| object).collect();
        all.iter().for_each(|object| cache.remove(object));
        drop(all);
        prop_assert_eq!((cache.objects(), reachable(&cache)), (0, 0));
        // What is left are marks; without any room they go too.
        cache.budget().set_limit(0);
        cache.make_room();
        prop_assert_eq!(cache.budget().used(), 0);
    }

    #[test]
    fn with_little_room_the_budget_is_kept_whatever_is_asked(
        story in steps(prop_oneof![0..3000usize, 0..150_000usize]), limit in 0..200_000u64,
    ) {
        let cache = Cache::new(limit, 7);
        let mut evicted = 0;
        for step in &story {
            match *step {
                Step::Publish(key, variant, bytes) => {
                    let head = head(variant.is_some());
                    let body = Body::complete(cache.budget(), &[&vec![0; bytes]]);
                    let before = cache.objects();
                    let (object, went) = cache.publish(&cache.key(&text(key)), draft(&head, variant, body), None, &LIMITS);
                    prop_assert!(went <= before + 1);
                    evicted += went;
                    drop(object);
                }
                Step::Hit(key, kind, times) => {
                    let found = find(&cache, key, kind);
                    (0..times).for_each(|_| found.iter().for_each(|object| object.touch()));
                }
                Step::Shun(key) => {
                    if let Turn::Lead(lead) = turn(&cache, key) {
                        lead.not_shared(NOW, 1000);
                    }
                }
                Step::Remove(key, kind) => find(&cache, key, kind).iter().for_each(|object| cache.remove(object)),
                Step::Invalidate(key) => {
                    cache.invalidate(&cache.key(&text(key)));
                }
                Step::Find(..) | Step::Refresh(..) => {}
            }
            // The last object itself goes too when it alone is more than there is.
            cache.make_room();
            prop_assert!(cache.budget().used() <= limit, "{} of {}", cache.budget().used(), limit);
            prop_assert_eq!(cache.objects(), reachable(&cache) as u64);
        }
        prop_assert!(evicted <= story.len() as u64);
        cache.budget().set_limit(0);
        cache.make_room();
        prop_assert_eq!((cache.objects(), cache.budget().used()), (0, 0));
    }

    #[test]
    fn what_somebody_still_reads_is_counted_until_it_is_let_go(sizes in proptest::collection::vec(1..50_000usize, 1..20)) {
        let cache = Cache::new(1, 7);
        let held: Vec<_> = sizes.iter().map(|&bytes| publish(&cache, 0, None, bytes, None)).collect();
        prop_assert_eq!(cache.objects(), 0, "all went at once");
        prop_assert!(cache.budget().used() >= sizes.iter().sum::<usize>() as u64);
        drop(held);
        prop_assert_eq!(cache.budget().used(), 0);
    }

    #[test]
    fn marks_of_what_is_not_shared_take_no_more_than_the_budget(keys in 100..3000u32) {
        let cache = Cache::new(64 << 10, 7);
        for key in 0..keys {
            let text = format!("shop.example/{key}");
            let key = cache.key(text.as_bytes());
            let turn = cache.turn(&key, &Fields::new(), &Policy::default(), None, NOW, &LIMITS);
            let Turn::Lead(lead) = turn else { panic!("{turn:?}") };
            lead.not_shared(NOW, 1000);
        }
        prop_assert!(cache.budget().used() > 32 << 10, "they are counted");
        prop_assert!(cache.budget().used() <= 64 << 10, "and go when there are too many");
    }

    #[test]
    fn a_growing_object_is_found_at_once_and_cannot_be_evicted_before_it_is_whole(
        pieces in proptest::collection::vec(1..10_000usize, 1..10), breaks in any::<bool>(),
    ) {
        let cache = Cache::new(1, 7);
        let (mut writer, body): (Writer, _) = Body::growing(cache.budget(), None, None);
        let (text, head) = (text(0), head(false));
        let Turn::Lead(lead) = turn(&cache, 0) else { panic!("nobody else asks") };
        let Turn::Wait(waiter) = turn(&cache, 0) else { panic!("somebody asks") };
        let (object, _) = cache.publish(&cache.key(&text), draft(&head, None, body), Some(lead), &LIMITS);
        prop_assert!(waiter.poll(&mut Context::from_waker(Waker::noop())).is_ready());
        for &piece in &pieces {
            writer.append(&vec![0; piece]);
            cache.make_room();
            prop_assert!(same(find(&cache, 0, 0).as_ref(), Some(&object)));
        }
        if breaks {
            drop(writer);
            cache.remove(&object);
        } else {
            writer.finish(None);
            prop_assert_eq!(cache.settle(&object), 1, "whole, it is more than there is room for");
        }
        prop_assert!(find(&cache, 0, 0).is_none());
        // Who waited holds what it was told.
        drop((object, waiter));
        prop_assert_eq!((cache.objects(), cache.budget().used()), (0, 0));
    }
}
