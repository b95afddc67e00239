//! Large objects go straight to disk while they are fetched, and are read from there in pieces.

use forebay_tests::{Client, Event, Forebay, Origin, reply};

use crate::common::eventually;
use crate::disk::{
    body, body_of, cached, config, directory, fetch, objects, restarted, wait_on_disk, whole,
};

const HEAD: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n";

/// Sends the first half of `/name/SIZE`, and the second when `gate` is announced.
fn halves(gate: Event) -> Origin {
    Origin::start(move |request, connection| {
        let text = body_of(&request.target);
        let (first, second) = text.split_at(text.len() / 2);
        connection.send(format!(
            "{HEAD}Content-Length: {}\r\n\r\n{first}",
            text.len()
        ));
        gate.wait();
        connection.send(second);
    })
}

#[test]
fn large_object_is_streamed_to_several_while_it_is_fetched() {
    let go = Event::new("three clients have the first half");
    let origin = halves(go.clone());
    let directory = directory();
    let forebay = Forebay::start(&config(&origin, &directory).set("server", "workers = 2"));
    let target = "/a/8000000";
    let mut clients: Vec<Client> = (0..3).map(|_| forebay.client()).collect();
    let mut responses = Vec::new();
    // The first bytes are there before the origin has sent the last.
    for client in &mut clients {
        let mut response = client.send_request("GET", target, &[], "").read_head();
        client.read_body(&mut response, 4_000_000);
        responses.push(response);
    }
    go.set();
    for (client, response) in clients.iter_mut().zip(&mut responses) {
        client.read_rest(response).unwrap();
        whole(response, target);
    }
    whole(&forebay.get(target), target);
    assert_eq!(origin.count(), 1);
    assert!(forebay.get(target).is_hit());
    wait_on_disk(&forebay, 1);
}

#[test]
fn large_object_of_unknown_length_goes_to_disk_as_well() {
    let text = body_of("/a/5000000");
    let origin = Origin::start(move |_, connection| {
        connection.send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n"));
        for chunk in text.as_bytes().chunks(70_001) {
            connection.send(format!("{:x}\r\n", chunk.len()));
            connection.send(chunk);
            connection.send("\r\n");
        }
        connection.send("0\r\nX-Sum: 12\r\n\r\n");
    });
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    whole(&forebay.get("/a/5000000"), "/a/5000000");
    wait_on_disk(&forebay, 1);
    whole(&forebay.get("/a/5000000"), "/a/5000000");
    forebay.kill();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    whole(&cached(&forebay, "/a/5000000").unwrap(), "/a/5000000");
    assert_eq!(origin.count(), 1);
}

#[test]
fn memory_stays_small_whatever_goes_through_the_disk() {
    let origin = objects();
    let directory = directory();
    let config = config(&origin, &directory)
        .disk("size = \"512MiB\"")
        .disk("max_object = \"128MiB\"")
        .disk("write_queue = \"4MiB\"");
    let mut forebay = Forebay::start(&config);
    let target = "/a/120000000";
    fetch(&forebay, &[target]);
    wait_on_disk(&forebay, 1);
    whole(&forebay.get(target), target);
    let range = forebay.get_with(target, &["Range: bytes=100000000-119999999"]);
    assert_eq!((range.status, range.body.len()), (206, 20_000_000));
    // What `cache.memory` and `write_queue` say, 15 percent, and 64 MiB.
    let peak = forebay.peak_bytes();
    assert!(peak < 75 << 20, "{} MiB were resident", peak >> 20);
    forebay.kill();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    whole(&forebay.get(target), target);
    let peak = forebay.peak_bytes();
    assert!(peak < 75 << 20, "{} MiB were resident", peak >> 20);
    assert_eq!(origin.count(), 1);
}

#[test]
fn object_beyond_the_limit_of_the_disk_is_streamed_and_not_stored() {
    let (origin, directory) = (objects(), directory());
    let forebay = Forebay::start(&config(&origin, &directory).disk("max_object = \"3MiB\""));
    for _ in 0..2 {
        whole(&forebay.get("/a/4000000"), "/a/4000000");
    }
    assert_eq!(origin.count(), 2);
    assert_eq!(forebay.metric("forebay_disk_objects"), Some(0.0));
    whole(&forebay.get("/b/3000000"), "/b/3000000");
    assert!(forebay.get("/b/3000000").is_hit());
}

