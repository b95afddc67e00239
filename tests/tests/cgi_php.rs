//! Sites in PHP on a real PHP-FPM.

use std::process::Command;

use forebay_tests::{Config, Forebay, PhpFpm};

/// A site of PHP, and nothing else.
fn config(php: &PhpFpm) -> Config {
    Config::new(&[&php.server()])
        .set("pool.app", "protocol = \"fastcgi\"")
        .set("site.main", "pool = \"app\"")
        .set("site.main", &format!("root = {:?}", php.root()))
}

fn site(scripts: &[(&str, &str)]) -> (PhpFpm, Forebay) {
    let php = PhpFpm::start(3);
    for (name, script) in scripts {
        php.write(name, script);
    }
    let forebay = Forebay::start(&config(&php));
    (php, forebay)
}

const VARIABLES: &str = "<?php ksort($_SERVER); foreach ($_SERVER as $k => $v)
    if (is_string($v)) echo \"$k=$v\\n\";";

#[test]
fn a_page_is_answered_and_the_connection_kept() {
    let (_php, forebay) = site(&[("index.php", "<?php header('X-A: b'); echo 'hello';")]);
    let mut client = forebay.client();
    for _ in 0..5 {
        let page = client.get("/");
        assert_eq!((page.status, page.text().as_str()), (200, "hello"));
        assert_eq!(page.field("x-a"), Some("b"));
        assert_eq!(
            page.field("content-length"),
            Some("5"),
            "a page that came whole has a length"
        );
        assert_eq!(page.field("status"), None);
    }
    forebay.wait_for_metric("forebay_origin_requests_total", 5.0);
    assert_eq!(forebay.metric("forebay_origin_connects_total"), Some(1.0));
}

#[test]
fn php_is_told_what_it_expects() {
    let (php, forebay) = site(&[("dir/vars.php", VARIABLES)]);
    let fields = [
        "Proxy: http://evil.example",
        "X-Two: a",
        "x-two: b",
        "Cookie: a=1",
        "Cookie: b=2",
    ];
    let page = forebay
        .get_with("/dir/vars.php/in%20fo?q=a%20b&c", &fields)
        .text();
    let root = php.root().display().to_string();
    for line in [
        "REQUEST_METHOD=GET",
        "SCRIPT_NAME=/dir/vars.php",
        "PATH_INFO=/in fo",
        "QUERY_STRING=q=a%20b&c",
        "REQUEST_URI=/dir/vars.php/in%20fo?q=a%20b&c",
        "GATEWAY_INTERFACE=CGI/1.1",
        "SERVER_PROTOCOL=HTTP/1.1",
        "SERVER_NAME=test.example",
        "SERVER_PORT=80",
        "REMOTE_ADDR=127.0.0.1",
        "SERVER_ADDR=127.0.0.1",
        "REDIRECT_STATUS=200",
        "REQUEST_SCHEME=http",
        "HTTP_HOST=test.example",
        "HTTP_X_TWO=a, b",
        "HTTP_COOKIE=a=1; b=2",
        &format!("DOCUMENT_ROOT={root}"),
        &format!("SCRIPT_FILENAME={root}/dir/vars.php"),
        &format!("PATH_TRANSLATED={root}/in fo"),
    ] {
        assert!(
            page.lines().any(|have| have == line),
            "{line} is missing in\n{page}"
        );
    }
    assert!(
        !page.contains("HTTP_PROXY") && !page.contains("HTTPS="),
        "{page}"
    );
}

#[test]
fn what_a_trusted_proxy_says_of_the_client_is_told() {
    let php = PhpFpm::start(1);
    php.write("vars.php", VARIABLES);
    let trusting = config(&php).set(
        "server",
        "trusted_proxies = [\"127.0.0.0/8\", \"10.0.0.0/8\"]",
    );
    let forebay = Forebay::start(&trusting);
    let fields = [
        "X-Forwarded-For: 6.6.6.6, 203.0.113.9, 10.1.2.3",
        "X-Forwarded-Proto: https",
    ];
    let page = forebay.get_with("/vars.php", &fields).text();
    for line in [
        "REMOTE_ADDR=203.0.113.9",
        "HTTPS=on",
        "SERVER_PORT=443",
        "REQUEST_SCHEME=https",
    ] {
        assert!(
            page.lines().any(|have| have == line),
            "{line} is missing in\n{page}"
        );
    }
    let doubting = Forebay::start(&config(&php));
    let page = doubting.get_with("/vars.php", &fields).text();
    assert!(page.contains("REMOTE_ADDR=127.0.0.1\n"), "{page}");
    assert!(
        !page.contains("HTTPS=") && !page.contains("FORWARDED"),
        "{page}"
    );
}

