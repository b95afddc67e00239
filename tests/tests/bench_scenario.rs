//! Scenarios: users that sign in, take what they need from responses, check
//! them, and what a report says when a check fails; JMeter plans; comparisons.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use forebay_tests::{Bench, Origin, reply};

fn url(origin: &Origin) -> String {
    format!("http://{}/", origin.server())
}

/// A shop: `/login` gives a session and a token, without which `/cart` is 403.
fn shop() -> Origin {
    Origin::start(|request, connection| {
        let cookie = request.field("Cookie").unwrap_or_default();
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let response = match request.target.as_str() {
            "/login" => {
                let name = body.split(['=', '&']).nth(1).unwrap_or_default();
                let session = format!("Set-Cookie: sid=s-{name}; Path=/");
                let text = format!("{{\"token\": \"t-{name}\", \"name\": \"{name}\"}}");
                reply(200, &[&session, "Content-Type: application/json"], &text)
            }
            target => {
                let token = target.strip_prefix("/cart?token=t-");
                match (cookie.strip_prefix("sid=s-"), token) {
                    (Some(session), Some(token)) if session == token => reply(
                        200,
                        &["X-User: known"],
                        &format!("<h1>Welcome, {token}</h1>"),
                    ),
                    _ => reply(403, &[], "sign in first"),
                }
            }
        };
        connection.send(response);
    })
}

const LOGIN: &str = r#"
name = "shop"
[[data]]
file = "users.csv"
order = "per-user"
[[flow]]
iterations = 5
[[flow.step]]
name = "login"
url = "/login"
form = { name = "${login}", password = "${password}" }
expect = { status = 200, json = { "$.name" = "${login}" } }
extract = [{ variable = "token", json = "$.token" }]
[[flow.step]]
name = "cart"
url = "/cart"
query = { token = "${token}" }
expect = { contains = "Welcome, ${login}", header = { X-User = "known" } }
"#;

const USERS: &str = "login,password\nann,one\nbob,two\ncid,three\n";

#[test]
fn users_sign_in_with_their_own_data_and_keep_their_sessions() {
    let origin = shop();
    let load = [
        "--scenario",
        "shop.toml",
        &url(&origin),
        "-c",
        "3",
        "-d",
        "30s",
    ];
    let figures = Bench::new(&load)
        .file("shop.toml", LOGIN)
        .file("users.csv", USERS)
        .figures();
    let phase = figures.phase();
    assert_eq!(phase.faults(), []);
    assert_eq!(
        phase.label("login"),
        (15, 0),
        "three users, five times each"
    );
    assert_eq!(phase.label("cart"), (15, 0));
    assert!(phase.seconds() < 20.0, "it ends when its users are done");
    let mut names = BTreeMap::new();
    for request in origin
        .requests()
        .iter()
        .filter(|request| request.target == "/login")
    {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        *names.entry(body).or_insert(0) += 1;
    }
    let all: Vec<_> = names.into_iter().collect();
    let expected = [
        "name=ann&password=one",
        "name=bob&password=two",
        "name=cid&password=three",
    ];
    assert_eq!(all, expected.map(|body| (body.to_owned(), 5)));
}

#[test]
fn a_failed_check_is_named_with_its_step_and_what_was_found() {
    let origin = shop();
    let scenario = LOGIN.replace("Welcome, ${login}", "Goodbye");
    let load = ["--scenario", "shop.toml", &url(&origin), "-c", "1"];
    let figures = Bench::new(&load)
        .file("shop.toml", scenario)
        .file("users.csv", USERS)
        .figures();
    let phase = figures.phase();
    assert_eq!(
        (phase.label("login"), phase.label("cart")),
        ((5, 0), (0, 5))
    );
    assert_eq!(phase.failed(Some("check")), 5);
    let faults = phase.faults();
    assert_eq!(faults.len(), 1, "{faults:?}");
    let (words, times) = &faults[0];
    assert_eq!(*times, 5);
    for part in ["cart", "Goodbye", "Welcome, ann"] {
        assert!(words.contains(part), "{part} in {words}");
    }
}

