//! Stories of a disk that is full or fails: clients do not notice, nothing partial is served,
//! and what was purged does not come back with the disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_tests::strace::{READS, WRITES};
use forebay_tests::{Config, Event, Fault, Forebay, Origin, Strace};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::common::{eventually, eventually_within};
use crate::disk::{self, at, directory, segments, wait_on_disk};
use crate::disk_slow_purge::{gone, purge};
use crate::disk_versions::{Versions, again, content, leave_memory, many, served, stored, version};

#[test]
fn disk_that_is_full_in_the_middle_of_a_large_object_costs_only_its_place() {
    let (go, target, small) = (
        Event::new("the disk is full"),
        "/large/3000000",
        "/small/1000",
    );
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        let text = content(&request.target, 1);
        let (first, rest) = text.split_at(text.len().min(600_000));
        let length = format!("Content-Length: {}\r\n\r\n", text.len());
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n{length}{first}"
        ));
        if request.target == target {
            gate.wait();
        }
        connection.send(rest);
    });
    let directory = directory();
    let config = disk::config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    let full = Fault::Fails("ENOSPC", 2);
    let Some(disk) = Strace::attach(&forebay, "disk-0", WRITES, full) else {
        return;
    };
    let mut clients: Vec<_> = (0..3).map(|_| forebay.client()).collect();
    for client in &mut clients {
        client.send_request("GET", target, &[], "");
    }
    // The first piece is written, the others are not.
    disk.wait_for("pwritev");
    go.set();
    for client in &mut clients {
        assert_eq!(version(&client.read(), target), 1);
    }
    disk.wait_for("ENOSPC");
    // Nothing of it is kept, neither the whole nor the part that was written.
    let part = ["Range: bytes=0-99", "Cache-Control: only-if-cached"];
    assert_eq!(forebay.get_with(target, &part).status, 504);
    assert_eq!(stored(&forebay, target), None);
    for target in [small, target, "/other/2000000"] {
        assert_eq!(served(&forebay, target), 1);
    }
    assert_eq!(stored(&forebay, small), Some(1));
    // There is room again.
    drop(disk);
    eventually_within(Duration::from_secs(20), || {
        served(&forebay, target);
        stored(&forebay, target) == Some(1)
    });
    forebay.stop();
    assert!(!forebay.output().contains("has failed"));
    // (What is kept over the stop depends on how little of the disk was left by then.)
    let mut forebay = again(&config);
    for target in [target, small] {
        assert_eq!(served(&forebay, target), 1, "{target}");
    }
    forebay.stop();
    let forebay = again(&config);
    for target in [target, small] {
        assert_eq!(stored(&forebay, target), Some(1), "{target}");
    }
}

/// Enough for each of two directories to have some.
fn large() -> Vec<String> {
    (0..12).map(|n| format!("/{n}/1200000")).collect()
}

fn two(site: &Versions, one: &TempDir, other: &TempDir) -> Config {
    let more = format!("more_paths = [{:?}]", at(other));
    site.config(one).disk(&more)
}

/// Writes to a directory that fails, until that is found.
fn fail(forebay: &Forebay, directory: &TempDir) {
    let mut number = 0;
    eventually(|| {
        number += 1;
        served(forebay, &format!("/new{number}/1100000"));
        forebay.output().contains("the disk has failed")
    });
    let said = format!("{}: the disk has failed", at(directory).display());
    forebay.wait_for_output(&said);
    forebay.wait_for_metric("forebay_disk_failed_directories", 1.0);
}

#[test]
fn directory_whose_writes_fail_is_dropped_and_does_not_come_back_with_what_was_purged() {
    // As a disk that only fails now and then, and as one on which nothing can be changed.
    for calls in [WRITES, "pwritev,pwritev2,unlink,unlinkat"] {
        let (site, one, other) = (Versions::fresh(), directory(), directory());
        let config = two(&site, &one, &other);
        let (targets, small) = (large(), "/small/1000");
        let mut forebay = Forebay::start(&config);
        for target in &targets {
            served(&forebay, target);
        }
        wait_on_disk(&forebay, targets.len());
        served(&forebay, small);
        assert!(!segments(&at(&one)).is_empty() && !segments(&at(&other)).is_empty());
        let broken = Fault::Fails("EIO", 1);
        let Some(disk) = Strace::attach(&forebay, "disk-1", calls, broken) else {
            return;
        };
        fail(&forebay, &other);
        // Its objects are gone, the others and what is in memory are not.
        let is_kept = |target: &&String| stored(&forebay, target) == Some(1);
        let kept = targets.iter().filter(is_kept).count();
        assert!((1..targets.len()).contains(&kept), "{kept} are left");
        assert_eq!(stored(&forebay, small), Some(1));
        for target in &targets {
            eventually(|| served(&forebay, target) == 1 && stored(&forebay, target) == Some(1));
        }
        site.change();
        for target in &targets[..6] {
            purge(&forebay, "tag", target);
        }
        purge(&forebay, "url", &targets[6]);
        forebay.stop();
        drop(disk);
        let forebay = Forebay::start(&config);
        eventually(|| {
            let status = forebay.admin_json("GET", "/api/v1/status", "").text();
            status.matches("\"ready\"").count() == 2
        });
        for target in &targets[..7] {
            gone(&forebay, target, calls);
        }
    }
}

#[test]
fn only_directory_that_fails_does_not_come_back_with_what_was_purged() {
    let (site, directory) = (Versions::fresh(), directory());
    let config = site.config(&directory);
    let target = "/a/1200000";
    let mut forebay = Forebay::start(&config);
    served(&forebay, target);
    wait_on_disk(&forebay, 1);
    let broken = Fault::Fails("EIO", 1);
    let Some(disk) = Strace::attach(&forebay, "disk-0", WRITES, broken) else {
        return;
    };
    fail(&forebay, &directory);
    assert_eq!(served(&forebay, target), 1);
    site.change();
    purge(&forebay, "tag", target);
    gone(&forebay, target, "without a disk");
    forebay.kill();
    drop(disk);
    gone(&again(&config), target, "with the disk back");
}

