//! The users of a key-value load: each is a connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;
use forebay_engine::{Driver, Fault, Next, Outgoing, Response};
use forebay_results::{Cause, Tally};

use super::choice::Chooser;
use super::evictions::Evictions;
use super::ledger::Ledger;
use super::protocol::{Command, Expect, Grammar, Greeting, Key, Which, Wire};
use super::work::Work;

/// The users of one thread.
pub(super) struct Users<G> {
    work: Arc<Work>,
    random: Rng,
    chooser: Chooser,
    users: Vec<User>,
    /// Keys of the request that is being written.
    picked: Vec<u64>,
    /// Of the next write; threads and machines take turns, so that none is used twice.
    version: u64,
    version_step: u64,
    ledger: Option<Ledger>,
    evictions: Option<Arc<Evictions>>,
    grammar: std::marker::PhantomData<G>,
}

/// One connection's.
#[derive(Debug, Default)]
struct User {
    /// The greeting has to be said (again).
    is_new: bool,
    /// Requests under way, if their keys matter; the oldest first.
    flights: VecDeque<Flight>,
    /// Their keys, in the same order.
    keys: VecDeque<u64>,
    /// What a read did not find, to be stored.
    refills: Vec<(Command, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    command: Command,
    keys: u16,
    /// The ledger's moment when it was sent.
    moment: u64,
}

impl<G: Grammar> Users<G> {
    /// `users` connections of thread `number` of `all`.
    pub(super) fn new(
        work: &Arc<Work>,
        users: u32,
        (number, all): (u64, u64),
        chooser: Chooser,
        evictions: Option<Arc<Evictions>>,
    ) -> Self {
        let new_user = || User {
            is_new: work.greeting.1 > 0,
            ..User::default()
        };
        Self {
            work: Arc::clone(work),
            random: Rng::with_seed(work.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            chooser,
            users: (0..users).map(|_| new_user()).collect(),
            picked: Vec::new(),
            version: number,
            version_step: all.max(1),
            ledger: work.verify.then(|| work.ledger()),
            evictions,
            grammar: std::marker::PhantomData,
        }
    }

    /// Writes a request for the keys in `self.picked`.
    #[inline]
    fn write(&mut self, command: Command, out: &mut Vec<u8>) {
        let work = &*self.work;
        let index = self.picked.first().copied().unwrap_or_default();
        let key = Key {
            prefix: &work.prefix,
            index,
        };
        match command {
            Command::Get => G::get(out, &work.prefix, &self.picked),
            Command::Set | Command::Add => {
                self.version += self.version_step;
                work.store::<G>(out, index, self.version, command == Command::Add);
            }
            Command::Delete | Command::Touch => G::simple(out, command, key, work.expiry_s),
            Command::Incr => G::simple(out, command, work.counter(index), 0),
        }
    }

    /// Remembers a request that is sent, if its answer is looked at.
    fn remember(&mut self, user: u32, command: Command) {
        let moment = self.ledger.as_ref().map_or(0, Ledger::moment);
        let user = &mut self.users[user as usize];
        user.keys.extend(&self.picked);
        user.flights.push_back(Flight {
            command,
            keys: self.picked.len() as u16,
            moment,
        });
    }

    /// Looks at the answer to a request.
    fn look(&mut self, user: u32, session: &Wire<G>) -> Result<(), Fault> {
        let owner = &mut self.users[user as usize];
        let Some(flight) = owner.flights.pop_front() else {
            return Ok(());
        };
        self.picked.clear();
        self.picked
            .extend(owner.keys.drain(..usize::from(flight.keys)));
        let key = self.picked.first().copied().unwrap_or_default();
        if let Some(words) = &session.reply().error {
            // memcached drops the old value when it has no memory for the new one, and others' as well.
            if is_out_of_memory(words) {
                self.work.is_full.store(true, Ordering::Relaxed);
            }
            return Ok(());
        }
        match flight.command {
            Command::Get => return self.read(user, flight, session),
            Command::Incr if session.reply().misses > 0 => owner.refills.push((Command::Incr, key)),
            Command::Set => {
                if let Some(ledger) = &mut self.ledger {
                    ledger.wrote(key);
                }
            }
            Command::Delete | Command::Add | Command::Touch | Command::Incr => {}
        }
        Ok(())
    }

    /// Looks at the values of the keys in `self.picked`.
    fn read(&mut self, user: u32, flight: Flight, session: &Wire<G>) -> Result<(), Fault> {
        if self.work.verify {
            for (which, value) in session.values() {
                let found = match which {
                    Which::Place(place) => Some(place),
                    Which::Key(key) => self
                        .work
                        .index(key)
                        .and_then(|index| self.picked.iter().position(|&picked| picked == index)),
                };
                let index = found.and_then(|place| self.picked.get_mut(place));
                let Some(index) = index.filter(|index| **index != FOUND) else {
                    return Err(wrong("wrong key: one that was not asked for"));
                };
                let id = self.work.identity.of(std::mem::replace(index, FOUND));
                self.work.values.check(value, id).map_err(wrong)?;
            }
        } else if self.picked.len() > 1 {
            // Which were there does not matter but for storing the others.
            self.strike_found(session);
        } else if session.reply().hits > 0 {
            self.picked.clear();
        }
        self.missed(user, flight.moment)
    }

    fn strike_found(&mut self, session: &Wire<G>) {
        for (which, _) in session.values() {
            let place = match which {
                Which::Place(place) => Some(place),
                Which::Key(key) => {
                    let index = self.work.index(key);
                    self.picked.iter().position(|&picked| Some(picked) == index)
                }
            };
            if let Some(index) = place.and_then(|place| self.picked.get_mut(place)) {
                *index = FOUND;
            }
        }
    }

    /// Those left in `self.picked` were not there.
    fn missed(&mut self, user: u32, moment: u64) -> Result<(), Fault> {
        let mut lost = None;
        for place in 0..self.picked.len() {
            let key = self.picked[place];
            if key == FOUND {
                continue;
            }
            if let Some(ledger) = &mut self.ledger
                && ledger.is_lost(key, moment)
            {
                // Once is enough; until it is written again it stays away.
                ledger.forget(key);
                lost = lost.or(self.explain());
            }
            if self.work.refill {
                self.users[user as usize].refills.push((Command::Get, key));
            }
        }
        lost.map_or(Ok(()), |words| Err(wrong(words)))
    }

    /// A key is gone that should be there: what is said of it, unless the server had a reason.
    fn explain(&self) -> Option<&'static str> {
        if self.work.may_vanish() {
            return None;
        }
        match self
            .evictions
            .as_ref()
            .and_then(|evictions| evictions.any())
        {
            Some(true) => {
                self.work.is_full.store(true, Ordering::Relaxed);
                None
            }
            Some(false) => Some("lost: a key that was stored is gone"),
            None => Some(
                "lost: a key that was stored is gone (or was evicted; the server does not say)",
            ),
        }
    }
}

/// In place of a key that was found.
const FOUND: u64 = u64::MAX;

fn wrong(words: &str) -> Fault {
    Fault {
        cause: Cause::Check,
        words: Some(words.to_owned()),
    }
}

fn is_out_of_memory(words: &str) -> bool {
    words.to_ascii_lowercase().contains("out of memory") || words.starts_with("OOM")
}

impl<G: Grammar> Driver for Users<G> {
    type Session = Wire<G>;

