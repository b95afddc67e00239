//! PHP's session files. Where php is installed, they are its own, and what was imported is read
//! back by its own handlers.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use forebay_session::{Access, Item};
use forebay_session_client::{Naming, Php, Stores, Walked, now_s};
use rustix::fs::{FlockOperation, flock};
use support::forebay;

type Sessions = BTreeMap<String, (String, u32)>;

fn php(path: &str) -> Php {
    Php {
        path: path.parse().unwrap(),
        lifetime_s: 1440,
        naming: Naming::memcache(),
        patience: Duration::ZERO,
    }
}

fn walk(php: &Php) -> (Sessions, Walked, Vec<String>) {
    let (mut sessions, mut reports) = (Sessions::new(), Vec::new());
    let mut each = |key: &[u8], item: Item<'_>| {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        sessions.insert(text(key), (text(item.value), item.expires_s));
        Ok(())
    };
    let mut report = |path: &Path, words: &str| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        reports.push(format!("{name}: {words}"));
    };
    let walked = php.each_session(&mut each, &mut report).unwrap();
    (sessions, walked, reports)
}

fn names(sessions: &Sessions) -> Vec<&str> {
    sessions.keys().map(String::as_str).collect()
}

#[test]
fn flat_and_nested_files_are_found_where_php_looks_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("sess_flat"), "x|i:1;").unwrap();
    fs::write(root.join("a/sess_aone"), "").unwrap();
    fs::write(root.join("a/b/sess_abtwo"), "y").unwrap();
    fs::write(root.join("a/b/sess_astray"), "z").unwrap();
    let shown = root.display();
    let (sessions, walked, _) = walk(&php(&format!("{shown}")));
    assert_eq!(names(&sessions), ["abtwo", "aone", "flat"]);
    assert_eq!((walked.sessions, walked.foreign), (3, 1));
    assert_eq!(names(&walk(&php(&format!("0;{shown}"))).0), ["flat"]);
    assert_eq!(names(&walk(&php(&format!("2;0600;{shown}"))).0), ["abtwo"]);
    let (_, expires_s) = sessions["flat"];
    assert!(expires_s.abs_diff(now_s() + 1440) <= 2);
}

#[test]
fn links_pipes_and_what_has_expired_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("sess_live"), "x").unwrap();
    fs::write(root.join("sess_old"), "x").unwrap();
    let old = File::options()
        .write(true)
        .open(root.join("sess_old"))
        .unwrap();
    old.set_modified(SystemTime::now() - Duration::from_secs(1500))
        .unwrap();
    symlink(root.join("sess_live"), root.join("sess_link")).unwrap();
    symlink("/", root.join("a")).unwrap();
    Command::new("mkfifo")
        .arg(root.join("sess_pipe"))
        .status()
        .unwrap();
    fs::write(root.join("other"), "x").unwrap();
    let (sessions, walked, reports) = walk(&php(&root.display().to_string()));
    assert_eq!(names(&sessions), ["live"]);
    let expected = Walked {
        sessions: 1,
        bytes: 1,
        expired: 1,
        foreign: 4,
        ..Walked::default()
    };
    assert_eq!(walked, expected);
    assert!(reports.is_empty(), "{reports:?}");
}

#[test]
fn a_session_that_stays_open_is_named_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sess_busy");
    fs::write(&path, "half").unwrap();
    fs::write(folder.path().join("sess_free"), "x").unwrap();
    let held = File::options().write(true).open(&path).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let (sessions, walked, reports) = walk(&php(&folder.path().display().to_string()));
    assert_eq!(names(&sessions), ["free"]);
    assert_eq!(walked.failed, 1);
    assert!(
        reports[0].contains("sess_busy: a request has it open"),
        "{reports:?}"
    );
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let error = php("/nonexistent").each_session(&mut |_, _| Ok(()), &mut |_, _| {});
    let error = error.unwrap_err().to_string();
    assert!(error.contains("/nonexistent"), "{error}");
}

/// Runs a session in php: with a name, it is noted; without one, the one noted is printed. `None`:
/// php or the handler's extension is not installed.
fn visit(handler: &str, path: &str, id: &str, name: &str) -> Option<String> {
    let script = "session_id($argv[1]); session_start(); \
                  if ($argv[2] != '') { $_SESSION['name'] = $argv[2]; $_SESSION['long'] = str_repeat('é', 20000); } \
                  else { echo $_SESSION['name'] ?? 'nobody', ' ', strlen($_SESSION['long'] ?? ''); } \
                  session_write_close();";
    let output = Command::new("php")
        .args([
            "-d",
            "session.use_cookies=0",
            "-d",
            "session.cache_limiter=",
        ])
        .args(["-d", &format!("session.save_handler={handler}")])
        .args(["-d", &format!("session.save_path=\"{path}\"")])
        .args(["-r", script, id, name])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("annot find save handler") || text.contains("annot find session save handler")
    {
        println!("passed over: php has no handler `{handler}`");
        return None;
    }
    Some(text)
}

#[test]
fn a_visitor_of_php_stays_logged_in() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("b/e")).unwrap();
    let nested = format!("2;{}", root.display());
    let flat = root.display().to_string();
    if visit("files", &flat, "anna", "Anna").is_none() {
        println!("passed over: php is not installed");
        return;
    }
    visit("files", &nested, "bert", "Bert");
    let target = forebay(Access::Open);
    let address = target.address.to_string();
    for (handler, naming, path) in [
        ("memcached", Naming::memcached(), address.clone()),
        ("memcache", Naming::memcache(), format!("tcp://{address}")),
    ] {
        let mut refused = |key: &[u8], words: &str| panic!("{key:?}: {words}");
        let mut stores = Stores::connect(&target, false, &mut refused).unwrap();
        let php = Php {
            naming,
            ..php(&flat)
        };
        let mut put = |key: &[u8], item: Item<'_>| stores.put(key, item);
        let walked = php.each_session(&mut put, &mut |_, _| {}).unwrap();
        assert_eq!(walked.sessions, 2);
        assert_eq!(stores.finish().unwrap().stored, 2);
        for (id, name) in [("anna", "Anna"), ("bert", "Bert")] {
            if let Some(text) = visit(handler, &path, id, "") {
                assert_eq!(text, format!("{name} 40000"), "{handler}");
            }
        }
    }
}
