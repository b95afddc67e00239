//! A run: its threads, and what comes out of them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use forebay_results::Tally;
use serde::{Deserialize, Serialize};

use crate::driver::Driver;
use crate::plan::Plan;
use crate::worker::Worker;

/// What one thread measured in one stretch of time. The first of each thread is empty and says that the
/// measured time begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Which thread, from 0.
    pub thread: u32,
    /// The stretch, in nanoseconds since the measured time began (after the warm-up).
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// What was counted in it.
    pub tally: Tally,
    /// Connections open at its end.
    pub open: u64,
    /// Processor time that the thread used in it, in nanoseconds.
    pub cpu_ns: u64,
    /// The thread has ended.
    pub is_last: bool,
}

/// A run under way. Dropping it stops the load.
#[derive(Debug)]
pub struct Running {
    /// What the threads measure; it ends when all have.
    pub intervals: Receiver<Interval>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    /// Ends the load soon, as if its time were up.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A handle that stops the run from elsewhere.
    pub fn stopper(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}

/// Starts the load. `driver` makes the users of one thread, given its number and how many users it has;
/// it is called in that thread.
///
/// # Errors
/// When a thread or its event queue cannot be had.
pub fn start<D, F>(plan: &Plan, driver: F) -> io::Result<Running>
where
    D: Driver,
    F: Fn(u32, u32) -> D + Clone + Send + 'static,
{
    let (sender, intervals) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let mut running = Running {
        intervals,
        stop: Arc::clone(&stop),
        threads: Vec::new(),
    };
    let mut starts = Vec::new();
    let mut polls = Vec::new();
    for _ in 0..plan.threads {
        polls.push(rustix::event::epoll::create(
            rustix::event::epoll::CreateFlags::CLOEXEC,
        )?);
    }
    for (number, poll) in (0..plan.threads).zip(polls) {
        let (plan, driver, stop) = (plan.clone(), driver.clone(), Arc::clone(&stop));
        let sender: Sender<Interval> = sender.clone();
        let (start, started) = channel::<Instant>();
        starts.push(start);
        let users = share(plan.users, number, plan.threads);
        let thread = std::thread::Builder::new()
            .name(format!("load-{number}"))
            .spawn(move || {
                pin(&plan.cores, number);
                let driver = driver(number, users);
                // No word comes when another thread could not be had.
                if let Ok(epoch) = started.recv() {
                    Worker::new(plan, driver, (number, users), poll, sender, stop, epoch).run();
                }
            })?;
        running.threads.push(thread);
    }
    // All begin together.
    let epoch = Instant::now();
    for start in starts {
        let _ = start.send(epoch);
    }
    Ok(running)
}

/// How much of `total` thread `number` of `threads` takes.
pub(crate) fn share(total: u32, number: u32, threads: u32) -> u32 {
    total / threads + u32::from(number < total % threads)
}

fn pin(cores: &[usize], number: u32) {
    let Some(&core) = cores.get(number as usize % cores.len().max(1)) else {
        return;
    };
    let mut set = rustix::thread::CpuSet::new();
    if core >= rustix::thread::CpuSet::MAX_CPU {
        return;
    }
    set.set(core);
    // A core that is not there was refused when the options were read.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}
