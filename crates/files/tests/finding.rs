//! Which file answers, over a real directory.

#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use forebay_config::settings::{Coding, Files, Symlinks};
use forebay_files::{Answer, Relative, Root, find, listing};

/// What `asked` leads to, in a few words.
fn answer(directory: &Path, settings: &Files, asked: &str, candidates: &[&str]) -> String {
    let root = Root::new(directory, settings.symlinks);
    let opened = root.directory(0, 0).unwrap();
    let asked = Relative::of_request(asked.as_bytes(), settings.hidden).unwrap();
    let candidates: Vec<Vec<u8>> = candidates.iter().map(|c| c.as_bytes().to_vec()).collect();
    match find(&root, &opened, settings, &asked, &candidates) {
        Answer::File(found) => {
            let mut text = String::new();
            let mut file = std::fs::File::from(found.file);
            file.read_to_string(&mut text).unwrap();
            assert_eq!(found.stamp.size, text.len() as u64);
            text
        }
        Answer::Listing(directory, path) => {
            let listed = listing::read(&root, &opened, (&directory, &path), settings).unwrap();
            let names = listed.entries.iter().map(|entry| {
                let name = String::from_utf8_lossy(&entry.name).into_owned();
                name + if entry.is_directory { "/" } else { "" }
            });
            names.collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}"),
    }
}

fn site() -> tempfile::TempDir {
    let site = tempfile::tempdir().unwrap();
    let root = site.path();
    for directory in ["docs", "empty", "deep/er"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    for (name, text) in [
        ("index.html", "home"),
        ("a.css", "css"),
        ("a.css.gz", "gzipped"),
        ("docs/index.html", "docs"),
        ("docs/page.html", "page"),
        ("empty/.hidden", "hidden"),
        (".env", "env"),
        ("fallback.html", "fallback"),
    ] {
        std::fs::write(root.join(name), text).unwrap();
    }
    site
}

#[test]
fn paths_lead_to_files_and_indexes() {
    let site = site();
    let settings = Files::default();
    for (asked, expected) in [
        ("/", "home"),
        ("/a.css", "css"),
        ("/docs/", "docs"),
        ("/docs", "AddSlash"),
        ("/docs/page.html", "page"),
        ("/docs/page.html/", "Nothing"),
        ("/empty/", "Directory"),
        ("/empty", "Directory"),
        ("/none", "Nothing"),
        ("/none/", "Nothing"),
        ("/a.css/x", "Nothing"),
        ("/deep/er/none", "Nothing"),
    ] {
        assert_eq!(
            answer(site.path(), &settings, asked, &[]),
            expected,
            "{asked}"
        );
    }
    let long = format!("/{}", "x".repeat(5000));
    assert_eq!(answer(site.path(), &settings, &long, &[]), "Nothing");
}

#[test]
fn candidates_are_tried_in_their_order() {
    let site = site();
    let settings = Files::default();
    let tried = |asked, candidates: &[&str]| answer(site.path(), &settings, asked, candidates);
    assert_eq!(
        tried("/none", &["/none", "/none/", "/fallback.html"]),
        "fallback"
    );
    assert_eq!(tried("/none", &["/none", "=410"]), "Status(410)");
    assert_eq!(tried("/docs", &["/docs", "/docs/", "=404"]), "AddSlash");
    assert_eq!(tried("/docs", &["/docs", "=404"]), "Status(404)");
    assert_eq!(tried("/x", &["/docs/"]), "docs");
    assert_eq!(tried("/x", &["/../etc/passwd", "/.env"]), "Nothing");
}

#[test]
fn directories_are_listed_where_that_is_wanted() {
    let site = site();
    let settings = Files {
        listing: true,
        ..Files::default()
    };
    let listed = |asked| answer(site.path(), &settings, asked, &[]);
    std::os::unix::fs::symlink("/etc/passwd", site.path().join("empty/out")).unwrap();
    std::os::unix::fs::symlink("../a.css", site.path().join("empty/in")).unwrap();
    assert_eq!(listed("/empty/"), "in");
    assert_eq!(listed("/empty"), "AddSlash");
    assert_eq!(listed("/deep/"), "er/");
    assert_eq!(listed("/docs/"), "docs");
    let settings = Files {
        hidden: true,
        index: Vec::new(),
        ..settings
    };
    let all = answer(site.path(), &settings, "/", &[]);
    assert_eq!(
        all,
        "deep/ docs/ empty/ .env a.css a.css.gz fallback.html index.html"
    );
}

#[test]
fn only_regular_files_are_files() {
    let site = site();
    let settings = Files::default();
    let fifo = std::process::Command::new("mkfifo")
        .arg(site.path().join("fifo"))
        .status();
    assert!(fifo.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(site.path().join("socket")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", site.path().join("zero")).unwrap();
    let follow = Files {
        symlinks: Symlinks::Follow,
        ..Files::default()
    };
    for name in ["/fifo", "/socket", "/zero"] {
        assert_eq!(answer(site.path(), &settings, name, &[]), "Nothing");
        assert_eq!(answer(site.path(), &follow, name, &[]), "Nothing", "{name}");
    }
}

#[test]
fn a_directory_that_may_only_be_entered_has_its_index() {
    let site = site();
    let closed = site.path().join("docs");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o311)).unwrap();
    assert_eq!(
        answer(site.path(), &Files::default(), "/docs/", &[]),
        "docs"
    );
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_coded_file_lies_beside_its_original() {
    let site = site();
    let root = Root::new(site.path(), Symlinks::Inside);
    let opened = root.directory(0, 0).unwrap();
    let asked = Relative::of_request(b"/a.css", false).unwrap();
    let Answer::File(found) = find(&root, &opened, &Files::default(), &asked, &[]) else {
        panic!("a file")
    };
    let gzip = found.coded(&root, &opened, Coding::Gzip).unwrap();
    assert_eq!(gzip.stamp.size, 7);
    assert!(found.coded(&root, &opened, Coding::Brotli).is_none());
}

#[test]
fn a_root_that_leads_elsewhere_is_noticed_in_time() {
    let place = tempfile::tempdir().unwrap();
    for release in ["one", "two"] {
        std::fs::create_dir(place.path().join(release)).unwrap();
        std::fs::write(place.path().join(release).join("a"), release).unwrap();
    }
    let current = place.path().join("current");
    std::os::unix::fs::symlink("one", &current).unwrap();
    let root = Root::new(&current, Symlinks::Inside);
    let read = |now_ms| {
        let directory = root.directory(now_ms, 1000).unwrap();
        let mut text = String::new();
        let file = root.open(directory, b"a").unwrap();
        std::fs::File::from(file).read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!(read(0), "one");
    std::fs::remove_file(&current).unwrap();
    std::os::unix::fs::symlink("two", &current).unwrap();
    assert_eq!(read(999), "one");
    assert_eq!(read(1000), "two");
}
