//! The seam between the protocols and what keeps the items: operations and answers as data, so
//! that the engine may be a table in this process, a disk or another machine.
//!
//! An operation is atomic for its key. What it does to an item is decided in [`decide`], which an
//! engine calls between finding the item and changing it.
//!
//! [`decide`]: crate::decide

use crate::counts::Figures;

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Whether there is an item or not.
    Set,
    /// Only where there is none.
    Add,
    /// Only where there is one.
    Replace,
    /// Behind the value that is there; its flags and its expiry stay.
    Append,
    /// Before the value that is there; its flags and its expiry stay.
    Prepend,
}

/// What a store does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store<'a> {
    /// How.
    pub mode: Mode,
    /// Only if the item there has this number. A number that matches nothing (0) is answered by
    /// `Exists`.
    pub cas: Option<u64>,
    /// A number lower than the item's is taken too: the value is stored, but stale (`ms` with `I`).
    pub invalidate: bool,
    /// The key was written in base64 (see [`Marks::encoded`]).
    pub encoded: bool,
    /// The client's flags.
    pub flags: u32,
    /// When it expires, in unix seconds; 0: never.
    pub expires_s: u32,
    /// The value; borrowed from the connection's input.
    pub value: &'a [u8],
}

/// A counter's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// Up (it wraps at 64 bits) or down (it stops at 0).
    pub up: bool,
    /// By how much.
    pub delta: u64,
    /// Only if the item has this number.
    pub cas: Option<u64>,
    /// What is stored where there is no item: the value and its expiry in unix seconds.
    pub initial: Option<(u64, u32)>,
    /// A new expiry, in unix seconds, where there is an item.
    pub expires_s: Option<u32>,
}

/// When a reader of `mg` wins the right to recache an item that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recache {
    /// Only if the item is stale.
    #[default]
    Stale,
    /// Also if it expires before this moment, in unix seconds.
    Before(u32),
    /// Also now.
    Now,
}

/// A read of the meta protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetaGet {
    /// The item is not marked as read.
    pub quiet: bool,
    /// The new expiry of an item that is there, in unix seconds.
    pub expires_s: Option<u32>,
    /// An empty item with this expiry, in unix seconds, is made where there is none.
    pub vivify: Option<u32>,
    /// Who wins.
    pub recache: Recache,
}

/// What is to be done with one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op<'a> {
    /// Read: `Found` or `Missing`.
    Get,
    /// Read without marking it as read: `Found` or `Missing`.
    Peek,
    /// A new expiry, in unix seconds: `Found` or `Missing`.
    Touch(u32),
    /// `mg`: `Found` or `Missing`.
    MetaGet(MetaGet),
    /// `Stored`, `Exists`, `NotStored`, `Missing` (it was conditional), `TooLarge`, `Full`.
    Store(Store<'a>),
    /// `Deleted`, `Exists`, `Missing`.
    Delete {
        /// Only if the item has this number.
        cas: Option<u64>,
    },
    /// The item becomes stale and gets a new number: `Stored`, `Exists`, `Missing`.
    Invalidate {
        /// Only if the item has this number.
        cas: Option<u64>,
        /// Its new expiry, in unix seconds.
        expires_s: Option<u32>,
    },
    /// `Number`, `NotNumber`, `Exists`, `Missing`, `Full`.
    Arithmetic(Arithmetic),
    /// Tyrant's `putcat` and `putshl`: behind the value or as a new one; of the result only the
    /// last `width` bytes are kept, if it is given: `Stored`, `TooLarge`, `Full`.
    Concat {
        /// What is added.
        value: &'a [u8],
        /// How many bytes are kept.
        width: Option<u32>,
    },
    /// Tyrant's `addint`, on a value of 4 bytes: `Sum`, `NotNumber`, `Full`.
    AddInt(i32),
    /// Tyrant's `adddouble`, on a value of 16 bytes: whole part, and fraction in 10^-12:
    /// `SumReal`, `NotNumber`, `Full`.
    AddReal(i64, i64),
}

/// What is remembered of an item beside its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// It was declared out of date (`X`).
    pub stale: bool,
    /// A client was told to recache it (`Z`).
    pub won: bool,
    /// It was read since it was written.
    pub fetched: bool,
    /// Its key was written in base64 (`ms` with `b`), and is shown so.
    pub encoded: bool,
}

