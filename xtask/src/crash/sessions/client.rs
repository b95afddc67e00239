//! One client of the crash test: batches of writes and reads of its own keys, every answer compared with what it knows.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;

use super::super::content::Random;
use super::super::visit::Trouble;
use super::common::{Common, size};
use super::owner::{Owner, State};
use super::wire::{Answer, Wire};

/// Requests on their way at once, at most.
const BATCH: usize = 16;
/// How many keys are asked for at once after a start.
const LOOK: usize = 100;

/// A client with its keys; lives as long as its store's directory.
#[derive(Debug)]
pub(super) struct Client {
    number: usize,
    pub(super) owner: Owner,
    random: Random,
}

/// What was asked, to judge the answer.
#[derive(Debug)]
enum Asked {
    /// Stored in any case.
    Set(usize),
    /// Stored: the number was right.
    Cas(usize),
    /// Refused: the number was another's.
    WrongCas,
    /// Done if there was an item.
    Delete(State),
    Touch(State),
    Read(usize, State),
}

impl Client {
    pub(super) fn new(number: usize, keys: usize, seed: u64) -> Self {
        Self {
            number,
            owner: Owner::new(keys),
            random: Random(Random(seed ^ (number as u64) << 40).next()),
        }
    }

    /// The number under which values of a key are made.
    fn content(&self, key: usize) -> usize {
        self.number * self.owner.keys() + key
    }

    fn key(&self, key: usize) -> String {
        format!("client-{}/{key}", self.number)
    }

    /// Writes and reads until the connection breaks, and says why it did.
    pub(super) fn work(&mut self, address: SocketAddr, common: &Common) -> Trouble {
        match self.batches(address, common) {
            Err(trouble) => trouble,
            Ok(never) => match never {},
        }
    }

    fn batches(&mut self, address: SocketAddr, common: &Common) -> Result<Infallible, Trouble> {
        let mut wire = Wire::connect(address)?;
        loop {
            self.batch(&mut wire, common)?;
        }
    }

    fn batch(&mut self, wire: &mut Wire, common: &Common) -> Result<(), Trouble> {
        let mut asked = Vec::with_capacity(BATCH);
        for _ in 0..=self.random.below(BATCH - 1) {
            let key = self.random.below(self.owner.keys());
            asked.push(self.ask(wire, common, key));
        }
        wire.flush()?;
        for asked in asked {
            let answer = wire.answer()?;
            self.judge(common, &asked, &answer)
                .map_err(|why| Trouble::Wrong(format!("{}, {asked:?}: {why}", self.number)))?;
        }
        Ok(())
    }

    fn ask(&mut self, wire: &mut Wire, common: &Common, key: usize) -> Asked {
        let name = self.key(key);
        let before = self.owner.now(key);
        match (self.random.below(16), before, self.owner.cas(key)) {
            (0..2, ..) => {
                self.owner.next_serial();
                self.owner.sent(key, State::Missing);
                self.owner.set_cas(key, None);
                wire.out
                    .extend_from_slice(format!("md {name}\r\n").as_bytes());
                Asked::Delete(before)
            }
            (2..4, ..) => {
                let ends = self.owner.next_serial();
                let after = match before {
                    State::Missing => before,
                    State::Held { version, .. } => State::Held { version, ends },
                };
                self.owner.sent(key, after);
                let touch = format!("mg {name} T{}\r\n", common.end_s(ends));
                wire.out.extend_from_slice(touch.as_bytes());
                Asked::Touch(before)
            }
            (4..8, ..) => {
                wire.out
                    .extend_from_slice(format!("mg {name} v t c\r\n").as_bytes());
                Asked::Read(key, before)
            }
            (8, State::Held { .. }, Some(cas)) => {
                // The store's numbers grow: nothing has this one.
                self.store(wire, common, key, Some(cas - 1), false);
                Asked::WrongCas
            }
            (9..11, State::Held { .. }, Some(cas)) => {
                self.store(wire, common, key, Some(cas), true);
                Asked::Cas(key)
            }
            _ => {
                self.store(wire, common, key, None, true);
                Asked::Set(key)
            }
        }
    }

