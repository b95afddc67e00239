//! Rules for who may, and how much: networks, passwords, rates, CORS, maintenance.

use std::sync::Arc;

use forebay_tests::{Config, Event, Forebay, Origin, reply};

fn ok() -> Origin {
    Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "ok"))
}

fn with_site(origin: &Origin, text: &str) -> Forebay {
    let site = format!("[site.a]\npool = \"app\"\n{text}");
    Forebay::start(&Config::to(origin).append(&site))
}

#[test]
fn networks_are_let_in_or_not() {
    let origin = ok();
    let forebay = with_site(
        &origin,
        "[[site.a.path]]\nmatch = \"/in\"\nallow = [\"10.0.0.0/8\"]\n[[site.a.path]]\nmatch = \"/out\"\ndeny = [\"127.0.0.1\"]\n",
    );
    let mut client = forebay.client();
    assert_eq!(client.get("/in").status, 403);
    assert_eq!(client.get("/out").status, 403);
    // Nobody whom we do not trust says who he is.
    assert_eq!(
        client
            .get_with("/in", &["X-Forwarded-For: 10.0.0.1"])
            .status,
        403
    );
    assert_eq!(client.get("/").status, 200);
    assert_eq!(origin.count(), 1);
}

#[test]
fn no_method_and_no_upgrade_passes_the_rules_by() {
    let origin = ok();
    let forebay = with_site(
        &origin,
        "[[site.a.path]]\nmatch = \"/in\"\nallow = [\"10.0.0.0/8\"]\n",
    );
    for method in ["PURGE", "BAN", "GET", "POST", "OPTIONS", "X-OTHER"] {
        for fields in [&["Connection: upgrade", "Upgrade: x"][..], &[]] {
            let status = forebay.exchange(method, "/in", fields, "").status;
            assert_eq!(status, 403, "{method} {fields:?}");
        }
    }
    assert_eq!(origin.count(), 0);
}

#[test]
fn behind_a_trusted_proxy_the_client_is_whom_it_names() {
    let origin = ok();
    let config = Config::to(&origin).set("server", "trusted_proxies = [\"127.0.0.0/8\"]").append(
        "[site.a]\npool = \"app\"\nallow = [\"10.0.0.0/8\"]\nset_response_headers = { X-Client = \"{client}\" }\n",
    );
    let forebay = Forebay::start(&config);
    let ask = |who: &str| forebay.get_with("/", &[&format!("X-Forwarded-For: {who}")]);
    let answer = ask("6.6.6.6, 10.0.0.1");
    assert_eq!(
        (answer.status, answer.field("x-client")),
        (200, Some("10.0.0.1"))
    );
    assert_eq!(ask("10.0.0.1, 6.6.6.6").status, 403);
    assert_eq!(ask("10.0.0.1, 6.6.6.6, 127.0.0.2").status, 403);
}

#[test]
fn who_has_no_address_is_in_no_network_that_is_allowed() {
    let origin = ok();
    let directory = tempfile::tempdir().unwrap();
    let listen = format!("unix:{}", directory.path().join("socket").display());
    let config = Config::to(&origin).listen(&[&listen]).append(
        "[site.a]\npool = \"app\"\nallow = [\"10.0.0.0/8\"]\n\
         [[site.a.path]]\nmatch = \"/open\"\nallow = []\ndeny = [\"192.0.2.0/24\"]\n",
    );
    let forebay = Forebay::start(&config);
    assert_eq!(forebay.get("/").status, 403);
    assert_eq!(forebay.get("/open").status, 200);
    // Whoever may use the socket may say for whom.
    let of = |who: &str| forebay.get_with("/", &[&format!("X-Forwarded-For: {who}")]);
    assert_eq!((of("10.0.0.1").status, of("11.0.0.1").status), (200, 403));
}

