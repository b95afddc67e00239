//! Every item of a store that is running: its list first, then the items in batches.

use forebay_session::{Item, Marks};

use crate::Each;
use crate::address::Target;
use crate::client::Client;
use crate::clock::now_s;
use crate::error::Error;
use crate::key;
use crate::pattern::Pattern;

/// How many items are asked for at a time: their requests fit into what a socket takes without
/// anybody reading.
const BATCH: usize = 64;

/// What was passed on, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Items that were handed on.
    pub items: u64,
    /// Bytes of their values.
    pub bytes: u64,
    /// Items that were listed, and were deleted, expired or out of date when they were read.
    pub gone: u64,
    /// Items whose keys cannot be asked for: other protocols allow longer ones.
    pub unreadable: u64,
    /// Items that were in use may be missing (see [`Listing::may_miss`](crate::Listing::may_miss)).
    pub may_miss: bool,
}

/// Hands every item that is chosen to `each`, with its remaining lifetime as a moment of this
/// machine's clock. Each item is as it was at one moment; two items may be as of two moments. What
/// was written since the beginning may be missing; what was there all the time is not.
///
/// # Errors
/// When the store does not answer, and those of `each`.
pub fn each_item(target: &Target, pattern: &Pattern, each: &mut Each<'_>) -> Result<Passed, Error> {
    let mut reader = Client::connect(target)?;
    let mut list = reader.list(pattern)?;
    let mut passed = Passed {
        may_miss: list.may_miss(),
        ..Passed::default()
    };
    let mut keys = Vec::with_capacity(BATCH);
    let mut value = Vec::new();
    loop {
        let listed = list.next_item()?;
        let is_last = listed.is_none();
        match listed {
            Some(item) if !key::is_writable(&item.key) => passed.unreadable += 1,
            Some(item) => keys.push(item.key),
            None => {}
        }
        if keys.len() == BATCH || is_last {
            read_batch(&mut reader, &mut keys, &mut value, &mut passed, each)?;
        }
        if is_last {
            return Ok(passed);
        }
    }
}

fn read_batch(
    reader: &mut Client,
    keys: &mut Vec<Vec<u8>>,
    value: &mut Vec<u8>,
    passed: &mut Passed,
    each: &mut Each<'_>,
) -> Result<(), Error> {
    for key in keys.iter() {
        reader.ask(key, true);
    }
    reader.wire.flush()?;
    for key in keys.drain(..) {
        value.clear();
        // An item that was declared out of date would come back as a good one.
        let Some(seen) = reader.answer(value)?.filter(|seen| !seen.is_stale) else {
            passed.gone += 1;
            continue;
        };
        let now_s = now_s();
        let item = Item {
            value,
            flags: seen.flags,
            expires_s: seen.expires_s(now_s),
            cas: seen.cas,
            marks: Marks {
                fetched: seen.is_fetched,
                ..Marks::default()
            },
            used_s: now_s.saturating_sub(seen.idle_s),
        };
        each(&key, item)?;
        passed.items += 1;
        passed.bytes += item.value.len() as u64;
    }
    Ok(())
}
