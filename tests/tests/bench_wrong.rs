//! Wrong input: each gets an error that says what and where, before any load,
//! and the exit status that the help promises.

use forebay_tests::{Bench, Ended, Origin, Site, reply};

/// Usage errors exit with 2, all others with 1.
#[track_caller]
fn refused(arguments: &[&str], status: i32, words: &[&str]) -> Ended {
    let ended = Bench::new(arguments)
        .run()
        .with_status(status)
        .saying(words);
    assert_eq!(ended.stdout, "", "no result may be printed");
    ended
}

#[test]
fn a_wrong_url_is_said_with_what_is_wrong() {
    refused(&["http://"], 1, &["`http://`"]);
    refused(&["http://127.0.0.1:99999/"], 1, &["99999"]);
    refused(&["ftp://127.0.0.1/"], 1, &["`ftp`", "http, https or unix"]);
    refused(
        &["http://no-such-host.invalid/"],
        1,
        &["no-such-host.invalid", "resolve"],
    );
    refused(
        &["unix:/nowhere/at/all.sock:/"],
        1,
        &["/nowhere/at/all.sock"],
    );
    refused(&[], 2, &["URL"]);
}

#[test]
fn wrong_options_are_wrong_usage() {
    let url = "http://127.0.0.1:1/";
    for (arguments, word) in [
        (["-d", "soon"], "soon"),
        (["-c", "0"], "at least 1"),
        (["-n", "many"], "whole number"),
        (["--rate", "0"], "more than 0"),
        (["-H", "no colon"], "Name: value"),
        (["-X", "G T"], "method"),
        (["--resolve", "a:b:c"], "HOST:PORT:ADDRESS"),
        (["--no-such-option", "1"], "--no-such-option"),
        (["--format", "pdf"], "pdf"),
        (["--speed", "0"], "popularity"),
        (["--cores", "0,1023"], "no core 1023"),
        (["--cores", "4000000"], "no core 4000000"),
        (["-d", "0s"], "more than 0"),
        (["--timeout", "0ms"], "more than 0"),
    ] {
        refused(&[url, arguments[0], arguments[1]], 2, &[word]);
    }
}

#[test]
fn a_speed_without_a_recording_is_not_ignored() {
    let url = "http://127.0.0.1:1/";
    refused(&[url, "--speed", "2"], 1, &["--speed", "--log"]);
}

#[test]
fn nobody_listens_is_one_clear_error() {
    let port = forebay_tests::site::free_port().to_string();
    let url = format!("http://127.0.0.1:{port}/");
    refused(
        &[&url, "-d", "1m"],
        1,
        &["nobody listens", &port, "refused"],
    );
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let url = "http://127.0.0.1:1/";
    for option in ["--urls", "--log", "--har", "--scenario", "--cacert"] {
        let words = ["missing.txt", "No such file"];
        let url = if option == "--cacert" {
            "https://127.0.0.1:1/"
        } else {
            url
        };
        refused(&[url, option, "missing.txt"], 1, &words);
    }
    refused(
        &[url, "--body", "@missing.txt"],
        1,
        &["missing.txt", "No such file"],
    );
}

#[test]
fn every_wrong_line_of_a_url_file_is_listed() {
    let urls = "http://127.0.0.1/\nftp://a/\nhttp://127.0.0.1/b\nhttp://:x/\n";
    let bench = Bench::new(&["--urls", "urls.txt"]).file("urls.txt", urls);
    let ended = bench
        .run()
        .with_status(1)
        .saying(&["urls.txt", "2", "4", "ftp"]);
    assert!(!ended.stderr.contains("line 1") && !ended.stderr.contains("line 3"));
}

#[test]
fn broken_lines_of_a_log_are_counted_and_the_rest_is_sent() {
    let site = Site::start("location / { return 200 x; }");
    let good = |path: &str| {
        format!(
            "127.0.0.1 - - [22/Nov/2026:10:00:00 +0000] \"GET {path} HTTP/1.1\" 200 1 \"-\" \"-\"\n"
        )
    };
    let log = [
        good("/a"),
        "this is no line of a log\n".into(),
        good("/b"),
        good("/c").replace("[22/Nov", "[99/Foo"),
        good("/d"),
    ]
    .concat();
    let figures = Bench::new(&["--log", "access.log", "--base", &site.url("/"), "-c", "1"])
        .file("access.log", log)
        .figures();
    assert!(figures.count("succeeded") >= 3);
    let warnings = figures.warnings();
    assert!(warnings.contains('2'), "line 2 is not named: {warnings}");
    let sent = site.log(3).join("\n");
    for path in ["/a", "/b", "/d"] {
        assert!(sent.contains(&format!("GET {path} ")), "{path} in {sent}");
    }
}

