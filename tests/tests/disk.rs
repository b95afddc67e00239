//! What the stories of the disk tier share: a directory, an origin whose bytes can be told
//! from any others, and how to see where an answer came from.

use std::path::{Path, PathBuf};

use forebay_tests::{Config, Connection, Forebay, Origin, Request, Response, reply};
use tempfile::TempDir;

/// The smallest disk tier there is.
pub(crate) const SMALLEST: u64 = 64 << 20;

/// A directory that outlives the servers that use it.
pub(crate) fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Little memory, and a disk tier in `directory`.
pub(crate) fn config(origin: &Origin, directory: &TempDir) -> Config {
    Config::to(origin)
        .cache("memory = \"4MiB\"")
        .disk(&format!("path = {:?}", at(directory)))
        .disk("size = \"64MiB\"")
}

/// Where the disk tier lies.
pub(crate) fn at(directory: &TempDir) -> PathBuf {
    directory.path().join("cache")
}

/// Text that is different for each name and at each place.
pub(crate) fn body(name: &str, bytes: usize) -> String {
    let mut state = name.bytes().fold(0x2545_f491_4f6c_dd1d_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let letters = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((state >> 40) % 26) as u8)
    });
    letters.take(bytes).collect()
}

/// The size that a target ends with: `/name/1000` is of a thousand bytes.
pub(crate) fn size_of(target: &str) -> usize {
    target.rsplit('/').next().unwrap().parse().unwrap()
}

/// The body of a target.
pub(crate) fn body_of(target: &str) -> String {
    body(target, size_of(target))
}

/// Answers each target with its own bytes, fresh for ten minutes.
pub(crate) fn objects() -> Origin {
    objects_with(&["Cache-Control: max-age=600", "ETag: \"e\""])
}

/// The same with fields of choice. A request with the ETag `"e"` gets a 304.
pub(crate) fn objects_with(fields: &'static [&'static str]) -> Origin {
    Origin::start(move |request, connection| answer(request, connection, fields))
}

fn answer(request: &Request, connection: &mut Connection, fields: &[&str]) {
    if request.field("if-none-match") == Some("\"e\"") {
        return connection.send(reply(304, fields, ""));
    }
    connection.send(reply(200, fields, &body_of(&request.target)));
}

/// A response to `/name/SIZE` that has every byte of it.
#[track_caller]
pub(crate) fn whole(response: &Response, target: &str) {
    assert_eq!(response.status, 200, "{response:?}");
    assert!(
        response.text() == body_of(target),
        "wrong bytes of {target}"
    );
}

/// What is served without asking the origin; `None` where that would be needed.
#[track_caller]
pub(crate) fn cached(forebay: &Forebay, target: &str) -> Option<Response> {
    let response = forebay.get_with(target, &["Cache-Control: only-if-cached"]);
    match response.status {
        504 => None,
        200 => Some(response),
        _ => panic!("{response:?}"),
    }
}

/// Whether an answer is a hit that was brought from disk.
pub(crate) fn is_from_disk(response: &Response) -> bool {
    let status = response.cache_status();
    status.hit && status.detail.as_deref() == Some("disk")
}

/// Fetches targets, each once.
#[track_caller]
pub(crate) fn fetch(forebay: &Forebay, targets: &[&str]) {
    for target in targets {
        whole(&forebay.get(target), target);
    }
}

/// Waits until so many objects lie on disk.
#[track_caller]
pub(crate) fn wait_on_disk(forebay: &Forebay, objects: usize) {
    forebay.wait_for_metric("forebay_disk_objects", objects as f64);
}

/// A server that has just started, with `targets` on its disk and nothing in memory.
#[track_caller]
pub(crate) fn restarted(config: &Config, targets: &[&str]) -> Forebay {
    let mut forebay = Forebay::start(config);
    fetch(&forebay, targets);
    forebay.stop();
    let forebay = Forebay::start(config);
    wait_on_disk(&forebay, targets.len());
    forebay
}

/// The segments, oldest first.
pub(crate) fn segments(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "seg"));
    paths.sort();
    paths
}