/// An item, as it was before the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item<'a> {
    /// The value.
    pub value: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// When it expires, in unix seconds; 0: never.
    pub expires_s: u32,
    /// Its number; every write gives a new, higher one.
    pub cas: u64,
    /// What is remembered of it.
    pub marks: Marks,
    /// When it was last read or written, in unix seconds.
    pub used_s: u32,
}

/// What an operation gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// There is an item; `value` is copied from here into the output, and nowhere else.
    Found {
        /// The item before the operation; empty, with its number, if it was made.
        item: Item<'a>,
        /// This client is to recache it (`W`).
        won: bool,
        /// It was made by this operation.
        made: bool,
    },
    /// There is none.
    Missing,
    /// It was stored.
    Stored {
        /// The item's number.
        cas: u64,
    },
    /// There is one with another number.
    Exists,
    /// The mode did not allow it.
    NotStored,
    /// It is gone.
    Deleted,
    /// A counter's new value.
    Number {
        /// The value.
        value: u64,
        /// The item's number.
        cas: u64,
        /// When it expired before the operation, in unix seconds; 0: never.
        expires_s: u32,
        /// It was made by this operation.
        made: bool,
    },
    /// The new value of `AddInt`.
    Sum(i32),
    /// The new value of `AddReal`.
    SumReal(i64, i64),
    /// The value is no number.
    NotNumber,
    /// The value is longer than the engine takes.
    TooLarge,
    /// There is no room.
    Full,
    /// The engine failed; the text goes to the client.
    Failed(&'a str),
}

/// An answer that is being fetched; what it means is the engine's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// A point in the engine's writes; 0 is reached from the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Commit(pub u64);

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was answered; the answer may be sent once this commit is durable.
    Ready(Commit),
    /// Nothing was changed and nothing was answered; the same request comes again with the
    /// ticket, when the engine has called for it.
    Pending(Ticket),
}

/// What became of a copy that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// It is there.
    Done,
    /// There is none; the engine tells the operator why.
    Refused,
    /// It is under way; it is asked for again with the ticket, when the engine has called for it.
    Pending(Ticket),
}

/// An operation on a key.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The key: 1 to [`KEY_MOST`](crate::KEY_MOST) bytes of any kind. There is no item under
    /// another one, and none is made.
    pub key: &'a [u8],
    /// What to do.
    pub op: Op<'a>,
    /// The caller's clock, in unix seconds.
    pub now_s: u32,
    /// The ticket of the request that was pending.
    pub resumed: Option<Ticket>,
    /// The number that the item gets if it is written (`E`); `None`: the engine's next.
    pub number: Option<u64>,
}

/// Where a scan stands; the default one is the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor(pub u64);

/// What keeps the items.
pub trait Engine {
    /// Does what is asked, atomically for the key, and calls `answer` once, unless it is pending.
    fn apply(&self, request: Request<'_>, answer: &mut dyn FnMut(Answer<'_>)) -> Done;

    /// These keys are asked for next, read or written: an engine may prepare for it. It is a hint,
    /// and answers nothing.
    fn prefetch(&self, keys: &[&[u8]]) {
        let _ = keys;
    }

    /// From `at_s` on (unix seconds, perhaps to come) everything that was written before is gone;
    /// a later call takes the place of one that is still to come.
    ///
    /// # Errors
    /// It could not be kept, and nothing is gone; in words for the client.
    fn flush(&self, at_s: u32, now_s: u32) -> Result<Commit, &'static str>;

    /// Shows about `most` items from a cursor on, without their values but with the values'
    /// lengths, and says where to go on; `None`: that was the last. An item that stays is seen at
    /// least once.
    fn scan(
        &self,
        cursor: Cursor,
        now_s: u32,
        most: usize,
        each: &mut dyn FnMut(&[u8], Item<'_>, usize),
    ) -> Option<Cursor>;

    /// What the statistics tell, the other connections' counts included.
    fn figures(&self) -> Figures;

    /// Sets the counts to zero.
    fn reset_figures(&self);

    /// The point that must be durable for everything written so far to be.
    fn sync(&self) -> Commit;

    /// Keeps a copy of everything, as it is at this moment, under a name that is one of a file
    /// without a directory, where the engine keeps its own. An engine may have no copies.
    fn copy(&self, name: &str, resumed: Option<Ticket>) -> Copied {
        let _ = (name, resumed);
        Copied::Refused
    }
}
