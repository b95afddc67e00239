//! TLS to origins, and the PROXY protocol in both directions.

use std::path::PathBuf;

use forebay_tests::site::self_signed;
use forebay_tests::{Config, Connection, Forebay, Origin, Request, Site, SiteConfig, reply};
use tempfile::TempDir;

/// A real nginx with TLS, whose certificate is for `names`.
struct Secure {
    site: Site,
    certificate: PathBuf,
    _directory: TempDir,
}

fn secure(names: &[&str]) -> Secure {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = self_signed(directory.path(), names);
    let site = Site::with(&SiteConfig {
        server:
            "location / { return 200 \"$ssl_server_name $ssl_protocol $connection $http_host\"; }"
                .into(),
        tls: Some((certificate.clone(), key)),
        ..SiteConfig::default()
    });
    Secure {
        site,
        certificate,
        _directory: directory,
    }
}

impl Secure {
    fn config(&self, tls: &[&str]) -> Config {
        let server = format!("127.0.0.1:{}", self.site.tls_port());
        let config = Config::new(&[&server]);
        tls.iter()
            .fold(config, |config, line| config.set("pool.app.tls", line))
    }

    fn authorities(&self) -> String {
        format!("authorities = {:?}", self.certificate.display().to_string())
    }
}

#[test]
fn origin_is_reached_over_tls_and_its_name_is_verified() {
    let origin = secure(&["shop.example"]);
    let tls = [&*origin.authorities(), "name = \"shop.example\""];
    let forebay = Forebay::start(&origin.config(&tls));
    let response = forebay.get("/");
    assert_eq!(response.status, 200);
    assert!(
        response.text().starts_with("shop.example TLSv1."),
        "{}",
        response.text()
    );
}

#[test]
fn connection_over_tls_is_used_again() {
    let origin = secure(&["shop.example"]);
    let tls = [&*origin.authorities(), "name = \"shop.example\""];
    let forebay = Forebay::start(&origin.config(&tls));
    let connection = |text: String| text.split(' ').nth(2).unwrap().to_owned();
    let first = connection(forebay.get("/1").text());
    for n in 2..10 {
        assert_eq!(connection(forebay.get(&format!("/{n}")).text()), first);
    }
}

#[test]
fn certificate_for_another_name_is_refused() {
    let origin = secure(&["other.example"]);
    let tls = [&*origin.authorities(), "name = \"shop.example\""];
    let forebay = Forebay::start(&origin.config(&tls));
    assert_eq!(forebay.get("/").status, 502);
    forebay.wait_for_output("no TLS with the server");
}

#[test]
fn certificate_that_nobody_signed_is_refused_unless_that_is_said() {
    let origin = secure(&["shop.example"]);
    let strict = Forebay::start(&origin.config(&["name = \"shop.example\""]));
    assert_eq!(strict.get("/").status, 502);
    let lax = Forebay::start(&origin.config(&["verify = false", "name = \"shop.example\""]));
    assert_eq!(lax.get("/").status, 200);
}

#[test]
fn origin_is_shown_the_certificate_of_the_pool() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = self_signed(directory.path(), &["forebay.example"]);
    let own = tempfile::tempdir().unwrap();
    let site = Site::with(&SiteConfig {
        server: format!(
            "ssl_verify_client on; ssl_client_certificate {}; location / {{ return 200 \"$ssl_client_s_dn\"; }}",
            certificate.display()
        ),
        tls: Some(self_signed(own.path(), &["shop.example"])),
        ..SiteConfig::default()
    });
    let config = Config::new(&[&format!("127.0.0.1:{}", site.tls_port())])
        .set("pool.app.tls", "verify = false")
        .set("pool.app.tls", "name = \"shop.example\"");
    assert_eq!(
        Forebay::start(&config).get("/").status,
        400,
        "none is shown"
    );
    let shown = config
        .set("pool.app.tls", &format!("certificate = {certificate:?}"))
        .set("pool.app.tls", &format!("key = {key:?}"));
    assert_eq!(Forebay::start(&shown).get("/").status, 200);
}

