//! Static files: paths, indexes, types, validators, lists.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use forebay_tests::{Config, Forebay, Origin, Response, reply};
use tempfile::TempDir;

/// A directory of files to be served, beside a file that must not be.
#[derive(Debug)]
pub(crate) struct Tree {
    directory: TempDir,
}

impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(tree.root()).unwrap();
        std::fs::write(tree.directory.path().join("secret.txt"), "SECRET").unwrap();
        for (name, text) in files {
            tree.write(name, text);
        }
        tree
    }

    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.directory.path().join("root")
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Makes a file look as if it had been written long ago.
    pub(crate) fn age(&self, name: &str, unix_seconds: u64) {
        age(&self.path(name), unix_seconds);
    }

    /// A server of these files alone, with more lines for its site.
    pub(crate) fn serve(&self, lines: &[&str]) -> Forebay {
        Forebay::start_text(&self.config(lines))
    }

    pub(crate) fn config(&self, lines: &[&str]) -> String {
        format!(
            "[server]\nworkers = 1\n[[listen]]\naddress = \"127.0.0.1:0\"\n\
             [admin]\naddress = \"127.0.0.1:0\"\n[cache]\nmemory = \"32MiB\"\n\
             [site.files]\nroot = {:?}\n{}\n",
            self.root(),
            lines.join("\n")
        )
    }

    /// A server of these files before an origin.
    pub(crate) fn before(&self, origin: &Origin, lines: &[&str]) -> Forebay {
        let mut config = Config::to(origin)
            .set("site.files", "pool = \"app\"")
            .set("site.files", &format!("root = {:?}", self.root()));
        for line in lines {
            config = config.set("site.files", line);
        }
        Forebay::start(&config)
    }
}

pub(crate) fn age(path: &Path, unix_seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(unix_seconds);
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

pub(crate) fn status_and_text(response: &Response) -> (u16, String) {
    (response.status, response.text())
}

fn site() -> Tree {
    Tree::new(&[
        ("index.html", "<p>home"),
        ("a.css", "p {}"),
        ("docs/index.html", "docs"),
        ("docs/page.txt", "page"),
        ("empty/.hidden", "hidden"),
        (".env", "PASSWORD=x"),
        (".well-known/security.txt", "Contact: x"),
        ("name with space.txt", "space"),
    ])
}

#[test]
fn a_file_is_answered_as_a_static_server_does() {
    let tree = site();
    tree.age("a.css", 1_600_000_000);
    let forebay = tree.serve(&["cache_status = false", "max_age = \"1h\""]);
    for _ in 0..2 {
        let response = forebay.get("/a.css");
        assert_eq!(status_and_text(&response), (200, "p {}".into()));
        let field = |name| response.field(name);
        assert_eq!(field("content-type"), Some("text/css; charset=utf-8"));
        assert_eq!(
            field("last-modified"),
            Some("Sun, 13 Sep 2020 12:26:40 GMT")
        );
        assert_eq!(field("content-length"), Some("4"));
        assert_eq!(field("accept-ranges"), Some("bytes"));
        assert_eq!(field("cache-control"), Some("max-age=3600"));
        assert!(field("etag").is_some_and(|tag| tag.starts_with('"')));
        for name in ["age", "via", "cache-status", "vary", "content-encoding"] {
            assert_eq!(field(name), None, "{name}");
        }
    }
    assert_eq!(forebay.metric("forebay_files_read_total"), Some(1.0));
}

#[test]
fn directories_have_indexes_and_slashes() {
    let tree = site();
    let forebay = tree.serve(&[]);
    assert_eq!(status_and_text(&forebay.get("/")), (200, "<p>home".into()));
    assert_eq!(
        status_and_text(&forebay.get("/docs/")),
        (200, "docs".into())
    );
    let moved = forebay.get("/docs?a=b");
    assert_eq!(
        (moved.status, moved.field("location")),
        (301, Some("/docs/?a=b"))
    );
    for (path, status) in [
        ("/empty/", 403),
        ("/none", 404),
        ("/none/", 404),
        ("/a.css/", 404),
        ("/docs/index.html/", 404),
        ("/.env", 404),
        ("/.well-known/security.txt", 200),
        ("/name%20with%20space.txt", 200),
        ("/docs//page.txt", 200),
        ("//docs/page.txt", 200),
    ] {
        assert_eq!(forebay.get(path).status, status, "{path}");
    }
}

#[test]
fn other_methods_are_refused_where_nobody_else_answers() {
    let tree = site();
    let forebay = tree.serve(&[]);
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let response = forebay.exchange(method, "/a.css", &[], "x");
        assert_eq!(response.status, 405, "{method}");
        assert_eq!(response.field("allow"), Some("GET, HEAD"));
    }
    let mut client = forebay.client();
    client.send_request("HEAD", "/a.css", &[], "");
    let head = client.read_for("HEAD");
    assert_eq!((head.status, head.number("content-length")), (200, Some(4)));
    client.send_request("HEAD", "/none", &[], "");
    assert_eq!(client.read_for("HEAD").status, 404);
    assert_eq!(client.get("/a.css").text(), "p {}");
}

