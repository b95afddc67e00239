//! Stories of a slow disk: what waits for it, or is being written or read, does not bring back
//! what was changed meanwhile. strace makes the disk slow; what is under way is awaited, never
//! guessed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use forebay_tests::strace::WRITES;
use forebay_tests::{Event, Fault, Forebay, Origin, Strace, reply};

use crate::common::eventually;
use crate::disk::{self, directory, size_of};
use crate::disk_versions::{
    Versions, again, ask, content, leave_memory, many, post, served, stored, unreadable, version,
};

#[test]
fn post_to_what_waits_for_the_disk_is_not_undone_when_it_is_written() {
    let (site, directory) = (Versions::fresh(), directory());
    let config = site.config(&directory);
    let mut forebay = Forebay::start(&config);
    let Some(slow) = Strace::attach(&forebay, "disk-0", WRITES, Fault::Held) else {
        return;
    };
    let targets = many();
    leave_memory(&forebay, &slow, &targets);
    // The first is being written, the others wait.
    let posted = &targets[..12];
    for target in posted {
        post(&forebay, target);
    }
    assert_eq!(served(&forebay, &posted[3]), 13);
    drop(slow);
    for target in &posted[..8] {
        assert_eq!(served(&forebay, target), 13, "{target}");
    }
    forebay.stop();
    let forebay = again(&config);
    for target in posted {
        assert_eq!(served(&forebay, target), 13, "{target} after a restart");
    }
}

#[test]
fn post_holds_while_what_was_written_before_it_waits_for_the_word_behind_it() {
    let (site, directory) = (Versions::fresh(), directory());
    let forebay = Forebay::start(&site.config(&directory));
    // The word that an object is outdated comes behind all that waits already.
    let late = Fault::Late(Duration::from_secs(1));
    let Some(slow) = Strace::attach(&forebay, "disk-0", WRITES, late) else {
        return;
    };
    let targets = many();
    leave_memory(&forebay, &slow, &targets);
    let posted = &targets[..8];
    for target in posted {
        post(&forebay, target);
    }
    // The second write has begun: the first object lies on disk, and several writes are to come.
    eventually(|| slow.calls().matches("pwritev").count() > 1);
    for target in posted {
        assert_eq!(served(&forebay, target), 9, "{target}");
    }
}

#[test]
fn object_that_was_replaced_while_it_was_written_does_not_come_back() {
    let (site, directory) = (Versions::fresh(), directory());
    let config = site.config(&directory).disk("save_on_stop = \"off\"");
    let mut forebay = Forebay::start(&config);
    let Some(slow) = Strace::attach(&forebay, "disk-0", WRITES, Fault::Held) else {
        return;
    };
    let targets = many();
    leave_memory(&forebay, &slow, &targets);
    site.change();
    let replaced = &targets[..3];
    for target in replaced {
        let newer = forebay.get_with(target, &["Cache-Control: no-cache"]);
        assert_eq!(version(&newer, target), 2);
    }
    drop(slow);
    // The newer ones are in memory only, and go with it.
    forebay.stop();
    let forebay = again(&config);
    for target in replaced {
        assert_ne!(stored(&forebay, target), Some(1), "{target}");
    }
    assert_eq!(stored(&forebay, &targets[5]), Some(1));
}

#[test]
fn post_to_a_large_object_whose_pieces_wait_is_not_undone() {
    let (site, directory) = (Versions::fresh(), directory());
    let config = site.config(&directory);
    let mut forebay = Forebay::start(&config);
    let Some(slow) = Strace::attach(&forebay, "disk-0", WRITES, Fault::Held) else {
        return;
    };
    let target = "/large/1500000";
    assert_eq!(served(&forebay, target), 1);
    slow.wait_for("pwritev");
    post(&forebay, target);
    drop(slow);
    assert_eq!(served(&forebay, target), 2);
    forebay.stop();
    assert_eq!(served(&again(&config), target), 2);
}

#[test]
fn object_recalled_slowly_does_not_replace_a_newer_one() {
    for (method, target) in [
        ("GET", "/a/1000"),
        ("HEAD", "/a/1000"),
        ("GET", "/a/200000"),
        ("GET", "/a/2500000"),
        ("HEAD", "/a/2500000"),
    ] {
        let (site, directory) = (Versions::fresh(), directory());
        let config = site.config(&directory);
        let Some((mut forebay, cold, slow)) = unreadable(&config, &[target]) else {
            return;
        };
        let mut early = ask(&forebay, &slow, method, target);
        post(&forebay, target);
        // It does not wait for the read of what is outdated. (A large one is read from disk.)
        if size_of(target) < 1 << 20 {
            assert_eq!(served(&forebay, target), 2, "{method} {target}");
        }
        drop((slow, cold));
        assert_eq!(early.read_for(method).status, 200);
        // What was fetched across the change is not trusted, and a HEAD brings no body.
        if method == "GET" && size_of(target) < 1 << 20 {
            assert_eq!(stored(&forebay, target), Some(2), "{method} {target}");
        }
        assert_eq!(served(&forebay, target), 2, "{method} {target}");
        forebay.stop();
        let forebay = again(&config);
        assert_eq!(served(&forebay, target), 2, "{method} {target}");
    }
}

#[test]
fn slow_validation_of_what_was_on_disk_does_not_outlive_a_newer_object() {
    for late_status in [304, 200] {
        let go = Event::new("the newer object is stored");
        let (gate, now) = (go.clone(), Arc::new(AtomicUsize::new(1)));
        let current = Arc::clone(&now);
        let origin = Origin::start(move |request, connection| {
            let version = current.load(SeqCst);
            let etag = format!("ETag: \"{version}\"");
            let stale = ["Cache-Control: max-age=600", "Age: 1000", &etag];
            let fresh = ["Cache-Control: max-age=600", &etag];
            match (request.method.as_str(), version) {
                ("POST", _) => {
                    current.fetch_add(1, SeqCst);
                    connection.send(reply(200, &[], ""));
                }
                ("GET", 1) if request.field("if-none-match").is_some() => {
                    // What it says was true before the change.
                    gate.wait();
                    let text = content(&request.target, 1);
                    let text = if late_status == 304 { "" } else { &text };
                    connection.send(reply(late_status, &fresh, text));
                }
                (_, 1) => connection.send(reply(200, &stale, &content(&request.target, 1))),
                _ => connection.send(reply(200, &fresh, &content(&request.target, version))),
            }
        });
        let (directory, target) = (directory(), "/a/1000");
        let config = disk::config(&origin, &directory).disk("readers = 1");
        let Some((mut forebay, cold, slow)) = unreadable(&config, &[target]) else {
            return;
        };
        let mut early = ask(&forebay, &slow, "GET", target);
        drop((slow, cold));
        // It came from disk, and is stale.
        origin.wait_for(2);
        post(&forebay, target);
        assert_eq!(served(&forebay, target), 2);
        go.set();
        version(&early.read(), target);
        assert_eq!(stored(&forebay, target), Some(2), "{late_status}");
        forebay.stop();
        assert_eq!(served(&again(&config), target), 2, "{late_status}");
    }
}
