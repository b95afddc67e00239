//! A named moment that one thread announces and others await.

use std::sync::{Arc, Condvar, Mutex};

use crate::DEADLINE;

/// Set once, then true for ever; clones share the same moment.
#[derive(Clone, Debug)]
pub struct Event(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: &'static str,
    set: Mutex<bool>,
    changed: Condvar,
}

impl Event {
    /// A moment that has not come yet; `name` appears in failures.
    pub fn new(name: &'static str) -> Self {
        Self(Arc::new(Shared {
            name,
            set: Mutex::new(false),
            changed: Condvar::new(),
        }))
    }

    /// Announces it.
    pub fn set(&self) {
        *self.0.set.lock().unwrap() = true;
        self.0.changed.notify_all();
    }

    /// Whether it has come.
    pub fn is_set(&self) -> bool {
        *self.0.set.lock().unwrap()
    }

    /// Waits for it.
    ///
    /// # Panics
    /// When it does not come before the deadline.
    #[track_caller]
    pub fn wait(&self) {
        let guard = self.0.set.lock().unwrap();
        let (guard, _) = self
            .0
            .changed
            .wait_timeout_while(guard, DEADLINE, |set| !*set)
            .unwrap();
        assert!(
            *guard,
            "nobody announced \"{}\" in {DEADLINE:?}",
            self.0.name
        );
    }
}