#[test]
fn a_name_and_a_password_are_needed_also_for_what_is_cached() {
    let origin = ok();
    let directory = tempfile::tempdir().unwrap();
    let users = directory.path().join("users");
    // secret, as SHA-1 and as `openssl passwd -5` has it.
    std::fs::write(&users, "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\nbob:$5$abcdefgh$gruCpC7VkOTspMQTTSAR8mtlO9Upms.fwqE5y16JVM.\n").unwrap();
    let forebay = with_site(
        &origin,
        &format!(
            "store_set_cookie = false\nforce_ttl = \"1m\"\nauth = {{ realm = \"The \\\"staff\\\"\", users = {users:?} }}\n"
        ),
    );
    let mut client = forebay.client();
    let asked = client.get("/");
    assert_eq!(asked.status, 401);
    let challenge = "Basic realm=\"The \\\"staff\\\"\", charset=\"UTF-8\"";
    assert_eq!(asked.field("www-authenticate"), Some(challenge));
    let mut with = |credentials: &str| {
        client
            .get_with("/", &[&format!("Authorization: {credentials}")])
            .status
    };
    // ann:secret, bob:secret
    for good in [
        "Basic YW5uOnNlY3JldA==",
        "basic Ym9iOnNlY3JldA==",
        "Basic YW5uOnNlY3JldA==",
    ] {
        assert_eq!(with(good), 200, "{good}");
    }
    // ann:Secret, eve:secret, junk
    for bad in [
        "Basic YW5uOlNlY3JldA==",
        "Basic ZXZlOnNlY3JldA==",
        "Basic x",
        "Bearer YW5uOnNlY3JldA==",
        "",
    ] {
        assert_eq!(with(bad), 401, "{bad}");
    }
}

#[test]
fn a_rate_is_kept_and_says_when_to_come_again() {
    let origin = ok();
    let forebay = with_site(
        &origin,
        "[[site.a.path]]\nmatch = \"/slow\"\nrequest_rate = \"3/h\"\n",
    );
    let mut client = forebay.client();
    for _ in 0..3 {
        assert_eq!(client.get("/slow").status, 200);
    }
    let late = client.get("/slow");
    assert_eq!(late.status, 429);
    assert!(
        late.number("retry-after")
            .is_some_and(|wait| (1_100..=1_200).contains(&wait)),
        "{late:?}"
    );
    // On the same connection everything else goes on.
    assert_eq!(client.get("/fast").status, 200);
    // A reload does not forget.
    let text = std::fs::read_to_string(forebay.config_file()).unwrap();
    forebay.write_config(&format!("{text}# changed\n"));
    assert!(forebay.admin("POST", "/reload").status < 300);
    assert_eq!(forebay.get("/slow").status, 429);
}

#[test]
fn a_rate_of_the_site_is_one_for_all_of_its_paths() {
    let origin = ok();
    let forebay = with_site(
        &origin,
        "request_rate = \"2/h\"\n\
         [[site.a.path]]\nmatch = \"/a\"\ndefault_ttl = \"1m\"\n\
         [[site.a.path]]\nmatch = \"/b\"\ndefault_ttl = \"1m\"\n\
         [[site.a.path]]\nmatch = \"/own\"\nrequest_rate = \"2/h\"\n\
         [[site.a.path]]\nmatch = \"/free\"\nrequest_rate = \"off\"\n",
    );
    let mut client = forebay.client();
    assert_eq!([client.get("/a").status, client.get("/b").status], [200; 2]);
    for path in ["/a", "/b", "/"] {
        assert_eq!(client.get(path).status, 429, "{path}");
    }
    for status in [200, 200, 429] {
        assert_eq!(client.get("/own").status, status);
        assert_eq!(client.get("/free").status, 200);
    }
}

