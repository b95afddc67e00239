//! The same conversations with memcached and with this store, and the tool by which servers of its
//! protocols are judged. Where they are not installed they are passed over. Other conversations are
//! made up at random by `differential.py`, here a few of them.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use forebay_memcached::Memcached;
use forebay_session::{Access, Connection, Limits};
use support::Client;
use support::engine::Plain;

/// Each is one connection; the store is empty at its beginning.
const CONVERSATIONS: &[&str] = &[
    "set a 0 0 1\r\nx\r\nget a\r\nadd a 0 0 1\r\ny\r\nreplace b 0 0 1\r\nz\r\nappend a 9 9 2\r\nyz\r\nprepend a 0 0 1\r\nw\r\nget a\r\n",
    "set a 0 0 2\r\nabcdef\r\nget a\r\nset a 0 0 2\r\na\r\nget a\r\n",
    "set a 0 0 2 noreply\r\nabcdef\r\nset a 0 0 1 noreply\r\nx\r\nget a\r\n",
    "set a -1 0 1\r\nx\r\nset a 4294967295 0 1\r\nx\r\nget a\r\nset a 4294967296 0 1\r\ny\r\nget a\r\n",
    "set a 0 4294967296 1\r\nx\r\nget a\r\nset a 0 2147483648 1\r\nx\r\nget a\r\nset a 0 -1 1\r\nx\r\nget a\r\n",
    "set a 0 0 -1\r\nset a 0 0 x\r\nset a 0 0\r\ncas a 0 0 1\r\ncas a 0 0 1 y\r\nx\r\n",
    "\r\n \r\nget\r\nget  \r\nGET a\r\na\r\nmq\r\nmg\r\nms a\r\nms a b\r\nms a S1\r\ndelete\r\ndelete a b\r\ndelete a 0\r\n",
    "set n 0 0 2\r\n10\r\ndecr n 1\r\nget n\r\nincr n 99\r\ndecr n 1000\r\nincr n -1\r\nincr n 1x\r\nincr n 18446744073709551615\r\n",
    "set n 0 0 1\r\nx\r\nincr n 1\r\nset n 0 0 0\r\n\r\nincr n 1\r\nincr m 1\r\ndecr m 1 noreply\r\n",
    "verbosity\r\nverbosity 1\r\nverbosity a\r\nverbosity 1 noreply\r\nflush_all a\r\nflush_all 0\r\nflush_all noreply\r\nflush_all 1 2 3\r\n",
    "stats nothing\r\nstats reset\r\nstats detail\r\nstats detail on\r\nstats detail off\r\nstats cachedump 1\r\nstats cachedump x y\r\n",
    "shutdown\r\ncache_memlimit 1\r\ncache_memlimit x\r\nslabs\r\nlru x\r\nlru_crawler\r\nlru_crawler x\r\nlru mode flat\r\n",
    "touch a 0\r\ntouch a x\r\nset a 0 0 1\r\nx\r\ntouch a 100\r\ngat 0 a b\r\ngat x a\r\ngat 0\r\ngat\r\nmg a t\r\n",
    "mg a\r\nmg a v k O1\r\nmg a q\r\nmg a x\r\nmg a v v\r\nmg a b\r\nmg a T\r\nmg a M\r\nmg a MAA\r\nmg a C\r\nmg a Jx\r\nmg a Dx\r\n",
    "ms a 2 F5 T100 k O1\r\nab\r\nmg a v t f s h k l O2\r\nmg a h\r\nms a 1 MA\r\nc\r\nms a 1 MP\r\nd\r\nmg a v f t h\r\n",
    "ms a 1 ME\r\n1\r\nms a 1 ME\r\n2\r\nms b 1 MR\r\n2\r\nms a 1 MX\r\n3\r\nms a 1 C1 I\r\n4\r\nms z 1 C5\r\n4\r\nms a 3\r\nabcdef\r\nmn\r\n",
    "mg a N30 v t\r\nmg a v t\r\nms a 1 T20\r\nx\r\nmg a R10\r\nmg a R30\r\nmg a R30\r\nmd a I T50\r\nmg a t v\r\nmg a t v\r\n",
    "mg a t N30 T60\r\nmg a t\r\nmg b T60 t N30\r\nmg b t\r\nmg b T20 R30\r\nmg b R30\r\n",
    "md a\r\nms a 1\r\nx\r\nmd a C99999\r\nmd a q k\r\nmd a k O5\r\nmd a Q\r\nmd a b\r\n",
    "ma n\r\nma n N0 J13 v t k\r\nma n MD D3 v\r\nma n q\r\nma n v\r\nma n C99999\r\nma n MX\r\nma n D2x\r\nma n M+ v\r\nma n M- v\r\n",
    "ms Zm9v 1 b k\r\nx\r\nmg Zm9v b k v\r\nget foo\r\nmg foo k\r\nmg Zg b\r\nmg Zh== b k\r\nmg ==== b\r\nme none\r\nme\r\n",
    "get a\0b\r\nget a\nversion\nset a 0 0 1\nx\r\nget a\n",
];

/// A memcached of this test's own, if it is the one whose texts are given here: they change from
/// one version to the next.
struct OurVersion(Memcached);

impl OurVersion {
    fn start() -> Option<Self> {
        let memcached = Self(Memcached::start(&[])?);
        let version = memcached.talk("version\r\nquit\r\n");
        assert!(version.starts_with("VERSION"), "{version}");
        if version.starts_with("VERSION 1.6.18") {
            return Some(memcached);
        }
        println!("passed over: another version of memcached");
        None
    }

    fn talk(&self, input: &str) -> String {
        let mut stream = TcpStream::connect(self.0.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream.write_all(input.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

#[test]
fn memcached_gives_the_same_answers() {
    let Some(memcached) = OurVersion::start() else {
        return;
    };
    for conversation in CONVERSATIONS {
        let input = format!("flush_all\r\n{conversation}\r\nquit\r\n");
        let engine = Plain::new(1 << 20);
        let mut client = Client::with(&engine, Limits::default(), Access::Open);
        assert_eq!(client.say(&input), memcached.talk(&input), "{conversation}");
        assert!(client.closed);
    }
}

/// Serves this store for as long as the test runs; says at which port.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let engine = Arc::new(Plain::new(1 << 20));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, engine) = (stream.unwrap(), Arc::clone(&engine));
            let connection = Connection::new(Limits::default(), Access::Open);
            std::thread::spawn(move || support::serve::serve(stream, &*engine, connection));
        }
    });
    port
}

#[test]
fn memcached_gives_the_same_answers_to_commands_at_random() {
    if OurVersion::start().is_none() {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/differential.py");
    match Command::new("python3")
        .args([script, &serve(), "60", "1"])
        .output()
    {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("passed over: python3 is not installed");
        }
        output => {
            let output = output.unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(output.status.success(), "{said}");
        }
    }
}

#[test]
fn memccapable_finds_nothing_missing() {
    match Command::new("memccapable")
        .args(["-h", "127.0.0.1", "-p", &serve()])
        .output()
    {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("passed over: memccapable is not installed");
        }
        output => {
            let output = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
            assert!(output.contains("All tests passed"), "{output}");
        }
    }
}
