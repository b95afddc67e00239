//! Copies that clients ask for (Tokyo Tyrant's `copy`): snapshots under a name, in a directory of
//! the store's own. They stay until the operator removes them.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use forebay_session::{Calls, Ticket};

use crate::fetch::Outcome;
use crate::store::{Disk, Store};

/// How many copies there may be: each keeps what the log held from being given back.
const COPIES_MOST: usize = 8;

impl Store {
    /// Begins a copy; its outcome is at the ticket. `None`: another is under way, or the system
    /// has no threads left.
    pub(crate) fn begin_copy(
        self: &Arc<Self>,
        disk: &Disk,
        name: &str,
        calls: &Arc<dyn Calls>,
    ) -> Option<Ticket> {
        if self.copying.swap(true, AcqRel) {
            return None;
        }
        let ticket = disk.fetches.ticket();
        let fetches = Arc::clone(&disk.fetches);
        let (store, calls) = (Arc::clone(self), Arc::clone(calls));
        let directory = disk.copies.join(name);
        let begun = std::thread::Builder::new()
            .name("session-copy".into())
            .spawn(move || {
                let copied = store.copy_to(&directory);
                store.copying.store(false, Release);
                fetches.finish(ticket, Outcome::Copied(copied), &calls);
            });
        match begun {
            Ok(thread) => {
                let mut working = self.working.lock();
                working.retain(|thread| !thread.is_finished());
                working.push(thread);
                Some(ticket)
            }
            Err(error) => {
                self.copying.store(false, Release);
                tracing::error!("[session.{}]: a copy cannot be made: {error}", self.name);
                None
            }
        }
    }

    /// Makes a copy; false: it was not made, and the operator is told why.
    fn copy_to(&self, directory: &Path) -> bool {
        let copied = room_for(directory).map_err(|error| error.to_string());
        let copied = copied.and_then(|()| {
            let made = self.snapshot(directory);
            made.map_err(|error| error.to_string())
        });
        let (name, shown) = (&self.name, directory.display());
        match copied {
            Ok(snapshot) => {
                let bytes = snapshot.bytes;
                tracing::info!("[session.{name}]: copied to {shown}, {bytes} bytes");
                true
            }
            Err(error) => {
                tracing::warn!("[session.{name}]: not copied to {shown}: {error}");
                false
            }
        }
    }
}

/// Whether there may be one more copy, of this name.
fn room_for(directory: &Path) -> io::Result<()> {
    // A snapshot is made under such a name, which is cleared before.
    if directory.extension().is_some_and(|end| end == "part") {
        let words = "copies that are being made are named so";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    let there = match directory.parent().map(fs::read_dir) {
        Some(Ok(entries)) => entries.count(),
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => 0,
    };
    match there {
        COPIES_MOST.. => Err(io::Error::other(format!(
            "there are {there} copies already: remove some"
        ))),
        _ => Ok(()),
    }
}