#[test]
fn chunked_object_that_grows_beyond_the_limit_is_streamed_to_its_end() {
    let text = body_of("/a/6000000");
    let origin = Origin::start(move |_, connection| {
        connection.send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n"));
        for chunk in text.as_bytes().chunks(100_000) {
            connection.send(format!("{:x}\r\n", chunk.len()));
            connection.send(chunk);
            connection.send("\r\n");
        }
        connection.send("0\r\n\r\n");
    });
    let directory = directory();
    let forebay = Forebay::start(&config(&origin, &directory).disk("max_object = \"3MiB\""));
    for _ in 0..2 {
        whole(&forebay.get("/a/6000000"), "/a/6000000");
    }
    assert_eq!(origin.count(), 2);
    assert!(cached(&forebay, "/a/6000000").is_none());
}

#[test]
fn slow_reader_does_not_hold_up_the_fetch_of_a_large_object() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory).disk("max_object = \"16MiB\"");
    let forebay = Forebay::start(&config);
    // More than the kernel's buffers take.
    let target = "/a/16000000";
    let mut slow = forebay.client();
    let mut response = slow.send_request("GET", target, &[], "").read_head();
    whole(&forebay.get(target), target);
    wait_on_disk(&forebay, 1);
    slow.read_rest(&mut response).unwrap();
    whole(&response, target);
    assert_eq!(origin.count(), 1);
}

#[test]
fn fetch_of_a_large_object_goes_on_when_nobody_is_left() {
    let go = Event::new("the only client has left");
    let origin = halves(go.clone());
    let directory = directory();
    let forebay = Forebay::start(&config(&origin, &directory));
    let target = "/a/6000000";
    let mut client = forebay.client();
    let mut response = client.send_request("GET", target, &[], "").read_head();
    client.read_body(&mut response, 3_000_000);
    client.reset();
    go.set();
    eventually(|| cached(&forebay, target).is_some());
    whole(&cached(&forebay, target).unwrap(), target);
    assert_eq!(origin.count(), 1);
}

#[test]
fn threshold_decides_what_goes_straight_to_disk() {
    let (origin, directory) = (objects(), directory());
    let forebay = Forebay::start(&config(&origin, &directory).disk("large = \"64KiB\""));
    fetch(&forebay, &["/small/65536"]);
    fetch(&forebay, &["/large/65537"]);
    wait_on_disk(&forebay, 1);
    assert_eq!(forebay.metric("forebay_disk_objects"), Some(1.0));
    for target in ["/small/65536", "/large/65537"] {
        let response = forebay.get(target);
        assert!(response.is_hit());
        whole(&response, target);
    }
}

#[test]
fn object_too_large_for_memory_and_not_large_goes_to_disk() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory).cache("max_object = \"100KiB\"");
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &["/a/200000"]);
    assert!(forebay.get("/a/200000").is_hit());
    wait_on_disk(&forebay, 1);
    forebay.kill();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    whole(&cached(&forebay, "/a/200000").unwrap(), "/a/200000");
}

#[test]
fn head_of_a_large_object_reads_nothing() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &["/a/3000000"]);
    let response = forebay.exchange("HEAD", "/a/3000000", &[], "");
    assert_eq!(
        (response.status, response.number("content-length")),
        (200, Some(3_000_000))
    );
    assert!(response.is_hit(), "{response:?}");
    assert_eq!(origin.count(), 1);
}

#[test]
fn clients_on_one_connection_get_large_and_small_in_turn() {
    let origin = Origin::start(|request, connection| {
        let text = body(&request.target, crate::disk::size_of(&request.target));
        connection.send(reply(200, &["Cache-Control: max-age=600"], &text));
    });
    let directory = directory();
    let forebay = Forebay::start(&config(&origin, &directory));
    let mut client = forebay.client();
    for _ in 0..3 {
        for target in ["/a/10", "/b/2500000", "/c/0", "/d/1048577"] {
            whole(&client.get(target), target);
        }
    }
    // Pipelined as well.
    for target in ["/b/2500000", "/a/10", "/b/2500000"] {
        client.send_request("GET", target, &[], "");
    }
    for target in ["/b/2500000", "/a/10", "/b/2500000"] {
        whole(&client.read(), target);
    }
    assert_eq!(origin.count(), 4);
}
