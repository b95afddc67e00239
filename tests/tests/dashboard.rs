//! The dashboard, looked at and used in a real browser.

mod browser;

use std::process::Command;

use forebay_tests::{Config, Forebay, Origin, program, reply};

use browser::Browser;

fn origin() -> Origin {
    Origin::start(|request, connection| {
        let private = request.target.contains("private");
        let rule = if private {
            "Cache-Control: no-store"
        } else {
            "Cache-Control: max-age=600"
        };
        let tag = "Surrogate-Key: product";
        connection.send(reply(200, &[rule, tag], &"x".repeat(2_000)));
    })
}

fn base(forebay: &Forebay) -> String {
    format!("http://{}/", forebay.admin.as_ref().unwrap())
}

/// The page of a view, when it is live.
fn open(forebay: &Forebay, view: &str) -> Browser {
    let mut browser = Browser::start(1280, 900);
    browser.open(&format!("{}#/{view}", base(forebay)));
    browser.wait_for_text("#live", "live");
    browser
}

/// Nothing was complained about, and nothing came from elsewhere.
#[track_caller]
fn assert_clean(browser: &Browser, forebay: &Forebay) {
    assert_eq!(browser.complaints, [""; 0]);
    assert!(browser.requested.len() > 10, "{:?}", browser.requested);
    for url in &browser.requested {
        assert!(url.starts_with(&base(forebay)), "{url} is elsewhere");
    }
}

#[test]
fn figures_of_the_traffic_appear_and_nothing_comes_from_elsewhere() {
    let (origin, directory) = (origin(), tempfile::tempdir().unwrap());
    let path = format!("path = {:?}", directory.path().join("disk"));
    let config = Config::to(&origin).disk(&path).disk("size = \"256MiB\"");
    let forebay = Forebay::start(&config);
    for target in ["/a", "/a", "/a", "/private"] {
        forebay.get(target);
    }
    let mut browser = open(&forebay, "overview");
    browser.wait_for_text("#tiles", "4 in all");
    browser.wait_for_text("#tiles", "50.0 % since the start");
    browser.wait_for_text("#origins", &origin.server());
    browser.wait_for_text("#origins", "up");
    browser.wait_for_text("#reasons", "nothing was stored under the URL");
    browser.wait_for_text("#room", "of 32.0 MiB");
    browser.wait_for_text("#room", &directory.path().display().to_string());
    // Each chart has its lines, and says in words what they show.
    for target in ["/a", "/b", "/private"] {
        forebay.get(target);
    }
    browser.wait_for("document.querySelectorAll('.plot .series').length >= 9");
    browser.wait_for(
        "[...document.querySelectorAll('.plot')].every((plot) => plot.ariaLabel.includes('at most'))",
    );
    browser.click("#tab-config");
    browser.wait_for_text("#config-set", "pool.app.servers");
    browser.wait_for_text("#config-set", "32MiB");
    browser.wait_for_text("#config-defaults", "cache.default_ttl");
    assert_clean(&browser, &forebay);
}

#[test]
fn purge_through_the_form_makes_the_next_request_a_miss() {
    let origin = origin();
    let forebay = Forebay::before(&origin);
    forebay.get("/a");
    assert!(forebay.get("/a").is_hit());
    let mut browser = open(&forebay, "objects");
    // From the list to what is known of the object, and from there to the form.
    browser.wait_for_text("#hottest", "test.example/a");
    browser.click("#hottest button");
    browser.wait_for_text("#found", "fresh");
    browser.click("#found button");
    browser.wait_for("document.querySelector('#value').value.includes('test.example/a')");
    browser.click("#order button");
    browser.wait_for_text("#done", "test.example/a");
    assert!(!forebay.get("/a").is_hit());
    for (kind, value) in [
        ("tags", "product other"),
        ("prefix", "test.example/a"),
        ("regex", "^/a$"),
        ("ban", "obj.status == 200"),
    ] {
        assert!(forebay.get("/a").is_hit(), "before {kind}");
        browser.fill("#kind", kind);
        browser.fill("#value", value);
        let done = browser.value("document.querySelectorAll('#done li').length");
        browser.click("#order button");
        browser.wait_for(&format!(
            "document.querySelectorAll('#done li').length > {done}"
        ));
        assert!(!forebay.get("/a").is_hit(), "after {kind}");
    }
    // A ban is forgotten as soon as every object was compared with it, which may be before the
    // page asks for the list: it is ordered again until the list has it.
    browser.wait_for(
        "document.querySelector('#order button').click(), \
         document.querySelector('#bans').innerText.includes('status == 200')",
    );
    assert_clean(&browser, &forebay);
}

