//! A session store without durability, for measuring: `serve [-t THREADS] [-p PORT | -u PATH]` serves a
//! table of 1 GiB at loopback. It takes sets and gets; the rest of the protocol's semantics is not
//! what is measured, and is refused.

use std::error::Error;
use std::io::Read as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_session::{
    Answer, Backend, Calls, Commit, Cursor, Done, Engine, Figures, Item, Limits, Op, Progress,
    Request, Traffic,
};
use forebay_session_server::{Listen, ListenAddress, Options, Server};
use forebay_table::{Body, Change, Marks, Put, Table, Value};

struct Memory(Arc<Table>);

impl Backend for Memory {
    type Engine = Thread;

    fn engine(&self, _: Arc<dyn Calls>, _: Arc<Traffic>) -> Thread {
        Thread(Arc::clone(&self.0))
    }

    fn progress(&self, _: Commit) -> Progress {
        Progress::Durable
    }

    fn push(&self, _: Commit) {}
}

struct Thread(Arc<Table>);

fn shown(item: forebay_table::Item<'_>) -> Item<'_> {
    let Value::Here(value) = item.value else {
        return Item::default();
    };
    Item {
        value,
        flags: item.flags,
        expires_s: item.expires_s,
        cas: item.cas,
        ..Item::default()
    }
}

impl Engine for Thread {
    fn apply(&self, request: Request<'_>, answer: &mut dyn FnMut(Answer<'_>)) -> Done {
        let (key, now_s) = (request.key, request.now_s);
        match request.op {
            Op::Get => {
                let found = self.0.read(key, now_s, |item| {
                    answer(Answer::Found {
                        item: shown(item),
                        won: false,
                        made: false,
                    });
                });
                if found.is_none() {
                    answer(Answer::Missing);
                }
            }
            Op::Store(store) => {
                let parts = [store.value];
                let put = Put {
                    body: Body::Parts(&parts),
                    flags: store.flags,
                    expires_s: store.expires_s,
                    marks: Marks::NONE,
                    cas: None,
                };
                let done = self.0.update(key, now_s, |_, _| (Change::Put(put), ()));
                answer(done.map_or(Answer::Full, |((), cas)| Answer::Stored { cas }));
            }
            _ => answer(Answer::Failed("this example takes sets and gets")),
        }
        Done::Ready(Commit::default())
    }

    fn flush(&self, at_s: u32, now_s: u32) -> Commit {
        self.0.clear(at_s, now_s);
        Commit::default()
    }

    fn scan(
        &self,
        _: Cursor,
        _: u32,
        _: usize,
        _: &mut dyn FnMut(&[u8], Item<'_>),
    ) -> Option<Cursor> {
        None
    }

    fn figures(&self) -> Figures {
        Figures::default()
    }

    fn reset_figures(&self) {}

    fn sync(&self) -> Commit {
        Commit::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut threads, mut address) = (1, ListenAddress::Tcp(([127, 0, 0, 1], 11311).into()));
    while let (Some(option), Some(value)) = (arguments.next(), arguments.next()) {
        match option.as_str() {
            "-t" => threads = value.parse()?,
            "-p" => address = ListenAddress::Tcp(([127, 0, 0, 1], value.parse()?).into()),
            "-u" => address = ListenAddress::Unix(value.into()),
            _ => return Err(format!("{option}: not known; -t, -p and -u are").into()),
        }
    }
    let memory = Memory(Arc::new(Table::new(forebay_table::Options::within(
        1 << 30,
    ))));
    let listen = Listen {
        limits: Limits::default(),
        ..Listen::new(address, Arc::new(memory))
    };
    let options = Options {
        threads,
        name: "serve".into(),
    };
    let server = Server::start(options, vec![listen])?;
    server.accept();
    println!(
        "listening on {:?}; the end of input ends it",
        server.addresses()
    );
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let cut = server.drain(Instant::now() + Duration::from_secs(1));
    println!("{cut} connections were cut");
    Ok(())
}
