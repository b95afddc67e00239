//! What a result says of the server: hits and misses of a cache, and the
//! processor time and memory of its process, found by its port or named.

use forebay_tests::{Bench, Config, Figures, Forebay, Site};
use serde_json::Value;

fn server(figures: &Figures) -> Value {
    figures.phase().0["server"].clone()
}

#[test]
fn hits_and_misses_of_a_cache_in_front_are_counted() {
    let site = Site::start("location / { add_header Cache-Control max-age=600; return 200 x; }");
    let forebay = Forebay::start(&Config::new(&[&site.server()]));
    let urls: Vec<String> = (0..10)
        .map(|n| format!("http://{}/{n}", forebay.authority()))
        .collect();
    let mut load: Vec<&str> = urls.iter().map(String::as_str).collect();
    load.extend(["-n", "100", "-c", "1"]);
    let figures = Bench::new(&load).figures();
    assert_eq!((figures.count("misses"), figures.count("hits")), (10, 90));
    assert_eq!(site.log(10).len(), 10);
    let figures = Bench::new(&load).figures();
    assert_eq!((figures.count("misses"), figures.count("hits")), (0, 100));
}

#[test]
fn without_a_cache_nothing_is_said_of_hits() {
    let site = Site::start("");
    let figures = Bench::new(&[&site.url("/"), "-n", "10", "-c", "1"]).figures();
    assert_eq!((figures.count("misses"), figures.count("hits")), (0, 0));
}

#[test]
fn the_server_is_found_by_its_port_and_its_processor_time_is_read() {
    let site = Site::start("");
    let load = ["-d", "1s", "-c", "4"];
    let figures = Bench::new(&[&site.url("/")]).args(&load).figures();
    let server = server(&figures);
    assert_eq!(server["name"], "nginx", "{server}");
    assert_eq!(server["pids"][0], site.pid());
    let busy =
        server["user_seconds"].as_f64().unwrap() + server["system_seconds"].as_f64().unwrap();
    assert!((0.02..2.5).contains(&busy), "{busy} s in a second of load");
    let each = server["cpu_us_per_request"].as_f64().unwrap();
    let expected = busy * 1e6 / figures.count("completed") as f64;
    assert!(
        (each / expected - 1.0).abs() < 0.1,
        "{each} is not {expected}"
    );
    assert!(server["peak_resident_bytes"].as_u64().unwrap() > 1 << 20);
    assert!(!server["samples"].as_array().unwrap().is_empty());
}

#[test]
fn a_server_on_a_unix_socket_is_found_as_well() {
    let site = Site::start("");
    let url = format!("unix:{}:/", site.socket().display());
    let figures = Bench::new(&[&url, "-n", "500", "-c", "2"]).figures();
    assert_eq!(
        server(&figures)["pids"][0],
        site.pid(),
        "{}",
        figures.warnings()
    );
}

#[test]
fn a_process_that_is_named_is_the_one_that_is_watched() {
    let (site, other) = (Site::start(""), Site::start(""));
    let pid = other.pid().to_string();
    let figures = Bench::new(&[&site.url("/"), "-n", "100", "-c", "2", "--pid", &pid]).figures();
    assert_eq!(server(&figures)["pids"][0], other.pid());
}

#[test]
fn a_process_that_is_not_there_is_said_and_the_load_goes_on() {
    let site = Site::start("");
    // The highest number that Linux gives.
    let load = ["-n", "10", "-c", "1", "--pid", "4194304"];
    let figures = Bench::new(&[&site.url("/")]).args(&load).figures();
    assert_eq!(figures.count("succeeded"), 10);
    assert!(server(&figures).is_null());
    assert!(
        figures.warnings().contains("4194304"),
        "{}",
        figures.warnings()
    );
}

#[test]
fn nobody_is_watched_when_the_user_says_so() {
    let site = Site::start("");
    let figures = Bench::new(&[&site.url("/"), "-n", "10", "-c", "1", "--no-observe"]).figures();
    assert!(server(&figures).is_null());
    assert_eq!(figures.warnings(), "");
}
