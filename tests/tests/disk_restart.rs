//! What is there after a stop, a kill, and a kill in the middle of something.

use forebay_tests::{Client, Config, Event, Forebay, Origin, reply};

use crate::common::{eventually, scripted};
use crate::disk::{
    at, body_of, cached, config, directory, fetch, is_from_disk, objects, restarted, wait_on_disk,
    whole,
};

const SMALL: [&str; 3] = ["/a/100", "/b/20000", "/c/300000"];
const LARGE: [&str; 3] = ["/d/1500000", "/e/2500000", "/f/5000000"];

#[test]
fn clean_stop_keeps_what_was_only_in_memory() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &SMALL);
    for target in SMALL {
        let response = forebay.get(target);
        assert!(is_from_disk(&response), "{target}: {response:?}");
        whole(&response, target);
    }
    assert_eq!(origin.count(), SMALL.len());
}

#[test]
fn clean_stop_without_saving_keeps_only_what_was_on_disk() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory).disk("save_on_stop = \"off\"");
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &["/small/1000", "/large/2000000"]);
    wait_on_disk(&forebay, 1);
    forebay.stop();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    assert!(cached(&forebay, "/small/1000").is_none());
    whole(
        &cached(&forebay, "/large/2000000").unwrap(),
        "/large/2000000",
    );
}

#[test]
fn killed_server_keeps_what_was_on_disk() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &LARGE);
    wait_on_disk(&forebay, LARGE.len());
    forebay.kill();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, LARGE.len());
    for target in LARGE {
        let response = forebay.get(target);
        assert!(is_from_disk(&response), "{target}");
        whole(&response, target);
    }
    assert_eq!(origin.count(), LARGE.len());
}

#[test]
fn many_restarts_lose_nothing() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &SMALL);
    fetch(&forebay, &LARGE);
    wait_on_disk(&forebay, LARGE.len());
    for round in 0..6 {
        if round % 2 == 0 {
            forebay.stop();
        } else {
            forebay.kill();
        }
        forebay = Forebay::start(&config);
        wait_on_disk(&forebay, SMALL.len() + LARGE.len());
    }
    for target in SMALL.into_iter().chain(LARGE) {
        whole(&forebay.get(target), target);
    }
    assert_eq!(origin.count(), SMALL.len() + LARGE.len());
}

#[test]
fn interrupted_fetch_leaves_nothing_that_counts_as_whole() {
    let text = body_of("/a/4000000");
    let origin = Origin::start(move |_, connection| {
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 4000000\r\n\r\n",
        );
        connection.send(&text[..3_000_000]);
        connection.close();
    });
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    let (partial, _) = forebay
        .client()
        .send_request("GET", "/a/4000000", &[], "")
        .try_read()
        .expect_err("a broken response was passed off as whole");
    assert!(partial.unwrap().body.len() <= 3_000_000);
    assert!(cached(&forebay, "/a/4000000").is_none());
    forebay.stop();
    let forebay = Forebay::start(&config);
    assert!(cached(&forebay, "/a/4000000").is_none());
    assert_eq!(forebay.metric("forebay_disk_objects"), Some(0.0));
}

#[test]
fn kill_in_the_middle_of_a_fetch_leaves_nothing() {
    let never = Event::new("the end of the story");
    let gate = never.clone();
    let origin = Origin::start(move |request, connection| {
        let text = body_of(&request.target);
        if request.target.starts_with("/whole") {
            return connection.send(reply(200, &["Cache-Control: max-age=600"], &text));
        }
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 8000000\r\n\r\n",
        );
        connection.send(&text[..5_000_000]);
        gate.wait();
    });
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &["/whole/2000000"]);
    let mut client = forebay.client();
    let mut response = client
        .send_request("GET", "/part/8000000", &[], "")
        .read_head();
    client.read_body(&mut response, 5_000_000);
    wait_on_disk(&forebay, 1);
    forebay.kill();
    never.set();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    whole(
        &cached(&forebay, "/whole/2000000").unwrap(),
        "/whole/2000000",
    );
    assert!(cached(&forebay, "/part/8000000").is_none());
    assert_eq!(forebay.metric("forebay_disk_objects"), Some(1.0));
}

#[test]
fn newer_object_takes_the_place_of_the_one_on_disk() {
    let fields = ["Cache-Control: max-age=600"];
    let large = |letter: &str| letter.repeat(2_000_000);
    let origin = Origin::sequence(&[
        reply(200, &fields, &large("a")),
        reply(200, &fields, &large("b")),
    ]);
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    forebay.get("/");
    wait_on_disk(&forebay, 1);
    let written = "forebay_disk_written_objects_total";
    forebay.get_with("/", &["Cache-Control: no-cache"]);
    forebay.wait_for_metric(written, 2.0);
    assert!(forebay.get("/").text() == large("b"));
    forebay.kill();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    let response = forebay.get("/");
    assert!(is_from_disk(&response));
    assert!(response.text() == large("b"), "the older one came back");
}

