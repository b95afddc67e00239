//! Drivers against servers within the test, which do what memcached and Redis
//! do, and what they should not.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser;
use forebay_engine::{Address, Endpoint, Endpoints, Pace, Plan};
use forebay_results::{Cause, Tally};

use super::{Kv, KvArgs};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: KvArgs,
}

/// What a server does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// It answers that it stored, and does not.
    Forgets,
    /// It does, and says that it had to make room.
    Evicts,
    /// The second half of a value is that of the key's write before.
    Tears,
    /// The value of key 1 is answered for every key.
    Confuses,
    /// It has no memory left.
    IsFull,
    /// It closes the connection after 50 commands.
    Closes,
}

type Store = Mutex<HashMap<String, Vec<u8>>>;

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let read = reader.read_line(&mut line).unwrap_or(0);
    (read > 0).then(|| line.trim_end().to_owned())
}

fn block(reader: &mut impl Read, bytes: usize) -> Vec<u8> {
    let mut block = vec![0; bytes + 2];
    reader.read_exact(&mut block).unwrap();
    block.truncate(bytes);
    block
}

fn keep(store: &Store, key: &str, value: Vec<u8>, flaw: Flaw) {
    let mut store = store.lock().unwrap();
    let value = match (flaw, store.get(key)) {
        (Flaw::Forgets | Flaw::Evicts, _) => return,
        (Flaw::Tears, Some(old)) => [&value[..50], &old[50..]].concat(),
        _ => value,
    };
    store.insert(key.to_owned(), value);
}

/// memcached's text protocol, as much as is asked here.
fn memcached(store: &Store, stream: TcpStream, flaw: Flaw) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    let mut commands = 0;
    while let Some(line) = line(&mut reader) {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words[0] {
            "set" => {
                let value = block(&mut reader, words[4].parse().unwrap());
                match flaw {
                    Flaw::IsFull => b"SERVER_ERROR out of memory storing object\r\n".to_vec(),
                    _ => {
                        keep(store, words[1], value, flaw);
                        b"STORED\r\n".to_vec()
                    }
                }
            }
            "stats" if flaw == Flaw::Evicts => {
                let mut store = store.lock().unwrap();
                let asked = store.entry("asked".into()).or_default();
                asked.push(b'x');
                format!("STAT pid 1\r\nSTAT evictions {}\r\nEND\r\n", asked.len()).into_bytes()
            }
            "get" => values(store, &words[1..], flaw),
            _ => b"ERROR\r\n".to_vec(),
        };
        commands += 1;
        if stream.write_all(&answer).is_err() || (flaw == Flaw::Closes && commands == 50) {
            return;
        }
    }
}

fn values(store: &Store, keys: &[&str], flaw: Flaw) -> Vec<u8> {
    let store = store.lock().unwrap();
    let mut answer = Vec::new();
    for &key in keys {
        let found = match flaw {
            Flaw::Confuses => store.get("t:1"),
            _ => store.get(key),
        };
        if let Some(value) = found {
            answer.extend(format!("VALUE {key} 0 {}\r\n", value.len()).bytes());
            answer.extend_from_slice(value);
            answer.extend_from_slice(b"\r\n");
        }
    }
    answer.extend_from_slice(b"END\r\n");
    answer
}

/// Redis with a password and databases.
fn redis(store: &Store, stream: TcpStream, flaw: Flaw) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    let (mut is_known, mut database, mut commands) = (false, "0".to_owned(), 0);
    while let Some(count) = line(&mut reader) {
        let words: Vec<Vec<u8>> = (0..count[1..].parse().unwrap())
            .map(|_| {
                let length = line(&mut reader).unwrap();
                block(&mut reader, length[1..].parse().unwrap())
            })
            .collect();
        let word = |at: usize| String::from_utf8_lossy(&words[at]).into_owned();
        let key = format!(
            "{database} {}",
            words.get(1).map_or(String::new(), |_| word(1))
        );
        let answer = match (word(0).as_str(), is_known) {
            ("AUTH", _) => {
                is_known = word(1) == "pw";
                if is_known {
                    b"+OK\r\n".to_vec()
                } else {
                    b"-WRONGPASS no\r\n".to_vec()
                }
            }
            (_, false) => b"-NOAUTH Authentication required.\r\n".to_vec(),
            ("SELECT", _) => {
                database = word(1);
                b"+OK\r\n".to_vec()
            }
            ("SET", _) => {
                keep(store, &key, words[2].clone(), flaw);
                b"+OK\r\n".to_vec()
            }
            ("GET", _) => match store.lock().unwrap().get(&key) {
                None => b"$-1\r\n".to_vec(),
                Some(value) => {
                    [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
                }
            },
            _ => b"-ERR unknown command\r\n".to_vec(),
        };
        commands += 1;
        if stream.write_all(&answer).is_err() || (flaw == Flaw::Closes && commands == 50) {
            return;
        }
    }
}