#[test]
fn bodies_of_any_size_pass_through_tls_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = self_signed(directory.path(), &["shop.example"]);
    let behind = Origin::start(|request: &Request, connection: &mut Connection| {
        connection.send(reply(200, &[], &request.body.len().to_string()));
    });
    let site = Site::with(&SiteConfig {
        server: format!(
            "client_max_body_size 0; location /up {{ proxy_http_version 1.1; proxy_pass http://{}; }} location / {{ root {}; }}",
            behind.server(),
            directory.path().display()
        ),
        tls: Some((certificate, key)),
        ..SiteConfig::default()
    });
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(directory.path().join("large.bin"), &body).unwrap();
    let config = Config::new(&[&format!("127.0.0.1:{}", site.tls_port())])
        .set("pool.app.tls", "verify = false")
        .set("pool.app.tls", "name = \"shop.example\"");
    let forebay = Forebay::start(&config);
    let down = forebay.get("/large.bin");
    assert!(down.status == 200 && down.body == body);
    let up = forebay.exchange("POST", "/up", &[], &"x".repeat(2_000_000));
    assert_eq!(up.text(), "2000000");
}

#[test]
fn origin_learns_the_client_by_the_proxy_protocol() {
    for version in ["v1", "v2"] {
        let origin = Origin::raw(|connection: &mut Connection| {
            let first = connection.read_bytes(16).unwrap();
            let said = if first.starts_with(b"PROXY TCP4") {
                "v1"
            } else {
                "v2"
            };
            if said == "v1" {
                // The rest of the line.
                while connection.read_bytes(1).unwrap() != b"\n" {}
            } else {
                connection.read_bytes(12).unwrap();
            }
            while connection.request().is_ok() {
                connection.send(reply(200, &["Cache-Control: no-store"], said));
            }
        });
        let set = format!("proxy_protocol = {version:?}");
        let forebay = Forebay::start(&Config::to(&origin).set("pool.app", &set));
        for n in 1..=3 {
            assert_eq!(forebay.get(&format!("/{n}")).text(), version);
            assert_eq!(
                origin.connections(),
                n,
                "one client's connection is not another's"
            );
        }
    }
}

/// A server whose listener is told of clients.
fn introduced() -> (Origin, Forebay) {
    let origin = Origin::start(|request: &Request, connection: &mut Connection| {
        let client = request
            .field("X-Forwarded-For")
            .unwrap_or("nobody")
            .to_owned();
        connection.send(reply(200, &["Cache-Control: no-store"], &client));
    });
    let config = Config::to(&origin)
        .listen(&[])
        .append("[[listen]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = true\n");
    let forebay = Forebay::start(&config);
    (origin, forebay)
}

#[test]
fn client_that_a_proxy_introduces_is_the_client() {
    let (_origin, forebay) = introduced();
    let get = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
    let mut client = forebay.client();
    client.send(format!(
        "PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n{get}"
    ));
    assert_eq!(client.read().text(), "192.0.2.7");
    client.send(get);
    assert_eq!(
        client.read().text(),
        "192.0.2.7",
        "for all of the connection"
    );
    let mut binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    binary.extend_from_slice(&[192, 0, 2, 8, 198, 51, 100, 1, 0xdc, 4, 1, 187]);
    let mut client = forebay.client();
    client.send_byte_by_byte(&binary);
    client.send(get);
    assert_eq!(client.read().text(), "192.0.2.8");
    let mut client = forebay.client();
    client.send(format!("PROXY UNKNOWN\r\n{get}"));
    assert_eq!(client.read().text(), "127.0.0.1");
}

#[test]
fn connection_without_the_header_is_closed_unanswered() {
    let (origin, forebay) = introduced();
    for start in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PROXY TCP4 1.2.3.4\r\n",
    ] {
        let mut client = forebay.client();
        client.send_anyway(start);
        let (bytes, _) = client.read_to_end();
        assert_eq!(bytes, b"", "{start:?}");
    }
    forebay.wait_for_output("no PROXY protocol header");
    assert_eq!(origin.count(), 0);
}