#[test]
fn post_invalidates_what_is_on_disk_also_after_a_kill() {
    let large = "x".repeat(2_000_000);
    let fields = ["Cache-Control: max-age=600"];
    let origin =
        Origin::start(
            move |request, connection| match (&*request.method, &*request.target) {
                ("POST", _) => connection.send(reply(204, &[], "")),
                ("GET", "/other") => connection.send(reply(200, &fields, &large)),
                _ if request.number == 0 => connection.send(reply(200, &fields, &large)),
                _ => connection.send(reply(200, &fields, "new")),
            },
        );
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    assert_eq!(forebay.get("/").body.len(), 2_000_000);
    wait_on_disk(&forebay, 1);
    forebay.stop();
    let mut forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    assert_eq!(forebay.exchange("POST", "/", &[], "change").status, 204);
    // The disk is written to in order: what the POST did is there when this is.
    forebay.get("/other");
    forebay.wait_for_metric("forebay_disk_written_objects_total", 1.0);
    forebay.kill();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    eventually(|| cached(&forebay, "/other").is_some());
    assert_eq!(forebay.get("/").text(), "new");
}

#[test]
fn stop_and_start_with_another_memory_and_disk_size() {
    let (origin, directory) = (objects(), directory());
    let base = config(&origin, &directory);
    let mut forebay = Forebay::start(&base.clone().disk("size = \"256MiB\""));
    let targets: Vec<String> = (0..50).map(|n| format!("/{n}/2000000")).collect();
    for target in &targets {
        whole(&forebay.get(target), target);
    }
    wait_on_disk(&forebay, targets.len());
    forebay.stop();
    // A smaller disk: the oldest go.
    let forebay = Forebay::start(&base.cache("memory = \"16MiB\""));
    wait_on_disk(&forebay, 10);
    whole(&cached(&forebay, &targets[49]).unwrap(), &targets[49]);
    assert!(cached(&forebay, &targets[0]).is_none());
    let taken: u64 = crate::disk::segments(&at(&directory))
        .iter()
        .map(|path| path.metadata().unwrap().len())
        .sum();
    assert!(taken <= 64 << 20, "{taken}");
}

#[test]
fn expired_objects_are_kept_over_a_restart_to_be_validated() {
    let stale = ["Cache-Control: max-age=1", "Age: 100", "ETag: \"a\""];
    let origin = scripted(&[
        (200, &stale),
        (304, &["Cache-Control: max-age=600", "ETag: \"a\""]),
    ]);
    let directory = directory();
    let config: Config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    forebay.get("/");
    forebay.stop();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    assert_eq!(forebay.get("/").text(), "n0");
    assert_eq!(origin.last().field("if-none-match"), Some("\"a\""));
    assert!(forebay.get("/").is_hit());
    assert_eq!(origin.count(), 2);
}

/// Asks for one object after another on one connection until that breaks.
fn load(mut client: Client, seed: usize) {
    for step in 0.. {
        let number = (seed * 7919 + step * 104_729) % 400;
        let size = [300, 9_000, 70_000, 400_000, 1_300_000][number % 5];
        let target = format!("/{number}/{size}");
        let request = format!("GET {target} HTTP/1.1\r\nHost: test.example\r\n\r\n");
        client.send_anyway(request);
        match client.try_read() {
            Ok(response) => whole(&response, &target),
            Err((partial, _)) => {
                let got = partial.map(|partial| partial.body).unwrap_or_default();
                let text = body_of(&target);
                assert!(text.as_bytes().starts_with(&got), "wrong bytes of {target}");
                return;
            }
        }
    }
}

#[test]
fn kills_under_load_never_give_a_wrong_byte() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory).set("server", "workers = 2");
    let written = "forebay_disk_written_objects_total";
    for round in 0..6 {
        let mut forebay = Forebay::start(&config);
        std::thread::scope(|scope| {
            for user in 0..4 {
                let client = forebay.client();
                scope.spawn(move || load(client, round * 4 + user));
            }
            // In the midst of fetching, writing, reading, and giving segments up.
            forebay.wait_for_metric(written, 60.0);
            forebay.kill();
        });
    }
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 20);
    let asked = origin.count();
    for number in 0..400 {
        let size = [300, 9_000, 70_000, 400_000, 1_300_000][number % 5];
        let target = format!("/{number}/{size}");
        if let Some(response) = cached(&forebay, &target) {
            whole(&response, &target);
        }
    }
    assert_eq!(origin.count(), asked);
}
