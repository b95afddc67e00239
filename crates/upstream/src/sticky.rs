//! Requests of one user go to one server: by a cookie of ours that names the server, or by one of
//! the application's whose value was seen to come from it.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::balance::hash;
use crate::server::Server;

/// How a cookie of ours names a server: 16 hexadecimal digits.
pub(crate) type Name = [u8; 16];

/// The name of a server of a pool. It follows from both and the secret alone: it stays the same over
/// restarts, and every Forebay in front of the same servers gives the same. It does not tell the
/// address, and with a secret nobody else can check a guess.
pub(crate) fn name(secret: Option<&str>, pool: &str, server: &str) -> Name {
    let half = |number| hash::hash([secret.unwrap_or_default().as_bytes(), &[number]]);
    // SipHash-2-4. It is deprecated for hash tables; here it has to be the same for ever.
    #[allow(deprecated)]
    let mut keyed = std::hash::SipHasher::new_with_keys(half(0), half(1));
    for part in [pool, server] {
        keyed.write(part.as_bytes());
        keyed.write(&[0xff]);
    }
    let hash = keyed.finish();
    let mut name = [0; 16];
    for (digit, place) in name.iter_mut().rev().zip(0..) {
        let value = (hash >> (4 * place)) & 15;
        *digit = b"0123456789abcdef"[value as usize];
    }
    name
}

/// Which server an application's cookie came from. At most `most` are remembered; the one that was
/// not seen for longest is forgotten first.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    table: Mutex<Table>,
    /// Values are secrets of users: only their hash is kept, by a key of this process.
    key: RandomState,
}

#[derive(Debug, Default)]
struct Table {
    by_value: HashMap<u64, Entry>,
    /// Values in the order they were seen; one that was seen again is there again.
    order: VecDeque<(u64, u64)>,
}

#[derive(Debug)]
struct Entry {
    server: Arc<Server>,
    seen_ms: u64,
}

/// A value that is seen again within this time keeps its place in the order.
const SAME_MS: u64 = 1_000;

impl Learned {
    /// The server that a value came from, if that is remembered and not older than `lifetime_ms`.
    pub(crate) fn find(&self, value: &[u8], lifetime_ms: u64, now_ms: u64) -> Option<Arc<Server>> {
        let hash = self.key.hash_one(value);
        let mut table = self.table.lock();
        let entry = table.by_value.get_mut(&hash)?;
        if entry.seen_ms.saturating_add(lifetime_ms) < now_ms {
            table.by_value.remove(&hash);
            return None;
        }
        let server = Arc::clone(&entry.server);
        if now_ms > entry.seen_ms.saturating_add(SAME_MS) {
            entry.seen_ms = now_ms;
            table.order.push_back((hash, now_ms));
        }
        table.tidy();
        Some(server)
    }

    /// Remembers where a value came from.
    pub(crate) fn learn(&self, value: &[u8], server: &Arc<Server>, most: usize, now_ms: u64) {
        let hash = self.key.hash_one(value);
        let mut table = self.table.lock();
        let entry = Entry {
            server: Arc::clone(server),
            seen_ms: now_ms,
        };
        table.by_value.insert(hash, entry);
        table.order.push_back((hash, now_ms));
        while table.by_value.len() > most.max(1) && table.forget_oldest() {}
        table.tidy();
    }

    /// Forgets a server that is gone.
    pub(crate) fn forget(&self, server: &Server) {
        let mut table = self.table.lock();
        table
            .by_value
            .retain(|_, entry| entry.server.id != server.id);
    }
}

impl Table {
    /// Forgets the one that was not seen for longest. False: there is none.
    fn forget_oldest(&mut self) -> bool {
        while let Some((hash, seen_ms)) = self.order.pop_front() {
            if self.is_current(hash, seen_ms) {
                self.by_value.remove(&hash);
                return true;
            }
        }
        false
    }

    fn is_current(&self, hash: u64, seen_ms: u64) -> bool {
        let entry = self.by_value.get(&hash);
        entry.is_some_and(|entry| entry.seen_ms == seen_ms)
    }

    /// Keeps the order from growing with what it says twice.
    fn tidy(&mut self) {
        if self.order.len() > 2 * self.by_value.len() + 64 {
            let Self { by_value, order } = self;
            order.retain(|(hash, seen_ms)| {
                let entry = by_value.get(hash);
                entry.is_some_and(|entry: &Entry| entry.seen_ms == *seen_ms)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ServerKind;

    fn server(name: &str) -> Arc<Server> {
        Arc::new(Server::new(ServerKind::DialedIn(name.into())))
    }

    fn found(learned: &Learned, value: &str, now_ms: u64) -> Option<u64> {
        let found = learned.find(value.as_bytes(), 60_000, now_ms);
        found.map(|server| server.id)
    }

    #[test]
    fn a_name_is_of_pool_and_server_and_secret() {
        let of = |pool, server| name(None, pool, server);
        // Users keep it in their browsers: it must not change with a release.
        assert_eq!(of("app", "10.0.0.1:80"), *b"7e4a320d4e39a767");
        assert_ne!(of("app", "10.0.0.1:80"), of("app", "10.0.0.2:80"));
        assert_ne!(of("app", "10.0.0.1:80"), of("other", "10.0.0.1:80"));
        assert_ne!(
            of("app", "10.0.0.1:80"),
            name(Some("s"), "app", "10.0.0.1:80")
        );
    }

    #[test]
    fn what_was_not_seen_for_longest_is_forgotten_first() {
        let learned = Learned::default();
        let (one, two) = (server("one"), server("two"));
        learned.learn(b"a", &one, 2, 1_000);
        learned.learn(b"b", &two, 2, 2_000);
        assert_eq!(found(&learned, "a", 5_000), Some(one.id));
        learned.learn(b"c", &two, 2, 6_000);
        assert_eq!(found(&learned, "b", 6_000), None);
        assert_eq!(found(&learned, "a", 6_000), Some(one.id));
        assert_eq!(found(&learned, "c", 6_000), Some(two.id));
        assert_eq!(found(&learned, "c", 66_001), None, "its lifetime is over");
        learned.forget(&one);
        assert_eq!(found(&learned, "a", 6_000), None);
    }

    #[test]
    fn seeing_the_same_again_and_again_does_not_grow() {
        let learned = Learned::default();
        let one = server("one");
        learned.learn(b"a", &one, 10, 0);
        for n in 0..10_000 {
            assert!(learned.find(b"a", u64::MAX, n * 2_000).is_some());
        }
        assert!(learned.table.lock().order.len() < 100);
    }
}
