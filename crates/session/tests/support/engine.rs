//! An engine for tests and for the example: a map behind a lock, as plain as can be.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use forebay_session::{
    Answer, Change, Commit, Cursor, Done, Engine, Figures, Item, Marks, Op, Reply, Request, Source,
    Ticket, decide, is_expired,
};

/// An item with its value.
#[derive(Clone, Default)]
struct Kept {
    value: Vec<u8>,
    flags: u32,
    expires_s: u32,
    cas: u64,
    marks: Marks,
    used_s: u32,
}

impl Kept {
    fn item(&self) -> Item<'_> {
        Item {
            value: &self.value,
            flags: self.flags,
            expires_s: self.expires_s,
            cas: self.cas,
            marks: self.marks,
            used_s: self.used_s,
        }
    }
}

#[derive(Default)]
struct Inner {
    items: BTreeMap<Vec<u8>, Kept>,
    cas: u64,
    flush_at_s: u32,
    scratch: Vec<u8>,
    stored: u64,
    asked: u64,
    tickets: u64,
    hints: Vec<Vec<Vec<u8>>>,
}

/// The engine.
pub(crate) struct Plain {
    inner: Mutex<Inner>,
    most: usize,
    /// Every so many operations are pending first; 0: none.
    pending_every: u64,
    /// The disk fails at this key.
    broken: Option<&'static str>,
}

impl Plain {
    /// An engine whose values have at most `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            inner: Mutex::default(),
            most,
            pending_every: 0,
            broken: None,
        }
    }

    /// The same, but every so many operations are answered only later.
    #[allow(dead_code)]
    pub(crate) fn slow(most: usize, pending_every: u64) -> Self {
        Self {
            pending_every,
            ..Self::new(most)
        }
    }

    /// The same, whose disk fails where this key is asked for.
    #[allow(dead_code)]
    pub(crate) fn broken_at(self, key: &'static str) -> Self {
        Self {
            broken: Some(key),
            ..self
        }
    }

    /// Which keys it was told of ahead, each time.
    #[allow(dead_code)]
    pub(crate) fn hints(&self) -> Vec<Vec<Vec<u8>>> {
        self.lock().hints.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn settle(&mut self, now_s: u32) {
        if self.flush_at_s != 0 && self.flush_at_s <= now_s {
            self.flush_at_s = 0;
            self.items.clear();
        }
    }

    fn is_slow(&mut self, request: &Request<'_>, pending_every: u64) -> bool {
        self.asked += 1;
        pending_every > 0 && request.resumed.is_none() && self.asked.is_multiple_of(pending_every)
    }

    fn change(&mut self, request: &Request<'_>, change: Change) -> u64 {
        let key = request.key;
        match change {
            Change::Keep => {}
            Change::Remove => {
                self.items.remove(key);
            }
            Change::Head {
                expires_s,
                marks,
                renumber,
                used,
            } => {
                let Some(kept) = self.items.get_mut(key) else {
                    return 0;
                };
                kept.expires_s = expires_s;
                kept.marks = marks;
                if used {
                    kept.used_s = request.now_s;
                }
                if renumber {
                    self.cas += 1;
                    kept.cas = request.number.unwrap_or(self.cas);
                }
            }
            Change::Put {
                value,
                flags,
                expires_s,
                marks,
            } => {
                self.cas += 1;
                self.stored += 1;
                let value = match (value, request.op) {
                    (Source::Op, Op::Store(store)) => store.value.to_vec(),
                    _ => std::mem::take(&mut self.scratch),
                };
                let kept = Kept {
                    value,
                    flags,
                    expires_s,
                    cas: request.number.unwrap_or(self.cas),
                    marks,
                    used_s: request.now_s,
                };
                self.items.insert(key.to_vec(), kept);
            }
        }
        self.items.get(key).map_or(0, |kept| kept.cas)
    }
}

impl Engine for Plain {
    fn apply(&self, request: Request<'_>, answer: &mut dyn FnMut(Answer<'_>)) -> Done {
        let inner = &mut *self.lock();
        inner.settle(request.now_s);
        if inner.is_slow(&request, self.pending_every) {
            inner.tickets += 1;
            return Done::Pending(Ticket(inner.tickets));
        }
        let is_broken = self.broken.is_some_and(|key| key.as_bytes() == request.key);
        if is_broken && !matches!(request.op, Op::Store(_)) {
            answer(Answer::Failed("the value cannot be read"));
            return Done::Ready(Commit::default());
        }
        let mut scratch = std::mem::take(&mut inner.scratch);
        scratch.clear();
        let old = inner.items.get(request.key).cloned();
        let old = old.filter(|kept| !is_expired(kept.expires_s, request.now_s));
        let item = old.as_ref().map(Kept::item);
        let (change, reply) = decide(&request.op, item.as_ref(), self.most, &mut scratch);
        inner.scratch = scratch;
        let cas = inner.change(&request, change);
        match (reply, item) {
            (Reply::Found { won, made: false }, Some(item)) => {
                let made = false;
                answer(Answer::Found { item, won, made });
            }
            (reply, _) => answer(reply.answer(cas, request.now_s)),
        }
        Done::Ready(Commit(cas))
    }

    fn prefetch(&self, keys: &[&[u8]]) {
        let keys = keys.iter().map(|key| key.to_vec()).collect();
        self.lock().hints.push(keys);
    }

    fn flush(&self, at_s: u32, now_s: u32) -> Result<Commit, &'static str> {
        let mut inner = self.lock();
        inner.flush_at_s = at_s.max(1);
        inner.settle(now_s);
        Ok(Commit(inner.cas))
    }

    fn scan(
        &self,
        cursor: Cursor,
        now_s: u32,
        most: usize,
        each: &mut dyn FnMut(&[u8], Item<'_>, usize),
    ) -> Option<Cursor> {
        let mut inner = self.lock();
        inner.settle(now_s);
        let from = cursor.0 as usize;
        for (key, kept) in inner.items.iter().skip(from).take(most) {
            if !is_expired(kept.expires_s, now_s) {
                let item = kept.item();
                let len = item.value.len();
                each(key, Item { value: &[], ..item }, len);
            }
        }
        (from + most < inner.items.len()).then_some(Cursor((from + most) as u64))
    }

    fn figures(&self) -> Figures {
        let inner = self.lock();
        Figures {
            pid: std::process::id(),
            threads: 1,
            curr_connections: 1,
            curr_items: inner.items.len() as u64,
            total_items: inner.stored,
            bytes: inner
                .items
                .iter()
                .map(|(key, kept)| (key.len() + kept.value.len()) as u64)
                .sum(),
            limit_bytes: 64 << 20,
            ..Figures::default()
        }
    }

    fn reset_figures(&self) {}

    fn sync(&self) -> Commit {
        Commit(self.lock().cas)
    }
}