#[test]
fn a_log_that_is_none_is_refused() {
    let bench = Bench::new(&["--log", "access.log", "--base", "http://127.0.0.1:1/"]);
    let ended = bench
        .file("access.log", "\u{1}\u{2}nothing\nlike a log\n")
        .run();
    ended.with_status(1).saying(&["access.log"]);
}

#[test]
fn errors_of_a_scenario_have_their_line_and_a_caret() {
    let scenario =
        "name = \"x\"\n[[flow]]\n[[flow.step]]\nurl = \"/a\"\nexpct = { status = 200 }\n";
    let bench = Bench::new(&["--scenario", "shop.toml", "http://127.0.0.1:1/"]);
    let ended = bench.file("shop.toml", scenario).run();
    let ended = ended
        .with_status(1)
        .saying(&["shop.toml", "5", "expct", "^"]);
    assert!(
        ended.stderr.contains("expect"),
        "no suggestion: {}",
        ended.stderr
    );
}

#[test]
fn a_har_file_that_is_none_is_said_with_its_line() {
    let bench = Bench::new(&["--har", "page.har"]).file("page.har", "{\n \"log\": }\n");
    bench.run().with_status(1).saying(&["page.har", "line 2"]);
}

#[test]
fn an_assertion_that_cannot_be_read_is_wrong_usage_before_any_load() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let url = format!("http://{}/", origin.server());
    for (expression, word) in [
        ("p99<", "value"),
        ("speed>5", "speed"),
        ("p99<20", "20ms"),
        ("p99 20ms", "p99"),
    ] {
        refused(&[&url, "--assert", expression], 2, &["--assert", word, "^"]);
    }
    refused(&[&url, "--find-limit", "p99"], 2, &["--find-limit"]);
    assert_eq!(origin.count(), 0);
}

#[test]
fn assertions_decide_the_exit_status() {
    let site = Site::start("");
    let url = site.url("/");
    let load = |assertion: &str| {
        Bench::new(&[
            &url,
            "-n",
            "20",
            "-c",
            "2",
            "--assert",
            "requests==20",
            "--assert",
            assertion,
        ])
    };
    let ended = load("success>=99.999").run().ok();
    assert!(ended.stderr.contains("held"), "{}", ended.stderr);
    let ended = load("p50<1ns")
        .run()
        .with_status(1)
        .saying(&["failed", "p50<1ns", "held"]);
    assert!(ended.stdout.contains("20"), "the result is printed anyway");
    // What was not measured does not hold.
    load("hit>0%")
        .run()
        .with_status(1)
        .saying(&["not measured"]);
}

#[test]
fn a_result_that_cannot_be_written_is_said_before_the_load() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let url = format!("http://{}/", origin.server());
    for option in ["--json", "--html", "--csv", "--markdown"] {
        let path = "no-such-directory/result";
        refused(&[&url, "-n", "1", option, path], 1, &[path, "No such file"]);
    }
    assert_eq!(origin.connections(), 0, "load was sent");
}

#[test]
fn responses_that_are_not_http_are_counted_as_malformed() {
    let origin = Origin::raw(|connection| {
        let _ = connection.request_head();
        connection.send("SSH-2.0-OpenSSH_9.2\r\n\r\n");
        connection.close();
    });
    let url = format!("http://{}/", origin.server());
    let figures = Bench::new(&[&url, "-n", "5", "-c", "1"]).figures();
    assert_eq!(
        figures.phase().failed(Some("malformed")),
        5,
        "{}",
        figures.0
    );
}

#[test]
fn a_response_that_ends_too_early_is_counted_as_reset() {
    let origin = Origin::raw(|connection| {
        let _ = connection.request_head();
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort");
        connection.close();
    });
    let url = format!("http://{}/", origin.server());
    let figures = Bench::new(&[&url, "-n", "5", "-c", "1"]).figures();
    assert_eq!(figures.phase().failed(Some("reset")), 5, "{}", figures.0);
}

#[test]
fn a_response_that_does_not_come_is_counted_as_timed_out() {
    let origin = Origin::start(|_, _| {});
    let url = format!("http://{}/", origin.server());
    let figures = Bench::new(&[&url, "-n", "3", "-c", "3", "--timeout", "200ms"]).figures();
    let phase = figures.phase();
    assert_eq!(phase.failed(Some("timeout")), 3);
    assert!(
        phase.whole_ms("min") >= 200.0,
        "what waited is in the durations"
    );
}
