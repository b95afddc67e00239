//! What the stories of a slow or failing disk share: an origin whose resources change, how to
//! tell versions apart, and how to have something wait for the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use forebay_tests::strace::READS;
use forebay_tests::{Client, Config, Fault, Forebay, Origin, Response, Strace, reply};
use tempfile::TempDir;

use crate::common::eventually;
use crate::disk::{self, body, size_of, wait_on_disk};

/// An origin whose resources `/name/SIZE` all have another content in each version. A POST
/// makes the next version.
pub(crate) struct Versions {
    pub(crate) origin: Origin,
    now: Arc<AtomicUsize>,
}

impl Versions {
    pub(crate) fn new(fields: &'static [&'static str]) -> Self {
        let now = Arc::new(AtomicUsize::new(1));
        let version = Arc::clone(&now);
        let origin = Origin::start(move |request, connection| {
            if request.method == "POST" {
                version.fetch_add(1, SeqCst);
                return connection.send(reply(200, &[], "changed"));
            }
            let version = version.load(SeqCst);
            let tag = format!("\"{version}\"");
            let (etag, name) = (format!("ETag: {tag}"), format!("xkey: {}", request.target));
            let mut all = vec![etag.as_str(), name.as_str()];
            all.extend_from_slice(fields);
            if request.field("if-none-match") == Some(&tag) {
                return connection.send(reply(304, &all, ""));
            }
            connection.send(reply(200, &all, &content(&request.target, version)));
        });
        Self { origin, now }
    }

    /// Fresh for ten minutes.
    pub(crate) fn fresh() -> Self {
        Self::new(&["Cache-Control: max-age=600"])
    }

    /// From now on everything is different; nobody is told.
    pub(crate) fn change(&self) {
        self.now.fetch_add(1, SeqCst);
    }

    /// A small memory, a disk tier in `directory`, and everybody may purge.
    pub(crate) fn config(&self, directory: &TempDir) -> Config {
        disk::config(&self.origin, directory)
            .disk("readers = 1")
            .set("purge", "allow = [\"127.0.0.1\"]")
    }
}

/// The bytes of a target in one of its versions.
pub(crate) fn content(target: &str, version: usize) -> String {
    body(&format!("{target}#{version}"), size_of(target))
}

/// Which version an answer is, every byte of it.
#[track_caller]
pub(crate) fn version(response: &Response, target: &str) -> usize {
    assert_eq!(response.status, 200, "{response:?}");
    let text = response.text();
    let found = (1..20).find(|version| text == content(target, *version));
    found.unwrap_or_else(|| panic!("{} wrong bytes of {target}", text.len()))
}

/// Which version is served now.
#[track_caller]
pub(crate) fn served(forebay: &Forebay, target: &str) -> usize {
    version(&forebay.get(target), target)
}

/// Which version of a target is served without the origin, if one is.
#[track_caller]
pub(crate) fn stored(forebay: &Forebay, target: &str) -> Option<usize> {
    Some(version(&disk::cached(forebay, target)?, target))
}

/// Three times what memory holds, and several writes of the disk.
pub(crate) fn many() -> Vec<String> {
    (0..30).map(|n| format!("/{n}/400000")).collect()
}

/// Fetches them all, and waits until one is on its way to the held disk.
#[track_caller]
pub(crate) fn leave_memory(forebay: &Forebay, slow: &Strace, targets: &[String]) {
    let mut client = forebay.client();
    for target in targets {
        version(&client.get(target), target);
    }
    slow.wait_for("pwritev");
}

#[track_caller]
pub(crate) fn post(forebay: &Forebay, target: &str) {
    assert_eq!(forebay.exchange("POST", target, &[], "x").status, 200);
}

/// Starts anew, when all that is on disk has been found.
#[track_caller]
pub(crate) fn again(config: &Config) -> Forebay {
    let forebay = Forebay::start(config);
    let all = || {
        let status = forebay.admin_json("GET", "/api/v1/status", "").text();
        status.contains("\"ready\"")
    };
    eventually(all);
    forebay
}

/// A server whose `targets` lie on disk, with nothing in memory, and every read has to wait for
/// a disk that stands still. The second strace says that the system has nothing in memory.
#[track_caller]
pub(crate) fn unreadable(config: &Config, targets: &[&str]) -> Option<(Forebay, Strace, Strace)> {
    let mut forebay = Forebay::start(config);
    for target in targets {
        served(&forebay, target);
    }
    forebay.stop();
    let forebay = Forebay::start(config);
    wait_on_disk(&forebay, targets.len());
    let cold = Strace::attach(&forebay, "worker-", READS, Fault::Fails("EAGAIN", 1))?;
    let slow = Strace::attach(&forebay, "reader-", READS, Fault::Held)?;
    Some((forebay, cold, slow))
}

/// Asks for a target whose read then stands still.
pub(crate) fn ask(forebay: &Forebay, slow: &Strace, method: &str, target: &str) -> Client {
    let mut client = forebay.client();
    client.send_request(method, target, &[], "");
    slow.wait_for("preadv");
    client
}
