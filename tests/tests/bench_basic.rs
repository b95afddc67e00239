//! `forebay bench` against a real nginx, which logs what it was sent: counts,
//! connections, methods, bodies, addresses.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use forebay_tests::{Bench, Origin, Site, reply};

/// The connection of each line of nginx's second log.
fn connections(details: &[String]) -> BTreeSet<String> {
    details
        .iter()
        .map(|line| line.split(' ').nth(3).unwrap().to_owned())
        .collect()
}

#[test]
fn a_count_of_requests_is_kept_exactly() {
    let site = Site::start("");
    let figures = Bench::new(&[&site.url("/"), "-n", "1003", "-c", "7", "-t", "3"]).figures();
    let phase = figures.phase();
    assert_eq!(phase.count("completed"), 1003);
    assert_eq!(phase.count("succeeded"), 1003);
    assert_eq!(phase.status(200), 1003);
    assert_eq!(phase.durations(), 1003);
    assert_eq!(phase.count("body_bytes"), 1003 * 18);
    assert_eq!(site.log(1003).len(), 1003, "nginx counted otherwise");
}

#[test]
fn connections_are_kept_for_further_requests() {
    let site = Site::start("");
    let figures = Bench::new(&[&site.url("/"), "-n", "200", "-c", "5"]).figures();
    assert_eq!(figures.count("connects"), 5);
    assert_eq!(connections(&site.details(200)).len(), 5);
}

#[test]
fn without_keep_alive_each_request_has_a_connection() {
    let site = Site::start("");
    let figures = Bench::new(&[&site.url("/"), "-n", "150", "-c", "5", "--no-keepalive"]).figures();
    assert_eq!(figures.count("succeeded"), 150);
    assert_eq!(figures.count("connects"), 150);
    assert_eq!(figures.phase().0["keep_alive"], false);
    assert_eq!(connections(&site.details(150)).len(), 150);
}

#[test]
fn a_server_that_closes_connections_costs_connections_and_no_request() {
    let site = Site::start("keepalive_requests 10;");
    let figures = Bench::new(&[&site.url("/"), "-n", "200", "-c", "2"]).figures();
    assert_eq!(figures.count("succeeded"), 200);
    assert_eq!(figures.phase().failed(None), 0);
    assert!(figures.count("connects") >= 20);
}

#[test]
fn pipelined_requests_are_all_answered_once() {
    let site = Site::start("");
    let figures =
        Bench::new(&[&site.url("/"), "-n", "500", "-c", "2", "--pipeline", "10"]).figures();
    assert_eq!(figures.count("succeeded"), 500);
    assert_eq!(site.log(500).len(), 500);
    assert_eq!(connections(&site.details(500)).len(), 2);
}

#[test]
fn a_ladder_has_a_phase_for_each_rung() {
    let site = Site::start("");
    let figures = Bench::new(&[&site.url("/"), "-c", "3,10,40", "-n", "200"]).figures();
    let phases = figures.phases();
    let rungs: Vec<_> = phases
        .iter()
        .map(|phase| phase.0["connections"].clone())
        .collect();
    assert_eq!(rungs, [3, 10, 40]);
    for phase in &phases {
        assert_eq!((phase.count("succeeded"), phase.failed(None)), (200, 0));
    }
    assert_eq!(phases[2].count("connects"), 40);
    assert_eq!(site.log(600).len(), 600);
}

#[test]
fn time_ends_a_load_and_the_warm_up_is_not_counted() {
    let site = Site::start("");
    let arguments = [
        "-c", "2", "-d", "400ms", "--warmup", "300ms", "--rate", "200",
    ];
    let figures = Bench::new(&[&site.url("/")]).args(&arguments).figures();
    let phase = figures.phase();
    let counted = phase.count("completed") + phase.count("unfinished");
    assert!(
        (0.35..5.0).contains(&phase.seconds()),
        "{}",
        phase.seconds()
    );
    assert!((60..=100).contains(&counted), "{counted} of 80 due");
    let sent = site.log(counted).len() as u64;
    assert!(
        sent >= counted + 40,
        "the warm-up sent {} requests",
        sent - counted
    );
}

