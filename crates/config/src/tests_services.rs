//! Stories over whole files: pools, applications, and what sites do with requests.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Duration;

use crate::settings::{
    Balance, Coding, Durability, Full, HashBy, HostSent, ListenAddress, PoolServer, Probe,
    Protocol, ProxyProtocol, RetryOn, ServerAddress, ServerTls, Session, Settings, Symlinks,
};
use crate::tests::{BASE, accepted, refused};

fn settings(text: &str) -> Settings {
    accepted(text).settings
}

const LISTEN: &str = "[[listen]]\naddress = \"127.0.0.1:8080\"\n";

#[test]
fn every_setting_of_a_pool_reaches_the_settings() {
    let settings = settings(&format!(
        r#"{LISTEN}
[pool.app]
servers = ["a.example:81", {{ address = "unix:/run/b.sock", weight = 3, zone = "z", max_connections = 4 }}, "srv:_http._tcp.c.example", {{ address = "d", backup = true }}, {{ address = "e", priority = 1 }}]
balance = "hash"
hash_by = ["cookie:S", "header:X-A", "client"]
hash_bound = "125%"
max_connections = 10
queue = 5
queue_timeout = "2s"
connection_age = "1h"
connection_requests = 1000
fail_after = 3
slow_start = "30s"
retry_on = ["timeout", "502"]
retry_budget = "50%"
hedge_after = "200ms"
proxy_protocol = "v2"
host = "App.Example"
connect_timeout = "1s"
eject = true
sticky = {{ cookie = "S", learn = true }}
tls = {{ certificate = "/c", key = "/k", name = "x.example" }}
[pool.app.health]
path = "/up"
status = ["200-299", 404]
interval = "1s"
"#
    ));
    let pool = &settings.pools["app"];
    let shown: Vec<String> = pool.servers.iter().map(|s| s.address.to_string()).collect();
    let expected = [
        "a.example:81",
        "unix:/run/b.sock",
        "srv:_http._tcp.c.example",
        "d:80",
        "e:80",
    ];
    assert_eq!(shown, expected);
    let second = &pool.servers[1];
    assert_eq!((second.weight, second.max_connections), (3, Some(4)));
    assert_eq!(pool.servers[3].priority, PoolServer::BACKUP);
    assert_eq!(pool.servers[4].priority, 1);
    let by = vec![
        HashBy::Cookie("S".into()),
        HashBy::Header("x-a".into()),
        HashBy::Client,
    ];
    let bound_percent = Some(125);
    assert_eq!(pool.balance, Balance::Hash { by, bound_percent });
    assert_eq!(pool.retry_on, [RetryOn::Timeout, RetryOn::Status(502)]);
    assert_eq!(pool.retry_budget_percent, 50);
    assert_eq!(pool.proxy_protocol, Some(ProxyProtocol::V2));
    assert_eq!(pool.host, HostSent::Fixed("app.example".into()));
    assert_eq!(pool.eject.unwrap().requests, 20);
    let sticky = pool.sticky.as_ref().unwrap();
    assert_eq!(sticky.lifetime, Some(Duration::from_secs(3600)));
    assert_eq!(
        pool.tls.as_ref().unwrap().name.as_deref(),
        Some("x.example")
    );
    let health = pool.health.as_ref().unwrap();
    assert_eq!(health.interval, Duration::from_secs(1));
    let Probe::Request { host, statuses, .. } = &health.probe else {
        panic!("a request is made");
    };
    assert_eq!((host.as_str(), statuses.len()), ("app.example", 2));
}

