//! Stores every key once before a load begins.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use forebay_engine::{Driver, Fault, Next, Outgoing, Response};
use forebay_results::{Cause, Tally};

use super::protocol::{Command, Expect, Grammar, Greeting, Wire};
use super::work::Work;

/// A user whose last answers are under way has nothing to do until they come.
const UNTIL_ANSWERED: Duration = Duration::from_secs(3600);

/// The users of one thread; it stores the keys `next`, `next + step`, ….
pub(super) struct Fill<G> {
    work: Arc<Work>,
    next: u64,
    step: u64,
    users: Vec<User>,
    grammar: PhantomData<G>,
}

struct User {
    under_way: u32,
    is_new: bool,
}

impl<G: Grammar> Fill<G> {
    pub(super) fn new(work: &Arc<Work>, users: u32, number: u64, all: u64) -> Self {
        let new_user = |_| User {
            under_way: 0,
            is_new: work.greeting.1 > 0,
        };
        Self {
            work: Arc::clone(work),
            next: number,
            step: all.max(1),
            users: (0..users).map(new_user).collect(),
            grammar: PhantomData,
        }
    }
}

impl<G: Grammar> Driver for Fill<G> {
    type Session = Wire<G>;

    fn next(&mut self, user: u32, out: &mut Vec<u8>) -> Next<Wire<G>> {
        let user = &mut self.users[user as usize];
        if self.next >= self.work.keys {
            return match user.under_way {
                0 => Next::Finished,
                _ => Next::Wait(UNTIL_ANSWERED),
            };
        }
        let greeting = match (self.work.greeting.1, user.is_new) {
            (0, _) => Greeting::Needless,
            (_, false) => Greeting::Earlier,
            (commands, true) => {
                out.extend_from_slice(&self.work.greeting.0);
                Greeting::Here(commands)
            }
        };
        user.is_new = false;
        user.under_way += 1;
        self.work.store::<G>(out, self.next, 0, false);
        self.next += self.step;
        Next::Send(Outgoing {
            endpoint: 0,
            label: 0,
            expect: Expect {
                command: Command::Set,
                keys: 1,
                greeting,
                keep: false,
            },
            close: false,
        })
    }

    fn answered(
        &mut self,
        user: u32,
        _response: &Response,
        session: &mut Wire<G>,
        _whole: Duration,
        _tally: &mut Tally,
    ) -> Result<(), Fault> {
        self.users[user as usize].under_way -= 1;
        match &session.reply().error {
            None => Ok(()),
            Some(words) => Err(Fault {
                cause: Cause::Status,
                words: Some(words.to_string()),
            }),
        }
    }

    fn failed(&mut self, user: u32, _cause: Cause, _tally: &mut Tally) {
        let user = &mut self.users[user as usize];
        user.under_way -= 1;
        user.is_new = self.work.greeting.1 > 0;
    }

    fn disconnected(&mut self, user: u32) {
        // What is said first on a connection is said again.
        self.users[user as usize].is_new = self.work.greeting.1 > 0;
    }

    fn is_scheduled(&self, _user: u32) -> bool {
        true
    }

    fn home(&self, _user: u32) -> Option<u32> {
        None
    }
}
