//! The allocator of the program, counting for threads that are watched.
//!
//! A thread is told by its number in the kernel: asking for its name would
//! allocate, and the allocator must not.

use std::alloc::{GlobalAlloc, Layout};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, AtomicUsize, Ordering::SeqCst};

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Counting = Counting(Jemalloc);

/// Threads that can be watched at the same time.
const MOST_THREADS: usize = 8;
/// Allocations whose place is remembered.
const MOST_PLACES: usize = 4;

static WATCHED: [AtomicI32; MOST_THREADS] = [const { AtomicI32::new(0) }; MOST_THREADS];
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static HELD_BYTES: AtomicI64 = AtomicI64::new(0);
static LARGEST_BYTES: AtomicUsize = AtomicUsize::new(0);
static PLACES_WANTED: AtomicUsize = AtomicUsize::new(0);
static PLACES: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    static OWN_ID: Cell<i32> = const { Cell::new(0) };
    static IS_TRACING: Cell<bool> = const { Cell::new(false) };
}

struct Counting(Jemalloc);

// SAFETY: every call goes to the allocator inside unchanged; counting touches
// atomics and thread-locals that need neither allocation nor destruction.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(0, layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(0, layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        note(layout.size(), new_bytes);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { self.0.realloc(at, layout, new_bytes) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if is_watched() {
            HELD_BYTES.fetch_sub(layout.size() as i64, SeqCst);
        }
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { self.0.dealloc(at, layout) }
    }
}

/// Counts an allocation that grows from `old` to `new` bytes.
fn note(old: usize, new: usize) {
    if !is_watched() || IS_TRACING.get() {
        return;
    }
    ALLOCATIONS.fetch_add(1, SeqCst);
    HELD_BYTES.fetch_add(new as i64 - old as i64, SeqCst);
    LARGEST_BYTES.fetch_max(new, SeqCst);
    let wanted = PLACES_WANTED.fetch_update(SeqCst, SeqCst, |wanted| wanted.checked_sub(1));
    if wanted.is_ok() {
        IS_TRACING.set(true);
        let place = format!("{new} bytes:\n{}", Backtrace::force_capture());
        if let Ok(mut places) = PLACES.lock() {
            places.push(place);
        }
        IS_TRACING.set(false);
    }
}

fn is_watched() -> bool {
    let mut own = OWN_ID.get();
    if own == 0 {
        own = rustix::thread::gettid().as_raw_nonzero().get();
        OWN_ID.set(own);
    }
    WATCHED.iter().any(|watched| watched.load(SeqCst) == own)
}

/// Watches the workers of this process until dropped.
#[derive(Debug)]
pub struct Watch(());

impl Watch {
    /// Counts from now on what threads named `worker-…` allocate.
    pub fn workers() -> Self {
        for (slot, thread) in WATCHED.iter().zip(worker_threads()) {
            slot.store(thread, SeqCst);
        }
        assert_ne!(WATCHED[0].load(SeqCst), 0, "there is a worker to watch");
        PLACES.lock().unwrap().clear();
        ALLOCATIONS.store(0, SeqCst);
        HELD_BYTES.store(0, SeqCst);
        LARGEST_BYTES.store(0, SeqCst);
        Self(())
    }

    /// Remembers where the next few allocations are made.
    pub fn tracing(self) -> Self {
        PLACES_WANTED.store(MOST_PLACES, SeqCst);
        self
    }

    /// Allocations made, reallocations included.
    pub fn allocations(&self) -> u64 {
        ALLOCATIONS.load(SeqCst)
    }

    /// Bytes allocated and not freed since.
    pub fn held_bytes(&self) -> i64 {
        HELD_BYTES.load(SeqCst)
    }

    /// The largest single allocation.
    pub fn largest_bytes(&self) -> usize {
        LARGEST_BYTES.load(SeqCst)
    }

    /// Where the first allocations were made.
    pub fn places(&self) -> String {
        PLACES.lock().unwrap().join("\n")
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.iter().for_each(|slot| slot.store(0, SeqCst));
        PLACES_WANTED.store(0, SeqCst);
    }
}

fn worker_threads() -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let tasks = tasks.map(|task| task.unwrap().path());
    let workers = tasks.filter(|task| {
        let name = std::fs::read_to_string(task.join("comm"));
        name.is_ok_and(|name| name.starts_with("worker-"))
    });
    workers
        .map(|task| task.file_name().unwrap().to_str().unwrap().parse().unwrap())
        .collect()
}
