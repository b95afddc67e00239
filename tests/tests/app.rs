//! Application processes that Forebay starts: they answer, multiply, are replaced and end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use forebay_tests::app::{self, descendants, lives, until};
use forebay_tests::{Forebay, Response};
use rustix::process::Signal;

/// The process id that an answer begins with.
fn pid(response: &Response) -> u32 {
    let text = response.text();
    assert_eq!(response.status, 200, "{text}");
    text.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn an_application_is_started_and_answers_on_its_socket() {
    let mut forebay = Forebay::start_text(&app::config(&app::serving()));
    // The first request waits until it is ready.
    let first = pid(&forebay.get("/"));
    assert_eq!(pid(&forebay.get("/again")), first);
    assert!(descendants(forebay.pid()).contains(&first));
    forebay.wait_for_output("app shop: process 1 (pid");
    forebay.wait_for_output("app shop 1: served /again");
    forebay.stop();
    assert!(!lives(first));
}

#[test]
fn an_application_may_listen_on_a_port_that_its_environment_names() {
    let script = format!("{}{}", app::PYTHON, app::SERVE);
    let lines = format!("command = ['python3', '-c', '''{script}''']\n");
    let forebay = Forebay::start_text(&app::config(&lines));
    pid(&forebay.get("/"));
}

#[test]
fn directory_and_environment_are_the_applications_own() {
    let directory = tempfile::tempdir().unwrap();
    let lines = format!(
        "{}directory = {:?}\nenvironment = {{ COLOUR = \"blue-{{instance}}\" }}\n",
        app::serving(),
        directory.path()
    );
    let forebay = Forebay::start_text(&app::config(&lines));
    let text = forebay.get("/").text();
    assert!(text.contains(" blue-1 "), "{text}");
    assert!(
        text.ends_with(&*directory.path().to_string_lossy()),
        "{text}"
    );
}

#[test]
fn an_application_runs_as_its_user() {
    let lines = format!("{}user = \"nobody\"\n", app::serving());
    let forebay = Forebay::start_text(&app::config(&lines));
    if rustix::process::geteuid().is_root() {
        let text = forebay.get("/").text();
        assert_eq!(text.split(' ').nth(2), Some("65534"), "{text}");
    } else {
        forebay.wait_for_output("only root can start processes as another user");
    }
}

#[test]
fn requests_in_the_queue_bring_more_processes() {
    let lines = format!(
        "{}instances = \"1..3\"\nmax_connections = 1\nqueue_time = \"50ms\"\n",
        app::serving()
    );
    let forebay = Forebay::start_text(&app::config(&lines));
    pid(&forebay.get("/"));
    let mut pids = BTreeSet::new();
    until("three processes answer", || {
        let clients = (0..6).map(|_| {
            let mut client = forebay.client();
            client.send_request("GET", "/sleep/0.2", &[], "");
            client
        });
        let clients: Vec<_> = clients.collect();
        pids.extend(clients.into_iter().map(|mut client| pid(&client.read())));
        pids.len() == 3
    });
}

#[test]
fn a_reload_replaces_processes_without_a_failed_request() {
    let text = app::config(&format!(
        "{}instances = 2\nmax_connections = 4\n",
        app::serving()
    ));
    let mut forebay = Forebay::start_text(&text);
    let before = pid(&forebay.get("/"));
    let stop = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let (stop, mut client) = (Arc::clone(&stop), forebay.client());
            std::thread::spawn(move || {
                let mut requests = 0;
                while !stop.load(Relaxed) {
                    let response = client.get("/sleep/0.01");
                    assert_eq!(response.status, 200, "{}", response.text());
                    requests += 1;
                }
                requests
            })
        })
        .collect();
    forebay.write_config(&text.replace(
        "[app.shop]\n",
        "[app.shop]\nenvironment = { COLOUR = \"green\" }\n",
    ));
    forebay.signal(Signal::HUP);
    until("both processes are new", || {
        let colours = (0..4).map(|_| forebay.get("/").text());
        colours.filter(|text| text.contains(" green ")).count() == 4 && !lives(before)
    });
    stop.store(true, Relaxed);
    for thread in load {
        assert!(thread.join().expect("no request failed") > 0);
    }
    forebay.stop();
}

#[test]
fn users_of_a_process_that_is_replaced_go_to_another_without_a_failed_post() {
    let lines = app::serving().replace("stop_timeout = \"2s\"", "stop_timeout = \"1s\"");
    let text = app::config(&format!(
        "{lines}instances = 2\n[pool.shop]\nsticky = true\n"
    ));
    let mut forebay = Forebay::start_text(&text);
    let mut before = BTreeSet::new();
    until("both processes are there", || {
        before.insert(pid(&forebay.get("/")));
        before.len() == 2
    });
    let stop = Arc::new(AtomicBool::new(false));
    let users: Vec<_> = (0..4)
        .map(|_| {
            let (stop, mut client) = (Arc::clone(&stop), forebay.client());
            std::thread::spawn(move || {
                let mut cookie = String::from("Cookie: none=yet");
                while !stop.load(Relaxed) {
                    let response = client.exchange("POST", "/sleep/0.01", &[&cookie], "");
                    assert_eq!(response.status, 200, "{}", response.text());
                    if let Some(set) = response.field("Set-Cookie") {
                        cookie = format!("Cookie: {}", set.split(';').next().unwrap());
                    }
                }
            })
        })
        .collect();
    forebay.write_config(&text.replace(
        "[app.shop]\n",
        "[app.shop]\nenvironment = { COLOUR = \"green\" }\n",
    ));
    forebay.signal(Signal::HUP);
    until("the old processes are gone", || {
        !before.iter().any(|&process| lives(process))
    });
    stop.store(true, Relaxed);
    for thread in users {
        thread.join().expect("no request failed");
    }
    forebay.stop();
}

#[test]
fn an_application_that_the_file_no_longer_has_ends_and_a_new_one_starts() {
    let text = app::config(&app::serving());
    let forebay = Forebay::start_text(&text);
    let before = pid(&forebay.get("/"));
    let other = text
        .replace("app.shop", "app.store")
        .replace("pool = \"shop\"", "pool = \"store\"");
    forebay.write_config(&other);
    forebay.signal(Signal::HUP);
    until("the new one answers", || {
        let response = forebay.get("/");
        response.status == 200 && pid(&response) != before
    });
    until("the old one is gone", || !lives(before));
}

#[test]
fn requests_under_way_are_answered_before_the_application_ends() {
    let mut forebay = Forebay::start_text(&app::config(&app::serving()));
    let running = pid(&forebay.get("/"));
    let mut client = forebay.client();
    client.send_request("GET", "/sleep/0.5", &[], "");
    until("the request is there", || {
        forebay
            .metric("forebay_origin_connections_active")
            .unwrap_or(0.0)
            >= 1.0
    });
    forebay.signal(Signal::TERM);
    assert_eq!(pid(&client.read()), running);
    assert_eq!(forebay.wait_exit().code(), Some(0));
    assert!(!lives(running));
}