#[test]
fn reads_that_fail_are_misses_and_said_once_for_a_segment() {
    let (site, directory) = (Versions::fresh(), directory());
    let config = site.config(&directory);
    let targets = ["/a/1000", "/b/20000", "/c/200000", "/d/1500000"];
    let mut forebay = Forebay::start(&config);
    for target in &targets {
        served(&forebay, target);
    }
    forebay.stop();
    let mut forebay = Forebay::start(&config);
    wait_on_disk(&forebay, targets.len());
    // What is there now cannot be read; what is written from now on can.
    let held = segments(&at(&directory));
    let held: Vec<&Path> = held.iter().map(PathBuf::as_path).collect();
    let broken = Fault::Fails("EIO", 1);
    let (worker, reader) = (
        Strace::attach_at(&forebay, "worker-", READS, broken, &held),
        Strace::attach_at(&forebay, "reader-", READS, broken, &held),
    );
    if worker.is_none() || reader.is_none() {
        return;
    }
    let asked = site.origin.count();
    for target in targets {
        let response = forebay.get(target);
        assert_eq!(version(&response, target), 1);
        assert!(!response.is_hit(), "{target}");
    }
    assert_eq!(site.origin.count(), asked + targets.len());
    forebay.wait_for_metric("forebay_disk_read_errors_total", targets.len() as f64);
    let name = "forebay_cache_miss_reasons_total{reason=\"disk-error\"}";
    eventually(|| {
        let metrics = forebay.admin("GET", "/metrics").text();
        metrics.contains(&format!("{name} {}", targets.len()))
    });
    let said = forebay.output().matches("reading: Input/output").count();
    assert!(
        (1..=held.len()).contains(&said),
        "{said} times:\n{}",
        forebay.output()
    );
    assert_eq!(forebay.metric("forebay_disk_failed_directories"), Some(0.0));
    drop((worker, reader));
    for target in targets {
        assert_eq!(stored(&forebay, target), Some(1), "{target}");
    }
    forebay.stop();
    let forebay = again(&config);
    for target in targets {
        assert_eq!(served(&forebay, target), 1, "{target}");
    }
}

#[test]
fn full_queue_costs_only_what_was_not_written() {
    let (site, directory) = (Versions::fresh(), directory());
    let config = site.config(&directory).disk("write_queue = \"1MiB\"");
    let forebay = Forebay::start(&config);
    let Some(slow) = Strace::attach(&forebay, "disk-0", WRITES, Fault::Held) else {
        return;
    };
    let targets = many();
    leave_memory(&forebay, &slow, &targets);
    // Ten are in memory, one is being written, two wait.
    forebay.wait_for_metric("forebay_disk_write_dropped_total", 12.0);
    for target in &targets {
        assert_eq!(served(&forebay, target), 1);
    }
    drop(slow);
    wait_on_disk(&forebay, 1);
    for target in &targets {
        assert_eq!(served(&forebay, target), 1);
    }
}

#[test]
fn large_objects_on_a_disk_that_stands_still_do_not_pile_up_in_memory() {
    let (site, directory) = (Versions::fresh(), directory());
    let config = site.config(&directory).disk("write_queue = \"8MiB\"");
    let forebay = Forebay::start(&config);
    let Some(slow) = Strace::attach(&forebay, "disk-0", WRITES, Fault::Held) else {
        return;
    };
    let targets: Vec<String> = (0..60).map(|n| format!("/{n}/1500000")).collect();
    leave_memory(&forebay, &slow, &targets);
    let peak = forebay.peak_bytes() >> 20;
    assert!(peak < 64, "{peak} MiB were resident");
    forebay.wait_for_metric("forebay_disk_write_dropped_total", 40.0);
    drop(slow);
    // What waited is kept, and others are taken again.
    assert_eq!(stored(&forebay, &targets[0]), Some(1));
    eventually(|| served(&forebay, &targets[59]) == 1 && stored(&forebay, &targets[59]) == Some(1));
}

#[test]
fn stop_on_a_slow_disk_ends_in_time_and_the_next_start_is_right() {
    let (site, directory) = (Versions::fresh(), directory());
    let config = site
        .config(&directory)
        .cache("memory = \"64MiB\"")
        .disk("save_on_stop = \"1s\"");
    let mut forebay = Forebay::start(&config);
    let targets: Vec<String> = (0..45).map(|n| format!("/{n}/1000000")).collect();
    for target in &targets {
        served(&forebay, target);
    }
    // Writing all of it would take half a minute.
    let late = Fault::Late(Duration::from_secs(1));
    let Some(_slow) = Strace::attach(&forebay, "disk-0", WRITES, late) else {
        return;
    };
    forebay.signal(Signal::TERM);
    let ended = forebay.wait_exit();
    assert_eq!(ended.code(), Some(0), "{}", forebay.output());
    forebay.wait_for_output("were written to disk");
    let before = forebay.output();
    let forebay = again(&config);
    let is_kept = |target: &&String| stored(&forebay, target) == Some(1);
    let kept = targets.iter().filter(is_kept).count();
    assert!((1..40).contains(&kept), "{kept} were saved");
    let said = format!("{kept} objects of memory were written to disk");
    assert!(before.contains(&said), "{kept} were saved, but:\n{before}");
    for target in &targets {
        assert_eq!(served(&forebay, target), 1);
    }
}
