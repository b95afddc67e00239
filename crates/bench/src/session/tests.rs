//! Sessions against an application within the test: what it keeps, loses and
//! mixes up is counted.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser;
use forebay_engine::{Address, Endpoint, Endpoints, Pace, Plan};
use forebay_results::{Cause, Tally};

use super::SessionArgs;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: SessionArgs,
}

/// What the application does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// Every fourth session is not kept.
    Forgets,
    /// Every fourth session shows another's data.
    Mixes,
    /// The second page is an error for every fourth session.
    Breaks,
    /// No cookie is set.
    NoCookie,
    /// The first page does not redirect.
    Stays,
}

#[derive(Default)]
struct Application {
    sessions: Mutex<HashMap<u64, String>>,
    next: AtomicU64,
}

impl Application {
    /// Serves one connection until it is closed.
    fn serve(&self, stream: TcpStream, flaw: Flaw) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        loop {
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                match line.trim_end() {
                    "" => break,
                    line => lines.push(line.to_owned()),
                }
            }
            let answer = self.answer(&lines, flaw);
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, lines: &[String], flaw: Flaw) -> String {
        let path = lines[0].split(' ').nth(1).unwrap();
        if let Some(value) = path.strip_prefix("/app/write?value=") {
            assert!(
                !lines.iter().any(|line| line.starts_with("Cookie")),
                "a new session"
            );
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if flaw != Flaw::Forgets || !number.is_multiple_of(4) {
                self.sessions
                    .lock()
                    .unwrap()
                    .insert(number, value.to_owned());
            }
            let cookie = match flaw {
                Flaw::NoCookie => String::new(),
                _ => format!("Set-Cookie: sid={number}; Path=/\r\n"),
            };
            let status = match flaw {
                Flaw::Stays => "200 OK\r\n",
                _ => "302 Found\r\nLocation: read\r\n",
            };
            return format!("HTTP/1.1 {status}{cookie}Content-Length: 0\r\n\r\n");
        }
        assert_eq!(path, "/app/read");
        let cookie = lines
            .iter()
            .find_map(|line| line.strip_prefix("Cookie: sid="));
        let number: u64 = cookie.map_or(u64::MAX, |number| number.parse().unwrap());
        let sessions = self.sessions.lock().unwrap();
        let is_fourth = number.is_multiple_of(4);
        let value = match flaw {
            Flaw::Mixes if is_fourth => "session-of-somebody-else",
            _ => sessions.get(&number).map_or("", String::as_str),
        };
        let status = match flaw {
            Flaw::Breaks if is_fourth => "500 Broken",
            _ => "200 OK",
        };
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{value}",
            value.len()
        )
    }
}

/// Goes through 40 sessions with three users and returns what was counted.
fn run(flaw: Flaw, more: &[&str]) -> Tally {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let application = Arc::new(Application::default());
    // The thread ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (application, stream) = (Arc::clone(&application), stream.unwrap());
            std::thread::spawn(move || application.serve(stream, flaw));
        }
    });
    let url = format!("http://{address}/app");
    let line = ["session", &url, "--sessions", "40"]
        .into_iter()
        .chain(more.iter().copied());
    let sessions = Command::parse_from(line).args.plan().unwrap();
    let endpoints = Endpoints::default();
    endpoints.add(Endpoint {
        name: sessions.place().place(),
        addresses: vec![Address::Tcp(address)],
        tls: None,
    });
    let running = sessions.start(&plan(endpoints)).unwrap();
    let mut tally = Tally::default();
    for interval in &running.intervals {
        tally.merge(&interval.tally);
    }
    tally
}

fn plan(endpoints: Endpoints) -> Plan {
    Plan {
        endpoints,
        users: 3,
        threads: 2,
        share: (0, 2),
        cores: Vec::new(),
        duration: Some(Duration::from_secs(30)),
        requests: None,
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        pace: Pace::Closed,
        pipeline: 8,
        timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(10),
        sources: Vec::new(),
        open_early: true,
    }
}

/// sessions, kept, lost, wrong
fn figures(tally: &Tally) -> [u64; 4] {
    let figures = tally.sessions.as_ref().unwrap();
    [figures.sessions, figures.kept, figures.lost, figures.wrong]
}

#[test]
fn every_session_is_written_and_read_once() {
    for more in [
        &[][..],
        &["--no-keepalive"],
        &["--pages-between", "20ms"],
        &["--size", "24B"],
    ] {
        let tally = run(Flaw::None, more);
        assert_eq!(figures(&tally), [40, 40, 0, 0], "{more:?} {tally:?}");
        assert_eq!(tally.counts.succeeded, 80, "{more:?}");
        let between = &tally.sessions.as_ref().unwrap().between;
        assert_eq!(between.count(), 40);
        if more.contains(&"--pages-between") {
            assert!(between.min_ns() >= 20_000_000);
        }
    }
}

#[test]
fn lost_and_wrong_sessions_are_told_apart() {
    let tally = run(Flaw::Forgets, &[]);
    assert_eq!(figures(&tally), [40, 30, 10, 0]);
    assert_eq!(tally.counts.failed[&Cause::Check], 10);
    let tally = run(Flaw::Mixes, &[]);
    assert_eq!(figures(&tally), [40, 30, 0, 10]);
    assert_eq!(figures(&run(Flaw::NoCookie, &[])), [40, 0, 40, 0]);
}

#[test]
fn a_page_that_fails_is_no_lost_session() {
    let tally = run(Flaw::Breaks, &[]);
    assert_eq!(figures(&tally), [40, 30, 0, 0]);
    assert_eq!(tally.counts.failed[&Cause::Status], 10);
    let tally = run(Flaw::Stays, &[]);
    assert_eq!(figures(&tally), [40, 0, 0, 0]);
    assert!(tally.faults.keys().next().unwrap().contains("--read"));
    let tally = run(Flaw::Stays, &["--read", "read"]);
    assert_eq!(figures(&tally), [40, 40, 0, 0]);
}

#[test]
fn wrong_options_are_refused_in_words() {
    for (line, part) in [
        (["s", "ftp://a/", "--size", "1KiB"], "ftp"),
        (["s", "http://a/", "--write", "/write"], "{value}"),
        (["s", "http://a/", "--size", "5B"], "--size"),
        (["s", "http://a/", "--size", "1MiB"], "--size"),
    ] {
        let error = Command::parse_from(line).args.plan().unwrap_err();
        assert!(error.contains(part), "{line:?}: {error}");
    }
}
