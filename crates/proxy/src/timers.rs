//! Deadlines of a worker's tasks, checked ten times a second.
//!
//! A connection sets a deadline for each wait, thousands of times for each
//! time one passes. Setting one is two stores into a slot; passing is found by
//! a sweep over all slots. A deadline is therefore met late by up to a tick.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// How often the slots are looked at.
pub(crate) const TICK: Duration = Duration::from_millis(100);

const OFF: u64 = u64::MAX;

/// All deadlines of a worker.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    slots: RefCell<Vec<Slot>>,
    free: RefCell<Vec<usize>>,
    now_ms: Cell<u64>,
}

#[derive(Debug)]
struct Slot {
    deadline_ms: u64,
    waker: Option<Waker>,
    /// Waits for a next request that may never come: ended at once when draining.
    idle: bool,
}

/// A task's own deadline.
#[derive(Debug)]
pub(crate) struct Timer {
    timers: Rc<Timers>,
    slot: usize,
}

/// The deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elapsed;

impl Timers {
    pub(crate) fn timer(self: &Rc<Self>) -> Timer {
        let mut slots = self.slots.borrow_mut();
        let slot = self.free.borrow_mut().pop().unwrap_or_else(|| {
            slots.push(Slot {
                deadline_ms: OFF,
                waker: None,
                idle: false,
            });
            slots.len() - 1
        });
        drop(slots);
        Timer {
            timers: Rc::clone(self),
            slot,
        }
    }

    /// Wakes every task whose deadline has passed; `now_ms` never goes back.
    pub(crate) fn sweep(&self, now_ms: u64) {
        self.now_ms.set(now_ms);
        for slot in self.slots.borrow_mut().iter_mut() {
            if slot.deadline_ms <= now_ms {
                slot.deadline_ms = 0;
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
            }
        }
    }

    /// Ends every idle wait.
    pub(crate) fn end_idle(&self) {
        for slot in self.slots.borrow_mut().iter_mut().filter(|slot| slot.idle) {
            slot.deadline_ms = 0;
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }
}

impl Timer {
    /// Another timer of the same worker.
    pub(crate) fn another(&self) -> Self {
        self.timers.timer()
    }

    /// Runs `work` for at most `limit`.
    pub(crate) async fn within<F: Future>(
        &self,
        limit: Duration,
        work: F,
    ) -> Result<F::Output, Elapsed> {
        self.bounded(limit, false, work).await
    }

    /// The same; draining ends it.
    pub(crate) async fn within_idle<F: Future>(
        &self,
        limit: Duration,
        work: F,
    ) -> Result<F::Output, Elapsed> {
        self.bounded(limit, true, work).await
    }

    async fn bounded<F: Future>(
        &self,
        limit: Duration,
        idle: bool,
        work: F,
    ) -> Result<F::Output, Elapsed> {
        let mut work = pin!(work);
        let mut armed = false;
        let result = std::future::poll_fn(|cx| {
            if let Poll::Ready(output) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            if self.poll_elapsed(cx, &mut armed, limit, idle) {
                return Poll::Ready(Err(Elapsed));
            }
            Poll::Pending
        })
        .await;
        self.disarm();
        result
    }

    /// Sets the deadline at the first call, then tells whether it has passed. Draining ends it
    /// if it is `idle`: a wait between requests.
    pub(crate) fn poll_elapsed(
        &self,
        cx: &mut Context<'_>,
        armed: &mut bool,
        limit: Duration,
        idle: bool,
    ) -> bool {
        let mut slots = self.timers.slots.borrow_mut();
        let slot = &mut slots[self.slot];
        if !*armed {
            *armed = true;
            // The sweep's clock is up to a tick behind; a tick more keeps a deadline from passing early.
            let limit_ms = limit.as_millis() as u64 + TICK.as_millis() as u64;
            slot.deadline_ms = self.timers.now_ms.get().saturating_add(limit_ms);
            slot.idle = idle;
        } else if slot.deadline_ms == 0 {
            return true;
        }
        if !slot
            .waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            slot.waker = Some(cx.waker().clone());
        }
        false
    }

    pub(crate) fn disarm(&self) {
        let mut slots = self.timers.slots.borrow_mut();
        slots[self.slot].deadline_ms = OFF;
        slots[self.slot].idle = false;
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let mut slots = self.timers.slots.borrow_mut();
        slots[self.slot] = Slot {
            deadline_ms: OFF,
            waker: None,
            idle: false,
        };
        self.timers.free.borrow_mut().push(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::Pin;

    fn poll<F: Future>(work: Pin<&mut F>) -> Poll<F::Output> {
        work.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_deadline_passes_at_the_sweep_after_it_and_not_before() {
        let timers = Rc::new(Timers::default());
        timers.sweep(1_000);
        let timer = timers.timer();
        let mut wait = pin!(timer.within(Duration::from_millis(100), std::future::pending::<()>()));
        assert!(poll(wait.as_mut()).is_pending());
        timers.sweep(1_100);
        assert!(poll(wait.as_mut()).is_pending());
        timers.sweep(1_200);
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Err(Elapsed)));
    }

    #[test]
    fn draining_ends_idle_waits_only() {
        let timers = Rc::new(Timers::default());
        let (one, two) = (timers.timer(), timers.timer());
        let long = Duration::from_secs(60);
        let mut busy = pin!(one.within(long, std::future::pending::<()>()));
        let mut cx = Context::from_waker(Waker::noop());
        let mut armed = false;
        assert!(poll(busy.as_mut()).is_pending());
        assert!(!two.poll_elapsed(&mut cx, &mut armed, long, true));
        timers.end_idle();
        assert!(poll(busy.as_mut()).is_pending());
        assert!(two.poll_elapsed(&mut cx, &mut armed, long, true));
    }
}
