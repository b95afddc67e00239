//! Load against servers that behave well or badly, over real sockets.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use forebay_engine::{
    Address, Arrivals, Driver, Endpoint, Endpoints, Expect, Fault, Http1, Next, Outgoing, Pace,
    Plan, Response, start,
};
use forebay_results::{Cause, Histogram, Tally};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Every user asks for the same thing.
struct Same {
    close: bool,
}

impl Driver for Same {
    type Session = Http1;

    fn next(&mut self, _: u32, out: &mut Vec<u8>) -> Next<Http1> {
        out.extend_from_slice(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        Next::Send(Outgoing {
            endpoint: 0,
            label: 0,
            expect: Expect::default(),
            close: self.close,
        })
    }

    fn answered(
        &mut self,
        _: u32,
        response: &Response,
        _: &mut Http1,
        _: Duration,
        _: &mut Tally,
    ) -> Result<(), Fault> {
        match response.status {
            200 => Ok(()),
            _ => Err(Fault::status()),
        }
    }

    fn failed(&mut self, _: u32, _: Cause, _: &mut Tally) {}

    fn is_scheduled(&self, _: u32) -> bool {
        true
    }

    fn home(&self, _: u32) -> Option<u32> {
        (!self.close).then_some(0)
    }
}

/// A server with a thread for each connection; `serve` is called with each.
fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, serve) = (stream.unwrap(), serve.clone());
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Reads one request; false at the end of the connection.
fn request(stream: &mut TcpStream) -> bool {
    let mut tail = [0; 4];
    let mut byte = [0];
    loop {
        match stream.read(&mut byte) {
            Ok(1) => {}
            _ => return false,
        }
        tail.rotate_left(1);
        tail[3] = byte[0];
        if &tail == b"\r\n\r\n" {
            return true;
        }
    }
}

/// Answers every request with the same bytes.
fn answering(answer: &'static [u8]) -> SocketAddr {
    server(
        move |mut stream| {
            while request(&mut stream) && stream.write_all(answer).is_ok() {}
        },
    )
}

fn plan(address: SocketAddr, users: u32) -> Plan {
    let endpoints = Endpoints::default();
    endpoints.add(Endpoint {
        name: address.to_string(),
        addresses: vec![Address::Tcp(address)],
        tls: None,
    });
    Plan {
        endpoints,
        users,
        threads: 1,
        share: (0, 1),
        cores: Vec::new(),
        duration: None,
        requests: None,
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        pace: Pace::Closed,
        pipeline: 1,
        timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        sources: Vec::new(),
        open_early: true,
    }
}

fn run_with(plan: &Plan, close: bool) -> Tally {
    let running = start(plan, move |_, _| Same { close }).unwrap();
    let mut tally = Tally::default();
    for interval in &running.intervals {
        tally.merge(&interval.tally);
    }
    tally
}

fn run(plan: &Plan) -> Tally {
    run_with(plan, false)
}

fn requests(address: SocketAddr, users: u32, count: u64) -> Plan {
    Plan {
        requests: Some(count),
        ..plan(address, users)
    }
}

#[test]
fn as_many_requests_as_asked_for_over_as_many_connections() {
    for threads in [1, 3] {
        let plan = Plan {
            threads,
            share: (0, threads),
            ..requests(answering(ANSWER), 7, 1000)
        };
        let counts = run(&plan).counts;
        assert_eq!((counts.completed, counts.succeeded), (1000, 1000));
        assert_eq!(counts.connects, 7);
        assert_eq!(counts.body_bytes, 5000);
        assert_eq!(counts.bytes_received, 1000 * ANSWER.len() as u64);
        assert_eq!(counts.unfinished, 0);
    }
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    let counts = run_with(&requests(answering(ANSWER), 5, 200), true).counts;
    assert_eq!((counts.succeeded, counts.connects), (200, 200));
}