#[test]
fn what_is_not_found_in_a_response_fails_the_step_that_looked() {
    let origin = Origin::fixed(reply(200, &[], "{}"));
    let scenario = "[[flow]]\niterations = 2\nstop_on_failure = true\n[[flow.step]]\nname = \"first\"\nurl = \"/a\"\n\
                    extract = [{ variable = \"id\", json = \"$.id\" }]\n[[flow.step]]\nurl = \"/b/${id}\"\n";
    let load = ["--scenario", "x.toml", &url(&origin), "-c", "1"];
    let figures = Bench::new(&load).file("x.toml", scenario).figures();
    assert_eq!(figures.phase().label("first"), (0, 2));
    assert_eq!(origin.count(), 2, "the second step must not be sent");
    assert!(
        figures.phase().faults()[0].0.contains("$.id"),
        "{:?}",
        figures.phase().faults()
    );
}

#[test]
fn users_pause_between_their_steps() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let scenario = "[[flow]]\niterations = 2\npause = \"150ms\"\n[[flow.step]]\nurl = \"/a\"\n[[flow.step]]\nurl = \"/b\"\n";
    let load = ["--scenario", "x.toml", &url(&origin), "-c", "1"];
    let begun = Instant::now();
    let figures = Bench::new(&load).file("x.toml", scenario).figures();
    assert_eq!(figures.count("succeeded"), 4);
    assert!(begun.elapsed() >= Duration::from_millis(450));
    // Thinking is not the server's time.
    assert!(figures.phase().whole_ms("p50") < 150.0);
}

#[test]
fn flows_are_taken_by_weight() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let scenario = "[[flow]]\nweight = 3\niterations = 1\n[[flow.step]]\nurl = \"/buy\"\n\
                    [[flow]]\nweight = 1\niterations = 1\n[[flow.step]]\nurl = \"/look\"\n";
    let load = ["--scenario", "x.toml", &url(&origin), "-c", "40"];
    let figures = Bench::new(&load).file("x.toml", scenario).figures();
    let phase = figures.phase();
    let (buyers, lookers) = (phase.label("GET /buy").0, phase.label("GET /look").0);
    assert_eq!((buyers, lookers), (30, 10));
}

#[test]
fn redirections_are_followed_under_the_same_label() {
    let origin = Origin::start(|request, connection| {
        connection.send(match request.target.as_str() {
            "/start" => reply(302, &["Location: /next?a=1"], ""),
            "/next?a=1" => reply(301, &["Location: end"], ""),
            _ => reply(200, &[], "the end"),
        });
    });
    let scenario = "[[flow]]\niterations = 1\n[[flow.step]]\nname = \"page\"\nurl = \"/start\"\nfollow = 5\n\
                    expect = { body = \"the end\" }\n";
    let load = ["--scenario", "x.toml", &url(&origin), "-c", "1"];
    let figures = Bench::new(&load).file("x.toml", scenario).figures();
    assert_eq!(figures.phase().faults(), []);
    let targets: Vec<_> = origin
        .requests()
        .into_iter()
        .map(|request| request.target)
        .collect();
    assert_eq!(targets, ["/start", "/next?a=1", "/end"]);
}

/// A plan of two requests, a user each, ten loops; the listener is nothing that load needs.
fn plan(port: u16) -> String {
    let sampler = |name: &str, path: &str, inside: &str| {
        format!(
            r#"<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="{name}" enabled="true">
              <elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"/></elementProp>
              <stringProp name="HTTPSampler.domain">127.0.0.1</stringProp>
              <stringProp name="HTTPSampler.port">{port}</stringProp>
              <stringProp name="HTTPSampler.protocol">http</stringProp>
              <stringProp name="HTTPSampler.path">{path}</stringProp>
              <stringProp name="HTTPSampler.method">GET</stringProp>
            </HTTPSamplerProxy><hashTree>{inside}</hashTree>"#
        )
    };
    let extractor = r#"<RegexExtractor guiclass="RegexExtractorGui" testclass="RegexExtractor" testname="id" enabled="true">
        <stringProp name="RegexExtractor.useHeaders">false</stringProp><stringProp name="RegexExtractor.refname">id</stringProp>
        <stringProp name="RegexExtractor.regex">id=(\d+)</stringProp><stringProp name="RegexExtractor.template">$1$</stringProp>
        <stringProp name="RegexExtractor.default"></stringProp><stringProp name="RegexExtractor.match_number">1</stringProp>
        </RegexExtractor><hashTree/>"#;
    let script = r#"<JSR223Sampler guiclass="TestBeanGUI" testclass="JSR223Sampler" testname="My script" enabled="true">
        <stringProp name="script">log.info("x")</stringProp></JSR223Sampler><hashTree/>"#;
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6"><hashTree>
  <TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Small" enabled="true"/><hashTree>
  <ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="Visitors" enabled="true">
    <elementProp name="ThreadGroup.main_controller" elementType="LoopController">
      <boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">10</stringProp>
    </elementProp>
    <stringProp name="ThreadGroup.num_threads">2</stringProp><stringProp name="ThreadGroup.ramp_time">0</stringProp>
  </ThreadGroup><hashTree>{}{}{script}</hashTree>
  </hashTree></hashTree></jmeterTestPlan>"#,
        sampler("Start", "/start", extractor),
        sampler("Item", "/item/${id}", "")
    )
}