/// A server of which each connection has a thread; they end with the test's process.
fn serve(serve: fn(&Store, TcpStream, Flaw), flaw: Flaw) -> (SocketAddr, Arc<Store>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let store = Arc::new(Store::default());
    let kept = Arc::clone(&store);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (store, stream) = (Arc::clone(&kept), stream.unwrap());
            std::thread::spawn(move || serve(&store, stream, flaw));
        }
    });
    (address, store)
}

fn kv(url: &str, options: &str) -> Kv {
    let common = "--keys 20 --key-prefix t: --size 100B";
    let words = format!("kv {url} {common} {options}");
    Command::parse_from(words.split_whitespace())
        .args
        .plan(1)
        .unwrap()
}

fn plan(kv: &Kv, address: SocketAddr) -> Plan {
    let endpoints = Endpoints::default();
    endpoints.add(Endpoint {
        name: kv.place().place(),
        addresses: vec![Address::Tcp(address)],
        tls: None,
    });
    Plan {
        endpoints,
        users: 4,
        threads: 2,
        share: (0, 2),
        cores: Vec::new(),
        duration: Some(Duration::from_secs(30)),
        requests: Some(1000),
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        pace: Pace::Closed,
        pipeline: 4,
        timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(10),
        sources: Vec::new(),
        open_early: true,
    }
}

/// Sends a thousand requests and returns what was counted.
fn run(server: fn(&Store, TcpStream, Flaw), flaw: Flaw, options: &str) -> Tally {
    let (address, _) = serve(server, flaw);
    let kv = kv(&format!("memcached://{address}"), options);
    drain(&kv, &plan(&kv, address))
}

fn drain(kv: &Kv, plan: &Plan) -> Tally {
    let running = kv.start(plan).unwrap();
    let mut tally = Tally::default();
    for interval in &running.intervals {
        tally.merge(&interval.tally);
    }
    tally
}

fn words(tally: &Tally) -> String {
    tally.faults.keys().cloned().collect::<Vec<_>>().join("; ")
}

#[test]
fn a_server_that_keeps_what_it_is_given_has_no_faults() {
    for options in [
        "",
        "--verify",
        "--verify --multiget 5",
        "--verify --expiry 1h --ratio 1:1",
    ] {
        let tally = run(memcached, Flaw::None, options);
        assert_eq!(tally.counts.succeeded, 1000, "{options}: {}", words(&tally));
        assert!(
            tally.counts.hits > 100 && tally.counts.misses > 0,
            "{options}"
        );
    }
}

#[test]
fn lost_torn_and_confused_values_are_noticed() {
    for (flaw, part) in [
        (Flaw::Forgets, "lost: a key that was stored is gone"),
        (Flaw::Tears, "torn value"),
        (Flaw::Confuses, "that of another key"),
    ] {
        let tally = run(memcached, flaw, "--verify --ratio 1:1");
        assert!(words(&tally).contains(part), "{flaw:?}: {}", words(&tally));
        assert!(tally.counts.failed[&Cause::Check] > 10, "{flaw:?}");
        // Who does not look does not see.
        assert_eq!(run(memcached, flaw, "--ratio 1:1").counts.failures(), 0);
    }
    let tally = run(memcached, Flaw::Evicts, "--verify --ratio 1:1");
    assert_eq!(
        tally.counts.failures(),
        0,
        "they were evicted: {}",
        words(&tally)
    );
    let tally = run(
        memcached,
        Flaw::Forgets,
        "--verify --ratio 5:5:0 --expiry 2s",
    );
    assert_eq!(tally.counts.failures(), 0, "they may have expired");
}

#[test]
fn what_a_server_refuses_is_a_failure_in_its_words() {
    let tally = run(memcached, Flaw::IsFull, "--verify --ratio 1:1");
    assert_eq!(words(&tally), "SERVER_ERROR out of memory storing object");
    assert_eq!(tally.counts.failures(), tally.counts.failed[&Cause::Status]);
    let tally = run(memcached, Flaw::None, "--mix delete");
    assert_eq!(
        (words(&tally).as_str(), tally.counts.failures()),
        ("ERROR", 1000)
    );
}

