//! The body of an object in other content codings, made or found when they are first asked for.
//!
//! They go with the object: what purges, validates or evicts it needs to know nothing of them.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use forebay_config::settings::Coding;
use forebay_http::ResponseHead;

use crate::body::Body;
use crate::budget::Budget;
use crate::object::{Content, Draft, Object, Stamp};

/// How many codings there are.
const CODINGS: usize = 3;

/// An object's other forms. Each is an object of its own that is in no index.
#[derive(Debug, Default)]
pub(crate) struct Codings {
    slots: [OnceLock<Arc<Object>>; CODINGS],
    /// What [`Object::note_coding`] was told; 0: nothing yet.
    noted: AtomicU32,
}

fn place(coding: Coding) -> usize {
    match coding {
        Coding::Brotli => 0,
        Coding::Zstd => 1,
        Coding::Gzip => 2,
    }
}

impl Codings {
    pub(crate) fn memory_bytes(&self) -> u64 {
        let made = self.slots.iter().filter_map(OnceLock::get);
        made.map(|coded| coded.memory_bytes()).sum()
    }
}

impl Object {
    /// The object in that coding, if it was made already.
    #[inline]
    pub fn coded(&self, coding: Coding) -> Option<&Arc<Self>> {
        self.codings.slots[place(coding)].get()
    }

    /// Keeps `head` and `body` as the object in that coding, unless it has been made meanwhile;
    /// returns what is kept. `stamp` is that of the file the body came from, if from a file.
    pub fn keep_coded(
        &self,
        coding: Coding,
        head: &ResponseHead,
        (body, stamp): (Arc<Body>, Option<Stamp>),
        budget: &Arc<Budget>,
    ) -> &Arc<Self> {
        self.codings.slots[place(coding)].get_or_init(|| {
            let draft = Draft {
                response: head,
                terms: self.terms,
                selector: None,
                url: self.url().clone(),
                tags: Box::default(),
                asked: self.seen.asked(),
                withheld: &[],
                stamp,
                content: Content::Whole(body),
            };
            Arc::new(Self::new(draft, 0, self.hash, 0, budget))
        })
    }

    /// What was noted of it: a number of the caller's, 0 when nothing was.
    #[inline]
    pub fn noted_coding(&self) -> u32 {
        self.codings.noted.load(Relaxed)
    }

    /// Notes whether it is worth coding, so that this is decided once.
    pub fn note_coding(&self, noted: u32) {
        self.codings.noted.store(noted, Relaxed);
    }
}
