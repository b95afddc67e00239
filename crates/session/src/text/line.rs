//! A command line and its tokens.

use crate::limits::LINE_MOST;
use crate::run::Stop;

/// The most tokens of a line, the end counted as one; what follows is not looked at.
const TOKENS_MOST: usize = 24;

/// A line at the head of the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// What it says, without its end; a NUL byte ends it.
    pub(crate) text: &'a [u8],
    /// How much of the input it takes.
    pub(crate) bytes: usize,
}

impl<'a> Line<'a> {
    /// The line at the head of `input`.
    ///
    /// # Errors
    /// More bytes are needed, or it is longer than a line may be.
    pub(crate) fn read(input: &'a [u8]) -> Result<Self, Stop> {
        match memchr::memchr(b'\n', input) {
            Some(end) if end <= LINE_MOST => Ok(Self::of(input, end)),
            None if input.len() <= LINE_MOST => Err(Stop::Need(input.len() + 1)),
            _ => Err(Stop::Close),
        }
    }

    /// The line whose line feed is at `end`.
    pub(crate) fn of(input: &'a [u8], end: usize) -> Self {
        let text = input.get(..end).unwrap_or_default();
        let text = match text {
            [said @ .., b'\r'] if !said.is_empty() => said,
            said => said,
        };
        Self {
            text,
            bytes: end + 1,
        }
    }
}

/// The tokens of a line, which are parted by blanks. Their places are kept rather than themselves:
/// a quarter of the size, for each command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens<'a> {
    text: &'a [u8],
    places: [(u16, u16); TOKENS_MOST],
    /// How many there are, the end counted as one, as memcached counts them.
    pub(crate) count: usize,
}

impl<'a> Tokens<'a> {
    /// The tokens of a line's text, which has at most [`LINE_MOST`] bytes.
    pub(crate) fn of(text: &'a [u8]) -> Self {
        let mut places = [(0, 0); TOKENS_MOST];
        let (mut at, mut count) = (0, 0);
        for place in places.iter_mut().take(TOKENS_MOST - 1) {
            while text.get(at) == Some(&b' ') {
                at += 1;
            }
            let start = at;
            while text.get(at).is_some_and(|byte| !matches!(byte, b' ' | 0)) {
                at += 1;
            }
            // Also at a NUL byte: what stands behind it was never said.
            if at == start {
                break;
            }
            *place = (start as u16, at as u16);
            count += 1;
        }
        Self {
            text,
            places,
            count: count + 1,
        }
    }

    /// A token; empty where there is none.
    pub(crate) fn get(&self, at: usize) -> &'a [u8] {
        let (start, end) = self.places.get(at).copied().unwrap_or_default();
        self.text.get(start.into()..end.into()).unwrap_or_default()
    }

    /// The tokens from one on.
    pub(crate) fn from(&self, at: usize) -> impl Iterator<Item = &'a [u8]> {
        (at..self.count - 1).map(|at| self.get(at))
    }

    /// Whether the client wants no answer: the last token says so.
    pub(crate) fn no_reply(&self) -> bool {
        self.count >= 2 && self.get(self.count - 2) == b"noreply"
    }
}

/// The first token and what follows it; an empty one at the end of the line.
pub(crate) fn next(text: &[u8]) -> (&[u8], &[u8]) {
    let mut text = text;
    while let [b' ', rest @ ..] = text {
        text = rest;
    }
    match text.iter().position(|byte| matches!(byte, b' ' | 0)) {
        None => (text, &[]),
        Some(end) => {
            let (token, rest) = text.split_at(end);
            // What stands behind a NUL byte was never said.
            (token, if rest.starts_with(b" ") { rest } else { &[] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_parted_by_blanks_and_end_at_a_nul_byte() {
        let tokens = Tokens::of(b"  set a  b\tc \0 d");
        assert!(tokens.from(0).eq([&b"set"[..], b"a", b"b\tc"]));
        assert_eq!(tokens.count, 4);
        assert!(Tokens::of(b"a\0b c").from(0).eq([b"a"]));
        assert_eq!(Tokens::of(b"   ").count, 1);
        assert_eq!(Tokens::of(&b"a ".repeat(100)).count, TOKENS_MOST);
    }

    #[test]
    fn a_line_loses_one_carriage_return_and_only_if_it_says_something() {
        assert_eq!(
            Line::read(b"get a\r\nrest").map(|line| (line.text, line.bytes)),
            Ok((&b"get a"[..], 7))
        );
        assert_eq!(Line::read(b"\r\n").map(|line| line.text), Ok(&b"\r"[..]));
        assert_eq!(
            Line::read(b"get a").map(|line| line.text),
            Err(Stop::Need(6))
        );
        assert_eq!(
            Line::read(&[b'x'; 3000]).map(|line| line.text),
            Err(Stop::Close)
        );
    }
}
