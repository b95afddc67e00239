//! `forebay bench session`: sessions that an application keeps, loses, and
//! mixes up.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_tests::{Bench, Figures, Origin, reply};

/// What an application does with a session, by its number.
type Flaw = fn(u64, Option<String>) -> Option<String>;

/// `/write?value=…` stores it under a new cookie and redirects to `/read`, which shows it.
fn application(flaw: Flaw) -> Origin {
    let sessions = Mutex::new(HashMap::new());
    let next = AtomicU64::new(0);
    Origin::start(move |request, connection| {
        let response = if let Some(value) = request.target.strip_prefix("/write?value=") {
            let number = next.fetch_add(1, Ordering::SeqCst);
            sessions.lock().unwrap().insert(number, value.to_owned());
            let cookie = format!("Set-Cookie: sid={number}; Path=/; HttpOnly");
            reply(302, &[&cookie, "Location: /read"], "")
        } else {
            let cookie = request
                .field("Cookie")
                .and_then(|cookie| cookie.strip_prefix("sid="));
            let number = cookie.map_or(u64::MAX, |number| number.parse().unwrap());
            let stored = sessions.lock().unwrap().get(&number).cloned();
            reply(200, &[], &flaw(number, stored).unwrap_or_default())
        };
        connection.send(response);
    })
}

fn load(origin: &Origin, more: &[&str]) -> Figures {
    let url = format!("http://{}/", origin.server());
    Bench::new(&["session", &url]).args(more).figures()
}

/// Sessions, kept, lost, wrong.
fn sessions(figures: &Figures) -> [u64; 4] {
    let sessions = &figures.phase().0["tally"]["sessions"];
    ["sessions", "kept", "lost", "wrong"].map(|name| sessions[name].as_u64().unwrap())
}

#[test]
fn every_session_is_written_redirected_and_read() {
    let origin = application(|_, stored| stored);
    let figures = load(&origin, &["--sessions", "100", "-c", "5"]);
    assert_eq!(sessions(&figures), [100, 100, 0, 0]);
    let phase = figures.phase();
    assert_eq!(
        (phase.label("write"), phase.label("read")),
        ((100, 0), (100, 0))
    );
    assert_eq!(origin.count(), 200);
    let written = origin.requests()[0].target.len() - "/write?value=".len();
    assert_eq!(written, 1024, "1 KiB of data each");
    assert_eq!(phase.0["tally"]["sessions"]["between"]["count"], 100);
}

#[test]
fn lost_and_wrong_sessions_are_counted_apart() {
    let lossy = application(|number, stored| stored.filter(|_| number % 4 != 0));
    let figures = load(&lossy, &["--sessions", "40", "-c", "3"]);
    assert_eq!(sessions(&figures), [40, 30, 10, 0]);
    assert_eq!(figures.phase().failed(None), 10);
    let mixing = application(|number, stored| match number % 4 {
        0 => Some("session-of-somebody-else".into()),
        _ => stored,
    });
    assert_eq!(
        sessions(&load(&mixing, &["--sessions", "40", "-c", "3"])),
        [40, 30, 0, 10]
    );
}

#[test]
fn lost_sessions_fail_an_assertion() {
    let origin = application(|number, stored| stored.filter(|_| number != 7));
    let url = format!("http://{}/", origin.server());
    let load = ["--sessions", "20", "-c", "2", "--assert", "lost==0"];
    let ended = Bench::new(&["session", &url]).args(&load).run();
    ended.with_status(1).saying(&["failed", "lost==0"]);
}

#[test]
fn the_time_between_the_pages_is_kept() {
    let origin = application(|_, stored| stored);
    let figures = load(
        &origin,
        &["--sessions", "4", "-c", "4", "--pages-between", "200ms"],
    );
    assert_eq!(sessions(&figures), [4, 4, 0, 0]);
    let between = &figures.phase().0["tally"]["sessions"]["between"];
    assert!(
        between["min_ns"].as_u64().unwrap() >= 200_000_000,
        "{between}"
    );
}

#[test]
fn sessions_are_shared_by_agents() {
    let origin = application(|_, stored| stored);
    let start = || Bench::new(&["agent", "--listen", "127.0.0.1:0", "--once"]).start();
    let (one, two) = (start(), start());
    let agents = [&one, &two]
        .map(|agent| agent.wait_for_line("agent on "))
        .join(",");
    let figures = load(
        &origin,
        &["--sessions", "51", "-c", "4", "--agents", &agents],
    );
    assert_eq!(sessions(&figures), [51, 51, 0, 0]);
}
