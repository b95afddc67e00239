//! Objects that left memory are on disk, within the size, and answer from there.

use forebay_tests::{Client, Config, Event, Forebay, Origin, reply};

use crate::common::eventually;
use crate::disk::{
    SMALLEST, at, body_of, cached, config, directory, fetch, is_from_disk, objects, restarted,
    wait_on_disk, whole,
};

#[test]
fn what_left_memory_is_a_hit_from_disk() {
    let (origin, directory) = (objects(), directory());
    let forebay = Forebay::start(&config(&origin, &directory));
    // Three times what memory holds.
    let targets: Vec<String> = (0..120).map(|n| format!("/{n}/100000")).collect();
    for target in &targets {
        whole(&forebay.get(target), target);
    }
    wait_on_disk(&forebay, 80);
    let mut from_disk = 0;
    for target in &targets {
        // What left memory a moment ago may still wait to be written.
        eventually(|| cached(&forebay, target).is_some());
        let response = forebay.get(target);
        whole(&response, target);
        from_disk += usize::from(is_from_disk(&response));
    }
    assert_eq!(origin.count(), targets.len(), "an object was fetched twice");
    let hits = forebay.metric("forebay_disk_hits_total").unwrap() as usize;
    assert!(hits >= 80, "{hits} hits from disk, {from_disk} seen");
}

#[test]
fn what_comes_from_disk_is_said_and_then_in_memory() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &["/a/1000"]);
    let first = forebay.get("/a/1000");
    assert!(is_from_disk(&first), "{first:?}");
    let second = forebay.get("/a/1000");
    assert!(second.is_hit() && !is_from_disk(&second), "{second:?}");
    assert_eq!(origin.count(), 1);
}

#[test]
fn only_if_cached_finds_what_is_on_disk() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &["/a/1000", "/b/1500000"]);
    for target in ["/a/1000", "/b/1500000"] {
        whole(&cached(&forebay, target).unwrap(), target);
    }
    assert!(cached(&forebay, "/c/1000").is_none());
    assert_eq!(origin.count(), 2);
}

#[test]
fn many_clients_for_one_object_on_disk_ask_no_origin() {
    for target in ["/a/200000", "/b/3000000"] {
        let (origin, directory) = (objects(), directory());
        let config = config(&origin, &directory).set("server", "workers = 2");
        let forebay = restarted(&config, &[target]);
        let mut clients: Vec<Client> = (0..50).map(|_| forebay.client()).collect();
        for client in &mut clients {
            client.send_request("GET", target, &[], "");
        }
        for client in &mut clients {
            whole(&client.read(), target);
        }
        assert_eq!(origin.count(), 1, "{target}");
    }
}

#[test]
fn age_goes_on_over_a_restart() {
    let origin = Origin::fixed(reply(
        200,
        &["Cache-Control: max-age=600", "Age: 100"],
        "old",
    ));
    let directory = directory();
    let mut forebay = Forebay::start(&config(&origin, &directory));
    forebay.get("/");
    forebay.stop();
    let forebay = Forebay::start(&config(&origin, &directory));
    wait_on_disk(&forebay, 1);
    let response = forebay.get("/");
    assert!(is_from_disk(&response));
    assert!((100..160).contains(&response.age()), "{response:?}");
    let ttl = response.cache_status().ttl.unwrap();
    assert!((400..=500).contains(&ttl), "{response:?}");
}

#[test]
fn fields_of_the_response_are_the_same_from_disk() {
    let fields = [
        "Cache-Control: max-age=600, public",
        "Content-Type: text/x-strange; a=\"b;c\"",
        "X-Twice: one",
        "X-Twice: two",
        "X-Latin: caf\u{e9}",
        "ETag: W/\"a\"",
        "Last-Modified: Tue, 03 Mar 2020 03:03:03 GMT",
    ];
    let origin = Origin::fixed(reply(203, &fields, "body"));
    let directory = directory();
    let mut forebay = Forebay::start(&config(&origin, &directory));
    forebay.get("/");
    let before = forebay.get("/");
    forebay.stop();
    let forebay = Forebay::start(&config(&origin, &directory));
    wait_on_disk(&forebay, 1);
    let after = forebay.get("/");
    assert!(is_from_disk(&after), "{after:?}");
    assert_eq!((after.status, after.text()), (203, "body".into()));
    for name in [
        "cache-control",
        "content-type",
        "x-twice",
        "x-latin",
        "etag",
        "last-modified",
        "content-length",
    ] {
        let (was, is) = (before.fields.joined(name), after.fields.joined(name));
        assert_eq!(was, is, "{name}");
    }
    assert_eq!(after.fields.all("x-twice").count(), 2);
}