#[test]
fn purging_everything_is_asked_about_first() {
    let origin = origin();
    let forebay = Forebay::before(&origin);
    forebay.get("/a");
    let mut browser = open(&forebay, "purge");
    browser.fill("#kind", "all");
    browser.click("#order button");
    browser.wait_for("document.querySelector('#confirm').open");
    browser.wait_for_text("#confirm-text", "1 stored objects");
    browser.click("#confirm button[value=no]");
    browser.wait_for("!document.querySelector('#confirm').open");
    assert!(forebay.get("/a").is_hit());
    browser.click("#order button");
    browser.click("#confirm button[value=yes]");
    browser.wait_for("document.querySelectorAll('#done li').length === 1");
    assert!(!forebay.get("/a").is_hit());
    assert_clean(&browser, &forebay);
}

#[test]
fn exchanges_appear_in_the_log_as_the_filter_says() {
    let origin = origin();
    let forebay = Forebay::before(&origin);
    let mut browser = open(&forebay, "log");
    browser.wait_for_text("#log-state", "Following");
    forebay.get("/seen?a=b");
    browser.wait_for_text("#lines", "GET test.example/seen?a=b");
    browser.fill("#filter [name=cache]", "hit");
    browser.click("#filter [type=submit]");
    browser.wait_for_text("#log-state", "Following");
    forebay.get("/other");
    forebay.get("/seen?a=b");
    browser.wait_for_text("#lines", "/seen?a=b");
    let text = browser.value("document.querySelector('#lines').innerText");
    assert!(!text.as_str().unwrap().contains("/other"), "{text}");
    assert_clean(&browser, &forebay);
    browser.fill("#filter [name=status]", "nonsense");
    browser.click("#filter [type=submit]");
    browser.wait_for_text("#log-state", "`status` must be");
}

#[test]
fn nothing_scrolls_sideways_on_a_phone() {
    let origin = origin();
    let forebay = Forebay::before(&origin);
    let long = format!("/{}?{}", "segment-of-a-path/".repeat(20), "y".repeat(300));
    for _ in 0..3 {
        forebay.get(&long);
    }
    forebay.exchange(
        "GET",
        &long,
        &[&format!("Host: {}.example", "h".repeat(60))],
        "",
    );
    let mut browser = open(&forebay, "overview");
    browser.resize(360, 780);
    for (view, shown) in [
        ("overview", "#origins tbody tr"),
        ("objects", "#hottest tbody tr"),
        ("purge", "#order"),
        ("log", "#filter"),
        ("config", "#config-set tbody tr"),
    ] {
        browser.click(&format!("#tab-{view}"));
        browser.wait_for(&format!(
            "document.querySelector({shown:?}).offsetHeight > 0"
        ));
        if view == "objects" {
            browser.click("#hottest button");
            browser.wait_for_text("#found", "Variant 1");
        }
        if view == "log" {
            browser.wait_for_text("#log-state", "Following");
            forebay.get(&long);
            browser.wait_for("document.querySelector('#lines tbody tr').offsetHeight > 0");
        }
        let width = browser.value("document.documentElement.scrollWidth");
        assert!(width.as_u64() <= Some(360), "{view} is {width} wide");
    }
    assert_clean(&browser, &forebay);
}

#[test]
fn a_token_is_asked_for_once() {
    let origin = origin();
    let forebay = Forebay::start(
        &Config::to(&origin).set("admin", "admin_tokens = [\"the-right-one-of-all\"]"),
    );
    let mut browser = Browser::start(1280, 900);
    browser.open(&base(&forebay));
    browser.wait_for("document.querySelector('#ask-token').open");
    browser.fill("#token", "a-wrong-one");
    browser.click("#token-form button");
    browser.wait_for_text("#token-wrong", "does not know this token");
    browser.fill("#token", "the-right-one-of-all");
    browser.click("#token-form button");
    browser.wait_for_text("#live", "live");
    browser.wait_for_text("#origins", &origin.server());
    // It is kept for the tab, and for the tab only.
    browser.value("window.before = true");
    browser.value("location.reload()");
    // The page from before is live as well.
    browser.wait_for("!window.before && document.querySelector('#ask-token')");
    browser.wait_for_text("#live", "live");
    assert_eq!(browser.value("localStorage.length"), 0);
    assert_eq!(
        browser.value("document.querySelector('#ask-token').open"),
        false
    );
}