    #[inline]
    fn next(&mut self, user: u32, out: &mut Vec<u8>) -> Next<Wire<G>> {
        let owner = &mut self.users[user as usize];
        let greeting = match (self.work.greeting.1, owner.is_new) {
            (0, _) => Greeting::Needless,
            (_, false) => Greeting::Earlier,
            (commands, true) => {
                owner.is_new = false;
                out.extend_from_slice(&self.work.greeting.0);
                Greeting::Here(commands)
            }
        };
        self.picked.clear();
        let command = if let Some((missed, key)) = owner.refills.pop() {
            self.picked.push(key);
            match missed {
                Command::Incr => {
                    self.work.store_counter::<G>(out, key);
                    Command::Add
                }
                _ => {
                    self.write(Command::Set, out);
                    Command::Set
                }
            }
        } else {
            let command = self.work.mix.pick(&mut self.random);
            let keys = match command {
                Command::Get => self.work.multiget,
                _ => 1,
            };
            for _ in 0..keys {
                self.picked.push(self.chooser.pick(&mut self.random));
            }
            self.write(command, out);
            command
        };
        if self.work.looks {
            self.remember(user, command);
        }
        Next::Send(Outgoing {
            endpoint: 0,
            label: self.work.label(command),
            expect: Expect {
                command,
                keys: self.picked.len() as u16,
                greeting,
                keep: self.work.keeps && command == Command::Get,
            },
            close: false,
        })
    }

    #[inline]
    fn answered(
        &mut self,
        user: u32,
        _response: &Response,
        session: &mut Wire<G>,
        _whole: Duration,
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        let reply = session.reply();
        if self.work.greeting.1 > 0 && !session.is_greeted() {
            self.users[user as usize].is_new = true;
        }
        if self.work.multiget > 1 {
            // The engine counts reads of one key itself.
            let several = reply.hits + reply.misses > 1;
            tally.counts.hits += u64::from(reply.hits) * u64::from(several);
            tally.counts.misses += u64::from(reply.misses) * u64::from(several);
        }
        let looked = match self.work.looks {
            true => self.look(user, session),
            false => Ok(()),
        };
        match &session.reply().error {
            Some(words) => Err(Fault {
                cause: Cause::Status,
                words: Some(words.to_string()),
            }),
            None => looked,
        }
    }

    fn failed(&mut self, user: u32, _cause: Cause, _tally: &mut Tally) {
        let owner = &mut self.users[user as usize];
        owner.is_new = self.work.greeting.1 > 0;
        if let Some(flight) = owner.flights.pop_front() {
            owner.keys.drain(..usize::from(flight.keys));
        }
    }

    fn disconnected(&mut self, user: u32) {
        // What is said first on a connection is said again.
        self.users[user as usize].is_new = self.work.greeting.1 > 0;
    }

    fn is_scheduled(&self, user: u32) -> bool {
        self.users[user as usize].refills.is_empty()
    }

    fn home(&self, _user: u32) -> Option<u32> {
        Some(0)
    }
}