#[test]
fn forms_and_large_uploads_arrive_whole() {
    let (_php, forebay) = site(&[
        ("form.php", "<?php echo $_POST['a'], '|', $_POST['b'];"),
        (
            "sum.php",
            "<?php $in = file_get_contents('php://input'); echo strlen($in), ' ', md5($in);",
        ),
    ]);
    let form = ["Content-Type: application/x-www-form-urlencoded"];
    let answer = forebay.exchange("POST", "/form.php", &form, "a=1&b=x%20y");
    assert_eq!(answer.text(), "1|x y");
    let body = "0123456789abcdef".repeat(1 << 18);
    let answer = forebay.exchange("PUT", "/sum.php", &[], &body).text();
    assert_eq!(answer, format!("{} {}", body.len(), md5(body)));
    let empty = forebay
        .exchange("POST", "/sum.php", &["Content-Length: 0"], "")
        .text();
    assert_eq!(empty, "0 d41d8cd98f00b204e9800998ecf8427e");
}

#[test]
fn an_upload_of_unknown_length_arrives_whole() {
    let (_php, forebay) = site(&[(
        "sum.php",
        "<?php $in = file_get_contents('php://input'); echo $_SERVER['CONTENT_LENGTH'], ' ', md5($in);",
    )]);
    let mut client = forebay.client();
    client.send("POST /sum.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..100 {
        client.send(format!("800\r\n{}\r\n", "x".repeat(0x800)));
    }
    client.send("0\r\n\r\n");
    let whole = md5("x".repeat(0x800 * 100));
    assert_eq!(client.read().text(), format!("204800 {whole}"));
    client.send("POST /sum.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(client.read().text(), "0 d41d8cd98f00b204e9800998ecf8427e");
}

fn md5(text: String) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, text).unwrap();
    let output = Command::new("md5sum").arg(&file).output().unwrap();
    String::from_utf8_lossy(&output.stdout)[..32].to_owned()
}

#[test]
fn large_downloads_arrive_whole_with_and_without_a_length() {
    let script = "<?php $n = 3000; if (isset($_GET['l'])) header('Content-Length: ' . $n * 4096);
        for ($i = 0; $i < $n; $i++) echo str_repeat(sprintf('%08d', $i), 512);";
    let (_php, forebay) = site(&[("big.php", script)]);
    let expected: String = (0..3000).map(|i| format!("{i:08}").repeat(512)).collect();
    let mut client = forebay.client();
    for target in ["/big.php", "/big.php?l"] {
        let answer = client.get(target);
        assert!(
            answer.body == expected.as_bytes(),
            "{target}: {} bytes",
            answer.body.len()
        );
    }
    assert_eq!(
        client.get("/big.php?l").number("content-length"),
        Some(3000 * 4096)
    );
}

