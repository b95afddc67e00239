//! A real nginx behind, curl in front: neither knows of these tests.

use std::process::{Command, Output};

use forebay_tests::{Config, Forebay, Nginx};

/// nginx with a few files, and the program in front of it.
fn site(server: &str, config: impl FnOnce(Config) -> Config) -> (Nginx, Forebay) {
    let nginx = Nginx::start(server);
    nginx.write("page.html", b"<html>hello</html>");
    nginx.write("style.css", "body { margin: 0 }\n".repeat(200).as_bytes());
    nginx.write("image.png", &image());
    let forebay = Forebay::start(&config(Config::new(&[&nginx.server()])));
    (nginx, forebay)
}

fn image() -> Vec<u8> {
    (0..100_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

fn curl(forebay: &Forebay, target: &str, arguments: &[&str]) -> Output {
    let url = format!("http://{}{target}", forebay.authority());
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "10"])
        .args(arguments)
        .arg(url)
        .output();
    output.expect("curl is installed")
}

#[track_caller]
fn curl_ok(forebay: &Forebay, target: &str, arguments: &[&str]) -> Vec<u8> {
    let output = curl(forebay, target, arguments);
    assert!(
        output.status.success(),
        "curl: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

const CACHED: &str = "client_max_body_size 100m;
    location / { expires 1h; }
    location = /post { proxy_pass http://unix:$document_root/../nginx.sock:/echo; }
    location = /echo { return 200 $content_length; }
    location = /created { return 201; }
    location = /gone { return 410; }
    location = /moved { return 301 /page.html; }";

#[test]
fn static_files_are_served_and_cached() {
    let (nginx, forebay) = site(CACHED, |c| c);
    for _ in 0..3 {
        assert_eq!(curl_ok(&forebay, "/page.html", &[]), b"<html>hello</html>");
        assert_eq!(curl_ok(&forebay, "/image.png", &[]), image());
    }
    let log = nginx.access_log(2);
    assert_eq!(log.len(), 2, "{log:?}");
}

#[test]
fn one_curl_reuses_its_connection() {
    let (_nginx, forebay) = site(CACHED, |c| c);
    let url = format!("http://{}/page.html", forebay.authority());
    let output = Command::new("curl")
        .args([
            "-sS",
            "-w",
            "%{num_connects} ",
            "-o",
            "/dev/null",
            &url,
            "-o",
            "/dev/null",
            &url,
            "-o",
            "/dev/null",
            &url,
        ])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1 0 0");
}

#[test]
fn curl_speaking_http_1_0_is_served() {
    let (_nginx, forebay) = site(CACHED, |c| c);
    for _ in ["miss", "hit"] {
        assert_eq!(
            curl_ok(&forebay, "/page.html", &["--http1.0"]),
            b"<html>hello</html>"
        );
        assert_eq!(
            curl_ok(&forebay, "/style.css", &["--http1.0", "--compressed"]).len(),
            3800
        );
    }
}

#[test]
fn ranges_are_right_on_miss_and_hit() {
    let (_nginx, forebay) = site(CACHED, |c| c);
    let whole = image();
    for _ in ["miss", "hit"] {
        assert_eq!(
            curl_ok(&forebay, "/image.png", &["-r", "0-99"]),
            &whole[..100]
        );
        assert_eq!(
            curl_ok(&forebay, "/image.png", &["-r", "99000-"]),
            &whole[99_000..]
        );
        assert_eq!(
            curl_ok(&forebay, "/image.png", &["-r", "-5"]),
            &whole[99_995..]
        );
    }
    assert_eq!(curl_ok(&forebay, "/image.png", &[]), whole);
    assert_eq!(
        curl_ok(&forebay, "/image.png", &["-r", "50000-50009"]),
        &whole[50_000..50_010]
    );
}

#[test]
fn compressed_and_plain_variants_are_kept_apart() {
    let (nginx, forebay) = site(CACHED, |c| c);
    let css = "body { margin: 0 }\n".repeat(200).into_bytes();
    for _ in ["miss", "hit"] {
        assert_eq!(curl_ok(&forebay, "/style.css", &["--compressed"]), css);
        assert_eq!(curl_ok(&forebay, "/style.css", &[]), css);
        let packed = curl_ok(&forebay, "/style.css", &["-H", "Accept-Encoding: gzip"]);
        assert!(packed.starts_with(&[0x1f, 0x8b]) && packed.len() < css.len());
    }
    // curl names four codings, the last request one alone: three variants.
    let log = nginx.access_log(3);
    assert_eq!(log.len(), 3, "one fetch a variant: {log:?}");
}

#[test]
fn stale_files_are_validated_with_nginx() {
    let (nginx, forebay) = site("location / { add_header Cache-Control no-cache; }", |c| c);
    for _ in 0..3 {
        assert_eq!(curl_ok(&forebay, "/page.html", &[]), b"<html>hello</html>");
    }
    let statuses: Vec<_> = nginx
        .access_log(3)
        .iter()
        .map(|l| l.split(' ').nth(2).unwrap().to_owned())
        .collect();
    assert_eq!(statuses, ["200", "304", "304"]);
    nginx.write("page.html", b"<html>a new hello</html>");
    assert_eq!(
        curl_ok(&forebay, "/page.html", &[]),
        b"<html>a new hello</html>"
    );
}

#[test]
fn curl_gets_304_for_what_it_has() {
    let (_nginx, forebay) = site(CACHED, |c| c);
    let directory = tempfile::tempdir().unwrap();
    let tag = directory.path().join("tag").display().to_string();
    curl_ok(&forebay, "/page.html", &["--etag-save", &tag]);
    let status = curl_ok(
        &forebay,
        "/page.html",
        &["--etag-compare", &tag, "-w", "%{http_code}"],
    );
    assert_eq!(status, b"304");
}

#[test]
fn uploads_arrive_by_length_and_in_chunks() {
    let (_nginx, forebay) = site(CACHED, |c| c);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("upload");
    std::fs::write(&file, vec![b'u'; 5_000_000]).unwrap();
    let data = format!("@{}", file.display());
    // curl sends Expect: 100-continue for bodies of this size.
    assert_eq!(
        curl_ok(&forebay, "/post", &["--data-binary", &data]),
        b"5000000"
    );
    let chunked = curl_ok(
        &forebay,
        "/post",
        &["--data-binary", &data, "-H", "Transfer-Encoding: chunked"],
    );
    assert_eq!(chunked, b"5000000");
}

#[test]
fn upload_that_nginx_refuses_gets_its_answer() {
    let (_nginx, forebay) = site("client_max_body_size 1k;", |c| c);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("upload");
    std::fs::write(&file, vec![b'u'; 5_000_000]).unwrap();
    let data = format!("@{}", file.display());
    let output = curl(
        &forebay,
        "/page.html",
        &[
            "--data-binary",
            &data,
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
        ],
    );
    assert_eq!(
        output.stdout,
        b"413",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn statuses_pass_through() {
    let (_nginx, forebay) = site(CACHED, |c| c);
    for (target, status) in [
        ("/created", "201"),
        ("/gone", "410"),
        ("/moved", "301"),
        ("/none", "404"),
    ] {
        for _ in 0..2 {
            let output = curl_ok(&forebay, target, &["-o", "/dev/null", "-w", "%{http_code}"]);
            assert_eq!(String::from_utf8_lossy(&output), status, "{target}");
        }
    }
}

#[test]
fn connection_to_nginx_is_kept_alive() {
    let (nginx, forebay) = site("location / { add_header Cache-Control no-store; }", |c| c);
    for _ in 0..10 {
        curl_ok(&forebay, "/page.html", &[]);
    }
    let log = nginx.access_log(10);
    let mut connections: Vec<_> = log.iter().map(|l| l.rsplit(' ').next().unwrap()).collect();
    connections.dedup();
    assert_eq!((log.len(), connections.len()), (10, 1), "{log:?}");
}

#[test]
fn nginx_closing_its_connections_costs_no_error() {
    let (_nginx, forebay) = site(
        "keepalive_requests 2; location / { add_header Cache-Control no-store; }",
        |c| c,
    );
    for _ in 0..20 {
        assert_eq!(curl_ok(&forebay, "/page.html", &[]), b"<html>hello</html>");
    }
}

#[test]
fn head_and_get_agree() {
    let (_nginx, forebay) = site(CACHED, |c| c);
    for _ in 0..2 {
        let head = String::from_utf8(curl_ok(&forebay, "/image.png", &["-I"]))
            .unwrap()
            .to_ascii_lowercase();
        assert!(head.contains("content-length: 100000\r\n"), "{head}");
        assert_eq!(curl_ok(&forebay, "/image.png", &[]).len(), 100_000);
    }
}