#[test]
fn what_is_no_file_is_the_pools() {
    let tree = site();
    let origin = Origin::start(|request, connection| {
        let text = format!("{} {}", request.method, request.target);
        connection.send(reply(200, &["Cache-Control: max-age=60"], &text));
    });
    let forebay = tree.before(&origin, &[]);
    assert_eq!(forebay.get("/a.css").text(), "p {}");
    assert_eq!(forebay.get("/docs/").text(), "docs");
    for _ in 0..3 {
        assert_eq!(forebay.get("/orders?page=2").text(), "GET /orders?page=2");
        assert_eq!(forebay.get("/empty/").text(), "GET /empty/");
        assert_eq!(forebay.get("/.env").text(), "GET /.env");
    }
    assert_eq!(origin.count(), 3);
    let post = forebay.exchange("POST", "/a.css", &[], "x");
    assert_eq!(post.text(), "POST /a.css");
}

#[test]
fn candidates_are_tried_in_their_order() {
    let tree = Tree::new(&[
        ("app.html", "app"),
        ("about.html", "about"),
        ("docs/index.html", "docs"),
    ]);
    let forebay =
        tree.serve(&["try_files = [\"{path}\", \"{path}.html\", \"{path}/\", \"/app.html\"]"]);
    for (path, text) in [
        ("/about", "about"),
        ("/about.html", "about"),
        ("/docs/", "docs"),
        ("/orders/7", "app"),
        ("/", "app"),
    ] {
        assert_eq!(
            status_and_text(&forebay.get(path)),
            (200, text.into()),
            "{path}"
        );
    }
    assert_eq!(forebay.get("/docs").status, 301);
    let forebay = tree.serve(&["try_files = [\"{path}\", \"=410\"]"]);
    assert_eq!(forebay.get("/about").status, 410);
    assert_eq!(forebay.get("/about.html").status, 200);
}

#[test]
fn what_the_client_has_is_not_sent_again() {
    let tree = Tree::new(&[("small.txt", "small"), ("large.txt", &"x".repeat(300_000))]);
    tree.age("small.txt", 1_600_000_000);
    tree.age("large.txt", 1_600_000_000);
    let forebay = tree.serve(&[]);
    for path in ["/small.txt", "/large.txt"] {
        let etag = forebay.get(path).field("etag").unwrap().to_owned();
        for (line, status) in [
            (format!("If-None-Match: {etag}"), 304),
            (format!("If-None-Match: W/{etag}"), 304),
            ("If-None-Match: \"other\"".into(), 200),
            ("If-None-Match: *".into(), 304),
            (
                "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT".into(),
                304,
            ),
            (
                "If-Modified-Since: Sun, 13 Sep 2020 12:26:39 GMT".into(),
                200,
            ),
            (format!("If-Match: {etag}"), 200),
            ("If-Match: \"other\"".into(), 412),
            (
                "If-Unmodified-Since: Sun, 13 Sep 2020 12:26:39 GMT".into(),
                412,
            ),
        ] {
            let response = forebay.get_with(path, &[&line]);
            assert_eq!(response.status, status, "{path}, {line}");
            if status == 304 {
                assert_eq!(response.field("etag"), Some(&*etag));
                assert!(response.body.is_empty());
            }
        }
    }
}

