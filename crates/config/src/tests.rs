//! Stories over whole files: what is accepted, what is refused, and how that reads.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use proptest::prelude::*;

use crate::settings::{KeyPart, ListenAddress, LogFormat, LogTarget};
use crate::{Checked, Environment, Level, Source, parse_in, render};

/// A file that is right; tests add to it.
pub(crate) const BASE: &str =
    "[[listen]]\naddress = \"127.0.0.1:8080\"\n[pool.app]\nservers = [\"127.0.0.1:9000\"]\n";

fn source(text: &str) -> Source {
    Source {
        name: "forebay.toml".into(),
        text: text.into(),
    }
}

fn check(text: &str) -> Result<Checked, String> {
    let source = source(text);
    parse_in(&source, Environment { cores: 3 }).map_err(|wrong| render(&source, &wrong, false))
}

pub(crate) fn accepted(text: &str) -> Checked {
    check(text).unwrap_or_else(|shown| panic!("{shown}"))
}

/// What is shown for `text`; with a number of errors.
pub(crate) fn refused(text: &str) -> (String, usize) {
    let shown = check(text).expect_err("the file is refused");
    let count = shown
        .lines()
        .filter(|line| line.starts_with("error: "))
        .count();
    (shown, count)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn the_smallest_file_has_a_site_for_every_host() {
    let settings = accepted(BASE).settings;
    assert_eq!(settings.server.workers, 3);
    assert_eq!(settings.listen[0].to_string(), "127.0.0.1:8080");
    assert_eq!(settings.sites.len(), 1);
    assert_eq!(settings.sites[0].name, "default");
    assert_eq!(settings.sites[0].service.pool.as_deref(), Some("app"));
    assert!(settings.sites[0].hosts.is_empty());
    assert_eq!(settings.cache.memory, 256 << 20);
    assert_eq!(settings.cache.max_object_bytes, 32 << 20);
    assert!(settings.admin.addresses.is_empty());
}

#[test]
fn every_section_reaches_the_settings() {
    let settings = accepted(
        r#"
[site.shop]
hosts = ["Shop.Example", "*.shop.example"]
pool = "app"
methods = ["GET", "HEAD"]
grace = 30
default_ttl = "off"
[[site.shop.path]]
match = "/img/*"
force_ttl = "1h30m"
[site.admin]
hosts = ["admin.example"]
pass = true
pool = "unix"
[server]
workers = 2
trusted_proxies = ["10.0.0.0/8"]
[[listen]]
address = "127.0.0.1:0"
[[listen]]
address = "unix:/run/forebay.sock"
[admin]
address = "[::1]:8081"
[limits]
request_body = "10MB"
requests_per_connection = 1000
[timeouts]
connect = "500ms"
[cache]
memory = "1.5GiB"
max_object = "10%"
default_ttl = "2m"
ttl_status = { 404 = "10s", 301 = "1h" }
key = ["host", "path", "header:X-Country"]
keep_cookies = []
[pool.app]
servers = ["a.example:81", "[::1]:82"]
max_connections = 10
[pool.unix]
servers = ["unix:/run/app.sock"]
[log]
access = "/var/log/forebay/access.log"
format = "{client} {status}"
"#,
    )
    .settings;
    assert_eq!(settings.server.workers, 2);
    assert_eq!(settings.server.trusted_proxies[0].prefix, 8);
    assert_eq!(
        settings.listen[1],
        ListenAddress::Unix("/run/forebay.sock".into())
    );
    assert_eq!(
        settings.admin.address(),
        Some("[::1]:8081".parse().unwrap())
    );
    assert_eq!(settings.limits.request_body_bytes, 10_000_000);
    assert_eq!(settings.limits.requests_per_connection, 1000);
    assert_eq!(settings.timeouts.connect, Duration::from_millis(500));
    assert_eq!(settings.cache.memory, 3 << 29);
    assert_eq!(settings.cache.max_object_bytes, (3 << 29) / 10);
    assert_eq!(settings.pools["app"].max_connections, Some(10));
    assert_eq!(
        settings.pools["app"].servers[1].address.to_string(),
        "[::1]:82"
    );
    assert_eq!(
        settings.log.access,
        LogTarget::File("/var/log/forebay/access.log".into())
    );
    assert_eq!(
        settings.log.format,
        LogFormat::Custom("{client} {status}".into())
    );
    let [shop, admin] = settings.sites.as_slice() else {
        panic!("two sites in the order of the file");
    };
    assert_eq!(shop.hosts, ["shop.example", "*.shop.example"]);
    assert_eq!(shop.methods, ["GET", "HEAD"]);
    assert!(admin.policy.pass && !shop.policy.pass);
}

#[test]
fn a_path_inherits_from_its_site_and_a_site_from_the_cache() {
    let text = format!(
        "[[site.a.path]]\nmatch = \"/x\"\nkeep = \"1s\"\n[site.a]\ngrace = \"5s\"\nttl_status = {{ 404 = 2 }}\n\
         [cache]\ndefault_ttl = \"2m\"\ngrace = \"1m\"\nttl_status = {{ 301 = 1 }}\n{BASE}"
    );
    let settings = accepted(&text).settings;
    let site = &settings.sites[0].policy;
    let path = &settings.sites[0].paths[0].policy;
    assert_eq!(settings.cache.policy.grace, seconds(60));
    assert_eq!(
        (site.default_ttl, site.grace),
        (Some(seconds(120)), seconds(5))
    );
    assert_eq!(site.ttl_status, [(404, seconds(2))]);
    assert_eq!(
        (path.default_ttl, path.grace),
        (Some(seconds(120)), seconds(5))
    );
    assert_eq!((path.keep, site.keep), (seconds(1), seconds(3600)));
    assert_eq!(site.key, [KeyPart::Host, KeyPart::Path, KeyPart::Query]);
}

#[test]
fn the_sample_files_of_the_design_are_accepted() {
    let text = format!(
        "{BASE}[server]\nworkers = 2\n[admin]\naddress = \"127.0.0.1:8081\"\n\
         [cache]\nmemory = \"1GiB\"\ndefault_ttl = \"2m\"\n\
         [site.shop]\nhosts = [\"shop.example\", \"*.shop.example\"]\npool = \"app\"\n\
         [site.admin]\nhosts = [\"admin.shop.example\"]\npool = \"app\"\npass = true\n"
    );
    assert_eq!(accepted(&text).warnings, []);
}

/// One mistake added to a right file: the line it is reported at, and parts of what is shown.
const MISTAKES: &[(&str, usize, &[&str])] = &[
    (
        "[cache]\nmemroy = \"1GiB\"",
        6,
        &[
            "unknown setting `memroy` in [cache]",
            "did you mean `memory`?",
            "^^^^^^",
        ],
    ),
    (
        "[cache]\nservers = []",
        6,
        &["`servers` belongs in [pool.NAME]"],
    ),
    (
        "[cahce]\nmemory = 1",
        5,
        &["unknown section `cahce`", "did you mean `[cache]`?"],
    ),
    (
        "[cache]\nmemory = \"1 QB\"",
        6,
        &["`QB` is not a unit of size", "expected a size such as"],
    ),
    (
        "[cache]\nmemory = \"512KiB\"",
        6,
        &["the value is too small", "from 1MiB to 64TiB"],
    ),
    (
        "[cache]\nmemory = true",
        6,
        &["`cache.memory`: a boolean does not fit here"],
    ),
    (
        "[cache]\nmemory = -1",
        6,
        &["a negative number does not fit"],
    ),
    (
        "[cache]\nmax_object = \"101%\"",
        6,
        &["more than 0 and at most 100"],
    ),
    (
        "[cache]\nmax_object = \"1GiB\"",
        6,
        &["is more than `cache.memory` (256MiB)"],
    ),
    (
        "[cache]\ndefault_ttl = \"2 parsecs\"",
        6,
        &["`parsecs` is not a unit of time", "or \"off\""],
    ),
    (
        "[cache]\ndefault_ttl = 1.5",
        6,
        &["a float does not fit here"],
    ),
    (
        "[cache]\nttl_status = { 999 = 1 }",
        6,
        &["`999` is not a status"],
    ),
    (
        "[cache]\nttl_status = { 103 = 1 }",
        6,
        &["`103` is a status whose responses are never stored"],
    ),
    (
        "[cache]\nttl_status = { 404 = 1, 412 = 1 }",
        6,
        &[
            "`cache.ttl_status`: `412` is a status whose responses are never stored",
            "expected a status from 200 to 599, but for 304, 407, ",
        ],
    ),
    (
        "[cache]\nttl_status = { 404 = \"x\" }",
        6,
        &["`cache.ttl_status.404`", "expected a time such as"],
    ),
    ("[cache]\npass = \"on\"", 6, &["write true, without quotes"]),
    ("[cache]\nkey = []", 6, &["the list is empty"]),
    (
        "[cache]\nkey = [\"pth\"]",
        6,
        &["unknown part of a key `pth`", "did you mean `path`?"],
    ),
    (
        "[cache]\nignore_query = \"utm_*\"",
        6,
        &["write [\"utm_*\"]"],
    ),
    (
        "[cache]\ntargeted_fields = [\"a b\"]",
        6,
        &["not the name of a field"],
    ),
    (
        "[cache.disk]\npath = \"/x\"",
        5,
        &[
            "`size` is missing in [cache.disk]",
            "write size = \"20GiB\"",
        ],
    ),
    (
        "[cache.disk]\npath = \"x\"\nsize = \"1GiB\"",
        6,
        &["`x` is not an absolute path"],
    ),
    (
        "[cache.disk]\npath = \"/x\"\nmore_paths = [\"/x\"]\nsize = \"1GiB\"",
        7,
        &["`/x` stands twice in [cache.disk]"],
    ),
    (
        "[cache.disk]\npath = \"/x\"\nsize = \"1GiB\"\nmax_object = \"50%\"",
        8,
        &["more than a quarter of `cache.disk.size`"],
    ),
    (
        "[admin]\naddress = \"0.0.0.0:8081\"",
        6,
        &[
            "everybody who reaches 0.0.0.0:8081 could administer",
            "admin_tokens",
        ],
    ),
    (
        "[admin]\naddress = \"127.0.0.1:8081\"\nread_tokens = [\"secret\"]",
        7,
        &["a token has 16 to 256 letters"],
    ),
    ("[purge]\nallow = [\"10.0.0.0/99\"]", 6, &["10.0.0.0/99"]),
    (
        "[session.web]\npath = \"/x\"",
        5,
        &["`address` is missing in [session.web]"],
    ),
    (
        "[session.web]\naddress = \"127.0.0.1:11211\"\ndurability = \"always\"",
        5,
        &["nothing can be on disk without a `path`", "write path ="],
    ),
    (
        "[session.web]\naddress = \"127.0.0.1:11211\"\nmemory = \"2MiB\"",
        5,
        &["`max_item` (1MiB) is more than a quarter of `memory` (2MiB)"],
    ),
    (
        "[session.web]\naddress = \"127.0.0.1:11211\"\ncertificate = \"/c\"",
        7,
        &["TLS takes both `certificate` and `key`"],
    ),
    (
        "[[listen]]\naddress = \"127.0.0.1:5\"\ncertificate = \"/c\"",
        7,
        &["[[listen]]: TLS takes both `certificate` and `key`"],
    ),
    (
        "[[listen]]\naddress = \"unix:/run/x\"\ncertificate = \"/c\"\nkey = \"/k\"",
        7,
        &["[[listen]]: a Unix socket does not speak TLS"],
    ),
    (
        "[[listen]]\naddress = \"127.0.0.1:5\"\nproxy_protocol = true\ncertificate = \"/c\"\nkey = \"/k\"",
        6,
        &["`127.0.0.1:5`: no header of the PROXY protocol is read before TLS"],
    ),
    (
        "[[listen]]\naddress = \"127.0.0.1:0\"\n[[listen]]\naddress = \"127.0.0.1:0\"\ncertificate = \"/c\"\nkey = \"/k\"",
        8,
        &["`127.0.0.1:0` is the address of several [[listen]]"],
    ),
    (
        "[session.a]\naddress = \"0.0.0.0:1\"\n[session.b]\naddress = \"0.0.0.0:2\"\nuser = \"x\"",
        7,
        &["a `user` needs a `token`"],
    ),
    (
        "[app.shop]\ninstances = 2\n[site.a]\npool = \"shop\"",
        5,
        &["`command` is missing in [app.shop]", "write command = "],
    ),
    (
        "[server]\nworkers = 0",
        6,
        &["the value is too small", "from 1 to 1024"],
    ),
    ("[server]\nworkers = \"2\"", 6, &["write 2"]),
    (
        "[server]\nforwarded = \"rfc\"",
        6,
        &["did you mean `rfc7239`?"],
    ),
    (
        "[server]\ntrusted_proxies = [\"10.0.0.0/40\"]",
        6,
        &["at most 32"],
    ),
    (
        "[server]\nname = \"a b\"",
        6,
        &["a name is a letter followed by"],
    ),
    (
        "[[listen]]",
        5,
        &["`address` is missing in [[listen]]", "write address = "],
    ),
    (
        "[[listen]]\naddress = \":8080\"",
        6,
        &["write \"0.0.0.0:8080\""],
    ),
    (
        "[[listen]]\naddress = \"127.0.0.1:8080\"",
        6,
        &["is already the address of another [[listen]]"],
    ),
    (
        "[admin]\naddress = \"127.0.0.1:8080\"",
        6,
        &["is already the address of another [[listen]]"],
    ),
    ("[admin]", 5, &["`address` is missing in [admin]"]),
    (
        "[admin]\naddress = \"localhost:1\"",
        6,
        &["write \"127.0.0.1:1\""],
    ),
    (
        "[limits]\nrequest_line = 10",
        6,
        &["the value is too small"],
    ),
    (
        "[limits]\nrequest_body = \"unlimitd\"",
        6,
        &["did you mean `unlimited`?"],
    ),
    (
        "[timeouts]\nconnect = 0",
        6,
        &["the value is too small", "from 1ms to 30d"],
    ),
    (
        "[pool.b]\nmax_connections = 1\n[site.a]\npool = \"app\"",
        5,
        &["`servers` is missing in [pool.b]"],
    ),
    (
        "[pool.b]\nservers = []\n[site.a]\npool = \"app\"",
        6,
        &["the list is empty"],
    ),
    (
        "[pool.b]\nservers = [\"https://a\", \"b\"]\n[site.a]\npool = \"app\"",
        6,
        &["has servers with https and without"],
    ),
    (
        "[pool.\"b c\"]\nservers = [\"a:1\"]\n[site.a]\npool = \"app\"",
        5,
        &["is not the name of a pool"],
    ),
    (
        "[site.a]\npool = \"ap\"",
        6,
        &[
            "there is no [pool.ap]",
            "one of the pools: app",
            "did you mean `app`?",
        ],
    ),
    (
        "[site]\npool = \"app\"",
        6,
        &["the setting `pool` needs a named site"],
    ),
    ("[site.a]\nmethods = [\"get\"]", 6, &["write \"GET\""]),
    (
        "[site.a]\nhosts = [\"a.example:80\"]",
        6,
        &["without port and path", "write \"a.example\""],
    ),
    (
        "[site.a]\nhosts = [\"a.b\", \"A.B\"]",
        6,
        &["a.b stands twice in [site.a]"],
    ),
    (
        "[site.a]\nhosts = [\"a.b\"]\n[site.b]\nhosts = [\"c.d\", \"a.b\"]",
        8,
        &["[site.a] already answers for a.b"],
    ),
    (
        "[site.a]\n[site.b]",
        6,
        &["[site.a] already answers for every other host"],
    ),
    (
        "[[site.a.path]]\npass = true",
        5,
        &["`match` is missing in [[site.a.path]]"],
    ),
    ("[[site.a.path]]\nmatch = \"img\"", 6, &["write \"/img\""]),
    (
        "[[site.a.path]]\nmatch = \"/\"\nfroce_ttl = 1",
        7,
        &["did you mean `force_ttl`?"],
    ),
    (
        "[site.a.path]\nmatch = \"/\"",
        5,
        &["write [[site.a.path]], in double brackets"],
    ),
    ("[log]\naccess = \"stdot\"", 6, &["write \"stdout\""]),
    (
        "[log]\nformat = \"{stauts}\"",
        6,
        &["unknown log field `{stauts}`", "did you mean `{status}`?"],
    ),
    ("[log]\nlevel = \"warning\"", 6, &["did you mean `warn`?"]),
    ("[log]\nbuffer = \"1KiB\"", 6, &["from 64KiB to 1GiB"]),
    (
        "[log]\nlevel = info",
        6,
        &["not TOML", "write level = \"info\""],
    ),
    (
        "[log]\nlevel = \"info\"\nlevel = \"warn\"",
        7,
        &["not TOML: duplicate key"],
    ),
    ("[log", 5, &["not TOML"]),
];

#[test]
fn each_mistake_is_one_error_at_its_line_that_says_what_to_write() {
    for (mistake, line, parts) in MISTAKES {
        let (shown, count) = refused(&format!("{BASE}{mistake}\n"));
        assert_eq!(count, 1, "{mistake}\n{shown}");
        let place = format!("--> forebay.toml:{line}:");
        for part in [place.as_str()].iter().chain(*parts) {
            assert!(shown.contains(part), "{part} is not in\n{shown}");
        }
    }
}

#[test]
fn a_setting_in_no_section_is_told_its_section() {
    let (shown, count) = refused(&format!("memory = 1\n{BASE}"));
    assert_eq!(count, 1, "{shown}");
    assert!(shown.contains("--> forebay.toml:1:1"), "{shown}");
    assert!(shown.contains("`memory` belongs in [cache]"), "{shown}");
}

#[test]
fn many_errors_are_reported_in_one_run_in_the_order_of_the_file() {
    let (shown, count) = refused(
        "[cache]\nmemory = 1GiB\nmemroy = 2\ndefault_ttl = \"soon\"\n[sever]\n\
         [pool.app]\nservers = [\"a:0\", \"ftp://b\", 3]\n[log]\nlevel = \"loud\"\n",
    );
    assert_eq!(count, 8, "{shown}");
    let places: Vec<usize> = shown
        .lines()
        .filter_map(|line| line.trim().strip_prefix("--> forebay.toml:"))
        .filter_map(|place| place.split(':').next()?.parse().ok())
        .collect();
    assert_eq!(places, [2, 3, 4, 5, 7, 7, 7, 9], "{shown}");
}

#[test]
fn a_file_that_does_nothing_is_told_what_to_write() {
    for text in ["", "# nothing\n", "[cache]\nmemory = \"1GiB\"\n"] {
        let (shown, count) = refused(text);
        assert_eq!(count, 2, "{shown}");
        for part in [
            "no [[listen]]",
            "address = \"127.0.0.1:8080\"",
            "no [pool.NAME]",
            "[pool.app]",
        ] {
            assert!(shown.contains(part), "{shown}");
        }
    }
}

#[test]
fn a_site_must_say_its_pool_when_there_are_several() {
    let pools = format!("{BASE}[pool.b]\nservers = [\"b:1\"]\n");
    let (shown, count) = refused(&pools);
    assert_eq!(count, 1, "{shown}");
    assert!(
        shown.contains("no [site.NAME] says which of the pools answers"),
        "{shown}"
    );
    let (shown, count) = refused(&format!("{pools}[site.a]\n"));
    assert_eq!(count, 1, "{shown}");
    assert!(shown.contains("`pool` is missing in [site.a]"), "{shown}");
    assert_eq!(
        accepted(&format!("{BASE}[site.a]\n")).settings.sites[0]
            .service
            .pool
            .as_deref(),
        Some("app")
    );
}

#[test]
fn a_top_level_listen_is_told_the_section_to_write() {
    let (shown, _) = refused("listen = \"127.0.0.1:80\"\n[pool.a]\nservers = [\"a\"]\n");
    assert!(shown.contains("expected [[listen]]"), "{shown}");
    assert!(shown.contains("address = \"127.0.0.1:80\""), "{shown}");
    let inline = "listen = [{ address = \"127.0.0.1:80\" }]\n[pool.a]\nservers = [\"a\"]\n";
    assert_eq!(accepted(inline).settings.listen.len(), 1);
}

#[test]
fn suspicious_but_legal_files_get_warnings() {
    let text = format!(
        "{BASE}[pool.b]\nservers = [\"b:1\"]\n[site.a]\npool = \"app\"\nkey = [\"host\"]\n\
         [[site.a.path]]\nmatch = \"/x\"\n[[site.a.path]]\nmatch = \"/x\"\n"
    );
    let checked = accepted(&text);
    assert!(
        checked
            .warnings
            .iter()
            .all(|warning| warning.level == Level::Warning)
    );
    let shown = render(&checked.source, &checked.warnings, false);
    for part in [
        "warning: [pool.b] is the pool of no site",
        "has no \"path\"",
        "an earlier [[site.a.path]] matches `/x`",
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
}

#[test]
fn limits_that_contradict_each_other_are_refused() {
    let (shown, _) = refused(&format!("{BASE}[limits]\nrequest_line = \"64KiB\"\n"));
    assert!(
        shown.contains("`limits.request_line` (64KiB) is more than `limits.request_head` (32KiB)"),
        "{shown}"
    );
}

/// Texts that are nearly configurations: known words in any order.
fn nearly() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "[cache]\n",
        "[[listen]]\n",
        "[pool.a]\n",
        "[site.a]\n",
        "[[site.a.path]]\n",
        "[site.a.path]\n",
        "[listen]\n",
        "[pool]\n",
        "[cache.disk]\n",
        "[session.x]\n",
        "[log]\n",
        "site = 3\n",
        "address = ",
        "servers = ",
        "memory = ",
        "default_ttl = ",
        "ttl_status = ",
        "ttl_status.404 = ",
        "hosts = ",
        "key = ",
        "match = ",
        "pool = ",
        "pool.x = ",
        "pass = ",
        "\"1GiB\"\n",
        "\"a\"\n",
        "[\"a\", \"é\"]\n",
        "[1, [2]]\n",
        "{ a = 1 }\n",
        "[{ address = \"127.0.0.1:1\" }]\n",
        "true\n",
        "-9\n",
        "9223372036854775807\n",
        "1.5\n",
        "1979-05-27\n",
        "\"\"\"\n",
        "'",
        "é",
        "\r\n",
        "#",
        "\n",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_text_panics_and_refusals_have_an_error(text in prop_oneof![nearly(), nearly().prop_map(|text| format!("{BASE}{text}")), "\\PC*", any::<String>()]) {
        let source = source(&text);
        match parse_in(&source, Environment { cores: 1 }) {
            Ok(checked) => {
                prop_assert!(!checked.settings.listen.is_empty());
                prop_assert!(!checked.settings.sites.is_empty());
                for site in &checked.settings.sites {
                    for pool in site.service.pool.iter().chain(&site.service.cgi.php) {
                        prop_assert!(checked.settings.pools.contains_key(pool));
                    }
                }
            }
            Err(wrong) => {
                prop_assert!(wrong.iter().any(|diagnostic| diagnostic.level == Level::Error));
                prop_assert!(!render(&source, &wrong, true).is_empty());
            }
        }
    }
}
