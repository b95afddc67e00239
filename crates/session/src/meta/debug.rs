//! `me`: what is known of an item, for people.

use super::flags::{self, Flags};
use crate::engine::{Answer, Engine, Item, Op};
use crate::limits::KEY_MOST;
use crate::run::{Run, Step};
use crate::text::line::{Line, Tokens};
use crate::text::{self, BAD_FORMAT};
use crate::{number, stats};

pub(crate) fn debug<E: Engine>(run: &mut Run<'_, E>, line: &Line<'_>, tokens: &Tokens<'_>) -> Step {
    if tokens.count < 3 || tokens.get(1).len() > KEY_MOST {
        run.say(BAD_FORMAT);
        return Ok(line.bytes);
    }
    let mut key = std::mem::take(&mut run.shared.key);
    // Only the first flag is looked at, and only whether it says that the key is encoded.
    let first = match tokens.get(2) {
        b"b" => 2,
        _ => usize::MAX,
    };
    let read = Flags::read(&only(tokens, first), 2, run.now_s, &mut key);
    let now_s = run.now_s;
    let done = match read {
        Err(_) => {
            run.say(BAD_FORMAT);
            Ok(())
        }
        Ok(_) => run.apply(&key, Op::Peek, |out, counts, given| {
            counts.cmd_meta += 1;
            match given {
                Answer::Found { item, .. } => tell(out, &key, &item, now_s),
                Answer::Failed(words) => text::failed(out, words),
                _ => out.extend_from_slice(b"EN\r\n"),
            }
        }),
    };
    run.shared.key = key;
    done.map(|()| line.bytes)
}

/// The command and its key, and the flag at a place.
fn only<'a>(tokens: &Tokens<'a>, place: usize) -> Tokens<'a> {
    let mut only = *tokens;
    only.count = match place {
        2 => 4,
        _ => 3,
    };
    only
}

fn tell(out: &mut Vec<u8>, key: &[u8], item: &Item<'_>, now_s: u32) {
    out.extend_from_slice(b"ME ");
    flags::name(out, key, item.marks.encoded);
    // As memcached writes it: how long ago the item expired, negative as long as it lives.
    out.extend_from_slice(b" exp=-");
    match item.expires_s {
        0 => out.push(b'1'),
        at_s => number::write(at_s.saturating_sub(now_s).into(), out),
    }
    out.extend_from_slice(b" la=");
    number::write(now_s.saturating_sub(item.used_s).into(), out);
    out.extend_from_slice(b" cas=");
    number::write(item.cas, out);
    out.extend_from_slice(match item.marks.fetched {
        true => b" fetch=yes cls=1 size=",
        false => b" fetch=no cls=1 size=",
    });
    number::write(stats::size(key, item.value.len()), out);
    out.extend_from_slice(b"\r\n");
}
