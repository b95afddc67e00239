//! Stories of purges on a slow disk: what was acknowledged holds for what waits to be written,
//! what is being read, and what a stop saves; also after a restart.

use forebay_tests::strace::WRITES;
use forebay_tests::{Fault, Forebay, Strace};
use rustix::process::Signal;

use crate::disk::directory;
use crate::disk_versions::{
    Versions, again, ask, leave_memory, many, served, stored, unreadable, version,
};

/// What is purged, as the administration is told.
const KINDS: [&str; 3] = ["url", "tag", "all"];

/// Purges a target so, and returns when that is acknowledged.
#[track_caller]
pub(crate) fn purge(forebay: &Forebay, kind: &str, target: &str) {
    let order = match kind {
        "url" => serde_json::json!({ "url": format!("http://test.example{target}") }),
        "tag" => serde_json::json!({ "tags": [target] }),
        _ => serde_json::json!({ "all": true }),
    };
    let answer = forebay.admin_json("POST", "/api/v1/purge", &order.to_string());
    assert_eq!(answer.status, 200, "{kind}: {}", answer.text());
}

/// Whether the old one is not served without the origin, nor when it may be asked.
#[track_caller]
pub(crate) fn gone(forebay: &Forebay, target: &str, when: &str) {
    assert_ne!(stored(forebay, target), Some(1), "{target} {when}");
    assert_eq!(served(forebay, target), 2, "{target} {when}");
}

#[test]
fn purge_of_what_waits_for_the_disk_holds() {
    for kind in KINDS {
        for killed in [false, true] {
            let (site, directory) = (Versions::fresh(), directory());
            let config = site.config(&directory);
            let mut forebay = Forebay::start(&config);
            let Some(slow) = Strace::attach(&forebay, "disk-0", WRITES, Fault::Held) else {
                return;
            };
            let targets = many();
            leave_memory(&forebay, &slow, &targets);
            site.change();
            // The first is being written, the others wait; the last is in memory.
            let purged: Vec<&String> = targets.iter().step_by(9).chain(targets.last()).collect();
            for target in &purged {
                purge(&forebay, kind, target);
            }
            gone(&forebay, purged[1], "while it waits");
            drop(slow);
            gone(&forebay, purged[0], "while it is written");
            if killed {
                // After a purge of all there is nothing to write.
                let written = if kind == "all" { 0.0 } else { 5.0 };
                forebay.wait_for_metric("forebay_disk_objects", written);
                forebay.kill();
            } else {
                forebay.stop();
            }
            let forebay = again(&config);
            for target in purged {
                gone(
                    &forebay,
                    target,
                    &format!("after a restart, {kind} {killed}"),
                );
            }
            if kind != "all" && !killed {
                assert_eq!(stored(&forebay, &targets[1]), Some(1), "{kind}");
            }
        }
    }
}

#[test]
fn purge_while_an_object_is_read_from_disk_holds() {
    for kind in KINDS {
        for target in ["/a/1000", "/a/200000", "/a/2500000"] {
            let (site, directory) = (Versions::fresh(), directory());
            let config = site.config(&directory);
            let Some((mut forebay, cold, slow)) = unreadable(&config, &[target]) else {
                return;
            };
            let mut early = ask(&forebay, &slow, "GET", target);
            site.change();
            purge(&forebay, kind, target);
            drop((slow, cold));
            version(&early.read(), target);
            gone(&forebay, target, kind);
            forebay.stop();
            gone(&again(&config), target, &format!("after a restart, {kind}"));
        }
    }
}

#[test]
fn purge_while_a_stop_saves_memory_holds_at_the_next_start() {
    for kind in KINDS {
        let (site, directory) = (Versions::fresh(), directory());
        let config = site.config(&directory).cache("memory = \"32MiB\"");
        let mut forebay = Forebay::start(&config);
        let targets = many();
        for target in &targets {
            served(&forebay, target);
        }
        let Some(slow) = Strace::attach(&forebay, "disk-0", WRITES, Fault::Held) else {
            return;
        };
        forebay.signal(Signal::TERM);
        slow.wait_for("pwritev");
        site.change();
        let purged: Vec<&String> = targets.iter().step_by(6).collect();
        for target in &purged {
            purge(&forebay, kind, target);
        }
        drop(slow);
        assert_eq!(forebay.wait_exit().code(), Some(0));
        let forebay = again(&config);
        if kind != "all" {
            assert_eq!(stored(&forebay, &targets[1]), Some(1), "{kind}");
        }
        for target in purged {
            gone(&forebay, target, &format!("after a restart, {kind}"));
        }
    }
}
