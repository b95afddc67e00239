//! Paths that try to leave the root, and files that are none.

use std::os::unix::fs::symlink;

use forebay_tests::{Client, Origin, reply};

use crate::files::Tree;

/// What must never be answered with the file outside, nor with a hidden one.
fn hostile_paths() -> Vec<String> {
    let secret = "secret.txt";
    let mut paths = Vec::new();
    let dots = [
        "..",
        "%2e%2e",
        "%2E%2e",
        ".%2e",
        "%2e.",
        "%252e%252e",
        "%25%32%65%25%32%65",
        "..%00",
        "..%01",
        "%c0%ae%c0%ae",
        "%e0%80%ae%e0%80%ae",
        "%uff0e%uff0e",
        "..;",
        "..%20",
        "...",
        "....",
        "%2e%2e%2f..",
        "..%c0%af",
        "..%5c",
        "..\\",
        ".%00.",
        "%00..",
        "..%0a",
        "..%0d%0a",
        "%ef%bc%8e%ef%bc%8e",
    ];
    let slashes = [
        "/", "%2f", "%2F", "%252f", "\\", "%5c", "//", "/./", "%c0%af",
    ];
    for dot in dots {
        for slash in slashes {
            paths.push(format!("/{dot}{slash}{secret}"));
            paths.push(format!("/docs{slash}{dot}{slash}{dot}{slash}{secret}"));
        }
    }
    for tail in [
        "/docs/../../secret.txt",
        "/docs/..",
        "/docs/../",
        "/./../secret.txt",
        "/.../secret.txt",
        "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "///etc/passwd",
        "/%2fetc%2fpasswd",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/docs%00/../../secret.txt",
        "/secret.txt%00.html",
        "/index.html%00",
        "/%",
        "/%2",
        "/%zz",
        "/a%2",
        "/.env",
        "/%2eenv",
        "/%2e%65nv",
        "/docs/%2e%67it/config",
        "/.git/config",
        "/.well-known/../.env",
        "/.well-known/.env",
        "/out.txt",
        "/far/secret.txt",
        "/far/root/../secret.txt",
        "/absolute",
        "/loop",
        "/loop/x",
        "/dangling",
        "/proc",
        "/fd/0",
    ] {
        paths.push(tail.into());
    }
    paths
}

fn tree() -> Tree {
    let tree = Tree::new(&[
        ("index.html", "home"),
        (".env", "SECRET"),
        (".well-known/.env", "SECRET"),
        (".git/config", "SECRET"),
        ("docs/.git/config", "SECRET"),
        ("docs/a.txt", "a"),
    ]);
    for (target, link) in [
        ("../secret.txt", "out.txt"),
        ("..", "far"),
        ("/etc/passwd", "absolute"),
        ("loop", "loop"),
        ("nowhere", "dangling"),
        ("/proc/self", "proc"),
        ("/proc/self/fd", "fd"),
        ("docs/a.txt", "inside.txt"),
        ("docs", "inside"),
    ] {
        symlink(target, tree.path(link)).unwrap();
    }
    let absolute = tree.path("docs/a.txt");
    symlink(absolute, tree.path("home.txt")).unwrap();
    tree
}

/// The answer to a path that is sent as it is.
fn raw(client: &mut Client, path: &str) -> (u16, String) {
    client.send(format!("GET {path} HTTP/1.1\r\nHost: test.example\r\n\r\n"));
    let response = client.read();
    let text = response.text();
    if response.field("connection") == Some("close") {
        client.expect_close();
    }
    (response.status, text)
}

#[test]
fn nothing_outside_of_the_root_is_ever_served() {
    let tree = tree();
    for symlinks in ["inside", "never"] {
        let forebay = tree.serve(&[&format!("symlinks = {symlinks:?}")]);
        for path in hostile_paths() {
            let (status, text) = raw(&mut forebay.client(), &path);
            assert!(
                !text.contains("SECRET") && !text.contains("root:"),
                "{path}: {text}"
            );
            let is_refused = matches!(status, 400 | 403 | 404);
            assert!(is_refused, "{path}, {symlinks}: {status}");
        }
        assert_eq!(forebay.get("/docs/a.txt").text(), "a");
    }
    assert!(hostile_paths().len() > 100);
}

#[test]
fn with_a_pool_what_is_doubtful_is_the_pools() {
    let tree = tree();
    let origin = Origin::fixed(reply(200, &[], "pool"));
    let forebay = tree.before(&origin, &[]);
    for path in hostile_paths() {
        let (status, text) = raw(&mut forebay.client(), &path);
        assert!(text == "pool" || status == 400, "{path}: {status} {text}");
    }
}

#[test]
fn links_lead_where_they_may() {
    let tree = tree();
    for (symlinks, inside, outside) in [
        ("inside", 200, 404),
        ("never", 404, 404),
        ("follow", 200, 200),
    ] {
        let forebay = tree.serve(&[&format!("symlinks = {symlinks:?}")]);
        for path in ["/inside.txt", "/inside/a.txt", "/home.txt"] {
            assert_eq!(forebay.get(path).status, inside, "{path}, {symlinks}");
        }
        for path in ["/out.txt", "/far/secret.txt", "/absolute"] {
            assert_eq!(forebay.get(path).status, outside, "{path}, {symlinks}");
        }
        for path in ["/loop", "/dangling"] {
            assert_eq!(forebay.get(path).status, 404, "{path}, {symlinks}");
        }
    }
}

#[test]
fn a_link_that_is_turned_outside_is_noticed() {
    let tree = tree();
    let forebay = tree.serve(&["file_check = \"0s\""]);
    assert_eq!(forebay.get("/inside.txt").text(), "a");
    std::fs::remove_file(tree.path("inside.txt")).unwrap();
    symlink("../secret.txt", tree.path("inside.txt")).unwrap();
    assert_eq!(forebay.get("/inside.txt").status, 404);
}

#[test]
fn pipes_sockets_and_devices_are_no_files() {
    let tree = tree();
    let made = std::process::Command::new("mkfifo")
        .arg(tree.path("pipe.txt"))
        .status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(tree.path("socket.txt")).unwrap();
    symlink("/dev/zero", tree.path("zero.txt")).unwrap();
    symlink("/dev/stdin", tree.path("stdin.txt")).unwrap();
    let forebay = tree.serve(&["symlinks = \"follow\""]);
    let mut client = forebay.client();
    for path in ["/pipe.txt", "/socket.txt", "/zero.txt"] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
    assert_ne!(client.get("/stdin.txt").status, 200);
    assert_eq!(client.get("/docs/a.txt").status, 200);
}

#[test]
fn another_way_to_write_a_path_does_not_get_past_a_rule() {
    let tree = Tree::new(&[("admin/list.txt", "SECRET"), ("a.txt", "a")]);
    let config = tree.config(&[])
        + "[[site.files.path]]\nmatch = \"/admin/*\"\nroot = \"off\"\n\
        respond = { status = 403, body = \"no\", type = \"text/plain\" }\n";
    let forebay = forebay_tests::Forebay::start_text(&config);
    for path in [
        "/admin/list.txt",
        "//admin/list.txt",
        "/%61dmin/list.txt",
        "/admin%2flist.txt",
        "/admin//list.txt",
        "///admin/list.txt",
        "/x/../admin/list.txt",
    ] {
        let (status, text) = raw(&mut forebay.client(), path);
        assert!(!text.contains("SECRET"), "{path}: {status} {text}");
    }
    assert_eq!(forebay.get("/%61.txt").text(), "a");
}
