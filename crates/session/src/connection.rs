//! A connection: which protocol it speaks, and how far its input was taken.

use crate::ahead::{Ahead, Next};
use crate::counts::Counts;
use crate::engine::{Commit, Engine, Ticket};
use crate::limits::{Access, Limits};
use crate::run::{Run, Shared, Step, Stop};
use crate::{binary, http, text, tyrant};

/// What is to happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// More input is wanted.
    More {
        /// What the next command takes at least, from the input's first byte that was not
        /// consumed: the buffer is to have room for it.
        bytes: usize,
    },
    /// The output is to be sent before more is taken.
    Full,
    /// The output is to be sent, then the connection ends.
    Close,
    /// The engine calls this ticket; until then nothing is taken. The input that was not consumed
    /// is to be given again after [`Connection::resume`].
    Wait(Ticket),
}

/// How far the input was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// So many bytes of it are done with.
    pub consumed: usize,
    /// What is to happen next.
    pub state: State,
    /// The output is to be sent only when this commit is durable.
    pub commit: Commit,
}

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Unknown,
    Text,
    Binary,
    Tyrant,
    Http,
}

/// How many commands are looked at to tell the engine of their keys.
const COMMANDS_AHEAD: usize = 32;

/// One client's connection.
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    access: Access,
    protocol: Protocol,
    shared: Shared,
    waiting: Option<Ticket>,
    resumed: Option<Ticket>,
    closed: bool,
}

impl Connection {
    /// A connection that has not said anything yet.
    #[must_use]
    pub fn new(limits: Limits, access: Access) -> Self {
        Self {
            limits,
            access,
            protocol: Protocol::Unknown,
            shared: Shared::default(),
            waiting: None,
            resumed: None,
            closed: false,
        }
    }

    /// Carries out the commands at the head of `input` and appends the answers to `out`.
    /// `now_s` is the caller's clock, in unix seconds. What was asked for is added to `counts`,
    /// which the engine's figures do not know yet.
    pub fn take<E: Engine>(
        &mut self,
        input: &[u8],
        engine: &E,
        now_s: u32,
        out: &mut Vec<u8>,
        counts: &mut Counts,
    ) -> Taken {
        let mut consumed = 0;
        let mut commit = Commit::default();
        // How many commands the engine was told of. The first is alone, or the caller's to tell.
        let mut told = 1_usize;
        let state = loop {
            if let Some(ticket) = self.waiting {
                break State::Wait(ticket);
            }
            if self.closed {
                break State::Close;
            }
            if out.len() >= self.limits.output_bytes {
                break State::Full;
            }
            let rest = input.get(consumed..).unwrap_or_default();
            let passed = rest.len().min(self.shared.swallow);
            if passed > 0 {
                self.shared.swallow -= passed;
                consumed += passed;
                continue;
            }
            if rest.is_empty() && self.shared.dump.is_none() {
                break State::More { bytes: 1 };
            }
            if told == 0 {
                told = self.tell_ahead(rest, engine);
            }
            match self.step(rest, (engine, now_s), out, counts, &mut commit) {
                Ok(bytes) => {
                    consumed += bytes;
                    told = told.saturating_sub(1);
                }
                Err(Stop::Need(bytes)) => break State::More { bytes },
                Err(Stop::Wait(bytes, ticket)) => {
                    consumed += bytes;
                    self.waiting = Some(ticket);
                }
                Err(Stop::Close) => self.closed = true,
            }
        };
        Taken {
            consumed,
            state,
            commit,
        }
    }

    /// Adds the key of the command at the head of `input`, which is about to be given to
    /// [`Connection::take`], to those that the engine is told of before.
    pub fn look_ahead<'i>(&self, input: &'i [u8], ahead: &mut Ahead<'i>) {
        if let Some(next) = self.next(input) {
            ahead.add(next.key);
        }
    }

    /// Tells the engine what the commands at the head of the input are about; says how many.
    fn tell_ahead<E: Engine>(&self, input: &[u8], engine: &E) -> usize {
        let mut ahead = Ahead::default();
        let (mut count, mut rest) = (0, input);
        while !ahead.is_full()
            && count < COMMANDS_AHEAD
            && let Some(next) = self.next(rest)
        {
            ahead.add(next.key);
            count += 1;
            rest = rest.get(next.bytes..).unwrap_or_default();
        }
        ahead.tell(engine);
        count.max(1)
    }

    /// The command at the head of the input, where one begins there that may be carried out.
    fn next<'i>(&self, input: &'i [u8]) -> Option<Next<'i>> {
        let shared = &self.shared;
        let is_between = self.is_idle() && (!self.access.is_guarded() || shared.admitted);
        match self.protocol {
            _ if !is_between => None,
            Protocol::Text => text::ahead(input),
            Protocol::Binary => binary::ahead(input),
            Protocol::Tyrant => tyrant::ahead(input),
            Protocol::Unknown | Protocol::Http => None,
        }
    }

    /// The engine called this ticket: what waited for it is carried out by the next call of
    /// [`Connection::take`]. Another ticket is ignored.
    pub fn resume(&mut self, ticket: Ticket) {
        if self.waiting == Some(ticket) {
            self.waiting = None;
            self.resumed = Some(ticket);
        }
    }

    /// Bytes that it keeps for a command that is not at its end, beside the input that is not taken.
    pub fn held_bytes(&self) -> usize {
        self.shared.parked.capacity()
    }

    /// Whether nothing was said yet, or nothing is under way between commands.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let shared = &self.shared;
        self.waiting.is_none()
            && shared.swallow == 0
            && shared.keys.is_none()
            && shared.dump.is_none()
    }

    fn step<E: Engine>(
        &mut self,
        input: &[u8],
        (engine, now_s): (&E, u32),
        out: &mut Vec<u8>,
        counts: &mut Counts,
        commit: &mut Commit,
    ) -> Step {
        if self.protocol == Protocol::Unknown {
            self.protocol = recognise(input)?;
        }
        let mut run = Run {
            engine,
            now_s,
            out,
            limits: &self.limits,
            access: &self.access,
            counts,
            shared: &mut self.shared,
            resumed: self.resumed.take(),
            number: None,
            commit: *commit,
        };
        let step = match self.protocol {
            Protocol::Unknown | Protocol::Text => text::step(&mut run, input),
            Protocol::Binary => binary::step(&mut run, input),
            Protocol::Tyrant => tyrant::step(&mut run, input),
            Protocol::Http => http::step(&mut run, input),
        };
        *commit = run.commit;
        step
    }
}

/// The protocol, by a connection's first bytes.
fn recognise(input: &[u8]) -> Result<Protocol, Stop> {
    match input.first() {
        None => Err(Stop::Need(1)),
        Some(&binary::MAGIC) => Ok(Protocol::Binary),
        Some(&tyrant::MAGIC) => Ok(Protocol::Tyrant),
        Some(_) if http::METHODS.iter().any(|start| input.starts_with(start)) => Ok(Protocol::Http),
        Some(_) if http::METHODS.iter().any(|start| start.starts_with(input)) => {
            Err(Stop::Need(input.len() + 1))
        }
        Some(_) => Ok(Protocol::Text),
    }
}
