//! What a caller decided, done.

use crate::item::{Body, Change, Number, Put};
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
            Change::Head {
                expires_s,
                marks,
                read,
                number,
            } => {
                header.expires_s = *expires_s;
                header.marks = marks.0;
                if *read {
                    header.last_read_s = now.now_s;
                    header.bits |= HOT | READ;
                }
                header.cas = match number {
                    Number::Same => header.cas,
                    Number::Next => self.next_cas(now),
                    Number::Given(cas) => *cas,
                };
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
        };
        let new = New {
            value,
            flags: put.flags,
            expires_s: put.expires_s,
            marks: put.marks,
            cas: put.cas,
            bits: if put.read { READ } else { 0 },
            last_read_s: now.now_s,
            era: now.era,
            restored: false,
        };
        self.put(now, key, hash, &new, insist)
    }
}
