//! Virtual users: when each goes on, and with which connection.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Worker;
use crate::driver::{Driver, Fault, Next};
use crate::plan::Plan;

/// After a failed connection the next is tried after so long, doubled each time up to the second.
const BACK_OFF_NS: [u64; 2] = [10_000_000, 1_000_000_000];
/// Connections that a thread opens at once before the load begins: a backlog of 128 is the least in use.
const OPENING_AT_ONCE: u64 = 100;

pub(crate) struct Users {
    all: Vec<User>,
    /// Users that go on at a time.
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    /// Users of an open load that wait for the next request that is due.
    idle: Vec<u32>,
    finished: usize,
    /// Users whose first connection is not open yet.
    unopened: usize,
    opening_from: u32,
    ramp_step_ns: u64,
    ramp_first_ns: u64,
}

#[derive(Default)]
pub(super) struct User {
    /// Its only connection, or its first.
    pub(super) home: Option<u32>,
    /// Connections to further places.
    pub(super) others: Vec<u32>,
    failures: u8,
    is_finished: bool,
    /// When the request that it sends next was due, at open load.
    due: Option<u64>,
}

impl Users {
    pub(crate) fn new(count: u32, before: u32, plan: &Plan) -> Self {
        let step = plan.ramp.as_nanos() as u64 / u64::from(plan.users.max(1));
        Self {
            all: (0..count).map(|_| User::default()).collect(),
            timers: BinaryHeap::new(),
            idle: Vec::new(),
            finished: 0,
            unopened: 0,
            opening_from: 0,
            // Threads take turns in the ramp.
            ramp_step_ns: step * u64::from(plan.threads),
            ramp_first_ns: step * u64::from(before % plan.threads.max(1)),
        }
    }

    pub(crate) fn begin(&mut self, now: u64) {
        for user in 0..self.all.len() as u32 {
            let at = now + self.ramp_first_ns + self.ramp_step_ns * u64::from(user);
            self.timers.push(Reverse((at, user)));
        }
    }

    pub(crate) fn all_finished(&self) -> bool {
        self.finished == self.all.len()
    }

    pub(crate) fn next_wake(&self) -> u64 {
        self.timers.peek().map_or(u64::MAX, |Reverse((at, _))| *at)
    }

    pub(crate) fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    pub(super) fn of(&mut self, user: u32) -> &mut User {
        &mut self.all[user as usize]
    }
}

impl<D: Driver> Worker<D> {
    /// Opens every user's connection, some at a time.
    pub(super) fn open_early(&mut self) {
        if !self.plan.open_early || !self.plan.ramp.is_zero() {
            return;
        }
        while self.users.unopened < OPENING_AT_ONCE as usize
            && (self.users.opening_from as usize) < self.users.all.len()
        {
            let user = self.users.opening_from;
            self.users.opening_from += 1;
            let Some(endpoint) = self.driver.home(user) else {
                continue;
            };
            if let Some(id) = self.connect(user, endpoint) {
                self.users.of(user).home = Some(id);
                self.users.unopened += 1;
            }
        }
    }

    /// A connection that was opened early is open, or will not be.
    pub(super) fn opened_early(&mut self) {
        if self.begun.is_none() {
            self.users.unopened = self.users.unopened.saturating_sub(1);
            self.open_early();
        }
    }

    pub(super) fn is_opened(&self) -> bool {
        self.now >= super::OPENING_NS || self.users.unopened == 0
    }

    /// Lets those go on whose time has come.
    pub(super) fn wake_users(&mut self) {
        while let Some(&Reverse((at, user))) = self.users.timers.peek()
            && at <= self.now
        {
            self.users.timers.pop();
            self.advance(user);
        }
        while let Some(&user) = self.users.idle.last() {
            let Some(due) = self.take_due() else { break };
            self.users.idle.pop();
            self.users.of(user).due = Some(due);
            self.advance(user);
        }
        self.retire_idle();
    }