/// What the files of a directory take, in length and in blocks.
fn taken(directory: &std::path::Path) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(directory).unwrap();
    // A segment may be given up between being listed and being looked at.
    let files = files.filter_map(|file| file.ok()?.metadata().ok());
    files.fold((0, 0), |(length, blocks), file| {
        (length + file.len(), blocks + file.blocks() * 512)
    })
}

#[test]
fn size_is_never_exceeded() {
    let (origin, directory) = (objects(), directory());
    let mut forebay = Forebay::start(&config(&origin, &directory));
    let path = at(&directory);
    let mut most = (0, 0);
    // Twice the disk in large objects, between small ones.
    for n in 0..70 {
        for target in [format!("/large{n}/2000000"), format!("/small{n}/60000")] {
            whole(&forebay.get(&target), &target);
            let (length, blocks) = taken(&path);
            most = (most.0.max(length), most.1.max(blocks));
            assert!(
                length <= SMALLEST && blocks <= SMALLEST,
                "{length} bytes, {blocks} in blocks"
            );
        }
    }
    assert!(most.0 > SMALLEST / 2, "the disk was hardly used: {most:?}");
    forebay.wait_for_metric("forebay_disk_reclaimed_segments_total", 5.0);
    let newest = ["/large69/2000000", "/large68/2000000"];
    for target in newest {
        eventually(|| cached(&forebay, target).is_some());
        whole(&cached(&forebay, target).unwrap(), target);
    }
    forebay.stop();
    assert!(taken(&path).0 <= SMALLEST);
}

#[test]
fn full_disk_goes_on_taking_new_objects_byte_for_byte() {
    let (origin, directory) = (objects(), directory());
    let forebay = Forebay::start(&config(&origin, &directory));
    for n in 0..60 {
        let target = format!("/{n}/2000000");
        whole(&forebay.get(&target), &target);
    }
    let kept = (0..60)
        .map(|n| format!("/{n}/2000000"))
        .filter_map(|target| Some((cached(&forebay, &target)?, target)))
        .map(|(response, target)| whole(&response, &target))
        .count();
    assert!(
        (15..=32).contains(&kept),
        "{kept} objects of 2 MB in 64 MiB"
    );
}

#[test]
fn hot_object_survives_what_goes_through_the_disk() {
    let (origin, directory) = (objects(), directory());
    let forebay = Forebay::start(&config(&origin, &directory));
    let hot = "/hot/2000000";
    fetch(&forebay, &[hot]);
    for n in 0..90 {
        let target = format!("/{n}/2000000");
        whole(&forebay.get(&target), &target);
        whole(&forebay.get(hot), hot);
    }
    let fetched = origin.requests().iter().filter(|r| r.target == hot).count();
    assert!(fetched <= 2, "a hot object was fetched {fetched} times");
}

#[test]
fn reader_of_an_object_that_is_given_up_gets_every_byte() {
    let (origin, directory) = (objects(), directory());
    // Larger than the kernel's buffers.
    let target = "/read/16000000";
    let config = config(&origin, &directory).disk("max_object = \"16MiB\"");
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &[target]);
    forebay.stop();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    let mut slow = forebay.client();
    let mut response = slow.send_request("GET", target, &[], "").read_head();
    slow.read_body(&mut response, 1000);
    // More than the disk holds comes after it.
    for n in 0..60 {
        let target = format!("/{n}/2000000");
        whole(&forebay.get(&target), &target);
    }
    let reclaimed = forebay.metric("forebay_disk_reclaimed_segments_total");
    assert!(reclaimed >= Some(8.0), "{reclaimed:?}");
    slow.read_rest(&mut response).unwrap();
    assert!(response.text() == body_of(target), "wrong bytes");
}

#[test]
fn object_that_is_still_fetched_at_a_stop_is_served_to_its_end() {
    let go = Event::new("the server was told to stop");
    let gate = go.clone();
    let text = body_of("/a/3000000");
    let (head, rest) = text.split_at(1_000_000);
    let (head, rest) = (head.to_owned(), rest.to_owned());
    let origin = Origin::start(move |_, connection| {
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 3000000\r\n\r\n",
        );
        connection.send(&head);
        gate.wait();
        connection.send(&rest);
    });
    let directory = directory();
    let config: Config = config(&origin, &directory).set("server", "drain_timeout = \"8s\"");
    let mut forebay = Forebay::start(&config);
    let mut client = forebay.client();
    let mut response = client
        .send_request("GET", "/a/3000000", &[], "")
        .read_head();
    client.read_body(&mut response, 1_000_000);
    forebay.signal(rustix::process::Signal::TERM);
    forebay.wait_for_output("stopping");
    go.set();
    client.read_rest(&mut response).unwrap();
    whole(&response, "/a/3000000");
    assert_eq!(forebay.wait_exit().code(), Some(0));
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    whole(&cached(&forebay, "/a/3000000").unwrap(), "/a/3000000");
}
