//! Which scripts run: paths as clients write them, and as those write them who want something else
//! to run.

use forebay_tests::{Config, Forebay, PhpFpm};

fn site() -> (PhpFpm, Forebay) {
    let php = PhpFpm::start(1);
    let script = "<?php echo $_SERVER['SCRIPT_NAME'], '|', $_SERVER['PATH_INFO'];";
    for name in [
        "index.php",
        "blog/index.php",
        "a b.php",
        "dir.php/c.php",
        ".hidden.php",
    ] {
        php.write(name, script);
    }
    php.write("image.jpg", "<?php echo 'an image ran';");
    php.write("notes.txt", "<?php echo 'a text ran';");
    std::fs::write(
        php.root().with_file_name("outside.php"),
        "<?php echo 'it got out';",
    )
    .unwrap();
    std::os::unix::fs::symlink("../outside.php", php.root().join("link.php")).unwrap();
    // PHP that looks for a script in the directories above, as it does unless it is told not to.
    php.write(".user.ini", "cgi.fix_pathinfo=1\n");
    let config = Config::new(&[&php.server()])
        .set("pool.app", "protocol = \"fastcgi\"")
        .set("site.main", "pool = \"app\"")
        .set("site.main", &format!("root = {:?}", php.root()));
    let forebay = Forebay::start(&config);
    (php, forebay)
}

#[test]
fn paths_name_scripts_and_what_is_behind_them() {
    let (_php, forebay) = site();
    let mut client = forebay.client();
    for (target, expected) in [
        ("/", "/index.php|"),
        ("/index.php", "/index.php|"),
        ("/index.php/", "/index.php|/"),
        ("/index.php/a/b?c", "/index.php|/a/b"),
        ("/blog/", "/blog/index.php|"),
        ("/blog/index.php/x.php", "/blog/index.php|/x.php"),
        ("/a%20b.php", "/a b.php|"),
        ("/dir.php/c.php/d", "/dir.php/c.php|/d"),
        ("/index.php/%c3%a9", "/index.php|/\u{e9}"),
    ] {
        let answer = client.get(target);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, expected),
            "{target}"
        );
    }
}

#[test]
fn hostile_paths_run_nothing() {
    let (_php, forebay) = site();
    for target in [
        "/image.jpg/x.php",
        "/image.jpg/index.php",
        "/image.jpg%00.php",
        "/image.jpg%00/x.php",
        "/image.jpg%2fx.php",
        "/image.jpg/.php",
        "/notes.txt/../index.php/../notes.txt/x.php",
        "/index.php%00",
        "/index.php/%00",
        "/index%2ephp",
        "/%69ndex.php",
        "/index.ph%70",
        "/..%2foutside.php",
        "/%2e%2e/outside.php",
        "/../outside.php",
        "/blog/../../outside.php",
        "/blog/..%5c..%5coutside.php",
        "//outside.php",
        "/./index.php",
        "//index.php",
        "/link.php",
        "/.hidden.php",
        "/missing.php",
        "/missing.php/index.php/x",
        "/missing/",
        "/index.php%",
        "/index.php%2",
        "/index.PHP",
        "/index.php.",
        "/index.php%20",
        "/index.php::$DATA",
        "/dir.php",
        "/dir.php/",
        "/.php",
    ] {
        let answer = forebay.get(target);
        let text = answer.text();
        // What only hides the name of a script that is there may run that one.
        let is_index = answer.status == 200 && text.starts_with("/index.php|");
        let is_refused = (300..500).contains(&answer.status);
        assert!(is_index || is_refused, "{target}: {} {text}", answer.status);
        for wrong in ["ran", "got out", "<?php"] {
            assert!(!text.contains(wrong), "{target}: {text}");
        }
    }
}

#[test]
fn requests_that_run_nothing_do_not_reach_php() {
    let (_php, forebay) = site();
    for _ in 0..3 {
        assert_eq!(forebay.get("/image.jpg/x.php").status, 404);
    }
    assert_eq!(
        forebay
            .metric("forebay_origin_requests_total")
            .unwrap_or(0.0),
        0.0
    );
}
