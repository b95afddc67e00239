//! Purges hold for what is on disk, and after a restart, a kill, and several of them.

use std::time::Duration;

use forebay_tests::{Config, Forebay, Origin, reply};
use tempfile::TempDir;

use crate::common::{eventually, eventually_within};
use crate::disk;
use crate::purge::{fill, kept, purge};

const TARGETS: [&str; 4] = ["/red", "/blue", "/news/1", "/large"];

/// Fields tell what an object is tagged with; `/large` goes straight to disk.
fn site() -> Origin {
    Origin::start(|request, connection| {
        let bytes = if request.target == "/large" {
            1_500_000
        } else {
            100
        };
        let tag = format!("xkey: {} all", &request.target[1..]);
        let fields = ["Cache-Control: max-age=600", "ETag: \"a\"", &tag];
        if request.field("if-none-match").is_some() {
            return connection.send(reply(304, &fields, ""));
        }
        connection.send(reply(200, &fields, &"x".repeat(bytes)));
    })
}

fn config(origin: &Origin, directory: &TempDir) -> Config {
    disk::config(origin, directory).set("purge", "allow = [\"127.0.0.1\"]")
}

/// All targets on disk, none in memory.
#[track_caller]
fn on_disk(config: &Config) -> Forebay {
    let mut forebay = Forebay::start(config);
    fill(&forebay, &TARGETS);
    forebay.stop();
    let forebay = Forebay::start(config);
    disk::wait_on_disk(&forebay, TARGETS.len());
    forebay
}

/// Each kind of purge, and what it leaves.
const KINDS: [(&str, &str, &[&str], &[&str]); 6] = [
    ("PURGE", "/red", &[], &["/blue", "/news/1", "/large"]),
    ("PURGE", "/", &["xkey: blue large"], &["/red", "/news/1"]),
    (
        "PURGE",
        "/news.*",
        &["X-Purge-Method: regex"],
        &["/red", "/blue", "/large"],
    ),
    (
        "BAN",
        "/",
        &["X-Ban: url ~ ^/l"],
        &["/red", "/blue", "/news/1"],
    ),
    ("PURGE", "/", &["X-Magento-Tags-Pattern: .*"], &[]),
    ("PURGE", "/", &["xkey: all"], &[]),
];

#[test]
fn purge_hits_what_is_on_disk() {
    for (method, target, fields, left) in KINDS {
        let (origin, directory) = (site(), disk::directory());
        let forebay = on_disk(&config(&origin, &directory));
        purge(&forebay, method, target, fields);
        assert_eq!(
            kept(&forebay, &TARGETS),
            left,
            "{method} {target} {fields:?}"
        );
    }
}

#[test]
fn purge_holds_after_a_kill() {
    for (method, target, fields, left) in KINDS {
        let (origin, directory) = (site(), disk::directory());
        let config = config(&origin, &directory);
        let mut forebay = on_disk(&config);
        purge(&forebay, method, target, fields);
        forebay.kill();
        let forebay = Forebay::start(&config);
        disk::wait_on_disk(&forebay, left.len());
        eventually(|| kept(&forebay, left) == left);
        assert_eq!(
            kept(&forebay, &TARGETS),
            left,
            "{method} {target} {fields:?}"
        );
    }
}

#[test]
fn purge_of_what_is_in_memory_and_on_disk_holds_after_a_stop() {
    for (method, target, fields, left) in KINDS {
        let (origin, directory) = (site(), disk::directory());
        let config = config(&origin, &directory);
        let mut forebay = on_disk(&config);
        fill(&forebay, &TARGETS);
        purge(&forebay, method, target, fields);
        forebay.stop();
        let forebay = Forebay::start(&config);
        eventually(|| kept(&forebay, left) == left);
        assert_eq!(
            kept(&forebay, &TARGETS),
            left,
            "{method} {target} {fields:?}"
        );
    }
}

#[test]
fn what_was_fetched_after_a_purge_is_kept_over_a_restart() {
    let (origin, directory) = (site(), disk::directory());
    let config = config(&origin, &directory);
    let mut forebay = on_disk(&config);
    for (method, target, fields, _) in KINDS {
        purge(&forebay, method, target, fields);
    }
    fill(&forebay, &TARGETS);
    let asked = origin.count();
    forebay.stop();
    for _ in 0..2 {
        let mut forebay = Forebay::start(&config);
        disk::wait_on_disk(&forebay, TARGETS.len());
        assert_eq!(kept(&forebay, &TARGETS), TARGETS);
        forebay.stop();
    }
    assert_eq!(origin.count(), asked);
}

#[test]
fn purges_hold_over_several_kills() {
    let (origin, directory) = (site(), disk::directory());
    let config = config(&origin, &directory);
    let mut forebay = on_disk(&config);
    let mut left = TARGETS.to_vec();
    for gone in ["/red", "/news/1"] {
        purge(&forebay, "PURGE", gone, &[]);
        left.retain(|target| *target != gone);
        for _ in 0..2 {
            forebay.kill();
            forebay = Forebay::start(&config);
            eventually(|| kept(&forebay, &left) == left);
            assert_eq!(kept(&forebay, &TARGETS), left);
        }
    }
}

