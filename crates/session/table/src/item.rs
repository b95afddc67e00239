//! What callers see of items and say about them: no bytes of the table's own form.

use std::fmt;

/// An item, for as long as its shard is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The value, or where it is.
    pub value: Value<'a>,
    /// The client's flags, opaque.
    pub flags: u32,
    /// The second it ends; 0 means never.
    pub expires_s: u32,
    /// Changes with each write; unique in the table unless a caller gave one of its own.
    pub cas: u64,
    /// What a protocol marks it with.
    pub marks: Marks,
    /// The second it was read last before this, or written if it was not.
    pub last_read_s: u32,
    /// Whether it was read since it was written.
    pub was_read: bool,
    /// How many clears there had been when it was written; see [`crate::Table::clear`].
    pub era: u32,
    /// Which of the records that a journal has of it is the valid one: they differ in this where
    /// they do not differ in `cas`. It counts to 7, and from 0 again.
    pub copy: u8,
}

impl Item<'_> {
    /// The number of the record that takes this one's place.
    #[must_use]
    pub fn next_copy(&self) -> u8 {
        next_copy(self.copy)
    }
}

pub(crate) fn next_copy(copy: u8) -> u8 {
    (copy + 1) & 7
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// In memory.
    Here(&'a [u8]),
    /// Where only the table's owner can find it; key and header stay in memory.
    Elsewhere(Place),
}

impl Value<'_> {
    /// Its length in bytes, wherever it lies.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Here(bytes) => bytes.len(),
            Self::Elsewhere(place) => place.1 as usize,
        }
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where a value lies that is not in memory, opaque to the table, and its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub u64, pub u32);

/// Eight bits of a protocol's own, such as the states of memcached's meta commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(pub u8);

impl Marks {
    /// Neither of them.
    pub const NONE: Self = Self(0);
    /// The item was invalidated, and is served as stale until it is written anew.
    pub const STALE: Self = Self(1);
    /// A client was told that it has won, and is to write the item anew.
    pub const WON: Self = Self(2);

    /// These and `other`.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These but for `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` are among these.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What becomes of a key.
#[derive(Clone, Copy, Debug)]
pub enum Change<'v> {
    /// Nothing.
    Keep,
    /// Nothing, but it was read: what [`crate::Table::read`] does.
    Read,
    /// Its value stays, and what stands beside it becomes this.
    Head {
        /// The second it ends; 0 means never.
        expires_s: u32,
        /// Its marks from now on.
        marks: Marks,
        /// It counts as read.
        read: bool,
        /// It gets another `cas`, for it was written. Not for a value elsewhere, whose record
        /// has the old one.
        number: Number,
    },
    /// It is written.
    Put(Put<'v>),
    /// It goes.
    Remove,
}

/// What `cas` an item gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// The one it has.
    Same,
    /// The table's next.
    Next,
    /// This one, which a client wants to see. It is not compared with any other.
    Given(u64),
}

/// An item to be written.
#[derive(Clone, Copy, Debug)]
pub struct Put<'v> {
    /// The value.
    pub body: Body<'v>,
    /// The client's flags.
    pub flags: u32,
    /// The second it ends; 0 means never.
    pub expires_s: u32,
    /// Its marks from now on.
    pub marks: Marks,
    /// A `cas` that the client wants to see; `None`: the table's next. One that is given is not
    /// compared with any other.
    pub cas: Option<u64>,
    /// It counts as read.
    pub read: bool,
}

/// The value of an item to be written.
#[derive(Clone, Copy, Debug)]
pub enum Body<'v> {
    /// These parts in a row, each copied once.
    Parts(&'v [&'v [u8]]),
    /// What the caller left in the scratch buffer.
    Scratch,
    /// A value that lies elsewhere.
    Elsewhere(Place),
}

/// A write that was not done. The item is as it was, unless it had to make room for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The key is empty, or longer than [`crate::Options::key_bytes`].
    Key,
    /// The value is longer than [`crate::Options::value_bytes`].
    TooLarge,
    /// The budget is spent, and nothing may or can be evicted.
    Full,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "the key is empty or too long",
            Self::TooLarge => "the value is too large",
            Self::Full => "the table's memory is spent",
        })
    }
}

impl std::error::Error for Refused {}