#[test]
fn a_server_that_goes_away_is_said_and_its_return_too() {
    let origin = origin();
    let forebay = Forebay::before(&origin);
    let address = format!(
        "address = {:?}",
        forebay.admin.as_ref().unwrap().to_string()
    );
    let mut browser = open(&forebay, "overview");
    drop(forebay);
    browser.wait_for_text("#notice", "does not answer since");
    browser.wait_for_text("#live", "no answer");
    let forebay = Forebay::start(&Config::to(&origin).set("admin", &address));
    browser.wait_for_text("#live", "live");
    browser.wait_for("document.querySelector('#notice').hidden");
    // Figures of the new process, not of the old one.
    forebay.get("/a");
    browser.wait_for_text("#tiles", "1 in all");
}

#[test]
fn without_traffic_disk_or_pool_the_page_says_so() {
    let origin = origin();
    let forebay = Forebay::before(&origin);
    let mut browser = open(&forebay, "overview");
    browser.wait_for_text("#charts", "no requests in this time");
    browser.wait_for_text("#room", "There is no cache on disk");
    browser.click("#tab-objects");
    browser.wait_for_text("#hottest", "Nothing is stored.");
    browser.fill(
        "#look-url",
        "http://test.example/<img src=x onerror=alert(1)>",
    );
    browser.click("#look button");
    browser.wait_for("document.querySelector('#found').children.length > 0");
    assert_eq!(
        browser.value("document.querySelectorAll('#found img').length"),
        0
    );
    // A pool is asked for by the configuration, but none is needed by the page.
    let rows = "import('/dashboard/state.js').then(({ State }) => { new State().update({
        status: { pid: 1, pools: [], disk: null, memory: { used_bytes: 0, limit_bytes: 0, resident_bytes: 0 }, objects: 0 },
        figures: { counters: {} } }); return document.querySelector('#origins').innerText; })";
    let text = browser.value(rows);
    assert!(
        text.as_str().unwrap().contains("No pool is configured"),
        "{text}"
    );
}

#[test]
fn everything_can_be_reached_with_the_keyboard() {
    let origin = origin();
    let forebay = Forebay::before(&origin);
    for _ in 0..3 {
        forebay.get("/a");
    }
    let mut browser = open(&forebay, "overview");
    browser.wait_for("document.querySelectorAll('.plot .series').length >= 5");
    browser.value("document.querySelector('#tab-overview').focus()");
    browser.key("ArrowRight");
    browser.wait_for(
        "document.activeElement.id === 'tab-objects' && !document.querySelector('#objects').hidden",
    );
    browser.key("Home");
    browser.wait_for("document.activeElement.id === 'tab-overview'");
    browser.value("document.querySelector('.plot').focus()");
    browser.key("ArrowLeft");
    browser.wait_for(
        "document.querySelector('.chart [aria-live]').textContent.includes('from the cache')",
    );
    browser.wait_for("document.querySelector('.plot .cursor') !== null");
    let nameless = browser.value(
        "[...document.querySelectorAll('input, select, button')].filter((one) =>
           !(one.labels?.length || one.textContent.trim() || one.ariaLabel)).map((one) => one.outerHTML)",
    );
    assert_eq!(nameless, serde_json::json!([]));
}

#[test]
fn rows_of_the_history_are_put_together_without_gap_or_double() {
    let origin = origin();
    let forebay = Forebay::before(&origin);
    let mut browser = open(&forebay, "overview");
    let found = browser.value(
        "import('/dashboard/history.js').then(({ History }) => {
           const history = new History();
           const rows = (until, requests) => history.add({ until, samples: requests.length, columns: { requests, hits: requests, misses: requests.map(() => 0), passes: requests.map(() => 0) } });
           rows(104, [1, 2, 3, 4]);
           rows(106, [4, 5, 6]);
           rows(106, [5, 6]);
           const joined = history.columns.requests.join();
           const points = history.points(4, 2).points.map((point) => [point.at, point.requests, point.ratio]);
           rows(500, [9]);
           return [joined, points, history.columns.requests.join()];
         })",
    );
    // Points end where their two seconds do: 103 is the last of 102 and 103.
    let expected = serde_json::json!([
        "1,2,3,4,5,6",
        [[103, 3, 1], [105, 4.5, 1], [106, 6, 1]],
        "9"
    ]);
    assert_eq!(found, expected);
}

#[test]
fn top_without_a_terminal_prints_one_frame() {
    let origin = origin();
    let forebay = Forebay::before(&origin);
    for _ in 0..3 {
        forebay.get("/often");
    }
    forebay.wait_for_metric("forebay_requests_total", 3.0);
    let output = Command::new(program::path())
        .args([
            "top",
            "--admin",
            &forebay.admin.as_ref().unwrap().to_string(),
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for words in [
        "test.example/often",
        "of 32.0 MiB",
        &origin.server(),
        "nothing was stored under the URL",
        "66.7 % since the start",
    ] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "control sequences in\n{text}");
}
