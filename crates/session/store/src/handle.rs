//! The engine of one thread: an operation is decided while the table holds the item.

use std::sync::Arc;

use forebay_session::{
    Answer, Calls, Commit, Copied, Cursor, Done, Engine, Figures, Item, MetaGet, Op, Reply,
    Request, Ticket, decide,
};
use forebay_store::wal;
use forebay_table::{self as table, Place, Refused, Value};

use crate::convert::{change, seen};
use crate::fetch::{Fetched, Outcome};
use crate::store::Store;

/// Why nothing is written while the disk takes nothing.
const CANNOT_KEEP: &str = "the log cannot be written: the disk is full or failing";

/// What one thread speaks to.
pub struct Handle {
    store: Arc<Store>,
    calls: Arc<dyn Calls>,
}

/// How far an operation came while the item was held.
enum Step {
    /// It was answered.
    Answered,
    /// It is answered by what the change gave.
    Answer(Reply),
    /// The value lies there, and is needed.
    Fetch(Place),
}

impl Handle {
    pub(crate) fn new(store: Arc<Store>, calls: Arc<dyn Calls>) -> Self {
        Self { store, calls }
    }

    /// `get` of a value in memory, which is most of what is asked: nothing is decided.
    fn get(&self, request: &Request<'_>, answer: &mut dyn FnMut(Answer<'_>)) -> Done {
        let table = &self.store.table;
        let read = table.read(request.key, request.now_s, |item| match item.value {
            Value::Here(value) => {
                answer(Answer::Found {
                    item: seen(&item, value),
                    won: false,
                    made: false,
                });
                None
            }
            Value::Elsewhere(place) => Some(place),
        });
        match read {
            Some(None) => {}
            None => answer(Answer::Missing),
            Some(Some(place)) => return self.fetch(request, place, answer),
        }
        Done::Ready(Commit::default())
    }

    /// Goes on with the value that lies at `place`, now or when it was read.
    fn fetch(
        &self,
        request: &Request<'_>,
        place: Place,
        answer: &mut dyn FnMut(Answer<'_>),
    ) -> Done {
        let Some(disk) = &self.store.disk else {
            return failed(answer, "the value cannot be read");
        };
        match disk.fetches.at_once(place, request.key.len()) {
            Some(outcome) => self.resume(request, outcome, answer),
            None => {
                let (key, calls) = (request.key.len(), &self.calls);
                Done::Pending(disk.fetches.later(place, key, calls))
            }
        }
    }

    fn resume(
        &self,
        request: &Request<'_>,
        outcome: Outcome,
        answer: &mut dyn FnMut(Answer<'_>),
    ) -> Done {
        match outcome {
            Outcome::Value(fetched) => self.decide(request, Some(&fetched), answer),
            Outcome::Gone(place) => {
                self.forget(request, place);
                self.decide(request, None, answer)
            }
            Outcome::Failed | Outcome::Copied(_) => failed(answer, "the value cannot be read"),
        }
    }

    /// Takes an item out whose value is not where it should be. If it was moved meanwhile, there is
    /// nothing to take out.
    fn forget(&self, request: &Request<'_>, place: Place) {
        let gone = |old: Option<table::Item<'_>>, _: &mut Vec<u8>| {
            let is_lost = old.is_some_and(|old| old.value == Value::Elsewhere(place));
            match is_lost {
                true => (table::Change::Remove, true),
                false => (table::Change::Keep, false),
            }
        };
        let table = &self.store.table;
        if let Ok((true, _)) = table.update(request.key, request.now_s, gone) {
            let (name, key) = (&self.store.name, request.key.escape_ascii());
            tracing::error!("[session.{name}]: the value of {key} is damaged on disk, and lost");
        }
    }

    fn decide(
        &self,
        request: &Request<'_>,
        fetched: Option<&Fetched>,
        answer: &mut dyn FnMut(Answer<'_>),
    ) -> Done {
        let (table, op, most) = (&self.store.table, &request.op, self.store.item_bytes);
        let given = [own_value(op)];
        let mut writes = false;
        let done = table.update(request.key, request.now_s, |old, scratch| {
            let item = match whole(old.as_ref(), op, fetched) {
                Ok(item) => item,
                Err(place) => return (table::Change::Keep, Step::Fetch(place)),
            };
            let (what, reply) = decide(op, item.as_ref(), most, scratch);
            let what = change(what, old.as_ref(), &given, request.number);
            writes = !matches!(what, table::Change::Keep | table::Change::Read);
            match (reply, item) {
                (Reply::Found { won, made: false }, Some(item)) => {
                    let made = false;
                    answer(Answer::Found { item, won, made });
                    (what, Step::Answered)
                }
                (reply, _) => (what, Step::Answer(reply)),
            }
        });
        match done {
            Ok((Step::Fetch(place), _)) => return self.fetch(request, place, answer),
            Ok((Step::Answered, _)) => {}
            Ok((Step::Answer(reply), cas)) => answer(reply.answer(cas, request.now_s)),
            Err(refused) => answer(match refused {
                Refused::Key => Answer::Failed("a key has 1 to 250 bytes"),
                Refused::TooLarge => Answer::TooLarge,
                Refused::Full => Answer::Full,
            }),
        }
        if let Some(fetched) = fetched.filter(|_| !writes && self.store.comes_back()) {
            let (key, now_s) = (request.key, request.now_s);
            table.recall(key, now_s, fetched.place, fetched.value());
        }
        match writes {
            true => Done::Ready(self.store.commit()),
            false => Done::Ready(Commit::default()),
        }
    }

    /// What can be done of an operation that may add bytes where none may be added.
    fn add_nothing(&self, request: Request<'_>, answer: &mut dyn FnMut(Answer<'_>)) -> Done {
        let Op::MetaGet(how) = request.op else {
            answer(Answer::Full);
            return Done::Ready(Commit::default());
        };
        // An item that is there is read and touched; only one that is not would be made.
        let op = Op::MetaGet(MetaGet {
            vivify: None,
            ..how
        });
        self.carry_out(Request { op, ..request }, &mut |given| {
            answer(match given {
                Answer::Missing => Answer::Full,
                given => given,
            });
        })
    }

    fn carry_out(&self, request: Request<'_>, answer: &mut dyn FnMut(Answer<'_>)) -> Done {
        let fetches = self.store.disk.as_ref().map(|disk| &disk.fetches);
        let resumed = request.resumed.zip(fetches);
        if let Some(outcome) = resumed.and_then(|(ticket, fetches)| fetches.take(ticket)) {
            return self.resume(&request, outcome, answer);
        }
        match request.op {
            Op::Get => self.get(&request, answer),
            _ => self.decide(&request, None, answer),
        }
    }

    /// Whether a write has to wait or is refused; `None`: neither.
    fn hold_back(&self, answer: &mut dyn FnMut(Answer<'_>)) -> Option<Done> {
        let disk = self.store.disk.as_ref()?;
        match disk.log.wal.state() {
            wal::State::Good => None,
            wal::State::Behind => {
                let ticket = disk.fetches.ticket();
                self.store.wait_for_room(ticket, &self.calls);
                Some(Done::Pending(ticket))
            }
            wal::State::Failing => Some(failed(answer, CANNOT_KEEP)),
        }
    }
}

