//! Virtual users of a scenario, on the engine.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forebay_engine::{Driver, Expect, Fault, Http1, Next, Outgoing, Plan, Response, Running};
use forebay_results::{Cause, Tally};
use forebay_workload::scenario::{Act, Answer, Compiled, FaultKind, User};

use crate::place::Places;

/// A user that goes through its flow without sending anything waits so long between.
const EMPTY_ITERATION: Duration = Duration::from_millis(100);

/// A scenario's users.
#[derive(Clone)]
pub(crate) struct Users {
    pub(crate) compiled: Arc<Compiled>,
    /// The endpoints of the places that are known before the run.
    pub(crate) endpoints: Vec<u32>,
    /// Further places are looked up when a user first goes there.
    pub(crate) places: Arc<Mutex<Places>>,
    pub(crate) seed: u64,
}

impl Users {
    pub(super) fn start(&self, plan: &Plan) -> io::Result<Running> {
        let (users, (first, all)) = (self.clone(), plan.share);
        forebay_engine::start(plan, move |thread, count| Crowd {
            users: (0..count)
                .map(|n| {
                    // Numbers are dealt out to threads in turn, so that they are the same however
                    // many threads and machines there are.
                    let number = n * all + first + thread;
                    State {
                        user: User::new(&users.compiled, number, users.seed),
                        label: 0,
                        at_boundary: true,
                        has_sent: false,
                    }
                })
                .collect(),
            endpoints: users.endpoints.iter().copied().map(Some).collect(),
            shared: users.clone(),
        })
    }
}

/// The users of one thread.
struct Crowd {
    users: Vec<State>,
    /// The engine's endpoint of each of the scenario's places, where it is known.
    endpoints: Vec<Option<u32>>,
    shared: Users,
}

struct State {
    user: User,
    label: u32,
    at_boundary: bool,
    /// In this iteration.
    has_sent: bool,
}

impl Crowd {
    fn endpoint(&mut self, place: usize) -> Result<u32, String> {
        if let Some(Some(endpoint)) = self.endpoints.get(place) {
            return Ok(*endpoint);
        }
        let target = self
            .shared
            .compiled
            .place(place)
            .ok_or("the place is not known")?;
        let endpoint = self
            .shared
            .places
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .endpoint(&target)?;
        if self.endpoints.len() <= place {
            self.endpoints.resize(place + 1, None);
        }
        self.endpoints[place] = Some(endpoint);
        Ok(endpoint)
    }
}

impl Driver for Crowd {
    type Session = Http1;

    fn next(&mut self, user: u32, out: &mut Vec<u8>) -> Next<Http1> {
        let from = out.len();
        let state = &mut self.users[user as usize];
        let sent = match state.user.next(unix_seconds(), out) {
            Act::Send(sent) => sent,
            Act::Pause(pause) => return Next::Wait(pause),
            Act::Unsendable { label, fault } => {
                return Next::Unsendable {
                    label: label as u32,
                    fault: fault_of(fault),
                };
            }
            Act::EndOfIteration => {
                state.at_boundary = true;
                if std::mem::take(&mut state.has_sent) {
                    return Next::Again;
                }
                return Next::Wait(EMPTY_ITERATION);
            }
            Act::Finished => return Next::Finished,
        };
        state.at_boundary = false;
        state.has_sent = true;
        state.label = sent.label as u32;
        match self.endpoint(sent.place) {
            Ok(endpoint) => Next::Send(Outgoing {
                endpoint,
                label: sent.label as u32,
                expect: Expect {
                    is_head: sent.is_head,
                    keep_head: true,
                    keep_body: sent.keep_body,
                },
                close: sent.close,
            }),
            Err(words) => {
                out.truncate(from);
                self.users[user as usize].user.failed();
                Next::Unsendable {
                    label: sent.label as u32,
                    fault: Fault {
                        cause: Cause::Connect,
                        words: Some(words),
                    },
                }
            }
        }
    }

    fn answered(
        &mut self,
        user: u32,
        response: &Response,
        session: &mut Http1,
        whole: Duration,
        _tally: &mut Tally,
    ) -> Result<(), Fault> {
        let Some(kept) = session.kept() else {
            return Ok(());
        };
        let answer = Answer {
            status: response.status,
            head: &kept.head,
            body: &kept.body,
            whole,
            now: unix_seconds(),
        };
        self.users[user as usize]
            .user
            .answered(&answer)
            .map_err(fault_of)
    }

    fn failed(&mut self, user: u32, _cause: Cause, _tally: &mut Tally) {
        self.users[user as usize].user.failed();
    }

    fn is_scheduled(&self, user: u32) -> bool {
        self.users[user as usize].at_boundary
    }

    fn home(&self, user: u32) -> Option<u32> {
        let place = self.users[user as usize].user.home()?;
        *self.endpoints.get(place)?
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn fault_of(fault: forebay_workload::scenario::Fault) -> Fault {
    Fault {
        cause: match fault.kind {
            FaultKind::Status => Cause::Status,
            FaultKind::Check => Cause::Check,
        },
        words: Some(fault.words),
    }
}
