//! One connection: heads and blocks of data in, responses out.

use std::marker::PhantomData;

use forebay_engine::{Malformed, Progress, Response, Session};
use forebay_results::{Cause, Lookup};

use super::{Command, Expect, Grammar, Greeting};

/// The longest line: memcached's keys have 250 bytes, and errors are sentences.
pub(super) const MOST_LINE: usize = 4 << 10;
/// The longest value that a server may announce.
const MOST_VALUE: u64 = 1 << 30;
/// Values of one response that are looked at are kept up to this size together.
pub(crate) const MOST_KEPT: usize = 64 << 20;
/// Words of an error that are kept, in bytes.
const MOST_ERROR: usize = 160;

/// What was read of a response.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// Answers that are still to come; what a greeting is answered with comes first.
    pub(super) left: u32,
    /// Of them, answers to the greeting.
    greeting_left: u32,
    /// Keys that were there.
    pub(crate) hits: u32,
    /// Keys that were not.
    pub(crate) misses: u32,
    /// What the server refused, in its words.
    pub(crate) error: Option<Box<str>>,
    kept: Option<Box<Kept>>,
}

impl Reply {
    pub(super) fn refused(&mut self, line: &[u8]) {
        if self.error.is_none() {
            let end = line.len().min(MOST_ERROR);
            self.error = Some(String::from_utf8_lossy(&line[..end]).into());
        }
    }

    /// Notes whose value follows.
    pub(super) fn value_of(&mut self, which: Which<'_>) {
        if let Some(kept) = &mut self.kept {
            kept.begin(which);
        }
    }
}

/// Whose a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which<'a> {
    /// The server named the key.
    Key(&'a [u8]),
    /// Of the keys that were asked for, this.
    Place(usize),
}

/// Values that are looked at, up to [`MOST_KEPT`] bytes of a response.
#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    items: Vec<Item>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    key_from: usize,
    key_to: usize,
    to: usize,
    place: Option<usize>,
}

