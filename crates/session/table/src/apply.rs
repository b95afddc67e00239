//! What a caller decided, done.

use crate::item::{Body, Change, Put};
use crate::journal::Why;
use crate::record::{HOT, READ};
use crate::room::Short;
use crate::shard::{Found, Now, Shard};
use crate::write::{New, NewValue};

impl Shard {
    /// Does `change` to the item of a key, `found` if there is one, and says its `cas` after it.
    pub(crate) fn apply(
        &mut self,
        now: Now<'_>,
        (key, hash): (&[u8], u64),
        found: Option<&Found>,
        change: &Change<'_>,
        scratch: &[u8],
        insist: bool,
    ) -> Result<u64, Short> {
        if let Change::Put(put) = change {
            return self.apply_put(now, (key, hash), put, scratch, insist);
        }
        let Some(found) = found else {
            return Ok(0);
        };
        let mut header = found.header;
        match change {
            Change::Keep | Change::Put(_) => {}
            Change::Read => self.note_read(found, now.now_s),
            Change::Touch { expires_s } => {
                header.expires_s = *expires_s;
                header.last_read_s = now.now_s;
                header.bits |= HOT | READ;
                self.change(now, key, found, &header);
            }
            Change::Mark(marks) => {
                header.marks = marks.0;
                self.change(now, key, found, &header);
            }
            Change::Remove => {
                self.remove(now, found, Why::Removed);
                return Ok(0);
            }
        }
        Ok(header.cas)
    }

    fn apply_put(
        &mut self,
        now: Now<'_>,
        (key, hash): (&[u8], u64),
        put: &Put<'_>,
        scratch: &[u8],
        insist: bool,
    ) -> Result<u64, Short> {
        let whole = [scratch];
        let value = match put.body {
            Body::Parts(parts) => NewValue::Parts(parts),
            Body::Scratch => NewValue::Parts(&whole),
            Body::Elsewhere(place) => NewValue::Elsewhere(place),
            // Looked for again: making room for others may have taken it.
            Body::Kept => match self.find_live(now, key, hash) {
                Some(found) => return Ok(self.keep_value(now, key, &found, put)),
                None => NewValue::Parts(&[]),
            },
        };
        let new = New {
            value,
            flags: put.flags,
            expires_s: put.expires_s,
            marks: put.marks,
            cas: put.cas,
            bits: 0,
            last_read_s: now.now_s,
            era: now.era,
            restored: false,
        };
        self.put(now, key, hash, &new, insist)
    }

    /// Writes all but the value anew.
    fn keep_value(&mut self, now: Now<'_>, key: &[u8], found: &Found, put: &Put<'_>) -> u64 {
        let mut header = found.header;
        header.flags = put.flags;
        header.expires_s = put.expires_s;
        header.marks = put.marks.0;
        header.cas = put.cas.unwrap_or_else(|| self.next_cas(now));
        self.change(now, key, found, &header);
        header.cas
    }
}
