//! Rules for addresses: which rule holds, rewriting, redirections, answers without an origin.

use forebay_tests::{Config, Forebay, Origin, reply};

/// An origin that says what it was asked for.
fn echo() -> Origin {
    Origin::start(|request, connection| {
        let body = format!("{} {}", request.method, request.target);
        connection.send(reply(200, &["Cache-Control: max-age=60"], &body));
    })
}

fn with_site(origin: &Origin, text: &str) -> Forebay {
    let site = format!("[site.a]\npool = \"app\"\n{text}");
    Forebay::start(&Config::to(origin).append(&site))
}

#[test]
fn the_first_rule_of_which_everything_holds_decides() {
    let origin = echo();
    let rules = [
        ("match = \"/both/*\"\nmethods = [\"POST\"]", "post"),
        (
            "match = \"/both/*\"\nheaders = { X-Kind = \"b*\" }",
            "field",
        ),
        ("match = \"/both/*\"\nquery = { preview = \"*\" }", "query"),
        ("regex = \"^/item/[0-9]+$\"", "regex"),
        (
            "match = \"/net/\"\nclients = [\"192.0.2.0/24\"]",
            "elsewhere",
        ),
        ("match = \"/net/\"\nclients = [\"127.0.0.0/8\"]", "here"),
    ];
    let text: String = rules
        .iter()
        .map(|(when, body)| format!("[[site.a.path]]\n{when}\nrespond = {{ body = \"{body}\" }}\n"))
        .collect();
    let forebay = with_site(&origin, &text);
    let mut client = forebay.client();
    let mut ask = |method: &str, target: &str, fields: &[&str]| {
        client.exchange(method, target, fields, "").text()
    };
    assert_eq!(ask("POST", "/both/1", &["Content-Length: 0"]), "post");
    assert_eq!(ask("GET", "/both/1", &["X-Kind: bee"]), "field");
    assert_eq!(ask("GET", "/both/1?a=1&preview=", &[]), "query");
    assert_eq!(ask("GET", "/both/1?a=1", &["X-Kind: c"]), "GET /both/1?a=1");
    assert_eq!(ask("GET", "/item/77", &[]), "regex");
    assert_eq!(ask("GET", "/item/77x", &[]), "GET /item/77x");
    assert_eq!(ask("GET", "/net/x", &[]), "here");
}

#[test]
fn a_rule_is_not_passed_by_with_another_spelling_of_its_path() {
    let origin = echo();
    let forebay = with_site(
        &origin,
        "[[site.a.path]]\nmatch = \"/admin/\"\ndeny = [\"127.0.0.0/8\"]\n",
    );
    for target in [
        "/admin/x",
        "/%61dmin/x",
        "//admin/x",
        "/a/../admin/x",
        "/./admin/x",
        "/a/%2e%2e/admin/x",
        "/a%2f..%2fadmin%2fx",
        "http://test.example/admin/",
    ] {
        assert_eq!(forebay.get(target).status, 403, "{target}");
    }
    assert_eq!(origin.count(), 0);
    assert_eq!(forebay.get("/administration").status, 200);
}

#[test]
fn what_is_rewritten_is_looked_up_and_sent() {
    let origin = echo();
    let forebay = with_site(
        &origin,
        "rewrite = [{ match = \"^/user/(?<id>[0-9]+)$\", to = \"/u?id={id}\" }, { match = \"^/old/(.*)$\", to = \"/new/{1}\" }]\n",
    );
    let mut client = forebay.client();
    assert_eq!(client.get("/user/7?x=1").text(), "GET /u?id=7");
    assert_eq!(client.get("/old/a%20b?x=1").text(), "GET /new/a%20b?x=1");
    assert_eq!(client.get("/other").text(), "GET /other");
    // One object for both names.
    assert!(client.get("/new/a%20b?x=1").is_hit());
    assert!(client.get("/old/a%20b?x=1").is_hit());
    assert!(client.exchange("HEAD", "/old/a%20b?x=1", &[], "").is_hit());
}

#[test]
fn redirections_keep_the_connection_and_name_where_to_go() {
    let origin = echo();
    let forebay = with_site(
        &origin,
        "redirect = [{ match = \"^/gone/(.*)$\", to = \"https://new.example/{1}?{query}\", status = 308 }, { match = \"^/plain$\", to = \"{scheme}://www.{host}{uri}\" }]\n",
    );
    let mut client = forebay.client();
    let sent = client.get("/gone/a/b?c=d");
    assert_eq!(
        (sent.status, sent.field("location")),
        (308, Some("https://new.example/a/b?c=d"))
    );
    let sent = client.exchange("HEAD", "/plain", &[], "");
    assert_eq!(
        (sent.status, sent.field("location")),
        (302, Some("http://www.test.example/plain"))
    );
    assert_eq!(client.get("/on").text(), "GET /on");
    assert_eq!(origin.count(), 1);
}

