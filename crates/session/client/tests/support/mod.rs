//! Stores to speak to: a real memcached, and the protocols over a plain engine in this process.

#![allow(dead_code, clippy::unwrap_used)]

#[path = "../../../tests/support/engine.rs"]
pub(crate) mod engine;
#[path = "../../../tests/support/serve.rs"]
mod serve;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use forebay_session::{Access, Connection, Item, Limits};
use forebay_session_client::{Client, Condition, Outcome, Target};

/// The longest value that these stores take, in bytes.
pub(crate) const ITEM_MOST: usize = 4 << 20;

/// A store in this process; its threads end with it.
pub(crate) fn forebay(access: Access) -> Target {
    forebay_over(engine::Plain::new(ITEM_MOST), access)
}

/// The same over this engine.
pub(crate) fn forebay_over(engine: engine::Plain, access: Access) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let engine = Arc::new(engine);
    let limits = Limits {
        item_bytes: ITEM_MOST,
        ..Limits::default()
    };
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, engine) = (stream.unwrap(), Arc::clone(&engine));
            let connection = Connection::new(limits, access.clone());
            std::thread::spawn(move || serve::serve(stream, &*engine, connection));
        }
    });
    Target::new(address.parse().unwrap())
}

/// A server that gives one connection after the other this answer, whatever it is asked.
pub(crate) fn liar(answer: &'static [u8]) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
        }
    });
    Target::new(address.parse().unwrap())
}

/// A server that answers one request after the other so, on one connection.
pub(crate) fn script(answers: &'static [&'static [u8]]) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for answer in answers {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
        }
    });
    Target::new(address.parse().unwrap())
}

/// A real memcached.
pub(crate) struct Memcached {
    _process: forebay_memcached::Memcached,
    pub(crate) target: Target,
}

impl Memcached {
    /// `None`: it is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::with(&[])
    }

    /// The same, with options of its own.
    pub(crate) fn with(options: &[&str]) -> Option<Self> {
        let options = [&["-I", "4m"], options].concat();
        let process = forebay_memcached::Memcached::start(&options)?;
        Some(Self {
            target: Target::new(process.address().to_string().parse().unwrap()),
            _process: process,
        })
    }
}

/// An item without anything special.
pub(crate) fn item(value: &[u8], flags: u32, expires_s: u32) -> Item<'_> {
    Item {
        value,
        flags,
        expires_s,
        ..Item::default()
    }
}

pub(crate) fn store(client: &mut Client, key: &[u8], item: Item<'_>) {
    let outcome = client.store(key, Condition::Always, item).unwrap();
    assert_eq!(outcome, Outcome::Stored);
}