#[test]
fn real_client_speaks_the_proxy_protocol() {
    let (_origin, forebay) = introduced();
    let curl = std::process::Command::new("curl")
        .args(["-s", "--haproxy-protocol", "--max-time", "10"])
        .arg(format!("http://{}/", forebay.authority()))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&curl.stdout), "127.0.0.1");
}

#[test]
fn limited_server_with_tls_answers_whatever_worker_a_request_comes_by() {
    let origin = secure(&["shop.example"]);
    let config = origin
        .config(&["verify = false", "name = \"shop.example\""])
        .cache("pass = true")
        .set("server", "workers = 4")
        .set("pool.app", "max_connections = 1")
        .set("pool.app", "response_head_timeout = \"5s\"");
    let forebay = Forebay::start(&config);
    for n in 0..30 {
        assert_eq!(forebay.get(&format!("/{n}")).status, 200, "request {n}");
    }
}

#[track_caller]
fn reload(forebay: &Forebay, config: &Config) {
    forebay.write_config(&config.text());
    assert_eq!(forebay.admin("POST", "/reload").status, 200);
}

#[test]
fn reload_that_brings_the_proxy_protocol_holds_for_the_next_request() {
    let origin = Origin::raw(|connection: &mut Connection| {
        let Ok(first) = connection.read_bytes(5) else {
            return;
        };
        let said = if first == b"PROXY" { "v1" } else { "plain" };
        while connection.read_bytes(1).is_ok_and(|byte| byte != b"\n") {}
        connection.send(reply(200, &["Cache-Control: no-store"], said));
        connection.read_to_end();
    });
    let config = Config::to(&origin);
    let forebay = Forebay::start(&config);
    assert_eq!(forebay.get("/1").text(), "plain");
    reload(&forebay, &config.set("pool.app", "proxy_protocol = \"v1\""));
    assert_eq!(forebay.get("/2").text(), "v1");
}

#[test]
fn reload_that_turns_tls_on_sends_nothing_in_the_clear_any_more() {
    for limit in ["", "max_connections = 2"] {
        // A greeting of TLS is no request, and stays unanswered.
        let origin = Origin::raw(|connection: &mut Connection| {
            while connection.request().is_ok() {
                connection.send(reply(200, &["Cache-Control: no-store"], "clear"));
            }
        });
        let config = Config::to(&origin).set("pool.app", limit);
        let forebay = Forebay::start(&config);
        assert_eq!(forebay.get("/1").status, 200);
        let tls = config
            .set("pool.app.tls", "verify = false")
            .set("pool.app", "connect_timeout = \"200ms\"");
        reload(&forebay, &tls);
        assert!(forebay.get("/2").status >= 500);
        assert_eq!(origin.count(), 1);
    }
}

#[test]
fn reload_whose_certificates_cannot_be_read_is_refused_and_changes_nothing() {
    let origin = secure(&["shop.example"]);
    let name = "name = \"shop.example\"";
    let forebay = Forebay::start(&origin.config(&[&origin.authorities(), name]));
    assert_eq!(forebay.get("/1").status, 200);
    for (authorities, why) in [
        ("/nowhere/ca.pem", "[pool.app.tls]: /nowhere/ca.pem: "),
        ("/dev/null", "[pool.app.tls]: "),
    ] {
        let line = format!("authorities = {authorities:?}");
        forebay.write_config(&origin.config(&[&line, name]).text());
        let refused = forebay.admin("POST", "/reload");
        assert_ne!(refused.status, 200, "{authorities}");
        assert!(refused.text().contains(why), "{}", refused.text());
        assert_eq!(forebay.get("/2").status, 200);
    }
    assert_eq!(
        forebay.metric("forebay_config_generation"),
        Some(1.0),
        "none was taken"
    );
}

#[test]
fn start_without_the_certificates_says_which_are_missing() {
    let config = Config::new(&["127.0.0.1:1"])
        .set("pool.app.tls", "authorities = \"/nowhere/ca.pem\"")
        .text();
    let mut forebay = Forebay::spawn_text(&config);
    assert!(!forebay.wait_exit().success());
    forebay.wait_for_output("[pool.app.tls]: /nowhere/ca.pem: ");
}
