//! Bodies under any split of the bytes and any interleaving of writer and readers.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use forebay_cache::body::{Body, Read, Reader, Writer};
use forebay_cache::budget::Budget;
use proptest::prelude::*;

/// What may happen to a body.
#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    /// A reader comes, from this byte on.
    Come(u64),
    /// The reader with this number reads at most so many pieces.
    Look(usize, usize),
    /// The reader with this number leaves.
    Leave(usize),
}

/// How a body ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Finished,
    Dropped,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let sizes =
        prop_oneof![2 => 0..4usize, 2 => 0..200usize, 1 => 0..100_000usize, 1 => Just(65_536usize)];
    let step = prop_oneof![
        3 => sizes.prop_map(Step::Append),
        1 => prop_oneof![Just(0u64), 0..300u64, 0..200_000u64].prop_map(Step::Come),
        3 => (0..4usize, 1..5usize).prop_map(|(reader, most)| Step::Look(reader, most)),
        1 => (0..4usize).prop_map(Step::Leave),
    ];
    proptest::collection::vec(step, 0..40)
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![3 => Just(End::Finished), 1 => Just(End::Dropped)]
}

/// The bytes of every body here.
fn content(from: usize, to: usize) -> Vec<u8> {
    (from..to).map(|at| (at * 31 % 251) as u8).collect()
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A reader and what it must have seen.
struct Follower {
    reader: Reader,
    start: usize,
    seen: Vec<u8>,
    end: Option<Read>,
    woken: Arc<Woken>,
    /// Wake-ups when it found nothing the last time.
    waits_since: Option<usize>,
}

impl Follower {
    fn new(reader: Reader, start: u64) -> Self {
        let woken = Arc::default();
        Self {
            reader,
            start: start as usize,
            seen: Vec::new(),
            end: None,
            woken,
            waits_since: None,
        }
    }

    /// Reads once; false when there is nothing yet, or nothing more.
    fn look(&mut self, most: usize) -> bool {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut pieces: Vec<Bytes> = Vec::new();
        self.waits_since = None;
        match self
            .reader
            .poll_read(&mut Context::from_waker(&waker), most, &mut pieces)
        {
            Poll::Ready(Read::Data) => {
                assert!(
                    (1..=most).contains(&pieces.len()),
                    "{} pieces",
                    pieces.len()
                );
                assert!(pieces.iter().all(|piece| !piece.is_empty()));
                pieces
                    .iter()
                    .for_each(|piece| self.seen.extend_from_slice(piece));
                return true;
            }
            Poll::Ready(end) => self.end = Some(end),
            Poll::Pending => self.waits_since = Some(self.woken.0.load(SeqCst)),
        }
        assert!(pieces.is_empty());
        false
    }

    fn check(&self, written: usize) {
        let expected = content(self.start, written.max(self.start));
        assert!(
            expected.starts_with(&self.seen),
            "a reader sees the body's bytes, in order"
        );
    }

    fn was_woken(&self) -> bool {
        self.waits_since
            .is_none_or(|before| self.woken.0.load(SeqCst) > before)
    }

    fn read_to_end(mut self, written: usize, end: End) {
        assert!(self.was_woken(), "the end wakes who waits for it");
        while self.look(3) {}
        assert_eq!(self.seen, content(self.start, written.max(self.start)));
        let expected = match end {
            End::Finished => Read::End(Some(b"A: b\r\n"[..].into())),
            End::Dropped => Read::Failed,
        };
        assert_eq!(self.end, Some(expected));
    }
}

/// Runs a story up to its end; returns how much was written.
fn tell(story: &[Step], writer: &mut Writer, followers: &mut Vec<Follower>, keeps: bool) -> usize {
    let body = Arc::clone(writer.body());
    let mut written = 0;
    for step in story {
        match *step {
            Step::Append(bytes) => {
                writer.append(&content(written, written + bytes));
                written += bytes;
                assert!(
                    followers.iter().all(Follower::was_woken) || bytes == 0,
                    "bytes wake readers"
                );
            }
            Step::Come(from) => match body.reader(from) {
                Some(reader) => followers.push(Follower::new(reader, from)),
                None => assert!(!keeps, "a body that is kept can be read from anywhere"),
            },
            Step::Look(number, most) => {
                if let Some(follower) = followers.get_mut(number) {
                    follower.look(most);
                    follower.check(written);
                }
            }
            Step::Leave(number) => {
                if number < followers.len() {
                    followers.swap_remove(number);
                }
            }
        }
        assert_eq!(writer.written(), written as u64);
    }
    written
}

fn finish(writer: Writer, end: End) {
    match end {
        End::Finished => writer.finish(Some(b"A: b\r\n"[..].into())),
        End::Dropped => drop(writer),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(768))]

    #[test]
    fn every_reader_sees_every_byte_once_and_then_the_end(
        story in steps(), end in end(), announced in any::<bool>(),
    ) {
        let budget = Budget::new(1 << 30);
        let total = story.iter().map(|step| if let Step::Append(bytes) = step { *bytes } else { 0 }).sum::<usize>();
        let expected = announced.then_some(total as u64);
        let (mut writer, body) = Body::growing(&budget, expected, None);
        let mut followers = Vec::new();
        let written = tell(&story, &mut writer, &mut followers, true);
        prop_assert!(budget.used() >= written as u64);
        finish(writer, end);
        followers.into_iter().for_each(|follower| follower.read_to_end(written, end));
        prop_assert_eq!(body.failed(), matches!(end, End::Dropped));
        match (body.whole(), end) {
            (Some(whole), End::Finished) => {
                prop_assert_eq!(whole.len(), written as u64);
                prop_assert_eq!(whole.chunks().concat(), content(0, written));
                prop_assert!(whole.chunks().iter().all(|chunk| (1..=65_536).contains(&chunk.len())));
                prop_assert!(budget.used() >= written as u64);
            }
            (None, End::Dropped) => {}
            other => prop_assert!(false, "{:?}", other),
        }
        drop(body);
        prop_assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_windowed_body_shows_each_byte_to_who_was_there_and_keeps_none(
        story in steps(), end in end(), window in 0..100_000u64, keeps_until in 0..40usize,
    ) {
        let budget = Budget::new(1 << 30);
        let keeps_until = keeps_until.min(story.len());
        let (mut writer, body) = Body::growing(&budget, None, None);
        // As with an object that turns out too large: kept at first, then windowed.
        let mut followers = vec![Follower::new(body.reader(0).unwrap(), 0)];
        let first = tell(&story[..keeps_until], &mut writer, &mut followers, true);
        writer.stop_keeping(window);
        prop_assert!(body.is_windowed());
        let mut written = first;
        for step in &story[keeps_until..] {
            match *step {
                Step::Append(bytes) => {
                    writer.append(&content(written, written + bytes));
                    written += bytes;
                }
                Step::Look(number, most) => {
                    if let Some(follower) = followers.get_mut(number) {
                        follower.look(most);
                        follower.check(written);
                    }
                }
                Step::Leave(number) if number < followers.len() => drop(followers.swap_remove(number)),
                _ => {}
            }
            let slowest = followers.iter().map(|follower| follower.start + follower.seen.len()).min();
            let ahead = slowest.map_or(0, |slowest| written.saturating_sub(slowest));
            let may_go_on = writer.poll_room(&mut Context::from_waker(Waker::noop())).is_ready();
            prop_assert_eq!(may_go_on, ahead as u64 <= window, "{} ahead of the slowest reader", ahead);
            prop_assert_eq!(writer.has_readers(), !followers.is_empty());
        }
        finish(writer, end);
        followers.into_iter().for_each(|follower| follower.read_to_end(written, end));
        prop_assert!(body.whole().is_none());
        prop_assert_eq!(budget.used(), 0, "what every reader has passed is gone");
    }

    #[test]
    fn slices_cover_exactly_what_is_asked_for(
        parts in proptest::collection::vec(0..70_000usize, 0..5), from in 0..200_000u64, to in 0..200_000u64,
    ) {
        let budget = Budget::new(1 << 30);
        let total: usize = parts.iter().sum();
        let all = content(0, total);
        let mut rest = &all[..];
        let slices: Vec<&[u8]> = parts.iter().map(|&len| {
            let (part, after) = rest.split_at(len);
            rest = after;
            part
        }).collect();
        let body = Body::complete(&budget, &slices);
        let whole = body.whole().unwrap();
        prop_assert_eq!(whole.is_empty(), total == 0);
        let mut out = Vec::new();
        whole.slices(from, to, usize::MAX, &mut out);
        let (low, high) = ((from as usize).min(total), (to as usize).min(total));
        prop_assert_eq!(out.concat(), all[low..high.max(low)].to_vec());
        let mut few = Vec::new();
        whole.slices(from, to, 1, &mut few);
        prop_assert_eq!(few.first(), out.first());
        prop_assert!(few.len() <= 1);
    }

    #[test]
    fn a_writer_that_was_held_back_is_woken_when_the_slowest_reader_moves(
        window in 1..1000usize, over in 1..1000usize, leaves in any::<bool>(),
    ) {
        let budget = Budget::new(1 << 30);
        let (mut writer, body) = Body::growing(&budget, None, Some(window as u64));
        let mut follower = Follower::new(body.reader(0).unwrap(), 0);
        writer.append(&content(0, window + over));
        let woken: Arc<Woken> = Arc::default();
        let waker = Waker::from(Arc::clone(&woken));
        prop_assert!(writer.poll_room(&mut Context::from_waker(&waker)).is_pending());
        prop_assert_eq!(woken.0.load(SeqCst), 0);
        if leaves {
            drop(follower);
        } else {
            prop_assert!(follower.look(9));
        }
        prop_assert_eq!(woken.0.load(SeqCst), 1);
        prop_assert!(writer.poll_room(&mut Context::from_waker(&waker)).is_ready());
    }
}
