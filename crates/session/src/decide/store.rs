//! Stores: whole values, and values that are joined on.

use super::{Change, Reply, Source, no, read, scratched};
use crate::engine::{Answer, Item, Marks, Mode, Store};

/// memcached's stores.
pub(super) fn put(
    store: &Store<'_>,
    old: Option<&Item<'_>>,
    most: usize,
    scratch: &mut Vec<u8>,
) -> (Change, Reply) {
    if store.value.len() > most {
        return no(Answer::TooLarge);
    }
    let Some(item) = old else {
        return match store.mode {
            Mode::Add => fresh(store, new_marks(store)),
            Mode::Set if store.cas.is_none() => fresh(store, new_marks(store)),
            Mode::Set | Mode::Replace if store.cas.is_some() => no(Answer::Missing),
            _ => no(Answer::NotStored),
        };
    };
    let matches = store.cas.is_none_or(|cas| cas != 0 && cas == item.cas);
    match store.mode {
        // As in memcached, the item that stands in the way counts as used.
        Mode::Add => (
            read(item, item.expires_s).unread(item),
            Reply::Is(Answer::NotStored),
        ),
        Mode::Set | Mode::Replace if matches => fresh(store, new_marks(store)),
        Mode::Set | Mode::Replace => late(store, item),
        Mode::Append | Mode::Prepend if !matches && store.cas != Some(0) => no(Answer::Exists),
        Mode::Append => join(&[item.value, store.value], item, most, scratch),
        Mode::Prepend => join(&[store.value, item.value], item, most, scratch),
    }
}

impl Change {
    /// Used, but not marked as read.
    fn unread(self, item: &Item<'_>) -> Self {
        match self {
            Self::Head {
                expires_s,
                renumber,
                used,
                ..
            } => Self::Head {
                expires_s,
                marks: item.marks,
                renumber,
                used,
            },
            other => other,
        }
    }
}

fn new_marks(store: &Store<'_>) -> Marks {
    Marks {
        encoded: store.encoded,
        ..Marks::default()
    }
}

fn fresh(store: &Store<'_>, marks: Marks) -> (Change, Reply) {
    let change = Change::Put {
        value: Source::Op,
        flags: store.flags,
        expires_s: store.expires_s,
        marks,
    };
    (change, Reply::Stored)
}

/// The number did not match: with `I` an older one is stored as a stale value that keeps the
/// item's expiry and its winner.
fn late(store: &Store<'_>, item: &Item<'_>) -> (Change, Reply) {
    let older = store.cas.is_some_and(|cas| cas != 0 && cas < item.cas);
    if !(store.invalidate && older) {
        return no(Answer::Exists);
    }
    let marks = Marks {
        stale: true,
        won: item.marks.won,
        ..new_marks(store)
    };
    let (change, reply) = fresh(
        &Store {
            expires_s: item.expires_s,
            ..*store
        },
        marks,
    );
    (change, reply)
}

fn join(parts: &[&[u8]], item: &Item<'_>, most: usize, scratch: &mut Vec<u8>) -> (Change, Reply) {
    if parts.iter().map(|part| part.len()).sum::<usize>() > most {
        return no(Answer::NotStored);
    }
    for part in parts {
        scratch.extend_from_slice(part);
    }
    let change = Change::Put {
        value: Source::Scratch,
        flags: item.flags,
        expires_s: item.expires_s,
        marks: Marks::default(),
    };
    (change, Reply::Stored)
}

/// Tyrant's `putcat` and `putshl`.
pub(super) fn concat(
    value: &[u8],
    width: Option<u32>,
    old: Option<&Item<'_>>,
    most: usize,
    scratch: &mut Vec<u8>,
) -> (Change, Reply) {
    let before = old.map_or(&[][..], |item| item.value);
    let width = width.map_or(usize::MAX, |width| width as usize);
    let kept = width.min(before.len() + value.len());
    if kept > most {
        return no(Answer::TooLarge);
    }
    let of_value = kept.min(value.len());
    let of_before = kept - of_value;
    scratch.extend_from_slice(before.get(before.len() - of_before..).unwrap_or_default());
    scratch.extend_from_slice(value.get(value.len() - of_value..).unwrap_or_default());
    let (flags, expires_s) = old.map_or((0, 0), |item| (item.flags, item.expires_s));
    (scratched(flags, expires_s, Marks::default()), Reply::Stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide;
    use crate::engine::Op;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_joined_on_stands_behind_and_only_the_last_bytes_are_kept(
            before in proptest::option::of(vec(any::<u8>(), 0..20)),
            value in vec(any::<u8>(), 0..20),
            width in proptest::option::of(0..50_u32),
        ) {
            let item = before.as_ref().map(|value| Item { value, flags: 3, expires_s: 9, ..Item::default() });
            let mut scratch = b"left over".to_vec();
            let (change, reply) = decide(&Op::Concat { value: &value, width }, item.as_ref(), 100, &mut scratch);
            let mut expected = before.clone().unwrap_or_default();
            expected.extend_from_slice(&value);
            let kept = expected.len().min(width.unwrap_or(u32::MAX) as usize);
            prop_assert_eq!(&scratch, &expected[expected.len() - kept..]);
            prop_assert_eq!(reply, Reply::Stored);
            let (flags, expires_s) = if before.is_some() { (3, 9) } else { (0, 0) };
            prop_assert_eq!(change, scratched(flags, expires_s, Marks::default()));
        }

        #[test]
        fn nothing_longer_than_may_be_is_stored(
            before in proptest::option::of(vec(any::<u8>(), 0..20)),
            value in vec(any::<u8>(), 0..20),
            mode in proptest::sample::select(vec![Mode::Set, Mode::Add, Mode::Replace, Mode::Append, Mode::Prepend]),
            most in 0..30_usize,
        ) {
            let item = before.as_ref().map(|value| Item { value, ..Item::default() });
            let store = Store { mode, cas: None, invalidate: false, encoded: false, flags: 0, expires_s: 0, value: &value };
            let mut scratch = Vec::new();
            let (change, _) = decide(&Op::Store(store), item.as_ref(), most, &mut scratch);
            if let Change::Put { value: source, .. } = change {
                let stored = if source == Source::Op { &value } else { &scratch };
                prop_assert!(stored.len() <= most);
            }
        }
    }
}
