//! What an operation does to an item: memcached's and Tyrant's semantics, in one place for every
//! engine. Pure: the engine finds the item, asks here, makes the change and gives it its number.

mod arithmetic;
mod store;

use crate::engine::{Answer, Item, Marks, MetaGet, Op, Recache};

/// What the engine is to do with the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Keep,
    /// Expiry and marks become these; the value stays. `renumber`: it gets a new number too.
    Head {
        /// In unix seconds; 0: never.
        expires_s: u32,
        /// What is remembered.
        marks: Marks,
        /// Whether it is a write.
        renumber: bool,
        /// Whether its time of last use becomes now.
        used: bool,
    },
    /// A value takes the place of whatever is there, with a new number.
    Put {
        /// Which value.
        value: Source,
        /// The client's flags.
        flags: u32,
        /// In unix seconds; 0: never.
        expires_s: u32,
        /// What is remembered.
        marks: Marks,
    },
    /// The item goes.
    Remove,
}

/// Where the new value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is the operation's.
    Op,
    /// It is what stands in `scratch`.
    Scratch,
}

/// The answer, as far as it is known before the change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `Found` with the item before the change: answer while it is held, for the value is copied
    /// from it. Where it is made there is none: the answer has its number and no marks.
    Found {
        /// This client won.
        won: bool,
        /// The change makes the item.
        made: bool,
    },
    /// `Stored` with the number that the change gave.
    Stored,
    /// `Number` with the number that the change gave.
    Number {
        /// The new value.
        value: u64,
        /// The expiry before the change.
        expires_s: u32,
        /// The change makes the item.
        made: bool,
    },
    /// This one.
    Is(Answer<'static>),
}

impl Reply {
    /// The answer, when the change was made and gave the item this number; for all but `Found`
    /// with the item before the change.
    #[must_use]
    pub fn answer(self, cas: u64, now_s: u32) -> Answer<'static> {
        match self {
            Self::Found { won, made } => Answer::Found {
                item: Item {
                    cas,
                    used_s: now_s,
                    ..Item::default()
                },
                won,
                made,
            },
            Self::Stored => Answer::Stored { cas },
            Self::Number {
                value,
                expires_s,
                made,
            } => Answer::Number {
                value,
                cas,
                expires_s,
                made,
            },
            Self::Is(answer) => answer,
        }
    }
}

/// What becomes of an item, which is `None` where there is none or it has expired. A value that is
/// longer than `most` bytes is refused. What must be built is left in `scratch`.
pub fn decide(
    op: &Op<'_>,
    old: Option<&Item<'_>>,
    most: usize,
    scratch: &mut Vec<u8>,
) -> (Change, Reply) {
    scratch.clear();
    match *op {
        Op::Peek => (Change::Keep, found(old)),
        Op::Get => (
            old.map_or(Change::Keep, |item| read(item, item.expires_s)),
            found(old),
        ),
        Op::Touch(expires_s) => (
            old.map_or(Change::Keep, |item| read(item, expires_s)),
            found(old),
        ),
        Op::MetaGet(how) => meta_get(how, old),
        Op::Store(store) => store::put(&store, old, most, scratch),
        Op::Delete { cas } => delete(cas, old),
        Op::Invalidate { cas, expires_s } => invalidate(cas, expires_s, old),
        Op::Arithmetic(how) => arithmetic::count(&how, old, scratch),
        Op::Concat { value, width } => store::concat(value, width, old, most, scratch),
        Op::AddInt(add) => arithmetic::add_int(add, old, scratch),
        Op::AddReal(whole, fraction) => arithmetic::add_real(whole, fraction, old, scratch),
    }
}

/// A change that was not allowed.
fn no(answer: Answer<'static>) -> (Change, Reply) {
    (Change::Keep, Reply::Is(answer))
}

fn found(old: Option<&Item<'_>>) -> Reply {
    match old {
        Some(_) => Reply::Found {
            won: false,
            made: false,
        },
        None => Reply::Is(Answer::Missing),
    }
}

fn read(item: &Item<'_>, expires_s: u32) -> Change {
    Change::Head {
        expires_s,
        marks: Marks {
            fetched: true,
            ..item.marks
        },
        renumber: false,
        used: true,
    }
}

fn meta_get(how: MetaGet, old: Option<&Item<'_>>) -> (Change, Reply) {
    let Some(item) = old else {
        return vivify(how);
    };
    let soon = match how.recache {
        Recache::Stale => false,
        Recache::Before(at_s) => item.expires_s != 0 && item.expires_s < at_s,
        Recache::Now => true,
    };
    let won = !item.marks.won && (soon || item.marks.stale);
    let marks = Marks {
        won: item.marks.won || won,
        fetched: item.marks.fetched || !how.quiet,
        ..item.marks
    };
    let expires_s = how.expires_s.unwrap_or(item.expires_s);
    let same = how.quiet && marks == item.marks && expires_s == item.expires_s;
    let change = match same {
        true => Change::Keep,
        false => Change::Head {
            expires_s,
            marks,
            renumber: false,
            used: !how.quiet,
        },
    };
    (change, Reply::Found { won, made: false })
}

/// An empty item is made where there is none, if that is wanted.
fn vivify(how: MetaGet) -> (Change, Reply) {
    let Some(expires_s) = how.vivify else {
        return no(Answer::Missing);
    };
    let marks = Marks {
        won: true,
        fetched: !how.quiet,
        ..Marks::default()
    };
    let reply = Reply::Found {
        won: true,
        made: true,
    };
    (scratched(0, expires_s, marks), reply)
}

/// Whether an item may be changed: it is there, and has the number that was asked for.
fn claim<'i, 'v>(
    cas: Option<u64>,
    old: Option<&'i Item<'v>>,
) -> Result<&'i Item<'v>, Answer<'static>> {
    match old {
        None => Err(Answer::Missing),
        Some(item) if cas.is_some_and(|cas| cas != item.cas) => Err(Answer::Exists),
        Some(item) => Ok(item),
    }
}

fn delete(cas: Option<u64>, old: Option<&Item<'_>>) -> (Change, Reply) {
    match claim(cas, old) {
        Ok(_) => (Change::Remove, Reply::Is(Answer::Deleted)),
        Err(answer) => no(answer),
    }
}

fn invalidate(cas: Option<u64>, expires_s: Option<u32>, old: Option<&Item<'_>>) -> (Change, Reply) {
    let item = match claim(cas, old) {
        Ok(item) => item,
        Err(answer) => return no(answer),
    };
    let change = Change::Head {
        expires_s: expires_s.unwrap_or(item.expires_s),
        marks: Marks {
            stale: true,
            won: false,
            ..item.marks
        },
        renumber: true,
        used: false,
    };
    (change, Reply::Stored)
}

/// The value is what stands in `scratch`.
fn scratched(flags: u32, expires_s: u32, marks: Marks) -> Change {
    Change::Put {
        value: Source::Scratch,
        flags,
        expires_s,
        marks,
    }
}
