//! What a store answers to the client that lists, reads, exports and imports: nothing panics, no
//! value is longer than what was sent, and nothing is waited for that was not announced.
//!
//! The answers are sent at once and the connection is then closed for writing, so that a client
//! that waits for more is told so.
#![no_main]

use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use forebay_session::Item;
use forebay_session_client::{
    Address, Client, Condition, Error, Login, Pattern, Target, Tyrant, each_item,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((first, answers)) = input.split_first() else {
        return;
    };
    let store = Store::of_this_process();
    let target = store.target(first & 0x80 != 0);
    let mut sum = 0;
    let mut each = |key: &[u8], item: Item<'_>| {
        sum += key.len() + item.value.len();
        Ok::<(), Error>(())
    };
    let pattern = Pattern::new(match first & 0x40 {
        0 => b"",
        _ => b"a*b?",
    });
    match first % 5 {
        0 => drop(store.answer(answers, || each_item(&target, &pattern, &mut each, &mut |_, _| {}))),
        1 => drop(store.answer(answers, || {
            let mut tyrant = Tyrant::connect(&target)?;
            tyrant.each_item(&pattern, Some(9), &mut each)
        })),
        2 => drop(store.answer(answers, || {
            let mut list = Client::connect(&target)?.list(&pattern)?;
            while let Some(dumped) = list.next_item()? {
                assert!(!dumped.key.is_empty() && pattern.matches(&dumped.key));
            }
            Ok(())
        })),
        3 => drop(store.answer(answers, || Client::connect(&target)?.stats(""))),
        _ => drop(store.answer(answers, || one_by_one(&target, answers.len()))),
    }
    assert!(sum <= answers.len(), "more bytes than the store sent");
});

/// Reads and writes until the store says something wrong.
fn one_by_one(target: &Target, most: usize) -> Result<(), Error> {
    let mut client = Client::connect(target)?;
    let item = Item {
        value: b"value",
        ..Item::default()
    };
    for _ in 0..100 {
        let mut value = Vec::new();
        if let Some(seen) = client.get(b"a b", &mut value)? {
            let _ = seen.expires_s(u32::MAX);
        }
        assert!(value.len() <= most);
        client.look(b"a")?;
        client.store(b"a", Condition::Cas(7), item)?;
        client.delete(b"a")?;
    }
    Ok(())
}

/// A socket that clients connect to.
struct Store {
    path: PathBuf,
    listener: UnixListener,
}

impl Store {
    fn of_this_process() -> &'static Self {
        static STORE: OnceLock<Store> = OnceLock::new();
        STORE.get_or_init(|| {
            let name = format!("forebay-fuzz-client-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_file(&path);
            let listener = UnixListener::bind(&path).expect("a socket");
            Store { path, listener }
        })
    }

    fn target(&self, has_token: bool) -> Target {
        Target {
            login: has_token.then(|| Login {
                user: "me".into(),
                token: "secret".into(),
            }),
            // Nothing comes but what is there already: a wait would be a finding.
            patience: Duration::from_secs(60),
            ..Target::new(Address::Unix(self.path.clone()))
        }
    }

    /// Runs a client against a store that says this and closes.
    fn answer<T>(&self, answers: &[u8], run: impl FnOnce() -> Result<T, Error> + Send) -> bool
    where
        T: Send,
    {
        std::thread::scope(|scope| {
            let client = scope.spawn(|| run().is_ok());
            let (mut stream, _) = self.listener.accept().expect("a client");
            // It may have gone already.
            let _ = stream.write_all(answers);
            let _ = stream.shutdown(Shutdown::Write);
            let done = client.join().expect("no panic");
            drop::<UnixStream>(stream);
            done
        })
    }
}
