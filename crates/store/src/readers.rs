//! Threads for reads that may wait for the disk.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};

type Job = Box<dyn FnOnce() + Send>;

/// A pool of threads with a bounded queue. When it is dropped, what is in the
/// queue is still done, and then the threads end.
#[derive(Debug)]
pub struct Readers {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    most: usize,
}

struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("most", &self.most).finish()
    }
}

impl Readers {
    /// Starts so many threads (at least one), behind a queue of so many jobs.
    pub fn new(threads: usize, queue: usize) -> io::Result<Self> {
        let readers = Self {
            shared: Arc::new(Shared {
                queue: Mutex::new(Queue {
                    jobs: VecDeque::new(),
                    closed: false,
                }),
                wake: Condvar::new(),
                most: queue,
            }),
        };
        for n in 0..threads.max(1) {
            let shared = Arc::clone(&readers.shared);
            thread::Builder::new()
                .name(format!("reader-{n}"))
                .spawn(move || shared.work())?;
        }
        Ok(readers)
    }

    /// Has a job done by one of the threads. False, and the job is dropped,
    /// when the queue is full.
    pub fn submit(&self, job: Box<dyn FnOnce() + Send>) -> bool {
        let mut queue = self.shared.queue.lock();
        if queue.jobs.len() >= self.shared.most {
            return false;
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.shared.wake.notify_one();
        true
    }

    /// Jobs that wait.
    pub fn waiting(&self) -> usize {
        self.shared.queue.lock().jobs.len()
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.wake.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next() {
            // A job that panics must not take the thread with it.
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a read panicked");
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            self.wake.wait(&mut queue);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_full_queue_refuses_and_what_was_taken_is_done() {
        let readers = Readers::new(1, 2).unwrap();
        let (started, has_started) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let (done, all) = mpsc::channel();
        assert!(readers.submit(Box::new(move || {
            started.send(()).unwrap();
            released.recv().unwrap();
        })));
        has_started.recv().unwrap();
        for n in 0..2 {
            let done = done.clone();
            assert!(readers.submit(Box::new(move || done.send(n).unwrap())));
        }
        assert_eq!(readers.waiting(), 2);
        assert!(!readers.submit(Box::new(|| ())));
        release.send(()).unwrap();
        drop((readers, done));
        assert_eq!(all.iter().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_panic_does_not_end_the_thread() {
        let readers = Readers::new(1, 8).unwrap();
        let (done, all) = mpsc::channel();
        readers.submit(Box::new(|| {
            std::panic::resume_unwind(Box::new("on purpose"))
        }));
        readers.submit(Box::new(move || done.send(1).unwrap()));
        assert_eq!(all.recv(), Ok(1));
    }
}