#[test]
fn soft_purge_holds_after_a_kill_and_is_validated() {
    let (origin, directory) = (site(), disk::directory());
    let config = config(&origin, &directory);
    let mut forebay = on_disk(&config);
    let asked = origin.count();
    purge(&forebay, "PURGE", "/", &["xkey-softpurge: red large"]);
    forebay.kill();
    let forebay = Forebay::start(&config);
    disk::wait_on_disk(&forebay, TARGETS.len());
    for (number, target) in ["/red", "/large"].into_iter().enumerate() {
        assert!(forebay.get(target).is_hit(), "{target}");
        let requests = origin.wait_for(asked + number + 1);
        let last = requests.last().unwrap();
        assert_eq!(last.field("if-none-match"), Some("\"a\""), "{target}");
    }
    assert!(forebay.get("/blue").is_hit());
    assert_eq!(origin.count(), asked + 2);
}

#[test]
fn purge_while_the_disk_is_still_being_looked_through() {
    let (origin, directory) = (site(), disk::directory());
    let config = config(&origin, &directory);
    let mut forebay = on_disk(&config);
    forebay.kill();
    // Not waiting for what is on disk to be found.
    let forebay = Forebay::start(&config);
    purge(&forebay, "PURGE", "/red", &[]);
    purge(&forebay, "PURGE", "/", &["xkey: large"]);
    eventually(|| kept(&forebay, &["/blue", "/news/1"]).len() == 2);
    assert_eq!(kept(&forebay, &TARGETS), ["/blue", "/news/1"]);
}

#[test]
fn without_a_disk_a_purge_is_answered_at_once() {
    let origin = site();
    let forebay = Forebay::start(&crate::purge::open(&origin));
    fill(&forebay, &["/red"]);
    purge(&forebay, "PURGE", "/", &["xkey: red"]);
    assert!(kept(&forebay, &["/red"]).is_empty());
}

/// The file that purges are written down in.
fn journal(directory: &TempDir) -> std::path::PathBuf {
    disk::at(directory).join("purges")
}

#[test]
fn damaged_journal_makes_everything_older_be_validated() {
    for damage in ["flip the first", "flip the last", "cut", "remove"] {
        let (origin, directory) = (site(), disk::directory());
        let config = config(&origin, &directory);
        let mut forebay = on_disk(&config);
        purge(&forebay, "PURGE", "/", &["xkey: blue"]);
        forebay.kill();
        let path = journal(&directory);
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        match damage {
            "flip the first" => bytes[40] ^= 1,
            "flip the last" => bytes[last] ^= 1,
            _ => bytes.truncate(last),
        }
        match damage {
            "remove" => std::fs::remove_file(&path).unwrap(),
            _ => std::fs::write(&path, bytes).unwrap(),
        }
        let forebay = Forebay::start(&config);
        disk::wait_on_disk(&forebay, TARGETS.len());
        assert_eq!(kept(&forebay, &TARGETS), [""; 0], "{damage}");
        // The origin's word is enough for them to be used again.
        assert_eq!(forebay.get("/red").status, 200);
        assert_eq!(kept(&forebay, &["/red"]), ["/red"], "{damage}");
    }
}

#[test]
fn purge_that_is_needed_no_more_leaves_nothing_behind_that_comes_back() {
    let (origin, directory) = (site(), disk::directory());
    let config = config(&origin, &directory);
    let mut forebay = on_disk(&config);
    // So many others that the journal is written anew when they are not needed any more.
    let long = "x".repeat(200);
    let others = (0..3000).map(|n| serde_json::json!({ "prefix": format!("/{n}{long}") }));
    let all = std::iter::once(serde_json::json!({ "tags": ["all"] }));
    let orders: Vec<_> = all.chain(others).collect();
    let orders = serde_json::json!({ "orders": orders }).to_string();
    let answer = forebay.admin_json("POST", "/api/v1/purge", &orders);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let grown = journal(&directory).metadata().unwrap().len();
    // One of them is asked for, and found to be gone; the others are found by nobody.
    assert_eq!(forebay.get("/red").status, 200);
    eventually_within(Duration::from_secs(60), || {
        journal(&directory).metadata().unwrap().len() < grown / 2
    });
    forebay.kill();
    let forebay = Forebay::start(&config);
    eventually(|| {
        let status = forebay.admin_json("GET", "/api/v1/status", "");
        status.text().contains("\"ready\"")
    });
    assert_eq!(kept(&forebay, &TARGETS[1..]), [""; 0]);
}

#[test]
fn directory_that_missed_a_purge_is_not_believed() {
    let (origin, one, other) = (site(), disk::directory(), disk::directory());
    let config = config(&origin, &one).disk(&format!("more_paths = [{:?}]", disk::at(&other)));
    let mut forebay = on_disk(&config);
    forebay.stop();
    // As a disk that is away for a while.
    let (path, away) = (disk::at(&one), one.path().join("away"));
    std::fs::rename(&path, &away).unwrap();
    std::fs::write(&path, "no directory").unwrap();
    let mut forebay = Forebay::start(&config);
    purge(&forebay, "PURGE", "/", &["xkey: all"]);
    forebay.stop();
    std::fs::remove_file(&path).unwrap();
    std::fs::rename(&away, &path).unwrap();
    let forebay = Forebay::start(&config);
    eventually(|| {
        let status = forebay.admin_json("GET", "/api/v1/status", "");
        status.text().matches("\"ready\"").count() == 2
    });
    assert_eq!(kept(&forebay, &TARGETS), [""; 0]);
}
