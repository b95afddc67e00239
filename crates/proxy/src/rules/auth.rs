//! Names and passwords (RFC 7617). Verifying takes long by purpose: it is done on threads of its
//! own, by few at a time, and what was verified is remembered for a while.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_config::settings::BasicAuth;
use forebay_rules::passwords::{self, Credentials};
use forebay_rules::{Passwords, Proven};
use tokio::sync::Semaphore;

use super::watched::Watched;

/// The largest file of users that is read.
const USERS_BYTES: u64 = 16 << 20;
/// Passwords that are verified at once, and requests that wait for it.
const AT_ONCE: usize = 2;
const WAITING: usize = 256;

static TURNS: Semaphore = Semaphore::const_new(AT_ONCE);
static WAIT: AtomicUsize = AtomicUsize::new(0);
static PROVEN: LazyLock<Proven> = LazyLock::new(|| Proven::new(secret()));

/// `auth` of a location.
#[derive(Debug)]
pub(super) struct Auth {
    /// The value of `WWW-Authenticate`.
    pub(super) challenge: Vec<u8>,
    users: Watched<Passwords>,
}

/// Whether credentials let a request in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// With the user's name.
    Good(Box<[u8]>),
    Bad,
    /// Too many wait for it.
    Busy,
}

impl Auth {
    pub(super) fn new(settings: &BasicAuth) -> Self {
        let realm = settings.realm.replace('\\', "\\\\").replace('"', "\\\"");
        let users = Watched::new(&settings.users, USERS_BYTES, |path, bytes| {
            let text = String::from_utf8_lossy(&bytes);
            Passwords::parse(&text, |line, why| {
                tracing::warn!("{} line {line}: {why}", path.display());
            })
        });
        users.get(0);
        Self {
            challenge: format!("Basic realm=\"{realm}\", charset=\"UTF-8\"").into_bytes(),
            users,
        }
    }

    /// Looks at the value of `Authorization`.
    pub(super) async fn verify(&self, authorization: Option<&[u8]>, now_ms: u64) -> Verdict {
        let given = authorization.and_then(Credentials::parse);
        let (Some(given), Some(users)) = (given, self.users.get(now_ms)) else {
            return Verdict::Bad;
        };
        let hash = users.hash(&given.user);
        let is_user = hash.is_some();
        // Where there is no such user it takes as long.
        let Some(hash) = hash.or_else(|| users.any_hash()) else {
            return Verdict::Bad;
        };
        let proof = PROVEN.proof(&given, hash);
        let user: Box<[u8]> = given.user.as_slice().into();
        if is_user && PROVEN.is_known(&proof, now_ms) {
            return Verdict::Good(user);
        }
        match slowly(given, hash.to_owned()).await {
            None => Verdict::Busy,
            Some(true) if is_user => {
                PROVEN.remember(proof, now_ms);
                Verdict::Good(user)
            }
            Some(_) => Verdict::Bad,
        }
    }
}

/// Verifies on another thread; `None`: too many wait already.
async fn slowly(given: Credentials, hash: String) -> Option<bool> {
    /// Counts who waits, also one that goes away.
    struct Waiting;
    impl Drop for Waiting {
        fn drop(&mut self) {
            WAIT.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let before = WAIT.fetch_add(1, Ordering::Relaxed);
    let _waiting = Waiting;
    if before >= WAITING {
        return None;
    }
    let turn = TURNS.acquire().await.ok()?;
    let verified = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        passwords::verify(&given.password, &hash)
    });
    Some(verified.await.unwrap_or(false))
}

/// A key from the system's own randomness, by which the standard library seeds its hash tables.
fn secret() -> [u8; 32] {
    use std::hash::{BuildHasher as _, RandomState};
    let mut key = [0; 32];
    for (number, part) in key.chunks_mut(8).enumerate() {
        let word = RandomState::new().hash_one(number);
        part.copy_from_slice(&word.to_ne_bytes());
    }
    key
}
