//! The flags of a meta command.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::base64::decode;
use crate::text::line::Tokens;
use crate::{expiry, number};

/// The most tokens of a line, the end counted as one.
pub(super) const TOKENS_MOST: usize = 20;

/// The longest opaque token, its letter included.
const OPAQUE_MOST: usize = 32;

pub(super) const LONG_OPAQUE: &[u8] = b"CLIENT_ERROR opaque token too long\r\n";
const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad token in command line format\r\n";

/// What the flags say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    /// `b`: the key is in base64.
    pub(super) encoded: bool,
    /// `q`: the ordinary answer is not wanted.
    pub(super) quiet: bool,
    /// `u`: the item is not to count as read.
    pub(super) unread: bool,
    /// `v`: the value is wanted.
    pub(super) value: bool,
    /// `I`.
    pub(super) invalidate: bool,
    /// `M`: the mode's letter.
    pub(super) mode: Option<u8>,
    /// `T`, as a unix second.
    pub(super) expires_s: Option<u32>,
    /// `N`, as a unix second.
    pub(super) vivify: Option<u32>,
    /// `R`, as a unix second.
    pub(super) recache_s: Option<u32>,
    /// `F`.
    pub(super) client: u32,
    /// `C`.
    pub(super) cas: Option<u64>,
    /// `E`: the number that the item gets.
    pub(super) number: Option<u64>,
    /// `D`.
    pub(super) delta: Option<u64>,
    /// `J`.
    pub(super) initial: u64,
    /// `O` is longer than it may be.
    pub(super) long_opaque: bool,
}

impl Flags {
    /// The flags from token `first` on; the key is decoded into `key`.
    ///
    /// # Errors
    /// What memcached answers; of several faults the last one, as there.
    pub(super) fn read(
        tokens: &Tokens<'_>,
        first: usize,
        now_s: u32,
        key: &mut Vec<u8>,
    ) -> Result<Self, &'static [u8]> {
        let mut flags = Self::default();
        let mut fault = None;
        let mut seen = 0_u128;
        key.clear();
        key.extend_from_slice(tokens.get(1));
        for token in tokens.from(first) {
            let Some((&letter, argument)) = token.split_first() else {
                continue;
            };
            if letter >= 127 || seen & (1 << letter) != 0 {
                return Err(b"CLIENT_ERROR duplicate flag\r\n");
            }
            seen |= 1 << letter;
            match flags.one(letter, argument, now_s, key) {
                Ok(()) => {}
                Err(Fault::Unknown) => return Err(b"CLIENT_ERROR invalid flag\r\n"),
                Err(Fault::Bad(text)) => fault = Some(text.or(fault).unwrap_or(BAD_FORMAT)),
            }
        }
        fault.map_or(Ok(flags), Err)
    }

    fn one(
        &mut self,
        letter: u8,
        argument: &[u8],
        now_s: u32,
        key: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let bad = Fault::Bad(Some(BAD_TOKEN));
        let moment = || {
            let given = number::signed_32(argument);
            given.map(|given| expiry::absolute(given.into(), now_s))
        };
        match letter {
            b'b' => {
                self.encoded = true;
                if !decode(key) {
                    return Err(BAD_KEY);
                }
            }
            b'N' => self.vivify = Some(moment().ok_or(bad)?),
            b'T' => self.expires_s = Some(moment().ok_or(bad)?),
            b'R' => self.recache_s = Some(moment().ok_or(bad)?),
            b'C' => self.cas = Some(number::unsigned(argument).ok_or(bad)?),
            b'E' => self.number = Some(number::unsigned(argument).ok_or(bad)?),
            b'F' => self.client = number::unsigned_32(argument).ok_or(Fault::Bad(None))?,
            b'J' => self.initial = number::unsigned(argument).ok_or(BAD_INITIAL)?,
            b'D' => self.delta = Some(number::unsigned(argument).ok_or(BAD_DELTA)?),
            b'M' => match argument {
                [mode] => self.mode = Some(*mode),
                _ => return Err(BAD_MODE),
            },
            b'O' => self.long_opaque = argument.len() + 1 > OPAQUE_MOST,
            b'v' => self.value = true,
            b'u' => self.unread = true,
            b'q' => self.quiet = true,
            b'I' => self.invalidate = true,
            b'k' | b's' | b't' | b'c' | b'f' | b'l' | b'h' | b'P' | b'L' => {}
            _ => return Err(Fault::Unknown),
        }
        Ok(())
    }
}

const BAD_FORMAT: &[u8] = crate::text::BAD_FORMAT;
const BAD_INITIAL: Fault = Fault::Bad(Some(b"CLIENT_ERROR invalid numeric initial value\r\n"));
const BAD_DELTA: Fault = Fault::Bad(Some(b"CLIENT_ERROR invalid numeric delta value\r\n"));
const BAD_KEY: Fault = Fault::Bad(Some(b"CLIENT_ERROR error decoding key\r\n"));
const BAD_MODE: Fault = Fault::Bad(Some(b"CLIENT_ERROR incorrect length for M token\r\n"));

/// What is wrong with a flag.
#[derive(Clone, Copy)]
enum Fault {
    Unknown,
    /// The rest of the line is looked at nevertheless. `None`: an earlier fault is told, if any.
    Bad(Option<&'static [u8]>),
}

/// Appends ` O…` or ` k…`, the flags that every command answers; false: it is another one.
pub(super) fn echo(out: &mut Vec<u8>, token: &[u8], key: &[u8], encoded: bool) -> bool {
    match token.first() {
        Some(b'O') => {
            out.push(b' ');
            out.extend_from_slice(token);
        }
        Some(b'k') => {
            out.extend_from_slice(b" k");
            name(out, key, encoded);
            if encoded {
                out.extend_from_slice(b" b");
            }
        }
        _ => return false,
    }
    true
}

/// Appends a key as its client wrote it.
pub(super) fn name(out: &mut Vec<u8>, key: &[u8], encoded: bool) {
    if !encoded {
        return out.extend_from_slice(key);
    }
    let start = out.len();
    out.resize(start + key.len().div_ceil(3) * 4, 0);
    let place = out.get_mut(start..).unwrap_or_default();
    // The place has the right length, so that this cannot fail.
    let bytes = STANDARD.encode_slice(key, place).unwrap_or_default();
    out.truncate(start + bytes);
}

/// Appends a flag with a number.
pub(super) fn number(out: &mut Vec<u8>, letter: u8, value: u64) {
    out.extend_from_slice(&[b' ', letter]);
    number::write(value, out);
}

/// Appends ` t` and the seconds that are left; -1 for ever.
pub(super) fn left(out: &mut Vec<u8>, expires_s: u32, now_s: u32) {
    match expires_s {
        0 => out.extend_from_slice(b" t-1"),
        at_s => number(out, b't', at_s.wrapping_sub(now_s).into()),
    }
}
