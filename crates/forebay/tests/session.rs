//! `forebay session` as a user and a script meet it, on a real memcached. Where it is not
//! installed, these tests are passed over.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use forebay_memcached::Memcached;

/// A memcached that the command is run on.
struct Store {
    _memcached: Memcached,
    address: String,
}

impl Store {
    fn start() -> Option<Self> {
        let memcached = Memcached::start(&[])?;
        Some(Self {
            address: memcached.address().to_string(),
            _memcached: memcached,
        })
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.feed(arguments, b"")
    }

    /// Runs the command with this on its standard input.
    fn feed(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .arg("session")
            .args(arguments)
            .env("FOREBAY_SESSION", &self.address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    /// What a command that succeeds prints.
    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command that fails says.
    #[track_caller]
    fn fails(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{arguments:?}: {output:?}"
        );
        String::from_utf8(output.stderr).unwrap()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn an_item_is_set_read_and_deleted() {
    let Some(store) = Store::start() else { return };
    store.ok(&["set", "a", "hello", "--ttl", "30m", "--flags", "3"]);
    assert_eq!(store.ok(&["get", "a"]), "hello");
    let meta = store.ok(&["get", "a", "--meta", "--json"]);
    for part in ["\"flags\": 3", "\"size_bytes\": 5", "\"ttl_s\": 1"] {
        assert!(meta.contains(part), "{meta}");
    }
    assert!(
        store
            .fails(1, &["set", "a", "x", "--add"])
            .contains("an item `a` already")
    );
    assert!(
        store
            .fails(1, &["set", "b", "x", "--replace"])
            .contains("no item `b`")
    );
    assert!(
        store
            .fails(1, &["set", "a", "x", "--cas", "99999"])
            .contains("another number")
    );
    store.fails(2, &["set", "a", "x", "--add", "--replace"]);
    let output = store.feed(&["set", "binary"], b"a\0\r\nb\xff");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(store.run(&["get", "binary"]).stdout, b"a\0\r\nb\xff");
    let error = store.fails(1, &["delete", "none", "a"]);
    assert_eq!(error, "forebay: there is no item `none`\n");
    assert!(
        store
            .fails(1, &["get", "a"])
            .contains("there is no item `a`")
    );
}

#[test]
fn lists_and_statistics_are_for_people_and_for_programs() {
    let Some(store) = Store::start() else { return };
    store.ok(&["set", "memc.sess.key.1", "x", "--ttl", "1h"]);
    store.ok(&["set", "other", "x"]);
    let list = store.ok(&["list", "memc.sess.key."]);
    assert!(
        list.lines().count() == 2 && !list.contains("for ever"),
        "{list}"
    );
    let list = store.ok(&["list", "*the*", "--json"]);
    assert!(
        list.starts_with("{") && list.contains("\"key\":\"other\""),
        "{list}"
    );
    let stats = store.ok(&["stats", "--json"]);
    assert!(stats.contains("\"curr_items\": 2"), "{stats}");
    assert!(store.ok(&["stats", "settings"]).contains("item_size_max"));
    assert!(
        store
            .fails(1, &["stats", "nothing"])
            .contains("no statistics `nothing`")
    );
}

#[test]
fn an_export_is_imported_elsewhere_and_a_damaged_one_is_not() {
    let (Some(one), Some(two)) = (Store::start(), Store::start()) else {
        return;
    };
    for key in ["a", "b", "c"] {
        one.ok(&["set", key, "from one", "--ttl", "1d", "--flags", "7"]);
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, cut) = (folder.path().join("all.fbs"), folder.path().join("cut.fbs"));
    one.ok(&["export", text(&file)]);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(one.run(&["export", "-"]).stdout.len(), bytes.len());

    fs::write(&cut, &bytes[..bytes.len() - 30]).unwrap();
    let error = two.fails(1, &["import", text(&cut)]);
    assert!(
        error.contains("cut.fbs: is cut off behind 2 items"),
        "{error}"
    );
    assert_eq!(two.ok(&["list", "--json"]), "");
    two.fails(1, &["import", text(&cut), "--rescue"]);
    assert_eq!(two.ok(&["list", "--json"]).lines().count(), 2);

    two.ok(&["set", "a", "mine"]);
    let said = two.ok(&["import", text(&file), "--keep"]);
    assert_eq!(said, "1 item imported, 8 B; 2 kept as they were\n");
    assert_eq!(two.ok(&["get", "a"]), "mine");
    let output = two.feed(&["import", "-"], &bytes);
    assert_eq!(output.stdout, b"3 items imported, 24 B\n");
    assert_eq!(two.ok(&["get", "a"]), "from one");
    let meta = two.ok(&["get", "a", "--meta"]);
    assert!(
        meta.contains("flags        7") && !meta.contains("for ever"),
        "{meta}"
    );
}

#[test]
fn a_memcached_and_phps_files_are_taken_over() {
    let (Some(one), Some(two)) = (Store::start(), Store::start()) else {
        return;
    };
    one.ok(&["set", "a", "x"]);
    one.ok(&["set", "b", "x"]);
    let said = two.ok(&["import", "--memcached", &one.address, "--match", "a"]);
    assert_eq!(said, "1 item imported, 1 B\n");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sess_id1"), "x|i:1;").unwrap();
    two.ok(&["import", "--php", text(folder.path())]);
    two.ok(&[
        "import",
        "--php",
        text(folder.path()),
        "--handler",
        "memcache",
    ]);
    assert_eq!(two.ok(&["get", "memc.sess.key.id1"]), "x|i:1;");
    assert_eq!(two.ok(&["get", "id1"]), "x|i:1;");
    let error = two.fails(2, &["import", "--memcached", &two.address]);
    assert!(error.contains("is the store itself"), "{error}");
    two.fails(2, &["import", "--lifetime", "1h", "file"]);
    two.fails(2, &["import"]);
}

#[test]
fn the_file_names_the_store_and_nobody_there_is_said() {
    let Some(store) = Store::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forebay.toml");
    fs::write(
        &file,
        format!("[session.web]\naddress = \"{}\"\n", store.address),
    )
    .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["session", "stats", "-c", text(&file)])
        .env_remove("FOREBAY_SESSION")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let error = store.fails(1, &["list", "-a", "127.0.0.1:1"]);
    assert!(error.contains("nobody listens on 127.0.0.1:1"), "{error}");
}
