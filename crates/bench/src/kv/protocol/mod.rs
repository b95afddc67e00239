//! Key-value protocols as a client speaks them, without sockets or clock.
//!
//! All are heads (lines, but in memcached's binary protocol) with blocks of
//! data between them. A [`Grammar`] knows what heads mean and how requests are
//! written; [`Wire`] reads heads and blocks and knows when a response is complete.

mod binary;
mod meta;
mod resp;
#[cfg(test)]
mod tests;
mod text;
mod wire;

use forebay_engine::Malformed;

pub(crate) use binary::Binary;
pub(crate) use meta::Meta;
pub(crate) use resp::Resp;
pub(crate) use text::Text;
pub(crate) use wire::{MOST_KEPT, Reply, Which, Wire};

/// What is asked of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// The value of one key or of several.
    Get,
    /// Store a value.
    Set,
    /// Store a value if the key has none.
    Add,
    /// Remove a key.
    Delete,
    /// Give a key a new expiry.
    Touch,
    /// Add one to a counter.
    Incr,
}

impl Command {
    /// All, in the order in which reports list them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Get,
        Self::Set,
        Self::Add,
        Self::Delete,
        Self::Touch,
        Self::Incr,
    ];

    /// Its name in options and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
            Self::Add => "add",
            Self::Delete => "delete",
            Self::Touch => "touch",
            Self::Incr => "incr",
        }
    }
}

/// Whether a connection has to be greeted (AUTH, SELECT) before it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// Nothing has to be said.
    Needless,
    /// So many commands are in front of this request.
    Here(u8),
    /// They were in front of an earlier request on this connection.
    Earlier,
}

/// What must be known of a request to read its response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expect {
    /// What was asked.
    pub(crate) command: Command,
    /// Of how many keys.
    pub(crate) keys: u16,
    /// What had to be said before.
    pub(crate) greeting: Greeting,
    /// The driver looks at the values.
    pub(crate) keep: bool,
}

/// A key: a prefix and a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) prefix: &'a [u8],
    pub(crate) index: u64,
}

impl Key<'_> {
    /// Bytes of it.
    pub(crate) fn len(self) -> usize {
        self.prefix.len() + digits(self.index)
    }

    /// Appends it.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix);
        number(out, self.index);
    }
}

/// Decimal digits of a number.
fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Appends a number in decimal digits.
pub(crate) fn number(out: &mut Vec<u8>, mut number: u64) {
    let mut text = [0; 20];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&text[at..]);
        }
    }
}

/// A protocol's words.
pub(crate) trait Grammar: std::fmt::Debug + 'static {
    /// What stands behind a block of data.
    const TAIL: &'static [u8] = b"\r\n";

    /// The head of an answer at the beginning of `input`, and how many bytes it takes; `None`
    /// until it is whole.
    ///
    /// # Errors
    /// When no answer begins so.
    fn head(input: &[u8]) -> Result<Option<(&[u8], usize)>, Malformed> {
        wire::line(input)
    }

    /// Complete answers that make up the response to a request; answers to the greeting included.
    fn answers(expect: Expect) -> u32;

    /// Reads a head: a line, without its end. A block of data of the returned length follows it, if any.
    ///
    /// # Errors
    /// When the line has no place in an answer to what was asked.
    fn line(line: &[u8], expect: Expect, reply: &mut Reply) -> Result<Option<u64>, Malformed>;

    /// Appends a request for the values of keys.
    fn get(out: &mut Vec<u8>, prefix: &[u8], indexes: &[u64]);

    /// Appends what stands before a value that is stored; `bytes` is its length.
    fn store(out: &mut Vec<u8>, key: Key<'_>, bytes: u64, how: Store);

    /// Appends what stands behind it.
    fn stored(out: &mut Vec<u8>, how: Store);

    /// Appends a request without a value: delete, touch or incr.
    fn simple(out: &mut Vec<u8>, command: Command, key: Key<'_>, expiry_s: u32);
}

/// How a value is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Store {
    /// Only if the key has none.
    pub(crate) add: bool,
    /// Seconds; 0 for ever.
    pub(crate) expiry_s: u32,
}

/// A decimal number on the wire.
fn parse(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// The next word of a line, and what stands behind it.
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line
        .iter()
        .position(|&byte| byte == b' ')
        .unwrap_or(line.len());
    (&line[..end], line.get(end + 1..).unwrap_or_default())
}

/// An error as memcached words it.
fn is_memcached_error(line: &[u8]) -> bool {
    line == b"ERROR" || line.starts_with(b"CLIENT_ERROR") || line.starts_with(b"SERVER_ERROR")
}

const MISPLACED: Malformed = Malformed("an answer to something else");
