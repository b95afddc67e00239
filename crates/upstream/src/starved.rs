//! Whether a server that serves one connection at a time in each of its processes has none left.
//!
//! PHP-FPM accepts a connection when a process is free, and that process belongs to the connection
//! until it ends. Connections that are kept for later requests then keep others waiting in the
//! system's queue, in which nobody sees them: all that shows is that no answer comes. So
//! connections whose first answer is long in coming are counted, and while there are any, none are
//! kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::server::Server;

/// How long a first answer may take until others' connections are closed for it, in milliseconds.
const PATIENCE_MS: u64 = 50;

/// New connections to a server that have not had an answer.
#[derive(Debug, Default)]
pub(crate) struct Unanswered {
    count: AtomicU64,
    /// Since when there has been one, or since when one was answered soon.
    since_ms: AtomicU64,
}

/// A new connection that waits for its first answer, until dropped.
#[derive(Debug)]
pub struct FirstAnswer {
    server: Arc<Server>,
    began_ms: u64,
}

impl FirstAnswer {
    /// Begins to wait. Times are in milliseconds since the epoch.
    pub fn awaited(server: &Arc<Server>, now_ms: u64) -> Self {
        let waiting = &server.unanswered;
        if waiting.count.fetch_add(1, Relaxed) == 0 {
            waiting.since_ms.store(now_ms, Relaxed);
        }
        Self {
            server: Arc::clone(server),
            began_ms: now_ms,
        }
    }

    /// It has come.
    pub fn came(self, now_ms: u64) {
        // Processes are free: who else waits does so for what it asked.
        if now_ms.saturating_sub(self.began_ms) < PATIENCE_MS {
            self.server.unanswered.since_ms.store(now_ms, Relaxed);
        }
    }
}

impl Drop for FirstAnswer {
    fn drop(&mut self) {
        self.server.unanswered.count.fetch_sub(1, Relaxed);
    }
}

impl Server {
    /// Whether connections that are kept idle hold up others.
    pub fn is_starved(&self, now_ms: u64) -> bool {
        let Unanswered { count, since_ms } = &self.unanswered;
        count.load(Relaxed) > 0 && now_ms.saturating_sub(since_ms.load(Relaxed)) >= PATIENCE_MS
    }
}

#[cfg(test)]
mod tests {
    use forebay_config::settings::ServerAddress;

    use super::*;
    use crate::server::ServerKind;

    #[test]
    fn a_server_is_starved_while_a_first_answer_is_long_in_coming() {
        let address = ServerAddress::Unix("/run/php.sock".into());
        let server = Arc::new(Server::new(ServerKind::Listed(address)));
        assert!(!server.is_starved(1_000));
        let (one, two) = (
            FirstAnswer::awaited(&server, 1_000),
            FirstAnswer::awaited(&server, 1_010),
        );
        assert!(!server.is_starved(1_049));
        assert!(server.is_starved(1_050));
        one.came(1_055);
        assert!(server.is_starved(1_060), "that one had waited too");
        let three = FirstAnswer::awaited(&server, 1_070);
        three.came(1_075);
        assert!(!server.is_starved(1_080), "one was answered at once");
        assert!(server.is_starved(1_125));
        drop(two);
        assert!(!server.is_starved(9_000));
    }
}
