//! Connections whose request has not arrived yet, the longest waiting first.
//!
//! When all connections are taken, one that has not said what it wants gives way to one that
//! may: whoever only holds connections open keeps nobody out.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::Notify;

/// All that wait now.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<VecDeque<Arc<Notify>>>);

/// One that waits, until dropped.
pub(crate) struct Waits<'a> {
    all: &'a Waiting,
    told: Arc<Notify>,
}

impl Waiting {
    /// Begins to wait.
    pub(crate) fn begin(&self) -> Waits<'_> {
        let told = Arc::new(Notify::new());
        self.0.lock().push_back(Arc::clone(&told));
        Waits { all: self, told }
    }

    /// Tells the one that has waited longest to give way. False when none waits.
    pub(crate) fn displace(&self) -> bool {
        let longest = self.0.lock().pop_front();
        longest.inspect(|told| told.notify_one()).is_some()
    }
}

impl Waits<'_> {
    /// Returns when it has to give way.
    pub(crate) async fn displaced(&self) {
        self.told.notified().await;
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        all.retain(|other| !Arc::ptr_eq(other, &self.told));
    }
}