    /// Gathers a store, of which is known whether it will be done.
    fn store(
        &mut self,
        wire: &mut Wire,
        common: &Common,
        key: usize,
        cas: Option<u64>,
        done: bool,
    ) {
        let version = self.owner.next_serial();
        let (number, bytes) = (self.content(key), size(self.content(key), version));
        let head = format!("ms {} {bytes} T{} c", self.key(key), common.end_s(version));
        wire.out.extend_from_slice(head.as_bytes());
        if let Some(cas) = cas {
            wire.out.extend_from_slice(format!(" C{cas}").as_bytes());
        }
        wire.out.extend_from_slice(b"\r\n");
        let out = &mut wire.out;
        let written = common.filler.parts(number, version, 0, bytes, |part| {
            out.extend_from_slice(part);
            Ok::<_, Infallible>(())
        });
        match written {
            Ok(()) => out.extend_from_slice(b"\r\n"),
        }
        if done {
            let ends = version;
            self.owner.sent(key, State::Held { version, ends });
            self.owner.set_cas(key, None);
        }
    }

    fn judge(&mut self, common: &Common, asked: &Asked, answer: &Answer) -> Result<(), String> {
        let due = match asked {
            Asked::Set(_) | Asked::Cas(_) => "HD",
            Asked::WrongCas => "EX",
            Asked::Delete(State::Missing) => "NF",
            Asked::Touch(State::Missing) | Asked::Read(_, State::Missing) => "EN",
            Asked::Delete(_) | Asked::Touch(_) => "HD",
            Asked::Read(..) => "VA",
        };
        if answer.code.split(' ').next() != Some(due) {
            return Err(format!("answered with {}, not {due}", answer.code));
        }
        match asked {
            Asked::Read(key, due) => {
                let seen = self.seen(common, *key, answer)?;
                if seen != *due {
                    return Err(format!("{seen:?} is read"));
                }
                return Ok(());
            }
            Asked::WrongCas => return Ok(()),
            Asked::Set(_) | Asked::Cas(_) | Asked::Delete(_) | Asked::Touch(_) => {}
        }
        common.tally.writes.fetch_add(1, Relaxed);
        let write = self.owner.acknowledge();
        match asked {
            Asked::Set(key) | Asked::Cas(key) if self.owner.is_latest(*key, write) => {
                self.owner.set_cas(*key, answer.cas);
            }
            _ => {}
        }
        Ok(())
    }

    /// What an answer to a read tells of a key; every byte of the value is compared.
    fn seen(&self, common: &Common, key: usize, answer: &Answer) -> Result<State, String> {
        if answer.code.starts_with("EN") {
            return Ok(State::Missing);
        }
        let value = &answer.value;
        let version = value.get(8..).and_then(<[u8]>::first_chunk);
        let version = version.map_or(0, |bytes| u64::from_le_bytes(*bytes)) as u32;
        let number = self.content(key);
        if value.len() != size(number, version) {
            let bytes = value.len();
            return Err(format!("{bytes} bytes are no value of version {version}"));
        }
        if let Some(place) = common.filler.differs(number, version, 0, value) {
            return Err(format!("byte {place} of version {version} is wrong"));
        }
        common.tally.reads.fetch_add(1, Relaxed);
        common.tally.bytes.fetch_add(value.len() as u64, Relaxed);
        let ends = common.write_of(answer.left_s.ok_or("it never ends")?);
        Ok(State::Held { version, ends })
    }

    /// Looks at all keys after a start; numbers that the store told before must be the same.
    pub(super) fn look(&self, address: SocketAddr, common: &Common) -> Result<Vec<State>, Trouble> {
        let mut wire = Wire::connect(address)?;
        let mut states = Vec::with_capacity(self.owner.keys());
        let keys: Vec<usize> = (0..self.owner.keys()).collect();
        for some in keys.chunks(LOOK) {
            for key in some {
                let read = format!("mg {} v t c\r\n", self.key(*key));
                wire.out.extend_from_slice(read.as_bytes());
            }
            wire.flush()?;
            for key in some {
                let answer = wire.answer()?;
                let state = self
                    .found(common, *key, &answer)
                    .map_err(|why| Trouble::Wrong(format!("{}: {why}", self.key(*key))))?;
                states.push(state);
            }
        }
        Ok(states)
    }

    fn found(&self, common: &Common, key: usize, answer: &Answer) -> Result<State, String> {
        if !answer.code.starts_with("VA") && !answer.code.starts_with("EN") {
            return Err(format!("answered with {}", answer.code));
        }
        let state = self.seen(common, key, answer)?;
        let known = self.owner.cas(key).filter(|_| state == self.owner.now(key));
        if known.is_some() && known != answer.cas {
            return Err(format!("its number was {known:?} and is {:?}", answer.cas));
        }
        Ok(state)
    }
}
