//! A site of PHP and files, from one line of configuration on.

use forebay_tests::{Forebay, PhpFpm};

fn site(php: &PhpFpm, more: &str) -> Forebay {
    let (root, server) = (php.root(), php.server());
    Forebay::start_text(&format!(
        "[[listen]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\n\
         [site.main]\nroot = {root:?}\nphp = {server:?}\n{more}\n"
    ))
}

#[test]
fn one_line_runs_php_beside_files() {
    let php = PhpFpm::start(2);
    php.write(
        "index.php",
        "<?php echo 'front ', $_SERVER['REQUEST_METHOD'];",
    );
    php.write("style.css", "body {}");
    php.write("docs/index.html", "a page");
    php.write("tool/index.php", "<?php echo 'tool';");
    let forebay = site(&php, "");
    let mut client = forebay.client();
    assert_eq!(client.get("/").text(), "front GET");
    assert_eq!(client.exchange("POST", "/", &[], "x").text(), "front POST");
    assert_eq!(client.get("/tool/").text(), "tool");
    let style = client.get("/style.css");
    assert_eq!((style.status, style.text().as_str()), (200, "body {}"));
    assert!(
        style
            .field("content-type")
            .is_some_and(|kind| kind.starts_with("text/css"))
    );
    assert_eq!(client.get("/docs/").text(), "a page");
    assert_eq!(client.get("/missing.php").status, 404);
    assert_eq!(client.get("/missing").status, 404);
}

#[test]
fn the_source_of_a_script_is_never_sent() {
    let php = PhpFpm::start(1);
    php.write("secret.php", "<?php $password = 'geheim'; echo 'ran';");
    let forebay = site(&php, "");
    for target in [
        "/secret.php",
        "/secret%2ephp",
        "/secret.ph%70",
        "/%73ecret.php",
        "/./secret.php",
        "//secret.php",
        "/x/../secret.php",
        "/secret.php/",
        "/secret.php/x",
        "/secret.php?x",
    ] {
        for fields in [
            &[][..],
            &["Range: bytes=0-99"],
            &["Accept-Encoding: gzip, br"],
        ] {
            let answer = forebay.get_with(target, fields).text();
            assert!(!answer.contains("geheim"), "{target}: {answer}");
        }
    }
}

#[test]
fn a_front_controller_answers_for_what_is_no_file() {
    let php = PhpFpm::start(1);
    php.write(
        "index.php",
        "<?php header('Cache-Control: max-age=60'); echo $_SERVER['REQUEST_URI'], ' ', $_SERVER['SCRIPT_NAME'];",
    );
    php.write("file.txt", "a file");
    let forebay = site(
        &php,
        "try_files = [\"{path}\", \"{path}/\", \"/index.php\"]",
    );
    let mut client = forebay.client();
    for _ in ["miss", "hit"] {
        assert_eq!(client.get("/a/post?x=1").text(), "/a/post?x=1 /index.php");
        assert_eq!(client.get("/another").text(), "/another /index.php");
        assert_eq!(client.get("/file.txt").text(), "a file");
    }
}

#[test]
fn a_file_that_the_script_hands_over_is_sent_from_where_it_may_lie() {
    let php = PhpFpm::start(1);
    let private = php.root().with_file_name("private");
    std::fs::create_dir(&private).unwrap();
    std::fs::write(private.join("a.txt"), "0123456789").unwrap();
    let script = "<?php header('Content-Type: text/x'); header($_GET['h'] . ': ' . $_GET['f']); \
                  http_response_code($_GET['s'] ?? 200);";
    php.write("send.php", script);
    let forebay = site(&php, &format!("send_files = [{private:?}]"));
    let mut client = forebay.client();
    let whole = format!(
        "/send.php?h=X-Sendfile&f={}",
        private.join("a.txt").display()
    );
    let sent = client.get(&whole);
    assert_eq!((sent.status, sent.text().as_str()), (200, "0123456789"));
    assert_eq!(
        sent.field("content-type").map(|kind| &kind[..6]),
        Some("text/x")
    );
    assert_eq!(sent.field("x-sendfile"), None);
    let part = client.get_with(&whole, &["Range: bytes=2-4"]);
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    for status in [204, 304] {
        let none = client.get(&format!("{whole}&s={status}"));
        assert_eq!((none.status, none.text().as_str()), (status, ""));
        assert_eq!(none.field("x-sendfile"), None);
    }
    let redirected = client.get("/send.php?h=X-Accel-Redirect&f=/a.txt");
    assert_eq!(redirected.text(), "0123456789");
    for file in ["/etc/passwd", "/../site/send.php"] {
        let target = format!("/send.php?h=X-Accel-Redirect&f={file}");
        assert_eq!(forebay.get(&target).status, 502, "{file}");
        let target = format!("/send.php?h=X-Sendfile&f={file}");
        assert_eq!(forebay.get(&target).status, 502, "{file}");
    }
}

#[test]
fn what_is_behind_a_script_does_not_lead_out_of_its_rule() {
    let php = PhpFpm::start(1);
    php.write("admin/secret.php", "<?php echo 'ran';");
    let forebay = site(
        &php,
        "[[site.main.path]]\nmatch = \"/admin\"\ndeny = [\"0.0.0.0/0\"]",
    );
    for target in [
        "/admin/secret.php",
        "/admin/secret.php/x",
        "/admin/secret.php/../../x",
        "/admin/secret.php/%2e%2e/%2e%2e/",
        "/admin/secret.php/..%2f..%2fx",
        "/%61dmin//secret.php/../..",
    ] {
        let answer = forebay.get(target);
        assert!(
            matches!(answer.status, 403 | 404),
            "{target}: {}",
            answer.status
        );
    }
}

#[test]
fn the_script_knows_who_was_let_in() {
    let php = PhpFpm::start(1);
    php.write(
        "index.php",
        "<?php echo $_SERVER['REMOTE_USER'] ?? 'nobody', ' ', $_SERVER['AUTH_TYPE'] ?? '-';",
    );
    let directory = tempfile::tempdir().expect("a directory");
    let users = directory.path().join("users");
    // secret
    std::fs::write(&users, "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n").expect("written");
    let ann = ["Authorization: Basic YW5uOnNlY3JldA=="];
    let closed = site(
        &php,
        &format!("auth = {{ realm = \"a\", users = {users:?} }}"),
    );
    assert_eq!(closed.get("/").status, 401);
    assert_eq!(closed.get_with("/", &ann).text(), "ann Basic");
    // Where nobody has looked at it, it is what the client says.
    let open = site(&php, "");
    assert_eq!(open.get_with("/", &ann).text(), "nobody -");
}