#[test]
fn one_client_has_so_many_requests_at_once() {
    let (came, go) = (Arc::new(Event::new("came")), Arc::new(Event::new("go")));
    let (tell, wait) = (came.clone(), go.clone());
    let origin = Origin::start(move |_, connection| {
        tell.set();
        wait.wait();
        connection.send(reply(200, &["Cache-Control: no-store"], "ok"));
    });
    let forebay = with_site(&origin, "client_requests = 1\n");
    let mut first = forebay.client();
    first.send_request("GET", "/a", &[], "");
    came.wait();
    let mut second = forebay.client();
    let refused = second.get("/b");
    assert_eq!(
        (refused.status, refused.number("retry-after")),
        (429, Some(1))
    );
    go.set();
    assert_eq!(first.read().status, 200);
    assert_eq!(second.get("/b").status, 200);
}

#[test]
fn scripts_of_the_origins_that_may_read_cached_answers_each_with_its_own_name() {
    let origin = Origin::fixed(reply(
        200,
        &[
            "Cache-Control: max-age=60",
            "Access-Control-Allow-Origin: https://wrong.example",
        ],
        "ok",
    ));
    let forebay = with_site(
        &origin,
        "[site.a.cors]\norigins = [\"https://a.example\", \"https://*.b.example\"]\nmethods = [\"GET\", \"PUT\"]\nheaders = [\"X-A\"]\ncredentials = true\n",
    );
    let mut client = forebay.client();
    for (origin, allowed) in [
        ("https://a.example", true),
        ("https://x.b.example", true),
        ("https://evil.example", false),
        ("https://evil.example/.b.example", false),
    ] {
        let answer = client.get_with("/", &[&format!("Origin: {origin}")]);
        assert_eq!(
            answer.field("access-control-allow-origin"),
            allowed.then_some(origin)
        );
        assert_eq!(answer.field("vary"), Some("Origin"));
    }
    assert_eq!(client.get("/").field("access-control-allow-origin"), None);
    assert_eq!(origin.count(), 1);
    let ask = |method: &str| {
        let method = format!("Access-Control-Request-Method: {method}");
        let fields = [
            "Origin: https://a.example",
            &method,
            "Access-Control-Request-Headers: x-a",
        ];
        forebay.exchange("OPTIONS", "/", &fields, "")
    };
    let preflight = ask("PUT");
    assert_eq!(preflight.status, 204);
    assert_eq!(
        preflight.field("access-control-allow-methods"),
        Some("GET, PUT")
    );
    assert_eq!(preflight.field("access-control-allow-headers"), Some("X-A"));
    assert_eq!(
        preflight.field("access-control-allow-credentials"),
        Some("true")
    );
    assert_eq!(ask("DELETE").field("access-control-allow-origin"), None);
    assert_eq!(origin.count(), 1);
}

#[test]
fn maintenance_is_a_file_and_its_people_are_let_in() {
    let origin = ok();
    let directory = tempfile::tempdir().unwrap();
    let (switch, page) = (
        directory.path().join("on"),
        directory.path().join("page.html"),
    );
    std::fs::write(&page, "<p>soon</p>").unwrap();
    std::fs::write(&switch, "").unwrap();
    let text = format!(
        "maintenance = {{ while_exists = {switch:?}, page = {page:?}, retry_after = \"5m\" }}\n\
         [[site.a.path]]\nmatch = \"/office\"\nmaintenance = {{ while_exists = {switch:?}, allow = [\"127.0.0.0/8\"] }}\n",
    );
    let forebay = with_site(&origin, &text);
    let mut client = forebay.client();
    let closed = client.get("/");
    assert_eq!(
        (closed.status, closed.text().as_str()),
        (503, "<p>soon</p>")
    );
    assert_eq!(closed.number("retry-after"), Some(300));
    assert_eq!(client.get("/office").status, 200);
    std::fs::remove_file(&switch).unwrap();
    // It is looked for once a second.
    let deadline = std::time::Instant::now() + forebay_tests::DEADLINE;
    while client.get("/").status == 503 {
        assert!(
            std::time::Instant::now() < deadline,
            "maintenance does not end"
        );
        std::thread::yield_now();
    }
}