#[test]
fn what_has_no_effect_on_back_ends_that_join_is_refused() {
    let joined =
        |lines: &str| format!("{LISTEN}[pool.app]\njoin_tokens = [\"compare\"]\n{lines}\n");
    assert_eq!(
        settings(&joined("balance = \"latency\"")).pools["app"].join_tokens,
        ["compare"]
    );
    for (lines, key) in [
        ("tls = true", "tls"),
        ("proxy_protocol = \"v1\"", "proxy_protocol"),
        ("health = true", "health"),
    ] {
        let (shown, count) = refused(&joined(lines));
        assert_eq!(count, 1, "{shown}");
        assert!(shown.contains(&format!("`{key}` has no effect on back ends that join")));
        assert!(shown.contains(&format!("leave `{key}` out")), "{shown}");
        let mixed = accepted(&joined(&format!("{lines}\nservers = [\"a.example\"]")));
        let warned = mixed
            .warnings
            .iter()
            .any(|one| one.message.contains("has no effect"));
        assert_eq!(warned, key != "health", "{key}");
    }
}

#[test]
fn what_belongs_to_another_choice_is_refused() {
    for (lines, expected) in [
        (
            "[pool.a]\nservers = [\"a\"]\nhash_bound = \"125%\"",
            "`hash_bound` says nothing without balance = \"hash\"",
        ),
        (
            "[pool.a]\nservers = [\"a\"]\nhash_by = [\"url\"]",
            "`hash_by` says nothing without balance = \"hash\"",
        ),
        (
            "[app.a]\ncommand = \"a\"\nprotocol = \"scgi\"\nready = \"/up\"",
            "`ready` says nothing where processes do not speak HTTP",
        ),
    ] {
        let (shown, count) = refused(&format!("{LISTEN}{lines}\n"));
        assert_eq!(count, 1, "{shown}");
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn servers_as_sections_and_short_forms() {
    let settings = settings(&format!(
        "{LISTEN}[pool.app]\nhealth = true\ntls = true\nsticky = true\n[[pool.app.servers]]\naddress = \"a\"\nweight = 2\n\
         [[pool.app.servers]]\naddress = \"https://b\"\n"
    ));
    let pool = &settings.pools["app"];
    assert_eq!(pool.servers.len(), 2);
    assert_eq!(pool.health.as_ref().unwrap().probe, Probe::Tcp);
    assert_eq!(pool.sticky.as_ref().unwrap().cookie, "forebay");
    assert!(pool.tls.as_ref().unwrap().verify);
}

#[test]
fn a_pool_of_https_servers_is_encrypted() {
    let settings = settings(&format!(
        "{LISTEN}[pool.a]\nservers = [\"https://a.example\"]\n"
    ));
    let pool = &settings.pools["a"];
    assert_eq!(pool.servers[0].address.to_string(), "a.example:443");
    assert!(pool.tls.is_some());
}

#[test]
fn the_limit_of_a_pool_is_that_of_its_application() {
    let settings = settings(&format!(
        "{LISTEN}[app.shop]\ncommand = \"shop\"\ninstances = \"1..4\"\n[pool.shop]\nmax_connections = 2\n"
    ));
    assert_eq!(settings.apps["shop"].max_connections, Some(2));
    assert_eq!(settings.pools["shop"].max_connections, Some(2));
}

#[test]
fn a_number_of_processes_that_can_never_grow_is_a_warning() {
    let warnings = |lines: &str| {
        let text = format!("{LISTEN}[app.shop]\ncommand = \"shop\"\n{lines}\n");
        accepted(&text).warnings
    };
    for lines in ["instances = \"1..4\"", "instances = \"0..2\""] {
        let shown = format!("{:?}", warnings(lines));
        assert!(shown.contains("never more than 1 of"), "{shown}");
        assert!(shown.contains("max_connections = 5"), "{shown}");
    }
    for lines in [
        "instances = 4",
        "instances = \"0..1\"",
        "instances = \"1..4\"\nmax_connections = 1",
        "instances = \"1..4\"\n[pool.shop]\nmax_connections = 1",
    ] {
        let shown = format!("{:?}", warnings(lines));
        assert!(!shown.contains("never more"), "{lines}: {shown}");
    }
}

#[test]
fn an_application_is_a_pool() {
    let settings = settings(&format!(
        r#"{LISTEN}
[app.shop]
command = "puma -b 'unix://{{socket}}' -e \"a b\""
instances = "1..10"
max_connections = 5
environment = {{ RAILS_ENV = "production" }}
memory = "512MiB"
[app.php]
command = ["php-cgi", "-b", "{{socket}}"]
protocol = "fastcgi"
instances = 4
[pool.shop]
balance = "latency"
[site.shop]
hosts = ["shop.example"]
pool = "shop"
[site.php]
root = "/srv/php"
pool = "php"
"#
    ));
    let shop = &settings.apps["shop"];
    assert_eq!(settings.pools["shop"].max_connections, Some(5));
    assert_eq!(shop.command, ["puma", "-b", "unix://{socket}", "-e", "a b"]);
    assert_eq!(shop.instances, (1, 10));
    assert_eq!(shop.memory, Some(512 << 20));
    assert_eq!(settings.apps["php"].instances, (4, 4));
    let pool = &settings.pools["shop"];
    assert_eq!(
        (&pool.balance, pool.max_connections),
        (&Balance::Latency, Some(5))
    );
    assert_eq!(settings.pools["php"].protocol, Protocol::FastCgi);
}

#[test]
fn one_line_runs_a_php_site() {
    let settings = settings(&format!(
        "{LISTEN}[site.blog]\nroot = \"/srv/blog\"\nphp = \"unix:/run/php/php-fpm.sock\"\n\
         [[site.blog.path]]\nmatch = \"/old/\"\nphp = [\"127.0.0.1:9000\", \"127.0.0.1:9001\"]\n"
    ));
    let site = &settings.sites[0];
    assert_eq!(site.service.pool, None);
    assert_eq!(site.service.cgi.php.as_deref(), Some("blog-php"));
    let files = site.service.files.as_ref().unwrap();
    assert_eq!(files.index, ["index.php", "index.html"]);
    let pool = &settings.pools["blog-php"];
    assert_eq!(pool.protocol, Protocol::FastCgi);
    assert_eq!(
        pool.servers[0].address,
        ServerAddress::Unix("/run/php/php-fpm.sock".into())
    );
    let path = &site.paths[0].service;
    assert_eq!(path.cgi.php.as_deref(), Some("blog-php-2"));
    assert_eq!(path.files, site.service.files);
    assert_eq!(settings.pools["blog-php-2"].servers.len(), 2);
}

#[test]
fn the_pool_of_php_takes_settings() {
    let settings = settings(&format!(
        "{LISTEN}[site.blog]\nroot = \"/srv/blog\"\nphp = \"127.0.0.1:9000\"\n[pool.blog-php]\nmax_connections = 4\n"
    ));
    let pool = &settings.pools["blog-php"];
    assert_eq!((pool.max_connections, pool.servers.len()), (Some(4), 1));
    assert_eq!(pool.protocol, Protocol::FastCgi);
}

#[test]
fn every_setting_of_a_service_reaches_the_settings() {
    let settings = settings(&format!(
        r#"{BASE}
[site.a]
root = "/srv/a"
pool = "app"
try_files = ["{{path}}", "{{path}}/", "=404"]
symlinks = "never"
precompressed = ["br"]
types = {{ MJS = "text/javascript" }}
charset = "off"
compress = ["gzip"]
compress_min = 10
request_rate = "600/m"
request_body = "1MiB"
client_requests = 3
allow = ["10.0.0.0/8"]
error_pages = {{ 404 = "/e/404", 5xx = "/e/5xx" }}
set_request_headers = {{ X-Real-IP = "{{client}}" }}
remove_response_headers = ["X-Powered-By"]
redirect = [{{ match = "^/o/(.*)$", to = "/n/{{1}}", status = 301 }}]
auth = {{ realm = "R", users = "/etc/users" }}
[[site.a.rewrite]]
match = "^/x/(?<rest>.*)$"
to = "/y/{{rest}}?{{query}}"
[site.a.cors]
origins = ["https://b.example"]
[[site.a.path]]
regex = "^/user/(?<id>[0-9]+)"
methods = ["GET"]
headers = {{ User-Agent = "*bot*" }}
query = {{ preview = "1" }}
clients = ["10.0.0.0/8"]
add_response_headers = {{ X-User = "{{id}}" }}
auth = false
cors = false
compress = false
maintenance = {{ while_exists = "/m", retry_after = "5m" }}
respond = {{ status = 410, body = "{{1}}" }}
"#
    ));
    let site = &settings.sites[0];
    let service = &site.service;
    let files = service.files.as_ref().unwrap();
    assert_eq!(files.root, PathBuf::from("/srv/a"));
    assert_eq!(files.symlinks, Symlinks::Never);
    assert_eq!(files.precompressed, [Coding::Brotli]);
    assert_eq!(
        (files.types["mjs"].as_str(), &files.charset),
        ("text/javascript", &None)
    );
    let compress = service.compress.as_ref().unwrap();
    assert_eq!(
        (compress.codings.as_slice(), compress.min_bytes),
        (&[Coding::Gzip][..], 10)
    );
    let rate = service.request_rate.unwrap();
    assert_eq!(
        (rate.requests, rate.per, rate.burst),
        (600, Duration::from_secs(60), 599)
    );
    assert_eq!(service.request_body_bytes, Some(1 << 20));
    assert_eq!(service.error_pages.len(), 101);
    assert_eq!(service.redirect[0].status, 301);
    assert_eq!(service.rewrite[0].to, "/y/{rest}?{query}");
    assert_eq!(
        service.cors.as_ref().unwrap().origins,
        ["https://b.example"]
    );
    let rule = &site.paths[0];
    assert_eq!(rule.when.headers, [("user-agent".into(), "*bot*".into())]);
    let own = &rule.service;
    assert_eq!(own.pool.as_deref(), Some("app"));
    assert!(own.auth.is_none() && own.cors.is_none() && own.compress.is_none());
    assert_eq!(own.redirect, service.redirect);
    assert_eq!(own.respond.as_ref().unwrap().status, 410);
    let maintenance = own.maintenance.as_ref().unwrap();
    assert_eq!(maintenance.retry_after, Duration::from_secs(300));
}

#[test]
fn a_site_may_do_without_a_pool() {
    for service in [
        "root = \"/srv\"",
        "respond = { status = 404 }",
        "redirect = [{ match = \"^\", to = \"https://a.example{uri}\" }]",
    ] {
        let settings = settings(&format!("{LISTEN}[site.a]\n{service}\n"));
        assert_eq!(settings.sites[0].service.pool, None, "{service}");
    }
}

/// One mistake added to a right file with a pool `app`: its line, and parts of what is shown.
const MISTAKES: &[(&str, usize, &[&str])] = &[
    (
        "[pool.b]\nservers = [{ adress = \"a:1\" }]",
        6,
        &[
            "unknown setting `adress` in [[pool.NAME.servers]]",
            "did you mean `address`?",
        ],
    ),
    (
        "[pool.b]\nservers = [{ weight = 1 }]",
        6,
        &["a server without an `address`"],
    ),
    (
        "[pool.b]\nservers = [\"a\", \"a:80\"]",
        6,
        &["a:80 stands twice in the pool"],
    ),
    ("[pool.b]\nservers = \"a\"", 6, &["write [\"a\"]"]),
    (
        "[pool.b]\nservers = [\"srv:c.example\"]",
        6,
        &["write \"srv:_http._tcp.c.example\""],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\nbalance = \"latencey\"",
        7,
        &["did you mean `latency`?"],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\nhash_by = [\"url\"]",
        7,
        &["write balance = \"hash\""],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\nhash_bound = 125",
        7,
        &["does not fit", "or \"off\""],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\nretry_budget = \"20\"",
        7,
        &["write \"20%\""],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\nretry_on = [\"200\"]",
        7,
        &["400 to 599"],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\nhealth = { path = \"up\" }",
        7,
        &["write \"/up\""],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\n[pool.b.health]\nbody = \"ok\"",
        8,
        &["`body` says nothing without a `path`"],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\n[pool.b.helth]\npath = \"/\"",
        7,
        &["did you mean `health`?"],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\nsticky = { learn = true }",
        7,
        &["write cookie = "],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\ntls = { key = \"/k\" }",
        7,
        &["a key without its certificate"],
    ),
    (
        "[pool.b]\nservers = [\"a\"]\ntls = { key = \"k\", certificate = \"/c\" }",
        7,
        &["not an absolute path"],
    ),
    (
        "[app.b]\ncommand = \"puma 'x\"",
        6,
        &["a quote is not closed"],
    ),
    (
        "[app.b]\ncommand = \"x\"\ninstances = \"5..2\"",
        7,
        &["write \"2..5\""],
    ),
    (
        "[app.b]\ncommand = \"x\"\ninstances = 0",
        7,
        &["at most 0 processes"],
    ),
    (
        "[app.b]\ncommand = \"x\"\n[pool.b]\nservers = [\"a\"]",
        7,
        &["has servers, and the processes of [app.b]"],
    ),
];

/// The same in `[site.a]`.
const OF_SITES: &[(&str, usize, &[&str])] = &[
    (
        "root = \"public\"",
        7,
        &["`public` is not an absolute path"],
    ),
    (
        "index = [\"x\"]",
        7,
        &["`index` says nothing without `root`", "write root = "],
    ),
    (
        "root = \"/r\"\ntry_files = [\"=404\", \"{path}\"]",
        8,
        &["a status is the last"],
    ),
    (
        "root = \"/r\"\ntry_files = [\"{pth}\"]",
        8,
        &["did you mean `{path}`?"],
    ),
    (
        "root = \"/r\"\ntry_files = [\"{uri}\", \"/404.html\"]",
        8,
        &["only `{path}` and `{host}`", "write \"{path}\""],
    ),
    (
        "root = \"/r\"\ntry_files = [\"/{query.page}\"]",
        8,
        &["only `{path}` and `{host}`"],
    ),
    (
        "root = \"/r\"\nprecompressed = [\"gz\"]",
        8,
        &["write \"gzip\""],
    ),
    (
        "php = \"127.0.0.1:9000\"",
        5,
        &["where scripts lie is not said", "write root = "],
    ),
    (
        "root = \"/r\"\nphp = \"/run/php.sock\"",
        8,
        &["write \"unix:/run/php.sock\""],
    ),
    (
        "root = \"/r\"\nphp = \"127.0.0.1\"",
        8,
        &["write \"127.0.0.1:9000\""],
    ),
    (
        "root = \"/r\"\nphp_pool = \"app\"",
        8,
        &["does not speak FastCGI"],
    ),
    (
        "root = \"/r\"\nphp_pool = \"ap\"",
        8,
        &["did you mean `app`?"],
    ),
    (
        "rewrite = [{ match = \"(\", to = \"/\" }]",
        7,
        &["not a regular expression"],
    ),
    (
        "rewrite = [{ match = \"^/a\", to = \"/{1}\" }]",
        7,
        &["the regular expression has none"],
    ),
    ("rewrite = [{ match = \"^/a\" }]", 7, &["`to` is missing"]),
    (
        "rewrite = [{ match = \"^/a\", to = \"b\" }]",
        7,
        &["write \"/b\""],
    ),
    (
        "rewrite = { match = \"^/a\", to = \"/b\" }",
        7,
        &["an inline table does not fit"],
    ),
    (
        "redirect = [{ match = \"^\", to = \"/b\", status = 200 }]",
        7,
        &["200 is not a redirection"],
    ),
    (
        "redirect = [{ match = \"^\", to = \"example.org\" }]",
        7,
        &["neither a path nor a URL"],
    ),
    ("respond = { status = 99 }", 7, &["the value is too small"]),
    (
        "respond = { body = \"{hots}\" }",
        7,
        &["did you mean `{host}`?"],
    ),
    (
        "set_request_headers = { Host = \"x\" }",
        7,
        &["write host = "],
    ),
    (
        "set_response_headers = { Content-Length = \"1\" }",
        7,
        &["how a message is framed"],
    ),
    (
        "set_response_headers = { X-A = \"a\\r\\nb\" }",
        7,
        &["cannot stand in a field"],
    ),
    (
        "set_response_headers = { X-A = 1 }",
        7,
        &["every value is a text"],
    ),
    (
        "error_pages = { 200 = \"/x\" }",
        7,
        &["neither a status of an error"],
    ),
    (
        "intercept_errors = true",
        7,
        &["says nothing without `error_pages`"],
    ),
    ("request_rate = \"10\"", 7, &["write \"10/s\""]),
    (
        "request_burst = 1",
        7,
        &["says nothing without `request_rate`"],
    ),
    ("compress_min = 1", 7, &["write compress = true"]),
    ("compress = [\"deflate\"]", 7, &["unknown coding `deflate`"]),
    ("auth = { realm = \"x\" }", 7, &["`users` is missing"]),
    ("auth = \"x\"", 7, &["a string does not fit"]),
    (
        "cors = { origins = [\"*\"], credentials = true }",
        7,
        &["act as your users"],
    ),
    (
        "cors = { origins = [\"a.example\"] }",
        7,
        &["write \"https://a.example\""],
    ),
    ("allow = [\"10.0.0/8\"]", 7, &["is not an IP address"]),
    (
        "[[site.a.path]]\nregex = \"[\"",
        8,
        &["not a regular expression"],
    ),
    (
        "[[site.a.path]]\nregex = \"^/(.)\"\nadd_response_headers = { X = \"{2}\" }",
        9,
        &["has 1 groups"],
    ),
    (
        "[[site.a.path]]\nmatch = \"/x\"\nrespond = { body = \"{1}\" }",
        9,
        &["no regular expression here"],
    ),
    (
        "[[site.a.path]]\nmatch = \"/x\"\npool = \"ap\"",
        9,
        &["there is no [pool.ap]", "`app`"],
    ),
];

#[test]
fn each_mistake_is_one_error_at_its_line() {
    let pools = MISTAKES.iter().map(|(mistake, line, parts)| {
        (
            format!("{BASE}{mistake}\n[site.a]\npool = \"app\"\n"),
            *line,
            *parts,
        )
    });
    let sites = OF_SITES.iter().map(|(mistake, line, parts)| {
        (
            format!("{BASE}[site.a]\npool = \"app\"\n{mistake}\n"),
            *line,
            *parts,
        )
    });
    let mut failures = String::new();
    for (text, line, parts) in pools.chain(sites) {
        let (shown, count) = refused(&text);
        let place = format!("--> forebay.toml:{line}:");
        let parts = [place.as_str()].into_iter().chain(parts.iter().copied());
        let missing: Vec<&str> = parts.filter(|part| !shown.contains(part)).collect();
        if count != 1 || !missing.is_empty() {
            failures += &format!("{text}{count} errors, without {missing:?}\n{shown}\n");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn a_file_of_session_stores_alone_is_whole_and_every_setting_reaches_them() {
    let settings = settings(
        r#"
[session.cart]
address = "unix:/run/cart.sock"

[session.web]
address = ["127.0.0.1:11211", "unix:/run/web.sock"]
socket_mode = "0600"
path = "/var/lib/forebay/session"
memory = "1GiB"
durability = "always"
full = "evict"
quota = "10GiB"
max_item = "8MiB"
buffers = "16MiB"
max_connections = 100
idle_timeout = "1h"
stalled_timeout = "10s"
token = "0123456789abcdef"
user = "shop"
certificate = "/c"
key = "/k"
client_ca = "/ca"
"#,
    );
    let cart = &settings.sessions["cart"];
    assert_eq!(cart.durability, Durability::Never);
    assert_eq!(cart.full, Full::Refuse);
    assert_eq!(cart.socket_mode, 0o660);
    let web = Session {
        addresses: vec![
            ListenAddress::Tcp("127.0.0.1:11211".parse().unwrap()),
            ListenAddress::Unix("/run/web.sock".into()),
        ],
        socket_mode: 0o600,
        path: Some("/var/lib/forebay/session".into()),
        memory_bytes: 1 << 30,
        durability: Durability::Always,
        full: Full::Evict,
        quota_bytes: Some(10 << 30),
        max_item_bytes: 8 << 20,
        buffers_bytes: 16 << 20,
        max_connections: 100,
        idle_timeout: Some(Duration::from_secs(3600)),
        stalled_timeout: Duration::from_secs(10),
        user: Some("shop".into()),
        token: Some("0123456789abcdef".into()),
        tls: Some(ServerTls {
            certificate: "/c".into(),
            key: "/k".into(),
            client_ca: Some("/ca".into()),
        }),
    };
    assert_eq!(settings.sessions["web"], web);
}

#[test]
fn a_store_with_a_path_keeps_everything_unless_it_is_told_otherwise() {
    let text = "[session.web]\naddress = \"127.0.0.1:0\"\npath = \"/x\"";
    let settings = settings(text);
    let web = &settings.sessions["web"];
    assert_eq!(
        (web.durability, web.full),
        (Durability::Interval, Full::Spill)
    );
}

#[test]
fn permissions_of_sockets_are_octal_and_need_a_socket() {
    let origin = "[pool.app]\nservers = [\"127.0.0.1:9000\"]\n";
    let text = |address: &str, mode: &str| {
        format!("[[listen]]\naddress = \"{address}\"\nsocket_mode = {mode}\n{origin}")
    };
    let found = settings(&text("unix:/run/a.sock", "\"0660\""));
    assert_eq!(found.socket_mode("/run/a.sock".as_ref()), 0o660);
    assert_eq!(found.socket_mode("/run/b.sock".as_ref()), 0o666);
    for wrong in [
        "\"0668\"", "\"1777\"", "\"66\"", "\"+660\"", "\"rw\"", "660",
    ] {
        let (shown, count) = refused(&text("unix:/run/a.sock", wrong));
        assert_eq!(count, 1, "{shown}");
        assert!(shown.contains("such as \"0660\""), "{shown}");
    }
    let store = "[session.web]\naddress = \"127.0.0.1:0\"\nsocket_mode = \"0600\"\n";
    for text in [text("127.0.0.1:80", "\"0660\""), store.to_owned()] {
        let (shown, count) = refused(&text);
        assert_eq!(count, 1, "{shown}");
        assert!(shown.contains("is no file"), "{shown}");
    }
}

#[test]
fn a_certificate_that_no_address_would_show_is_refused() {
    let text =
        "[session.web]\naddress = \"unix:/run/web.sock\"\ncertificate = \"/c\"\nkey = \"/k\"\n";
    let (shown, count) = refused(text);
    assert_eq!(count, 1, "{shown}");
    assert!(shown.contains("does not speak TLS"), "{shown}");
}

#[test]
fn buffers_that_one_value_would_fill_are_refused() {
    let text =
        "[session.web]\naddress = \"127.0.0.1:0\"\nmemory = \"1GiB\"\nmax_item = \"200MiB\"\n";
    let (shown, count) = refused(&format!("{text}buffers = \"300MiB\""));
    assert_eq!(count, 1, "{shown}");
    assert!(shown.contains("raise buffers"), "{shown}");
    // Who does not write it need not think of it.
    for written in ["", "buffers = \"400MiB\""] {
        let settings = settings(&format!("{text}{written}"));
        assert_eq!(settings.sessions["web"].buffers_bytes, 400 << 20);
    }
}