impl Kept {
    fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
    }

    fn begin(&mut self, which: Which<'_>) {
        let key_from = self.bytes.len();
        let place = match which {
            Which::Key(key) => {
                self.bytes.extend_from_slice(key);
                None
            }
            Which::Place(place) => Some(place),
        };
        self.items.push(Item {
            key_from,
            key_to: self.bytes.len(),
            to: self.bytes.len(),
            place,
        });
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = MOST_KEPT.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        if let Some(item) = self.items.last_mut() {
            item.to = self.bytes.len();
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Wire<G> {
    reply: Reply,
    /// Bytes of the data block that are still to come, its line end included.
    data: u64,
    body_bytes: u64,
    is_begun: bool,
    is_greeted: bool,
    grammar: PhantomData<G>,
}

impl<G: Grammar> Wire<G> {
    /// The response that is complete.
    pub(crate) fn reply(&self) -> &Reply {
        &self.reply
    }

    /// Whether the connection was greeted; one that was opened anew must be again.
    pub(crate) fn is_greeted(&self) -> bool {
        self.is_greeted
    }

    /// The values that came, if they were to be kept.
    pub(crate) fn values(&self) -> impl Iterator<Item = (Which<'_>, &[u8])> {
        let kept = self.reply.kept.as_deref();
        let items = kept
            .into_iter()
            .flat_map(|kept| kept.items.iter().map(move |item| (kept, item)));
        items.map(|(kept, item)| {
            let key = &kept.bytes[item.key_from..item.key_to];
            let which = item.place.map_or(Which::Key(key), Which::Place);
            (which, &kept.bytes[item.key_to..item.to])
        })
    }

    fn begin(&mut self, expect: Expect) {
        let greeting_left = match expect.greeting {
            Greeting::Here(commands) => u32::from(commands),
            Greeting::Needless | Greeting::Earlier => 0,
        };
        let kept = expect.keep.then(|| {
            let mut kept = self.reply.kept.take().unwrap_or_default();
            kept.clear();
            kept
        });
        self.reply = Reply {
            left: G::answers(expect) + greeting_left,
            greeting_left,
            kept,
            ..Reply::default()
        };
        self.body_bytes = 0;
        self.is_begun = true;
    }

    /// Reads the head of an answer at the beginning of `input`; how many bytes it has, if it is whole.
    fn head(&mut self, input: &[u8], expect: Expect) -> Result<Option<usize>, Malformed> {
        let Some((line, taken)) = G::head(input)? else {
            return Ok(None);
        };
        if self.reply.greeting_left > 0 {
            self.reply.greeting_left -= 1;
            self.reply.left -= 1;
            match line.first() {
                Some(b'+') => {}
                Some(b'-') => self.reply.refused(&line[1..]),
                _ => return Err(Malformed("AUTH or SELECT is answered with something else")),
            }
        } else if let Some(bytes) = G::line(line, expect, &mut self.reply)? {
            if bytes > MOST_VALUE {
                return Err(Malformed("a value is longer than 1 GiB"));
            }
            self.data = bytes + G::TAIL.len() as u64;
        }
        Ok(Some(taken))
    }

    /// Reads of a block of data what there is of it.
    fn block(&mut self, input: &[u8]) -> Result<usize, Malformed> {
        let tail = G::TAIL.len();
        let value = (self.data.saturating_sub(tail as u64)).min(input.len() as u64) as usize;
        if let Some(kept) = &mut self.reply.kept {
            kept.add(&input[..value]);
        }
        self.body_bytes += value as u64;
        self.data -= value as u64;
        let mut at = value;
        while self.data > 0 && at < input.len() {
            if input.get(at) != G::TAIL.get(tail - self.data as usize) {
                return Err(Malformed("a value is not as long as announced"));
            }
            self.data -= 1;
            at += 1;
        }
        Ok(at)
    }

    fn end(&mut self, expect: Expect) -> Response {
        self.is_begun = false;
        match expect.greeting {
            Greeting::Needless => {}
            Greeting::Here(_) => self.is_greeted = self.reply.error.is_none(),
            Greeting::Earlier if self.is_greeted => {}
            Greeting::Earlier => self
                .reply
                .refused(b"the connection was closed and opened anew, without AUTH and SELECT"),
        }
        let is_single_read =
            expect.keys == 1 && matches!(expect.command, Command::Get | Command::Touch);
        Response {
            which: 0,
            status: 0,
            lookup: match (is_single_read, self.reply.hits, self.reply.misses) {
                (true, 1.., _) => Lookup::Hit,
                (true, 0, 1..) => Lookup::Miss,
                _ => Lookup::Unknown,
            },
            body_bytes: self.body_bytes,
            reusable: true,
            fault: self.reply.error.is_some().then_some(Cause::Status),
        }
    }
}

/// The line at the head of `input`, without its end, and how many bytes it takes with it.
#[inline]
pub(super) fn line(input: &[u8]) -> Result<Option<(&[u8], usize)>, Malformed> {
    let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
        return match input.len() > MOST_LINE {
            true => Err(Malformed("a line is too long")),
            false => Ok(None),
        };
    };
    let line = input[..end].strip_suffix(b"\r");
    let line = line.ok_or(Malformed("a line does not end in CR LF"))?;
    Ok(Some((line, end + 1)))
}

impl<G: Grammar> Session for Wire<G> {
    type Expect = Expect;
    type Scratch = ();

    fn new() -> Self {
        Self {
            reply: Reply::default(),
            data: 0,
            body_bytes: 0,
            is_begun: false,
            is_greeted: false,
            grammar: PhantomData,
        }
    }

    #[inline]
    fn receive(
        &mut self,
        (): &mut (),
        input: &[u8],
        expect: Expect,
    ) -> Result<Progress, Malformed> {
        if !self.is_begun {
            self.begin(expect);
        }
        let mut at = 0;
        loop {
            if self.data > 0 {
                at += self.block(&input[at..])?;
            } else if self.reply.left > 0 {
                match self.head(&input[at..], expect)? {
                    Some(taken) => at += taken,
                    None => break,
                }
            }
            if self.data == 0 && self.reply.left == 0 {
                return Ok(Progress {
                    consumed: at,
                    done: Some(self.end(expect)),
                });
            }
            if at == input.len() {
                break;
            }
        }
        Ok(Progress {
            consumed: at,
            done: None,
        })
    }

    fn closed(&mut self) -> Option<Response> {
        None
    }
}