#[test]
fn methods_fields_and_bodies_arrive() {
    let site = Site::start(
        r#"client_max_body_size 1m;
        location = /form {
            if ($request_method != PUT) { return 405; }
            if ($http_x_shop != "a b") { return 400; }
            if ($content_length != 10) { return 411; }
            return 204;
        }"#,
    );
    let url = site.url("/form");
    let put = [
        "-X",
        "PUT",
        "-H",
        "X-Shop: a b",
        "--body",
        "@body.txt",
        "-n",
        "20",
        "-c",
        "2",
    ];
    let figures = Bench::new(&[&url])
        .args(&put)
        .file("body.txt", "0123456789")
        .figures();
    assert_eq!(figures.phase().status(204), 20, "{:?}", figures.0);
    // The same with a body of another length, so that the story above can fail.
    let figures = Bench::new(&[&url])
        .args(&put)
        .file("body.txt", "012345678")
        .figures();
    assert_eq!(figures.phase().status(411), 20);
    assert_eq!(figures.phase().failed(Some("status")), 20);
}

#[test]
fn a_body_makes_it_a_post() {
    let site = Site::start("location = /echo { return 200 $request_method; }");
    Bench::new(&[&site.url("/echo"), "--body", "a=b", "-n", "5", "-c", "1"]).figures();
    let details = site.details(5);
    assert!(details[0].starts_with("POST "), "{details:?}");
    assert!(details[0].ends_with(" 3"), "{details:?}");
}

#[test]
fn basic_authentication_is_sent() {
    let site = Site::start("location / { auth_basic shop; auth_basic_user_file users; }");
    std::fs::write(
        site.log_path().with_file_name("users"),
        "ann:{SHA}q1iyymvuoUcsgsi0mgOEnzksC58=\n",
    )
    .unwrap();
    let url = site.url("/");
    let load = |user: &str| Bench::new(&[&url, "-n", "10", "-c", "1", "--user", user]).figures();
    assert_eq!(load("ann:s:crt").phase().status(200), 10);
    assert_eq!(load("ann:wrong").phase().status(401), 10);
}

#[test]
fn head_has_no_body_whatever_its_length_field_says() {
    let site = Site::start("");
    let figures = Bench::new(&[&site.url("/"), "-X", "HEAD", "-n", "50", "-c", "2"]).figures();
    let phase = figures.phase();
    assert_eq!(
        (phase.count("succeeded"), phase.count("body_bytes")),
        (50, 0)
    );
    assert_eq!(phase.count("connects"), 2, "a body was waited for");
}

#[test]
fn an_error_status_is_counted_as_failed_by_its_cause() {
    let site = Site::start("");
    let figures = Bench::new(&[&site.url("/nothing-here"), "-n", "30", "-c", "3"]).figures();
    let phase = figures.phase();
    assert_eq!(
        (phase.count("completed"), phase.count("succeeded")),
        (30, 0)
    );
    assert_eq!(phase.failed(Some("status")), 30);
    assert_eq!(phase.status(404), 30);
    assert_eq!(phase.count("connects"), 3, "an error ends no connection");
}

#[test]
fn a_name_is_resolved_as_the_user_says() {
    let site = Site::start("");
    let url = format!("http://shop.example:{}/", site.port());
    let resolve = format!("shop.example:{}:127.0.0.1", site.port());
    let figures = Bench::new(&[&url, "--resolve", &resolve, "-n", "10", "-c", "1"]).figures();
    assert_eq!(figures.count("succeeded"), 10);
    let details = site.details(10);
    let host = format!("GET shop.example:{} / ", site.port());
    assert!(details[0].starts_with(&host), "{details:?}");
}

#[test]
fn a_unix_socket_is_a_server_as_well() {
    let site = Site::start("");
    let url = format!("unix:{}:/index.html", site.socket().display());
    let figures = Bench::new(&[&url, "-n", "40", "-c", "2"]).figures();
    assert_eq!(figures.count("succeeded"), 40);
    assert!(site.log(40)[0].contains("/index.html"));
}

#[test]
fn several_urls_are_asked_for_in_turn() {
    let site = Site::start("location / { return 200 x; }");
    let urls = [site.url("/a"), site.url("/b"), site.url("/c")];
    Bench::new(&[&urls[0], &urls[1], &urls[2], "-n", "30", "-c", "1"]).figures();
    let log = site.log(30);
    for path in ["/a", "/b", "/c"] {
        let found = log
            .iter()
            .filter(|line| line.contains(&format!("GET {path} ")));
        assert_eq!(found.count(), 10, "{path} in {log:?}");
    }
}

