//! One thread of load: an event loop over its connections.
//!
//! Level-triggered epoll, so that a request costs one write and one read. The
//! read buffer, the bytes being sent and the parsed head are the thread's;
//! a connection that waits for a response holds none of them.

mod connection;
mod dispatch;
mod events;
mod measure;
mod receive;
mod users;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use forebay_results::Tally;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event};

use crate::driver::Driver;
use crate::endpoint::Endpoint;
use crate::pacer::Pacer;
use crate::plan::{Pace, Plan};
use crate::run::{Interval, share};
use crate::session::Session;
use connection::Table;
use users::Users;

const EVENTS: usize = 512;
/// Small enough for the processor's second cache, large enough for a page in one read.
const BUFFER_BYTES: usize = 128 << 10;
/// How often connections are looked over for those that take too long.
const SWEEP_NS: u64 = 50_000_000;
/// How often figures are handed over.
const PUBLISH_NS: u64 = 500_000_000;
/// How long connections may take to open before the measured time begins without them.
const OPENING_NS: u64 = 10_000_000_000;

/// The load of one thread. Lives as long as the run.
pub(crate) struct Worker<D: Driver> {
    plan: Plan,
    driver: D,
    number: u32,
    poll: OwnedFd,
    endpoints: Vec<Arc<Endpoint>>,
    connections: Table<D::Session>,
    users: Users,
    pacer: Option<Pacer>,
    /// Requests that this thread may still begin.
    quota: Option<u64>,
    buffer: Box<[u8]>,
    scratch: <D::Session as Session>::Scratch,
    /// Requests written but not sent yet, of the connection `batch`.
    out: Vec<u8>,
    batch: u32,
    tally: Tally,
    /// All times are nanoseconds since this.
    epoch: Instant,
    now: u64,
    /// When the load began, when what is measured begins, and when it ends.
    begun: Option<u64>,
    zero: u64,
    end: u64,
    published: u64,
    cpu_ns: u64,
    next_sweep: u64,
    sender: Sender<Interval>,
    stop: Arc<AtomicBool>,
}

impl<D: Driver> Worker<D> {
    pub(crate) fn new(
        plan: Plan,
        driver: D,
        (number, users): (u32, u32),
        poll: OwnedFd,
        sender: Sender<Interval>,
        stop: Arc<AtomicBool>,
        epoch: Instant,
    ) -> Self {
        let (first, all) = plan.share;
        let pacer = match &plan.pace {
            Pace::Closed => None,
            Pace::Open(arrivals) => Some(Pacer::new(
                arrivals.clone(),
                u64::from(first + number),
                u64::from(all),
            )),
        };
        let quota = plan.requests.map(|total| {
            let (all, own) = (u64::from(all), u64::from(first + number));
            total / all + u64::from(own < total % all)
        });
        // Users of the threads before this one, for the ramp.
        let before: u32 = (0..number)
            .map(|n| share(plan.users, n, plan.threads))
            .sum();
        Self {
            endpoints: plan.endpoints.all(),
            users: Users::new(users, before, &plan),
            plan,
            driver,
            number,
            poll,
            connections: Table::new(),
            pacer,
            quota,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            scratch: Default::default(),
            out: Vec::with_capacity(4096),
            batch: connection::NONE,
            tally: Tally::default(),
            epoch,
            now: 0,
            begun: None,
            zero: 0,
            end: u64::MAX,
            published: 0,
            cpu_ns: 0,
            next_sweep: 0,
            sender,
            stop,
        }
    }

    pub(crate) fn run(mut self) {
        if let Err(error) = self.turn_until_done() {
            self.tally.fault(&format!("a thread ended early: {error}"));
        }
        self.finish();
    }

    fn turn_until_done(&mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        self.open_early();
        loop {
            self.tick();
            if self.begun.is_none() && self.is_opened() {
                self.begin();
            }
            if self.now >= self.end || self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.begun.is_some() {
                self.wake_users();
                if self.users.all_finished() {
                    return Ok(());
                }
            }
            if self.now >= self.next_sweep {
                self.sweep();
            }
            let timeout = self.timeout();
            match epoll::wait(&self.poll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.tick();
            for event in events.drain(..) {
                self.event(event);
            }
        }
    }

    /// Looks at the clock.
    #[inline]
    fn tick(&mut self) {
        self.now = self.epoch.elapsed().as_nanos() as u64;
    }

    /// The load begins.
    fn begin(&mut self) {
        let nanos = |duration: Duration| duration.as_nanos() as u64;
        self.begun = Some(self.now);
        self.zero = self.now + nanos(self.plan.warm_up);
        self.published = self.zero;
        if let Some(duration) = self.plan.duration {
            self.end = self.zero + nanos(duration);
        }
        self.users.begin(self.now);
        if self.plan.warm_up.is_zero() {
            self.cpu_ns = measure::thread_cpu_ns();
            self.announce();
        }
    }

    /// How long nothing is to be done without an event.
    fn timeout(&self) -> rustix::event::Timespec {
        let mut until = self.next_sweep.min(self.end);
        if self.begun.is_some() {
            until = until.min(self.users.next_wake());
            if self.users.has_idle()
                && let Some(due) = self.pacer.as_ref().and_then(Pacer::due)
            {
                until = until.min(self.begun.unwrap_or_default().saturating_add(due));
            }
        }
        let wait = until.saturating_sub(self.now);
        rustix::event::Timespec {
            tv_sec: (wait / 1_000_000_000) as i64,
            tv_nsec: (wait % 1_000_000_000) as _,
        }
    }
}
