//! Load that is due at given times: what a server that stalls makes its
//! clients wait is in the figures; limits are found; an end by Ctrl-C reports.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_tests::{Bench, Origin, reply};
use rustix::process::Signal;

fn url(origin: &Origin) -> String {
    format!("http://{}/", origin.server())
}

/// An origin whose first answer after the 50th makes everybody wait for a second.
fn stalling() -> Origin {
    let door = Mutex::new(());
    let stalled = AtomicBool::new(false);
    Origin::start(move |request, connection| {
        let guard = door.lock().unwrap();
        if request.number >= 50 && !stalled.swap(true, Ordering::SeqCst) {
            std::thread::sleep(Duration::from_secs(1));
        }
        drop(guard);
        connection.send(reply(200, &[], "x"));
    })
}

#[test]
fn a_stall_of_one_second_shows_at_open_load() {
    let origin = stalling();
    let load = ["--rate", "200", "-d", "3s", "-c", "8"];
    let figures = Bench::new(&[&url(&origin)]).args(&load).figures();
    let phase = figures.phase();
    // A third of what was due fell into the stall, evenly: the 90th percentile waited 700 ms.
    assert!(phase.whole_ms("max") >= 900.0, "{}", phase.whole_ms("max"));
    assert!(phase.whole_ms("p99") >= 700.0, "{}", phase.whole_ms("p99"));
    assert!(phase.whole_ms("p90") >= 300.0, "{}", phase.whole_ms("p90"));
    let due = phase.count("completed") + phase.count("unfinished");
    assert!((590..=601).contains(&due), "{due}");
}

#[test]
fn the_same_stall_hides_at_closed_load() {
    // Why the story above is worth telling: two connections meet it with one request each.
    let origin = stalling();
    let figures = Bench::new(&[&url(&origin), "-n", "2000", "-c", "2"]).figures();
    let phase = figures.phase();
    assert!(phase.whole_ms("max") >= 900.0);
    assert!(phase.whole_ms("p99") < 700.0, "{}", phase.whole_ms("p99"));
}

#[test]
fn requests_are_sent_at_the_rate_that_was_asked_for() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    for arrivals in ["constant", "poisson"] {
        let before = origin.count();
        let load = [
            "--rate",
            "300/s",
            "--arrivals",
            arrivals,
            "-d",
            "1s",
            "-c",
            "20",
        ];
        let figures = Bench::new(&[&url(&origin)]).args(&load).figures();
        let due = figures.count("completed") + figures.count("unfinished");
        // A thread that wakes late has measured for longer, and more was due.
        let most = (300.0 * figures.phase().seconds()).max(300.0) as u64;
        let spread = if arrivals == "constant" { 2 } else { 100 };
        let allowed = 300 - spread..=most + spread;
        assert!(allowed.contains(&due), "{arrivals}: {due}, {allowed:?}");
        assert!(origin.count() - before <= due as usize);
        assert_eq!(figures.phase().0["rate"], 300.0);
    }
}

#[test]
fn more_than_a_server_can_do_is_said() {
    let door = Mutex::new(());
    let origin = Origin::start(move |_, connection| {
        let guard = door.lock().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        drop(guard);
        connection.send(reply(200, &[], "x"));
    });
    let load = ["--rate", "500", "-d", "1s", "-c", "4"];
    let figures = Bench::new(&[&url(&origin)]).args(&load).figures();
    assert!(
        figures.count("unfinished") > 300,
        "{}",
        figures.count("unfinished")
    );
    assert!(
        figures.warnings().contains("not answered in time"),
        "{}",
        figures.warnings()
    );
}

#[test]
fn the_limit_of_a_server_is_found() {
    // One request at a time, 5 ms each: less than 200 a second.
    let door = Mutex::new(());
    let origin = Origin::start(move |_, connection| {
        let guard = door.lock().unwrap();
        std::thread::sleep(Duration::from_millis(5));
        drop(guard);
        connection.send(reply(200, &[], "x"));
    });
    let load = ["--find-limit", "p90<100ms", "-c", "16", "-d", "700ms"];
    let ended = Bench::new(&[&url(&origin)])
        .args(&load)
        .args(&["--format", "json", "--live", "off"])
        .run()
        .ok();
    let figures = ended.printed();
    let finding = figures.0["finding"].as_str().unwrap().to_owned();
    let rate: f64 = finding
        .split(' ')
        .next()
        .unwrap()
        .replace(',', "")
        .parse()
        .unwrap();
    assert!((60.0..230.0).contains(&rate), "{finding}");
    assert!(finding.contains("p90<100ms"), "{finding}");
    assert!(figures.phases().len() > 3, "it was searched for");
}

#[test]
fn an_interrupt_ends_the_load_and_prints_its_report() {
    for signal in [Signal::INT, Signal::TERM] {
        let origin = Origin::fixed(reply(200, &[], "x"));
        let load = [
            "-d", "10m", "-c", "2", "--format", "json", "--live", "off", "--json", "r.json",
        ];
        let running = Bench::new(&[&url(&origin)]).args(&load).start();
        origin.wait_for(100);
        running.signal(signal);
        let ended = running.wait().ok();
        let figures = ended.printed();
        assert!(
            figures.count("succeeded") >= 90,
            "{}",
            figures.count("succeeded")
        );
        assert_eq!(
            figures.phase().failed(None),
            0,
            "an interrupt is no failure"
        );
        assert!(figures.phase().seconds() < 60.0);
        assert_eq!(ended.figures("r.json").0, figures.0);
    }
}

#[test]
fn an_interrupt_leaves_out_the_rungs_that_were_still_to_come() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let load = [
        "-d", "10m", "-c", "1,2,3", "--format", "json", "--live", "off",
    ];
    let running = Bench::new(&[&url(&origin)]).args(&load).start();
    origin.wait_for(50);
    running.signal(Signal::INT);
    assert_eq!(running.wait().ok().printed().phases().len(), 1);
}

#[test]
fn a_second_interrupt_ends_the_program_at_once() {
    // An origin that never answers holds what is under way; nothing may wait for it.
    let origin = Origin::start(|_, _| {});
    let running = Bench::new(&[&url(&origin), "-d", "10m", "-c", "2", "--live", "off"]).start();
    origin.wait_for(2);
    running.signal(Signal::INT);
    let ended = running.wait();
    assert!([0, 130].contains(&ended.status), "{}", ended.status);
}