impl Engine for Handle {
    fn apply(&self, request: Request<'_>, answer: &mut dyn FnMut(Answer<'_>)) -> Done {
        if is_write(&request.op) {
            if let Some(done) = self.hold_back(answer) {
                return done;
            }
            if adds(&request.op) && self.store.is_over_quota() {
                return self.add_nothing(request, answer);
            }
        }
        self.carry_out(request, answer)
    }

    fn prefetch(&self, keys: &[&[u8]]) {
        self.store.table.prefetch(keys);
    }

    fn flush(&self, at_s: u32, now_s: u32) -> Result<Commit, &'static str> {
        if self.store.is_failing() {
            return Err(CANNOT_KEEP);
        }
        self.store.clear(at_s, now_s);
        Ok(self.store.commit())
    }

    fn scan(
        &self,
        cursor: Cursor,
        now_s: u32,
        most: usize,
        each: &mut dyn FnMut(&[u8], Item<'_>, usize),
    ) -> Option<Cursor> {
        let from = table::Cursor::from_number(cursor.0);
        let next = self.store.table.scan(from, now_s, most, |key, item| {
            each(key, seen(&item, &[]), item.value.len());
        });
        next.map(|next| Cursor(next.to_number()))
    }

    fn figures(&self) -> Figures {
        self.store.protocol_figures()
    }

    fn reset_figures(&self) {
        self.store.reset_figures();
    }

    fn sync(&self) -> Commit {
        let disk = self.store.disk.as_ref();
        disk.map_or(Commit::default(), |disk| Commit(disk.log.wal.position().0))
    }

    fn copy(&self, name: &str, resumed: Option<Ticket>) -> Copied {
        let Some(disk) = &self.store.disk else {
            return Copied::Refused;
        };
        match resumed.map(|ticket| disk.fetches.take(ticket)) {
            None => match self.store.begin_copy(disk, name, &self.calls) {
                Some(ticket) => Copied::Pending(ticket),
                None => Copied::Refused,
            },
            Some(Some(Outcome::Copied(true))) => Copied::Done,
            Some(_) => Copied::Refused,
        }
    }
}

fn failed(answer: &mut dyn FnMut(Answer<'_>), words: &'static str) -> Done {
    answer(Answer::Failed(words));
    Done::Ready(Commit::default())
}

/// The item with its value, as far as the operation needs it; or the place where that lies.
fn whole<'a>(
    old: Option<&'a table::Item<'a>>,
    op: &Op<'_>,
    fetched: Option<&'a Fetched>,
) -> Result<Option<Item<'a>>, Place> {
    let Some(item) = old else {
        return Ok(None);
    };
    let value = match item.value {
        Value::Here(value) => value,
        Value::Elsewhere(place) => match fetched.filter(|fetched| fetched.place == place) {
            Some(fetched) => fetched.value(),
            None if needs_value(op) => return Err(place),
            None => &[],
        },
    };
    Ok(Some(seen(item, value)))
}

/// Whether what an operation does or says depends on the value that is there. A new number needs
/// it too: the record in the log has the old one.
fn needs_value(op: &Op<'_>) -> bool {
    use forebay_session::Mode;
    match op {
        Op::Store(store) => matches!(store.mode, Mode::Append | Mode::Prepend),
        Op::Delete { .. } => false,
        _ => true,
    }
}

/// Whether an operation may change something.
fn is_write(op: &Op<'_>) -> bool {
    match op {
        Op::Get | Op::Peek => false,
        Op::MetaGet(how) => how.expires_s.is_some() || how.vivify.is_some(),
        _ => true,
    }
}

/// Whether an operation may add bytes.
fn adds(op: &Op<'_>) -> bool {
    match op {
        Op::Get | Op::Peek | Op::Touch(_) | Op::Delete { .. } | Op::Invalidate { .. } => false,
        Op::MetaGet(how) => how.vivify.is_some(),
        _ => true,
    }
}

fn own_value<'v>(op: &Op<'v>) -> &'v [u8] {
    match op {
        Op::Store(store) => store.value,
        _ => &[],
    }
}