#[test]
fn no_path_gets_a_line_of_its_own_into_a_field() {
    let origin = echo();
    let forebay = with_site(
        &origin,
        "set_response_headers = { X-Path = \"{path}\" }\n\
         redirect = [{ match = \"(?s)^/r/(.*)$\", to = \"/n/{1}\" }]\n\
         [[site.a.path]]\nregex = \"(?s)^/g/(.*)$\"\nset_response_headers = { X-Group = \"{1}\" }\nset_request_headers = { X-Group = \"{1}\" }\n",
    );
    let hostile = "%0d%0aSet-Cookie:%20a=b%0d%0a%0d%0a<html>%00";
    let mut client = forebay.client();
    let sent = client.get(&format!("/r/x{hostile}"));
    assert_eq!(sent.status, 302);
    assert!(sent.field("set-cookie").is_none(), "{sent:?}");
    let location = sent.field("location").unwrap();
    assert!(
        location.starts_with("/n/x%0D%0ASet-Cookie:%20a=b"),
        "{location}"
    );
    let served = client.get(&format!("/g/x{hostile}"));
    assert!(served.field("set-cookie").is_none(), "{served:?}");
    assert!(served.field("x-group").unwrap().contains("%0D%0A"));
    let seen = origin.last();
    assert!(seen.field("set-cookie").is_none(), "{seen:?}");
    assert!(seen.field("x-group").unwrap().contains("%0D%0A"));
}

#[test]
fn a_redirection_leads_to_no_host_of_the_path() {
    let origin = echo();
    let forebay = with_site(
        &origin,
        "redirect = [{ match = \"^/go(.*)$\", to = \"{1}\" }]\n",
    );
    for target in [
        "/go///evil.example",
        "/gohttps://evil.example",
        "/gojavascript:alert(1)",
        "/go//evil.example",
        "/go/%2Fevil.example",
        "/go%2f%2fevil.example",
        "/go/%5cevil.example",
    ] {
        let location = forebay.get(target).field("location").unwrap().to_owned();
        assert!(
            location.starts_with('/') && !location.starts_with("//"),
            "{target}: {location}"
        );
        assert!(!location.starts_with("/\\"), "{target}: {location}");
    }
    let slash = with_site(
        &origin,
        "redirect = [{ match = \"^.*[^/]$\", to = \"{path}/\" }]\n",
    );
    let location = slash
        .get("///evil.example")
        .field("location")
        .unwrap()
        .to_owned();
    assert_eq!(location, "/evil.example/");
}

#[test]
fn what_some_clients_may_have_is_not_found_by_others() {
    let public = Origin::start(|_, connection| {
        connection.send(reply(200, &["Cache-Control: max-age=60"], "public"))
    });
    let secret = Origin::start(|_, connection| {
        connection.send(reply(200, &["Cache-Control: max-age=60"], "secret"))
    });
    let config = Config::to(&public)
        .set("server", "trusted_proxies = [\"127.0.0.0/8\"]")
        .append(&format!(
            "[pool.inner]\nservers = [{:?}]\n[site.a]\npool = \"app\"\n\
             [[site.a.path]]\nmatch = \"/in/\"\nallow = [\"10.0.0.0/8\"]\npool = \"inner\"\n\
             rewrite = [{{ match = \"^/in/(.*)\", to = \"/{{1}}\" }}]\n\
             [[site.a.path]]\nclients = [\"10.0.0.0/8\"]\nmatch = \"/page\"\npool = \"inner\"\n",
            secret.server()
        ));
    let forebay = Forebay::start(&config);
    let insider = ["X-Forwarded-For: 10.0.0.1"];
    for target in ["/in/users", "/page"] {
        for _ in 0..2 {
            assert_eq!(forebay.get_with(target, &insider).text(), "secret");
        }
    }
    assert_eq!(secret.count(), 2, "kept for those who may have it");
    for target in ["/users", "/page"] {
        assert_eq!(forebay.get(target).text(), "public", "{target}");
    }
    // A purge of the URL is for all that is kept under it.
    let purge = r#"{"url": "http://test.example/page"}"#;
    assert_eq!(
        forebay.admin_json("POST", "/api/v1/purge", purge).status,
        200
    );
    assert_eq!(forebay.get_with("/page", &insider).text(), "secret");
    assert_eq!(secret.count(), 3);
}

#[test]
fn an_answer_of_the_operators_needs_no_origin() {
    let config = Config::new(&["127.0.0.1:9"]).append(
        "[site.a]\npool = \"app\"\n[[site.a.path]]\nmatch = \"/ping\"\nrespond = { body = \"pong {client}\\n\" }\n\
         [[site.a.path]]\nmatch = \"/page\"\nrespond = { status = 410, body = \"<p>{query.q}</p>\", type = \"text/html\" }\n\
         [[site.a.path]]\nmatch = \"/none\"\nrespond = { status = 204 }\n",
    );
    let forebay = Forebay::start(&config);
    let mut client = forebay.client();
    let pong = client.get("/ping");
    assert_eq!(
        (pong.status, pong.text().as_str()),
        (200, "pong 127.0.0.1\n")
    );
    assert_eq!(
        pong.field("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(
        client
            .exchange("HEAD", "/ping", &[], "")
            .number("content-length"),
        Some(15)
    );
    let page = client.get("/page?q=<script>");
    assert_eq!(
        (page.status, page.text().as_str()),
        (410, "<p>&lt;script&gt;</p>")
    );
    let none = client.get("/none");
    assert_eq!((none.status, none.field("content-length")), (204, None));
    assert_eq!(client.exchange("POST", "/ping", &[], "body").status, 200);
}
