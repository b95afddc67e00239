//! Items and changes, between the words of the protocols and those of the table.

use forebay_session as session;
use forebay_table::{Body, Change, Item, Marks, Number, Put};

/// The item's key was written in base64.
const ENCODED: Marks = Marks(4);

/// An item as the protocols see it.
pub(crate) fn seen<'a>(item: &Item<'_>, value: &'a [u8]) -> session::Item<'a> {
    session::Item {
        value,
        flags: item.flags,
        expires_s: item.expires_s,
        cas: item.cas,
        marks: session::Marks {
            stale: item.marks.has(Marks::STALE),
            won: item.marks.has(Marks::WON),
            fetched: item.was_read,
            encoded: item.marks.has(ENCODED),
        },
        used_s: item.last_read_s,
    }
}

fn marks(marks: session::Marks) -> Marks {
    let of = |is: bool, mark: Marks| if is { mark } else { Marks::NONE };
    of(marks.stale, Marks::STALE)
        .with(of(marks.won, Marks::WON))
        .with(of(marks.encoded, ENCODED))
}

/// What the table is to do. `given` is the operation's own value, `number` the one that the item
/// gets if it is written.
pub(crate) fn change<'v>(
    change: session::Change,
    old: Option<&Item<'_>>,
    given: &'v [&'v [u8]],
    number: Option<u64>,
) -> Change<'v> {
    match change {
        session::Change::Keep => Change::Keep,
        session::Change::Remove => Change::Remove,
        session::Change::Head {
            expires_s,
            marks: new,
            renumber,
            used,
        } => {
            let (read, new) = (used && new.fetched, marks(new));
            let same = |old: &Item<'_>| old.expires_s == expires_s && old.marks == new;
            match (!renumber && old.is_some_and(same), read) {
                (true, true) => Change::Read,
                (true, false) => Change::Keep,
                (false, _) => Change::Head {
                    expires_s,
                    marks: new,
                    read,
                    number: match (renumber, number) {
                        (false, _) => Number::Same,
                        (true, None) => Number::Next,
                        (true, Some(cas)) => Number::Given(cas),
                    },
                },
            }
        }
        session::Change::Put {
            value,
            flags,
            expires_s,
            marks: new,
        } => Change::Put(Put {
            body: match value {
                session::Source::Op => Body::Parts(given),
                session::Source::Scratch => Body::Scratch,
            },
            flags,
            expires_s,
            marks: marks(new),
            cas: number,
            read: new.fetched,
        }),
    }
}
