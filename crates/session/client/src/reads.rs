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
    /// Items that the store has and could not give. Each was reported.
    pub failed: u64,
    /// Items that were in use may be missing (see [`Listing::may_miss`](crate::Listing::may_miss)).
    pub may_miss: bool,
}

/// Hands every item that is chosen to `each`, with its remaining lifetime as a moment of this
/// machine's clock. Each item is as it was at one moment; two items may be as of two moments. What
/// was written since the beginning may be missing; what was there all the time is not. `report` is
/// told the key of each item that the store could not give, and why; the others go on.
///
/// # Errors
/// When the store does not answer, and those of `each`.
pub fn each_item(
    target: &Target,
    pattern: &Pattern,
    each: &mut Each<'_>,
    report: &mut dyn FnMut(&[u8], &str),
) -> Result<Passed, Error> {
    let mut reader = Client::connect(target)?;
    let mut list = reader.list(pattern)?;
    let mut passed = Passed {
        may_miss: list.may_miss(),
        ..Passed::default()
    };
    let mut keys = Vec::with_capacity(BATCH);
    let mut to = To {
        value: Vec::new(),
        each,
        report,
    };
    loop {
        let listed = list.next_item()?;
        let is_last = listed.is_none();
        match listed {
            Some(item) if !key::is_writable(&item.key) => passed.unreadable += 1,
            Some(item) => keys.push(item.key),
            None => {}
        }
        if keys.len() == BATCH || is_last {
            read_batch(&mut reader, &mut keys, &mut passed, &mut to)?;
        }
        if is_last {
            return Ok(passed);
        }
    }
}

/// Where items go.
struct To<'t, 'e> {
    /// The one under way.
    value: Vec<u8>,
    each: &'t mut Each<'e>,
    report: &'t mut dyn FnMut(&[u8], &str),
}

fn read_batch(
    reader: &mut Client,
    keys: &mut Vec<Vec<u8>>,
    passed: &mut Passed,
    to: &mut To<'_, '_>,
) -> Result<(), Error> {
    for key in keys.iter() {
        reader.ask(key, true);
    }
    reader.wire.flush()?;
    for key in keys.drain(..) {
        to.value.clear();
        let seen = match reader.answer(&mut to.value) {
            Err(Error::Refused { words, .. }) if words.starts_with("SERVER_ERROR ") => {
                passed.failed += 1;
                (to.report)(&key, words.trim_start_matches("SERVER_ERROR "));
                continue;
            }
            seen => seen?,
        };
        // An item that was declared out of date would come back as a good one.
        let Some(seen) = seen.filter(|seen| !seen.is_stale) else {
            passed.gone += 1;
            continue;
        };
        let now_s = now_s();
        let item = Item {
            value: &to.value,
            flags: seen.flags,
            expires_s: seen.expires_s(now_s),
            cas: seen.cas,
            marks: Marks {
                fetched: seen.is_fetched,
                ..Marks::default()
            },
            used_s: now_s.saturating_sub(seen.idle_s),
        };
        (to.each)(&key, item)?;
        passed.items += 1;
        passed.bytes += item.value.len() as u64;
    }
    Ok(())
}