#[test]
fn a_server_that_closes_politely_costs_no_request() {
    let address = server(|mut stream| {
        request(&mut stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
            .unwrap();
    });
    let counts = run(&requests(address, 4, 100)).counts;
    assert_eq!((counts.succeeded, counts.failures()), (100, 0));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let plan = Plan {
        pipeline: 8,
        ..requests(answering(ANSWER), 3, 999)
    };
    let counts = run(&plan).counts;
    assert_eq!((counts.succeeded, counts.connects), (999, 3));
}

#[test]
fn each_failure_is_counted_under_its_cause() {
    let closing = server(|mut stream| {
        request(&mut stream);
    });
    let half = server(|mut stream| {
        request(&mut stream);
        stream.write_all(&ANSWER[..ANSWER.len() - 2]).unwrap();
    });
    let silent = server(|mut stream| while request(&mut stream) {});
    let refusing = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (address, cause) in [
        (closing, Cause::Reset),
        (half, Cause::Reset),
        (answering(b"NONSENSE\r\n\r\n"), Cause::Malformed),
        (
            answering(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
            Cause::Status,
        ),
        (silent, Cause::Timeout),
        (refusing, Cause::Connect),
    ] {
        let mut plan = requests(address, 2, 4);
        plan.timeout = Duration::from_millis(if cause == Cause::Timeout { 150 } else { 20_000 });
        let tally = run(&plan);
        assert_eq!(tally.counts.completed, 4, "{cause:?}");
        assert_eq!(
            tally.counts.failed.get(&cause),
            Some(&4),
            "{:?}",
            tally.counts
        );
        if cause == Cause::Timeout {
            assert!(
                tally.latency.whole.min_ns() >= 149_000_000,
                "its time counts"
            );
        }
    }
}

#[test]
fn a_body_that_ends_with_the_connection_is_whole() {
    let address = server(|mut stream| {
        request(&mut stream);
        stream
            .write_all(b"HTTP/1.0 200 OK\r\n\r\nall of it")
            .unwrap();
    });
    let counts = run(&requests(address, 2, 20)).counts;
    assert_eq!((counts.succeeded, counts.body_bytes), (20, 180));
}

#[test]
fn an_open_load_shows_a_stall_that_a_closed_one_hides() {
    const STALL: Duration = Duration::from_millis(1000);
    let stalling = || {
        let (count, gate) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(())));
        server(move |mut stream| {
            while request(&mut stream) {
                // All wait for the one that stalls, as they do in a stopped process.
                let held = gate.lock().unwrap();
                if count.fetch_add(1, Ordering::SeqCst) == 50 {
                    std::thread::sleep(STALL);
                }
                drop(held);
                if stream.write_all(ANSWER).is_err() {
                    return;
                }
            }
        })
    };
    let slow = |tally: &Tally| {
        let buckets = tally.latency.whole.buckets();
        let slow: u64 = buckets
            .filter(|(ns, _)| *ns > 100_000_000)
            .map(|(_, count)| count)
            .sum();
        (slow, tally.latency.whole.count())
    };
    let open = Plan {
        pace: Pace::Open(Arrivals::Constant(200.0)),
        ..requests(stalling(), 1, 500)
    };
    let (behind, all) = slow(&run(&open));
    assert_eq!(all, 500);
    // Of the 200 that were due in that second, those of its first 900 ms waited more than 100 ms.
    assert!(behind >= 170, "{behind} of {all}");
    let (behind, all) = slow(&run(&requests(stalling(), 1, 500)));
    assert_eq!((behind, all), (1, 500));
}

#[test]
fn durations_agree_with_what_the_server_took() {
    // A busy machine adds what the server does not see; an error of ours would be there each time.
    let mut seen = Vec::new();
    for _ in 0..10 {
        let off = furthest_off();
        if off < 0.01 {
            return;
        }
        seen.push(off);
    }
    panic!("off by {seen:?}");
}

/// How far the percentiles of one run are from the server's own, relative to those.
fn furthest_off() -> f64 {
    let taken = Arc::new(Mutex::new(Histogram::default()));
    let noted = Arc::clone(&taken);
    let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(7)));
    let address = server(move |mut stream| {
        while request(&mut stream) {
            let began = Instant::now();
            let delay = 60 + random.lock().unwrap().u64(..240);
            std::thread::sleep(Duration::from_millis(delay));
            // What the machine adds to the delay is part of it.
            noted
                .lock()
                .unwrap()
                .record(began.elapsed().as_nanos() as u64);
            if stream.write_all(ANSWER).is_err() {
                return;
            }
        }
    });
    let tally = run(&requests(address, 64, 320));
    let taken = taken.lock().unwrap();
    assert_eq!(tally.latency.whole.count(), taken.count());
    [50.0, 90.0, 95.0, 99.0]
        .into_iter()
        .map(|percent| {
            let expected = taken.percentile_ns(percent) as f64;
            (tally.latency.whole.percentile_ns(percent) as f64 - expected).abs() / expected
        })
        .fold(0.0, f64::max)
}

#[test]
fn what_is_under_way_at_the_end_neither_succeeded_nor_failed() {
    let silent = server(|mut stream| while request(&mut stream) {});
    let plan = Plan {
        duration: Some(Duration::from_millis(200)),
        ..plan(silent, 3)
    };
    let counts = run(&plan).counts;
    assert_eq!((counts.completed, counts.unfinished), (0, 3));
    let open = Plan {
        pace: Pace::Open(Arrivals::Constant(100.0)),
        duration: Some(Duration::from_millis(500)),
        ..plan
    };
    let tally = run(&open);
    // At 0, 10, …: those due within the time, all of them waiting.
    assert!(
        (50..=51).contains(&tally.counts.unfinished),
        "{:?}",
        tally.counts
    );
    assert_eq!(tally.latency.whole.count(), tally.counts.unfinished);
    assert!(tally.latency.whole.max_ns() >= 490_000_000);
}

#[test]
fn a_run_that_is_stopped_says_what_it_measured() {
    let running = start(&plan(answering(ANSWER), 2), |_, _| Same { close: false }).unwrap();
    let mut tally = Tally::default();
    for interval in &running.intervals {
        tally.merge(&interval.tally);
        if tally.counts.completed > 0 {
            running.stop();
        }
    }
    assert!(tally.counts.succeeded > 0);
    assert_eq!(tally.counts.failures(), 0);
}

#[test]
fn what_was_counted_during_the_warm_up_is_dropped() {
    let plan = Plan {
        warm_up: Duration::from_millis(300),
        duration: Some(Duration::from_millis(200)),
        pace: Pace::Open(Arrivals::Constant(1000.0)),
        ..plan(answering(ANSWER), 4)
    };
    let counts = run(&plan).counts;
    assert!((100..=300).contains(&counts.completed), "{counts:?}");
    assert_eq!(counts.connects, 0, "they were opened before");
}
