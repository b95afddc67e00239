//! `mg`: a read that tells what is asked, and may touch, make or claim the item.

use super::flags::{self, Flags, LONG_OPAQUE, TOKENS_MOST};
use crate::engine::{Answer, Engine, Item, MetaGet, Op, Recache};
use crate::limits::KEY_MOST;
use crate::number;
use crate::run::{Run, Step};
use crate::text::line::{Line, Tokens};
use crate::text::{self, BAD_FORMAT};

pub(crate) fn get<E: Engine>(run: &mut Run<'_, E>, line: &Line<'_>, tokens: &Tokens<'_>) -> Step {
    let mut key = std::mem::take(&mut run.shared.key);
    let done = read(run, tokens, &mut key);
    run.shared.key = key;
    done.map(|()| line.bytes)
}

fn read<E: Engine>(
    run: &mut Run<'_, E>,
    tokens: &Tokens<'_>,
    key: &mut Vec<u8>,
) -> Result<(), crate::run::Stop> {
    let flags = match checked(tokens, run.now_s, key) {
        Ok(flags) => flags,
        Err(text) => {
            run.say(text);
            return Ok(());
        }
    };
    let op = Op::MetaGet(MetaGet {
        quiet: flags.unread,
        expires_s: flags.expires_s,
        vivify: flags
            .vivify
            .map(|at_s| last_of(tokens, at_s, flags.expires_s)),
        recache: recache(tokens, &flags),
    });
    let now_s = run.now_s;
    run.apply(key, op, |out, counts, given| {
        counts.cmd_meta += 1;
        let hit = matches!(given, Answer::Found { .. });
        text::count_read(counts, flags.expires_s.is_some(), hit);
        match given {
            Answer::Found { item, won, made } => {
                let seen = Seen { item, won, made };
                hit_line(out, &flags, tokens, key, &seen, now_s);
            }
            Answer::Failed(words) => text::failed(out, words),
            Answer::Full => out.extend_from_slice(text::NO_MEMORY),
            _ if flags.quiet => {}
            _ => {
                out.extend_from_slice(b"EN");
                for token in tokens.from(2) {
                    flags::echo(out, token, key, flags.encoded);
                }
                out.extend_from_slice(b"\r\n");
            }
        }
    })
}

/// The flags, once it is clear that nothing keeps the command from being carried out.
fn checked(tokens: &Tokens<'_>, now_s: u32, key: &mut Vec<u8>) -> Result<Flags, &'static [u8]> {
    if tokens.get(1).len() > KEY_MOST {
        return Err(BAD_FORMAT);
    }
    if tokens.count > TOKENS_MOST {
        return Err(b"CLIENT_ERROR options flags are too long\r\n");
    }
    let flags = Flags::read(tokens, 2, now_s, key)?;
    match flags.long_opaque {
        true => Err(LONG_OPAQUE),
        false => Ok(flags),
    }
}

/// The expiry of a made item: `N` and `T` are carried out in their order.
fn last_of(tokens: &Tokens<'_>, vivify: u32, touch: Option<u32>) -> u32 {
    let place = |letter: u8| tokens.from(2).position(|t| t.first() == Some(&letter));
    match touch {
        Some(touch) if place(b'T') > place(b'N') => touch,
        _ => vivify,
    }
}

/// Who wins: `R` compares with the expiry that stands when its turn comes.
fn recache(tokens: &Tokens<'_>, flags: &Flags) -> Recache {
    let place = |letter: u8| tokens.from(2).position(|t| t.first() == Some(&letter));
    match (flags.recache_s, flags.expires_s) {
        (None, _) => Recache::Stale,
        (Some(before), Some(touch)) if place(b'T') < place(b'R') => {
            match touch != 0 && touch < before {
                true => Recache::Now,
                false => Recache::Stale,
            }
        }
        (Some(before), _) => Recache::Before(before),
    }
}

struct Seen<'a> {
    item: Item<'a>,
    won: bool,
    made: bool,
}

/// What the flags ask for, in their order.
fn told(
    out: &mut Vec<u8>,
    flags: &Flags,
    tokens: &Tokens<'_>,
    key: &[u8],
    seen: &Seen<'_>,
    now_s: u32,
) {
    let item = &seen.item;
    let encoded = flags.encoded || item.marks.encoded;
    // The expiry changes on the way: what `t` tells depends on what stands before it.
    let mut expires_s = if seen.made { 0 } else { item.expires_s };
    for token in tokens.from(2) {
        match token.first() {
            Some(b'T') => expires_s = flags.expires_s.unwrap_or(expires_s),
            Some(b'N') if seen.made => expires_s = flags.vivify.unwrap_or(expires_s),
            Some(b's') => flags::number(out, b's', item.value.len() as u64),
            Some(b't') => flags::left(out, expires_s, now_s),
            Some(b'c') => flags::number(out, b'c', item.cas),
            Some(b'f') => flags::number(out, b'f', item.flags.into()),
            Some(b'l') => {
                flags::number(out, b'l', now_s.saturating_sub(item.used_s).into());
            }
            Some(b'h') => out.extend_from_slice(match item.marks.fetched {
                true => b" h1",
                false => b" h0",
            }),
            _ => {
                flags::echo(out, token, key, encoded);
            }
        }
    }
}

fn hit_line(
    out: &mut Vec<u8>,
    flags: &Flags,
    tokens: &Tokens<'_>,
    key: &[u8],
    seen: &Seen<'_>,
    now_s: u32,
) {
    let item = &seen.item;
    if flags.value {
        // One growth instead of several: no flag takes more than an opaque token.
        out.reserve(item.value.len() + 64 + tokens.count * 32);
        out.extend_from_slice(b"VA ");
        number::write(item.value.len() as u64, out);
    } else {
        out.extend_from_slice(b"HD");
    }
    told(out, flags, tokens, key, seen, now_s);
    if item.marks.won {
        out.extend_from_slice(b" Z");
    }
    if item.marks.stale {
        out.extend_from_slice(b" X");
    }
    if seen.won {
        out.extend_from_slice(b" W");
    }
    out.extend_from_slice(b"\r\n");
    if flags.value {
        out.extend_from_slice(item.value);
        out.extend_from_slice(b"\r\n");
    }
}