#[test]
fn a_url_file_of_http_load_and_siege_is_sent_in_its_order() {
    let site = Site::start("location / { return 200 x; }");
    let file = format!(
        "# pages\nHOST=127.0.0.1:{0}\nhttp://$(HOST)/a\n\n{1}\n{2} POST q=1\n",
        site.port(),
        site.url("/b?x=1"),
        site.url("/c")
    );
    let bench = Bench::new(&["--urls", "urls.txt", "-n", "9", "-c", "1"]).file("urls.txt", file);
    assert_eq!(bench.figures().count("succeeded"), 9);
    let details = site.details(9);
    let sent: Vec<String> = details[..3]
        .iter()
        .map(|line| {
            line.split(' ')
                .step_by(2)
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(sent, ["GET /a", "GET /b?x=1", "POST /c"], "{details:?}");
}

#[test]
fn a_server_that_stops_in_the_middle_is_counted_and_not_fatal() {
    let mut site = Some(Site::start(""));
    let url = site.as_ref().unwrap().url("/");
    let bench = Bench::new(&[
        &url, "-c", "2", "-d", "1500ms", "--format", "json", "--live", "off",
    ]);
    let running = bench.start();
    site.as_ref().unwrap().log(100);
    drop(site.take());
    let figures = running.wait().ok().printed();
    let phase = figures.phase();
    assert!(phase.count("succeeded") >= 100);
    assert!(
        phase.failed(Some("connect")) > 0,
        "{}",
        phase.0["tally"]["counts"]
    );
    let total = phase.count("succeeded") + phase.failed(None);
    assert_eq!(phase.count("completed"), total);
}

#[test]
fn every_framing_of_a_body_is_read_to_its_end() {
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde";
    for (response, connects) in [(chunked, 1), (interim, 1)] {
        let origin = Origin::fixed(response);
        let url = format!("http://{}/", origin.server());
        let figures = Bench::new(&[&url, "-n", "10", "-c", "1"]).figures();
        let counts = (figures.count("succeeded"), figures.count("body_bytes"));
        assert_eq!((counts, figures.count("connects")), ((10, 50), connects));
    }
    let origin = Origin::raw(|connection| {
        let _ = connection.request();
        connection.send("HTTP/1.0 200 OK\r\n\r\nabcde");
        connection.close();
    });
    let url = format!("http://{}/", origin.server());
    let figures = Bench::new(&[&url, "-n", "10", "-c", "1"]).figures();
    assert_eq!(
        (figures.count("succeeded"), figures.count("body_bytes")),
        (10, 50)
    );
    assert_eq!(figures.count("connects"), 10);
}

#[test]
fn durations_agree_with_those_of_the_origin() {
    // A busy machine adds to the durations what the origin does not see: on a quiet one they differ
    // by less than a hundredth. An error of the load tester would be there each time.
    let mut seen = Vec::new();
    for _ in 0..30 {
        let off = furthest_off();
        if off < 0.02 {
            return;
        }
        seen.push(off);
    }
    panic!("off by {seen:?}");
}

/// How far the durations of one run are from what the origin took, relative to that: the worst of
/// several percentiles and the mean.
fn furthest_off() -> f64 {
    // Delays from 100 to 500 ms; the origin keeps what it really took.
    let own = Arc::new(Mutex::new(Vec::new()));
    let origin = Origin::start({
        let own = own.clone();
        move |request, connection| {
            let begun = Instant::now();
            std::thread::sleep(Duration::from_millis(
                100 + 4 * (request.number as u64 % 101),
            ));
            let took = begun.elapsed().as_secs_f64() * 1e3;
            connection.send(reply(200, &[], "x"));
            own.lock().unwrap().push(took);
        }
    });
    let url = format!("http://{}/", origin.server());
    let figures = Bench::new(&[&url, "-n", "303", "-c", "101"]).figures();
    let mut own = own.lock().unwrap().clone();
    own.sort_by(f64::total_cmp);
    let at = |percent: usize| own[(own.len() * percent).div_ceil(100) - 1];
    let mean = own.iter().sum::<f64>() / own.len() as f64;
    [
        ("p50", at(50)),
        ("p90", at(90)),
        ("p99", at(99)),
        ("mean", mean),
    ]
    .into_iter()
    .map(|(name, expected)| (figures.phase().whole_ms(name) - expected).abs() / expected)
    .fold(0.0, f64::max)
}