#[test]
fn a_jmeter_plan_is_imported_and_run_and_what_is_not_understood_is_named() {
    let origin = Origin::start(|request, connection| {
        let known = ["/start", "/item/42"].contains(&request.target.as_str());
        connection.send(reply(if known { 200 } else { 404 }, &[], "id=42"));
    });
    let imported =
        Bench::new(&["import", "plan.jmx"]).file("plan.jmx", plan(origin.address().port()));
    let imported = imported.run().ok();
    assert!(imported.stderr.contains("My script"), "{}", imported.stderr);
    let load = ["--scenario", "small.toml", "-c", "2"];
    let figures = Bench::new(&load)
        .file("small.toml", &imported.stdout)
        .figures();
    let phase = figures.phase();
    assert_eq!(phase.faults(), []);
    assert_eq!(
        (phase.label("Start"), phase.label("Item")),
        ((20, 0), (20, 0))
    );
}

#[test]
fn a_har_file_becomes_a_scenario_that_runs() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let har = format!(
        r#"{{"log":{{"version":"1.2","entries":[{{"startedDateTime":"2026-11-22T10:00:00Z","time":1,
        "request":{{"method":"GET","url":"{}page","httpVersion":"HTTP/1.1","headers":[],"queryString":[],"cookies":[],
        "headersSize":-1,"bodySize":-1}},"response":{{"status":200,"headers":[],"content":{{}}}}}}]}}}}"#,
        url(&origin)
    );
    let imported = Bench::new(&["import", "page.har", "--out", "page.toml"]).file("page.har", har);
    let scenario = imported.run().ok().file("page.toml");
    let load = ["--scenario", "page.toml", "-c", "1", "-n", "3"];
    let figures = Bench::new(&load).file("page.toml", scenario).figures();
    assert_eq!(figures.count("succeeded"), 3);
    assert_eq!(origin.last().target, "/page");
}

#[test]
fn what_is_no_plan_is_refused_by_name() {
    for content in ["<html></html>", "{}", "", "\u{0}\u{1}"] {
        let bench = Bench::new(&["import", "plan.jmx"]).file("plan.jmx", content);
        bench.run().with_status(1).saying(&["plan.jmx"]);
    }
}

/// An origin that answers after a while.
fn slow(time: Duration) -> Origin {
    Origin::start(move |_, connection| {
        std::thread::sleep(time);
        connection.send(reply(200, &[], "x"));
    })
}

#[test]
fn two_results_are_compared_and_a_slower_one_fails_when_asked() {
    // Side by side; what is beyond noise takes a few seconds to tell.
    let load = ["-d", "4s", "-c", "2", "--json", "r.json", "--live", "off"];
    let origins = [1, 12].map(|time| slow(Duration::from_millis(time)));
    let [before, after] = origins
        .each_ref()
        .map(|origin| Bench::new(&[&url(origin)]).args(&load).start())
        .map(|running| running.wait().ok().file("r.json"));
    let diff = |arguments: &[&str]| {
        Bench::new(&["diff"])
            .args(arguments)
            .file("before.json", &before)
            .file("after.json", &after)
            .run()
    };
    let same = diff(&["before.json", "before.json", "--fail-on-slower"]).ok();
    assert!(!same.stdout.is_empty());
    let slower = diff(&["before.json", "after.json"]).ok();
    assert!(slower.stdout.contains("ms"), "{}", slower.stdout);
    diff(&["before.json", "after.json", "--fail-on-slower"]).with_status(1);
    diff(&["before.json", "missing.json"])
        .with_status(1)
        .saying(&["missing.json"]);
    let json = diff(&["before.json", "after.json", "--format", "json"]).ok();
    assert!(json.json().is_object());
}