#[test]
fn a_change_is_seen_when_the_file_is_looked_at_again() {
    let tree = Tree::new(&[("a.txt", "one")]);
    tree.age("a.txt", 1_600_000_000);
    let forebay = tree.serve(&["file_check = \"0s\""]);
    let first = forebay.get("/a.txt");
    assert_eq!(first.text(), "one");
    assert_eq!(forebay.get("/a.txt").field("etag"), first.field("etag"));
    tree.write("a.txt", "two");
    let second = forebay.get("/a.txt");
    assert_eq!(second.text(), "two");
    assert_ne!(second.field("etag"), first.field("etag"));
    // The same size and the same time: another file all the same.
    tree.write("b.txt", "six");
    tree.age("a.txt", 1_600_000_000);
    tree.age("b.txt", 1_600_000_000);
    assert_eq!(forebay.get("/a.txt").text(), "two");
    std::fs::rename(tree.path("b.txt"), tree.path("a.txt")).unwrap();
    assert_eq!(forebay.get("/a.txt").text(), "six");
    std::fs::remove_file(tree.path("a.txt")).unwrap();
    assert_eq!(forebay.get("/a.txt").status, 404);
}

#[test]
fn within_the_time_of_a_check_a_file_is_not_looked_at() {
    let tree = Tree::new(&[("a.txt", "one")]);
    let forebay = tree.serve(&["file_check = \"1h\""]);
    assert_eq!(forebay.get("/a.txt").text(), "one");
    tree.write("a.txt", "two");
    assert_eq!(forebay.get("/a.txt").text(), "one");
    let asked = forebay.get_with("/a.txt?v=2", &[]);
    assert_eq!(asked.text(), "one", "a query is no other file");
    let said = forebay.command(&["purge", "http://test.example/a.txt"]);
    assert_eq!(said.status, 0, "{said:?}");
    assert_eq!(forebay.get("/a.txt").text(), "two");
}

#[test]
fn a_file_that_comes_later_is_found() {
    let tree = Tree::new(&[]);
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=600"], "from the pool"));
    let forebay = tree.before(&origin, &["file_check = \"0s\""]);
    assert_eq!(forebay.get("/page").text(), "from the pool");
    tree.write("page", "from the file");
    assert_eq!(forebay.get("/page").text(), "from the file");
    std::fs::remove_file(tree.path("page")).unwrap();
    assert_eq!(forebay.get("/page").text(), "from the pool");
}

#[test]
fn where_nothing_is_cached_files_are_read_each_time() {
    let tree = Tree::new(&[("a.txt", "one")]);
    let forebay = tree.serve(&["pass = true", "file_check = \"1h\""]);
    assert_eq!(forebay.get("/a.txt").text(), "one");
    tree.write("a.txt", "other");
    let response = forebay.get("/a.txt");
    assert_eq!(status_and_text(&response), (200, "other".into()));
    assert_eq!(forebay.metric("forebay_files_read_total"), Some(0.0));
}

#[test]
fn what_may_not_be_read_is_forbidden() {
    let tree = Tree::new(&[("a.txt", "one"), ("closed/index.html", "x")]);
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&tree.path("a.txt"), 0o000);
    mode(&tree.path("closed"), 0o000);
    let is_root = std::fs::read(tree.path("a.txt")).is_ok();
    let forebay = tree.serve(&[]);
    let expected = if is_root { 200 } else { 403 };
    assert_eq!(forebay.get("/a.txt").status, expected);
    assert_eq!(forebay.get("/closed/").status, expected);
    mode(&tree.path("closed"), 0o755);
}

#[test]
fn a_root_that_is_not_there_is_told_and_answers_404() {
    let tree = Tree::new(&[("a.txt", "one")]);
    let forebay = tree.serve(&["file_check = \"0s\""]);
    assert_eq!(forebay.get("/a.txt").status, 200);
    std::fs::rename(tree.root(), tree.root().with_extension("away")).unwrap();
    assert_eq!(forebay.get("/a.txt").status, 404);
    forebay.wait_for_output("no such file");
    std::fs::rename(tree.root().with_extension("away"), tree.root()).unwrap();
    assert_eq!(forebay.get("/a.txt").text(), "one");
}