#[test]
fn what_is_missing_is_stored_when_asked_for() {
    for options in [
        "--on-miss set",
        "--on-miss set --multiget 7",
        "--on-miss set --verify",
    ] {
        let (address, store) = serve(memcached, Flaw::None);
        let kv = kv(
            &format!("memcached://{address}"),
            &format!("--ratio 1:0 {options}"),
        );
        let tally = drain(&kv, &plan(&kv, address));
        assert_eq!(kv.labels(), ["get", "set"]);
        assert_eq!(store.lock().unwrap().len(), 20, "{options}");
        // Connections that miss the same key at once store it each.
        assert!((20..=400).contains(&tally.labels[1].succeeded), "{options}");
        assert_eq!(tally.counts.succeeded, 1000, "{options}");
    }
}

#[test]
fn a_server_is_filled_with_every_key_once() {
    let (address, store) = serve(memcached, Flaw::None);
    let kv = kv(
        &format!("memcached://{address}"),
        "--preload --verify --ratio 1:0",
    );
    let plan = plan(&kv, address);
    assert_eq!(kv.fill(&plan), Ok(20));
    assert_eq!(store.lock().unwrap().len(), 20);
    let tally = drain(&kv, &plan);
    assert_eq!((tally.counts.hits, tally.counts.misses), (1000, 0));
    assert_eq!(words(&tally), "");
}

#[test]
fn a_server_that_cannot_be_filled_is_an_error() {
    let (address, _) = serve(memcached, Flaw::IsFull);
    let full = kv(&format!("memcached://{address}"), "--preload");
    assert!(
        full.fill(&plan(&full, address))
            .unwrap_err()
            .contains("out of memory")
    );
    // A port that was just given back.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let absent = kv(&format!("memcached://{address}"), "--preload");
    assert!(
        absent
            .fill(&plan(&absent, address))
            .unwrap_err()
            .contains("refused")
    );
}

#[test]
fn redis_is_greeted_on_every_connection() {
    for (flaw, least) in [(Flaw::None, 1000), (Flaw::Closes, 800)] {
        let (address, store) = serve(redis, flaw);
        let kv = kv(&format!("redis://:pw@{address}/3"), "--ratio 1:1 --verify");
        let tally = drain(&kv, &plan(&kv, address));
        let counts = &tally.counts;
        assert!(
            counts.succeeded >= least,
            "{flaw:?}: {counts:?} {}",
            words(&tally)
        );
        // What was under way when it closed is lost with the connection, but no value is.
        assert_eq!(
            counts.failed.get(&Cause::Check),
            None,
            "{counts:?} {}",
            words(&tally)
        );
        assert!(flaw == Flaw::Closes || counts.failures() == 0);
        let store = store.lock().unwrap();
        assert!(!store.is_empty() && store.keys().all(|key| key.starts_with("3 t:")));
    }
}

#[test]
fn a_wrong_password_is_said() {
    let (address, store) = serve(redis, Flaw::None);
    let kv = kv(&format!("redis://:guess@{address}"), "");
    let tally = drain(&kv, &plan(&kv, address));
    assert_eq!(
        (tally.counts.succeeded, store.lock().unwrap().len()),
        (0, 0)
    );
    assert!(words(&tally).contains("WRONGPASS"), "{}", words(&tally));
}

#[test]
fn wrong_options_are_refused_in_words() {
    for (options, part) in [
        ("memcached://a --ratio x", "--ratio"),
        ("memcached://a --mix get:1,flush:1", "flush"),
        ("memcached://a --mix touch", "--expiry"),
        ("memcached://a --expiry 400ms", "--expiry"),
        ("memcached://a --expiry 60d", "--expiry"),
        ("memcached://a --verify --size 10B", "--verify"),
        ("memcached://a --size 1GiB", "--size"),
        ("memcached://a --key-distribution odd", "--key-distribution"),
        ("http://a", "http"),
    ] {
        let line = ["kv"].into_iter().chain(options.split(' '));
        let error = Command::parse_from(line).args.plan(1).unwrap_err();
        assert!(error.contains(part), "{options}: {error}");
    }
    let blank = ["kv", "memcached://a", "--key-prefix", "a b"];
    assert!(Command::parse_from(blank).args.plan(1).is_err());
}