#[test]
fn status_redirect_head_and_304_are_the_scripts() {
    let (_php, forebay) = site(&[
        ("gone.php", "<?php http_response_code(410); echo 'gone';"),
        ("away.php", "<?php header('Location: /index.php?x');"),
        (
            "see.php",
            "<?php header('Location: http://other.example/', true, 303);",
        ),
        (
            "same.php",
            "<?php header('ETag: \"e\"'); http_response_code(304);",
        ),
        ("none.php", "<?php http_response_code(204);"),
        (
            "head.php",
            "<?php header('Content-Length: 5'); echo 'hello';",
        ),
    ]);
    let mut client = forebay.client();
    let gone = client.get("/gone.php");
    assert_eq!((gone.status, gone.text().as_str()), (410, "gone"));
    let away = client.get("/away.php");
    assert_eq!(
        (away.status, away.field("location")),
        (302, Some("/index.php?x"))
    );
    assert_eq!(client.get("/see.php").status, 303);
    assert_eq!(
        client
            .get_with("/same.php", &["If-None-Match: \"e\""])
            .status,
        304
    );
    assert_eq!(client.get("/none.php").status, 204);
    let head = client.exchange("HEAD", "/head.php", &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(client.get("/head.php").text(), "hello");
}

#[test]
fn an_http_1_0_client_gets_pages_too() {
    let (_php, forebay) = site(&[(
        "index.php",
        "<?php for ($i = 0; $i < 50; $i++) { echo str_repeat('x', 1000); flush(); }",
    )]);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.0\r\n\r\n");
    let page = client.read();
    assert_eq!((page.status, page.body.len()), (200, 50_000));
}

#[test]
fn what_php_complains_of_is_in_the_error_log() {
    let (_php, forebay) = site(&[(
        "bad.php",
        "<?php error_log(\"a complaint\\e[2J\"); error_log('another'); echo 'fine';",
    )]);
    assert_eq!(forebay.get("/bad.php").text(), "fine");
    forebay.wait_for_output("a complaint\\u{1b}[2J");
    forebay.wait_for_output("another");
}

#[test]
fn a_page_with_cache_control_is_cached() {
    let (_php, forebay) = site(&[(
        "time.php",
        "<?php header('Cache-Control: max-age=60'); header('ETag: \"1\"'); echo hrtime(true);",
    )]);
    let first = forebay.get("/time.php");
    let second = forebay.get("/time.php");
    assert_eq!(first.text(), second.text());
    assert!(second.field("age").is_some());
    assert_eq!(
        forebay
            .get_with("/time.php", &["If-None-Match: \"1\""])
            .status,
        304
    );
    let first = forebay.get("/time.php?other").text();
    assert_ne!(first, second.text());
}

#[test]
fn a_restart_of_php_between_requests_is_not_noticed() {
    let (mut php, forebay) = site(&[("index.php", "<?php echo 'hello';")]);
    let mut client = forebay.client();
    for _ in 0..3 {
        assert_eq!(client.get("/").text(), "hello");
        php.restart();
    }
    assert_eq!(client.get("/").text(), "hello");
}

#[test]
fn a_script_that_dies_fails_its_own_request_only() {
    let (_php, forebay) = site(&[
        ("index.php", "<?php echo 'hello';"),
        ("dies.php", "<?php posix_kill(getmypid(), 9); sleep(9);"),
        (
            "breaks.php",
            "<?php header('Content-Length: 20'); ob_end_flush(); echo 'half'; flush(); posix_kill(getmypid(), 9); sleep(9);",
        ),
    ]);
    assert_eq!(forebay.exchange("POST", "/dies.php", &[], "x").status, 502);
    assert!(
        forebay
            .client()
            .send_request("POST", "/breaks.php", &[], "x")
            .try_read()
            .is_err()
    );
    assert_eq!(forebay.get("/").text(), "hello");
}

#[test]
fn a_client_that_leaves_a_slow_script_frees_its_connection() {
    let (_php, forebay) = site(&[
        (
            "slow.php",
            "<?php while (!connection_aborted()) { echo str_repeat('x', 9000); flush(); usleep(1000); }",
        ),
        ("index.php", "<?php echo 'hello';"),
    ]);
    for _ in 0..6 {
        let mut client = forebay.client();
        client.send_request("GET", "/slow.php", &[], "").read_head();
        client.reset();
    }
    assert_eq!(forebay.get("/").text(), "hello");
}

#[test]
fn more_clients_than_php_has_workers_are_all_answered() {
    let php = PhpFpm::start_tcp(2);
    php.write("index.php", "<?php usleep(2000); echo getmypid();");
    let workers = config(&php).set("server", "workers = 2");
    let forebay = Forebay::start(&workers);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let mut client = forebay.client();
                for _ in 0..20 {
                    assert_eq!(client.get("/").status, 200);
                }
            });
        }
    });
}