    /// Users of an open load go when nothing more will be due.
    fn retire_idle(&mut self) {
        let none_due = self
            .pacer
            .as_ref()
            .is_some_and(|pacer| pacer.due().is_none());
        if none_due || self.quota == Some(0) {
            while let Some(user) = self.users.idle.pop() {
                self.retire(user);
            }
        }
    }

    /// The oldest request that is due, at open load.
    fn take_due(&mut self) -> Option<u64> {
        let begun = self.begun?;
        let due = self.pacer.as_mut()?.take(self.now.checked_sub(begun)?)?;
        Some(begun + due)
    }

    /// Lets a user do what it does next, as long as its connection has room.
    pub(super) fn advance(&mut self, user: u32) {
        let mut room = self.plan.pipeline.max(1);
        while room > 0 {
            room -= 1;
            if self.users.of(user).is_finished || !self.may_begin(user) {
                return;
            }
            let from = self.out.len();
            match self.driver.next(user, &mut self.out) {
                Next::Send(outgoing) => {
                    let due = self.users.of(user).due.take();
                    if !self.dispatch(user, outgoing, from, due) {
                        return;
                    }
                }
                Next::Wait(duration) => {
                    let at = self.now + duration.as_nanos() as u64;
                    self.users.timers.push(Reverse((at, user)));
                    return;
                }
                Next::Again => room += 1,
                Next::Unsendable { label, fault } => {
                    self.unsendable(label, &fault);
                    // Whatever is wrong with it, it is not tried in a tight loop.
                    return self.back_off(user);
                }
                Next::Finished => return self.retire(user),
            }
        }
    }

    fn unsendable(&mut self, label: u32, fault: &Fault) {
        if let Some(words) = &fault.words {
            self.tally.fault(words);
        }
        if let Some(quota) = &mut self.quota {
            *quota -= 1;
        }
        self.tally.counts.completed += 1;
        self.count_failure(fault.cause, label);
    }

    /// Whether the schedule and the count let the user begin something.
    fn may_begin(&mut self, user: u32) -> bool {
        if self.quota == Some(0) {
            if self.is_quiet(user) {
                self.retire(user);
            }
            return false;
        }
        if self.pacer.is_none()
            || self.users.of(user).due.is_some()
            || !self.driver.is_scheduled(user)
        {
            return true;
        }
        match self.take_due() {
            Some(due) => {
                self.users.of(user).due = Some(due);
                true
            }
            None => {
                let no_more = self
                    .pacer
                    .as_ref()
                    .is_none_or(|pacer| pacer.due().is_none());
                if no_more && self.is_quiet(user) {
                    self.retire(user);
                } else if self.is_quiet(user) {
                    self.users.idle.push(user);
                }
                false
            }
        }
    }

    /// Whether nothing of the user is under way.
    fn is_quiet(&mut self, user: u32) -> bool {
        let ids: Vec<u32> = match self.users.of(user) {
            User {
                home: Some(id),
                others,
                ..
            } if others.is_empty() => {
                let id = *id;
                return self
                    .connections
                    .get(id)
                    .is_none_or(|c| c.flights.is_empty());
            }
            User { home, others, .. } => home.iter().chain(others.iter()).copied().collect(),
        };
        ids.into_iter().all(|id| {
            self.connections
                .get(id)
                .is_none_or(|c| c.flights.is_empty())
        })
    }

    fn retire(&mut self, user: u32) {
        let user = self.users.of(user);
        if user.is_finished {
            return;
        }
        user.is_finished = true;
        let ids: Vec<u32> = user
            .home
            .take()
            .into_iter()
            .chain(user.others.drain(..))
            .collect();
        self.users.finished += 1;
        for id in ids {
            drop(self.connections.take(id));
        }
    }

    /// Tries again later, so that a server that is down is not asked in a tight loop.
    pub(super) fn back_off(&mut self, user: u32) {
        let [least, most] = BACK_OFF_NS;
        let owner = self.users.of(user);
        let wait = (least << owner.failures.min(10)).min(most);
        owner.failures = owner.failures.saturating_add(1);
        self.users.timers.push(Reverse((self.now + wait, user)));
    }

    pub(super) fn forgive(&mut self, user: u32) {
        self.users.of(user).failures = 0;
    }
}
