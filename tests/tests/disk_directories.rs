//! Several directories, and directories that cannot be used.

use forebay_tests::{Config, Forebay, Origin};
use tempfile::TempDir;

use crate::common::eventually;
use crate::disk::{at, cached, config, directory, fetch, objects, wait_on_disk, whole};

/// Starts a server that is not expected to become ready.
fn refused(config: &Config) -> Forebay {
    Forebay::spawn_text(&config.text())
}

#[test]
fn directory_of_another_server_is_refused_in_words() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory);
    let first = Forebay::start(&config);
    let mut second = refused(&config);
    assert_eq!(second.wait_exit().code(), Some(1));
    let (path, holder) = (at(&directory).display().to_string(), first.pid());
    eventually(|| second.output().contains("is in use by"));
    assert!(second.output().contains(&path), "{}", second.output());
    assert!(
        second.output().contains(&format!("process {holder}")),
        "{}",
        second.output()
    );
    whole(&first.get("/a/100"), "/a/100");
}

#[test]
fn directory_is_free_again_after_a_kill() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory);
    let mut first = Forebay::start(&config);
    first.kill();
    whole(&Forebay::start(&config).get("/a/100"), "/a/100");
}

#[test]
fn directory_that_is_none_is_refused_in_words() {
    let (origin, directory) = (objects(), directory());
    std::fs::write(at(&directory), "a file").unwrap();
    let mut forebay = refused(&config(&origin, &directory));
    assert_eq!(forebay.wait_exit().code(), Some(1));
    let path = at(&directory).display().to_string();
    eventually(|| forebay.output().contains(&path));
}

fn two(origin: &Origin, one: &TempDir, other: &TempDir) -> Config {
    config(origin, one).disk(&format!("more_paths = [{:?}]", at(other)))
}

const TARGETS: [&str; 12] = [
    "/a/1200000",
    "/b/1200000",
    "/c/1200000",
    "/d/1200000",
    "/e/1200000",
    "/f/1200000",
    "/g/1200000",
    "/h/1200000",
    "/i/1200000",
    "/j/1200000",
    "/k/1200000",
    "/l/1200000",
];

#[test]
fn objects_are_spread_over_the_directories_and_found_again() {
    let (origin, one, other) = (objects(), directory(), directory());
    let config = two(&origin, &one, &other);
    let mut forebay = Forebay::start(&config);
    // One that is still being opened gets nothing.
    eventually(|| {
        let status = forebay.admin_json("GET", "/api/v1/status", "").text();
        status.matches("\"ready\"").count() == 2
    });
    fetch(&forebay, &TARGETS);
    wait_on_disk(&forebay, TARGETS.len());
    forebay.kill();
    for directory in [&one, &other] {
        assert!(!crate::disk::segments(&at(directory)).is_empty());
    }
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, TARGETS.len());
    for target in TARGETS {
        whole(&cached(&forebay, target).unwrap(), target);
    }
}

#[test]
fn directory_that_cannot_be_used_is_left_out_and_the_other_goes_on() {
    let (origin, one, other) = (objects(), directory(), directory());
    let config = two(&origin, &one, &other);
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &TARGETS);
    wait_on_disk(&forebay, TARGETS.len());
    forebay.stop();
    // As a disk that was not mounted, or has become something else.
    std::fs::remove_dir_all(at(&other)).unwrap();
    std::fs::write(at(&other), "no directory").unwrap();
    let forebay = Forebay::start(&config);
    forebay.wait_for_output(&at(&other).display().to_string());
    wait_on_disk(&forebay, 1);
    let kept = TARGETS
        .into_iter()
        .filter(|target| cached(&forebay, target).is_some())
        .count();
    assert!((1..TARGETS.len()).contains(&kept), "{kept} are left");
    let asked = origin.count();
    fetch(&forebay, &TARGETS);
    assert_eq!(origin.count() - asked, TARGETS.len() - kept);
    for target in TARGETS {
        eventually(|| cached(&forebay, target).is_some());
    }
}

#[test]
fn directory_that_was_emptied_costs_only_what_was_in_it() {
    let (origin, one, other) = (objects(), directory(), directory());
    let config = two(&origin, &one, &other);
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &TARGETS);
    wait_on_disk(&forebay, TARGETS.len());
    forebay.stop();
    std::fs::remove_dir_all(at(&one)).unwrap();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    for target in TARGETS {
        whole(&forebay.get(target), target);
    }
    let fetched = origin.count() - TARGETS.len();
    assert!((1..TARGETS.len()).contains(&fetched), "{fetched}");
}