#[test]
fn names_may_be_any_bytes() {
    let tree = Tree::new(&[]);
    let name = std::ffi::OsStr::from_bytes(b"\xff\xe4 \"<>.txt");
    std::fs::write(tree.root().join(name), "bytes").unwrap();
    tree.write("\u{e4}\u{f6}.txt", "umlauts");
    let forebay = tree.serve(&["listing = true"]);
    assert_eq!(forebay.get("/%ff%e4%20%22%3C%3E.txt").text(), "bytes");
    assert_eq!(forebay.get("/%C3%A4%C3%B6.txt").text(), "umlauts");
    let page = forebay.get("/").text();
    assert!(page.contains("href=\"./%FF%E4%20%22%3C%3E.txt\""), "{page}");
    assert!(!page.contains("\"<>"), "{page}");
}

#[test]
fn a_directory_is_listed_where_that_is_wanted() {
    let tree = site();
    tree.write("empty/<b>.txt", "12345");
    std::fs::create_dir(tree.path("empty/sub")).unwrap();
    symlink("/etc/passwd", tree.path("empty/passwd")).unwrap();
    assert_eq!(tree.serve(&[]).get("/empty/").status, 403);
    let forebay = tree.serve(&["listing = true"]);
    let page = forebay.get("/empty/");
    assert_eq!(page.field("content-type"), Some("text/html; charset=utf-8"));
    let text = page.text();
    assert!(
        text.contains("href=\"./%3Cb%3E.txt\">&lt;b&gt;.txt<"),
        "{text}"
    );
    assert!(text.contains("href=\"./sub/\"") && text.contains("href=\"../\""));
    assert!(!text.contains("hidden") && !text.contains("passwd"));
    let json = forebay.get_with("/empty/", &["Accept: application/json"]);
    let list: serde_json::Value = serde_json::from_str(&json.text()).unwrap();
    assert_eq!(list[0]["name"], "sub");
    assert_eq!(
        (&list[1]["name"], &list[1]["size"]),
        (&"<b>.txt".into(), &5.into())
    );
    assert_eq!(forebay.get("/docs/").text(), "docs");
    assert_eq!(forebay.get("/empty").status, 301);
}

#[test]
fn types_can_be_set() {
    let tree = Tree::new(&[("a.foo", "x"), ("a.html", "x"), ("a", "x")]);
    let forebay = tree.serve(&[
        "types = { foo = \"text/x-foo\" }",
        "charset = \"iso-8859-1\"",
    ]);
    let kind = |path| forebay.get(path).field("content-type").unwrap().to_owned();
    assert_eq!(kind("/a.foo"), "text/x-foo; charset=iso-8859-1");
    assert_eq!(kind("/a.html"), "text/html; charset=iso-8859-1");
    assert_eq!(kind("/a"), "application/octet-stream");
}

#[test]
fn curl_gets_files_whole_and_in_part() {
    let tree = Tree::new(&[("small.txt", "0123456789"), ("large.bin", "")]);
    let large: Vec<u8> = (0..3_000_000u32).map(|n| ((n * 7) >> 3) as u8).collect();
    tree.write("large.bin", &large);
    let forebay = tree.serve(&[]);
    let curl = |arguments: &[&str], path: &str| {
        let output = std::process::Command::new("curl")
            .args(["-s", "-S", "--max-time", "10", "--path-as-is"])
            .args(arguments)
            .arg(format!("http://{}{path}", forebay.authority()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    assert_eq!(curl(&[], "/small.txt"), b"0123456789");
    assert_eq!(curl(&["-r", "3-5"], "/small.txt"), b"345");
    assert!(curl(&[], "/large.bin") == large);
    assert!(curl(&["-r", "1000000-1999999"], "/large.bin") == large[1_000_000..2_000_000]);
    assert!(curl(&["--http1.0"], "/large.bin") == large);
    assert!(curl(&["-C", "2999990"], "/large.bin") == large[2_999_990..]);
    let traversal = curl(&["-o", "/dev/null", "-w", "%{http_code}"], "/../secret.txt");
    assert_eq!(traversal, b"404");
}
