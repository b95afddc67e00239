//! `forebay bench kv` against real memcached and Redis: values that were
//! stored come back, what is lost is counted, and a server that dies is too.

use forebay_tests::kv_server::KvServer;
use forebay_tests::{Bench, Figures};

fn load(url: &str, more: &[&str]) -> Figures {
    Bench::new(&["kv", url]).args(more).figures()
}

/// Every protocol with a server that speaks it.
fn servers() -> [(KvServer, &'static str); 4] {
    [
        (KvServer::memcached(&[]), "memcached"),
        (KvServer::memcached(&[]), "memcached+meta"),
        (KvServer::memcached(&[]), "memcached+binary"),
        (KvServer::redis(&[]), "redis"),
    ]
}

#[test]
fn what_was_stored_is_read_and_checked() {
    for (server, scheme) in servers() {
        let more = [
            "--verify",
            "--preload",
            "--keys",
            "500",
            "-n",
            "4000",
            "-c",
            "4",
            "--size",
            "100B..4KiB",
        ];
        let figures = load(&server.url(scheme), &more);
        let phase = figures.phase();
        assert_eq!(
            phase.count("succeeded"),
            4000,
            "{scheme}: {:?}",
            phase.faults()
        );
        assert_eq!(
            (phase.count("hits") > 3000, phase.count("misses")),
            (true, 0),
            "{scheme}"
        );
        let (reads, writes) = (phase.label("get").0, phase.label("set").0);
        assert_eq!(reads + writes, 4000, "{scheme}");
        // Nine of ten by chance: 400 with a standard deviation of 19.
        assert!((300..500).contains(&writes), "{scheme}: {writes}");
        assert!(phase.count("bytes_received") > 500_000, "{scheme}");
        assert_eq!(
            phase.0["server"]["pids"][0],
            server.pid(),
            "{}",
            figures.warnings()
        );
        assert_eq!(server.reads(), reads, "{scheme} counted otherwise");
    }
}

#[test]
fn a_read_of_what_is_not_there_is_a_miss_and_no_failure() {
    for (server, scheme) in servers() {
        let more = ["--ratio", "1:0", "--keys", "100", "-n", "200", "-c", "2"];
        let figures = load(&server.url(scheme), &more);
        assert_eq!(
            (figures.count("succeeded"), figures.count("misses")),
            (200, 200),
            "{scheme}"
        );
    }
}

#[test]
fn pipelined_commands_are_all_answered() {
    for (server, scheme) in servers() {
        let more = [
            "--verify",
            "--preload",
            "--keys",
            "100",
            "-n",
            "3000",
            "-c",
            "2",
            "--pipeline",
            "16",
        ];
        let figures = load(&server.url(scheme), &more);
        assert_eq!(
            figures.count("succeeded"),
            3000,
            "{scheme}: {:?}",
            figures.phase().faults()
        );
        assert_eq!(figures.count("connects"), 2, "{scheme}");
    }
}

#[test]
fn every_command_is_understood_by_the_servers() {
    for (server, scheme) in servers() {
        let mix = "get:40,set:30,add:5,delete:5,touch:5,incr:15";
        let more = [
            "--mix", mix, "--expiry", "60s", "--keys", "50", "-n", "3000", "-c", "2",
        ];
        let figures = load(&server.url(scheme), &more);
        let phase = figures.phase();
        assert_eq!(
            phase.count("succeeded"),
            3000,
            "{scheme}: {:?}",
            phase.faults()
        );
        for label in ["get", "set", "add", "delete", "touch", "incr"] {
            assert!(phase.label(label).0 > 50, "{scheme}: {label}");
        }
    }
}

/// Reads and writes until the server has forgotten everything in the middle.
#[track_caller]
fn forgets(server: &KvServer, scheme: &str, more: &[&str]) {
    let url = server.url(scheme);
    let running = Bench::new(&[
        "kv", &url, "--verify", "--keys", "100", "-d", "10m", "-c", "2",
    ])
    .args(more)
    .args(&["--format", "json", "--live", "off"])
    .start();
    server.wait_for_reads(400);
    server.flush();
    server.wait_for_reads(server.reads() + 400);
    running.signal(rustix::process::Signal::INT);
    let figures = running.wait().ok().printed();
    let phase = figures.phase();
    assert!(
        phase.failed(Some("check")) > 0,
        "{scheme}: {}",
        phase.0["tally"]["counts"]
    );
    assert!(phase.count("succeeded") >= 200, "{scheme}");
    assert!(!phase.faults().is_empty(), "{scheme}: it is said in words");
}

#[test]
fn keys_that_are_gone_are_counted_as_lost() {
    for (server, scheme) in servers() {
        forgets(&server, scheme, &["--ratio", "5:1"]);
    }
}

#[test]
fn keys_that_were_stored_before_the_load_and_are_gone_are_lost_as_well() {
    for (server, scheme) in servers() {
        forgets(&server, scheme, &["--preload", "--ratio", "1:0"]);
    }
}

#[test]
fn a_server_that_dies_is_counted_and_not_fatal() {
    for (server, scheme) in servers() {
        let url = server.url(scheme);
        let running = Bench::new(&["kv", &url, "--keys", "100", "-d", "1500ms", "-c", "2"])
            .args(&["--format", "json", "--live", "off"])
            .start();
        server.wait_for_reads(100);
        drop(server);
        let figures = running.wait().ok().printed();
        let phase = figures.phase();
        assert!(phase.count("succeeded") >= 100, "{scheme}");
        assert!(
            phase.failed(Some("connect")) > 0,
            "{scheme}: {}",
            phase.0["tally"]["counts"]
        );
    }
}

#[test]
fn a_password_is_needed_where_the_server_asks_for_it() {
    let server = KvServer::redis(&["--requirepass", "s3cret"]);
    let url = server.url("redis");
    let with = url.replace("redis://", "redis://:s3cret@");
    let figures = load(
        &with,
        &["--preload", "--keys", "50", "-n", "200", "-c", "2"],
    );
    assert_eq!(
        figures.count("succeeded"),
        200,
        "{:?}",
        figures.phase().faults()
    );
    assert!(
        !figures.0.to_string().replace(&with, "").contains("s3cret"),
        "it is in the report"
    );
    let ended = Bench::new(&[
        "kv",
        &url,
        "--preload",
        "--keys",
        "5",
        "-n",
        "10",
        "-c",
        "1",
    ])
    .run();
    ended.with_status(1).saying(&["NOAUTH"]);
}

#[test]
fn wrong_urls_and_options_of_key_value_loads_are_said() {
    for (arguments, word) in [
        (&["http://127.0.0.1/"][..], "memcached"),
        (&["memcached://"], "host"),
        (&["memcached://127.0.0.1:1/", "--ratio", "x"], "--ratio"),
        (&["memcached://127.0.0.1:1/", "--mix", "fly:3"], "fly"),
        (&["memcached://127.0.0.1:1/", "--size", "big"], "--size"),
        (&["memcached://127.0.0.1:1/"], "nobody listens"),
    ] {
        Bench::new(&["kv"])
            .args(arguments)
            .run()
            .with_status(1)
            .saying(&[word]);
    }
}
