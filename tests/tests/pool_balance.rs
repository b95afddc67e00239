//! Pools: who gets a request, and what a server is told of the host.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use forebay_tests::{Config, Forebay, Origin, reply};

/// An origin that says its name.
fn named(name: &'static str) -> Origin {
    Origin::start(move |_, connection| connection.send(reply(200, &[], name)))
}

/// A pool whose every request reaches a server.
fn uncached(origins: &[&Origin]) -> Config {
    let servers: Vec<String> = origins.iter().map(|origin| origin.server()).collect();
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    Config::new(&servers).cache("pass = true")
}

/// Who answered so many requests, and how often.
fn shares(
    forebay: &Forebay,
    requests: usize,
    target: impl Fn(usize) -> String,
) -> BTreeMap<String, usize> {
    let mut shares = BTreeMap::new();
    let mut client = forebay.client();
    for n in 0..requests {
        *shares.entry(client.get(&target(n)).text()).or_default() += 1;
    }
    shares
}

#[test]
fn requests_are_shared_out_by_weight() {
    let (one, two) = (named("one"), named("two"));
    let servers = format!(
        "servers = [{{ address = {:?}, weight = 3 }}, {:?}]",
        one.server(),
        two.server()
    );
    let forebay = Forebay::start(&uncached(&[&one]).set("pool.app", &servers));
    let shares = shares(&forebay, 40, |n| format!("/{n}"));
    assert_eq!((shares["one"], shares["two"]), (30, 10));
}

#[test]
fn a_hash_of_the_url_keeps_each_url_at_its_server() {
    let origins = [named("one"), named("two"), named("three")];
    let config = uncached(&[&origins[0], &origins[1], &origins[2]])
        .set("pool.app", "balance = \"hash\"")
        .set("pool.app", "hash_by = [\"url\"]");
    let forebay = Forebay::start(&config);
    let mut all = BTreeMap::new();
    for n in 0..30 {
        let of_one = shares(&forebay, 3, |_| format!("/{n}"));
        assert_eq!(of_one.len(), 1, "/{n} went to {of_one:?}");
        all.extend(of_one);
    }
    assert_eq!(all.len(), 3);
}

#[test]
fn a_hash_of_a_cookie_keeps_each_user_and_shares_out_the_others() {
    let origins = [named("one"), named("two"), named("three")];
    let config = uncached(&[&origins[0], &origins[1], &origins[2]])
        .set("pool.app", "balance = \"hash\"")
        .set("pool.app", "hash_by = [\"cookie:user\"]");
    let forebay = Forebay::start(&config);
    for user in 0..10 {
        let cookie = format!("Cookie: a=b; user={user}");
        let first = forebay.get_with("/", &[&cookie]).text();
        for n in 0..4 {
            assert_eq!(forebay.get_with(&format!("/{n}"), &[&cookie]).text(), first);
        }
    }
    assert_eq!(shares(&forebay, 9, |n| format!("/{n}")).len(), 3);
}

#[test]
fn a_hash_of_a_field_or_of_the_client_keeps_each_at_its_server() {
    let origins = [named("one"), named("two"), named("three")];
    let config =
        uncached(&[&origins[0], &origins[1], &origins[2]]).set("pool.app", "balance = \"hash\"");
    let by_field = config
        .clone()
        .set("pool.app", "hash_by = [\"header:X-Tenant\"]");
    let forebay = Forebay::start(&by_field);
    let mut all = BTreeSet::new();
    for tenant in 0..20 {
        let field = format!("x-tenant: {tenant}");
        let first = forebay.get_with("/", &[&field]).text();
        for n in 0..3 {
            assert_eq!(forebay.get_with(&format!("/{n}"), &[&field]).text(), first);
        }
        all.insert(first);
    }
    assert_eq!(all.len(), 3);
    let by_client = config
        .set("pool.app", "hash_by = [\"client\"]")
        .set("server", "trusted_proxies = [\"127.0.0.1\"]");
    let forebay = Forebay::start(&by_client);
    assert_eq!(shares(&forebay, 9, |n| format!("/{n}")).len(), 1);
    let of_clients = (0..20).map(|client| {
        let field = format!("X-Forwarded-For: 192.0.2.{client}");
        let first = forebay.get_with("/", &[&field]).text();
        assert_eq!(forebay.get_with("/again", &[&field]).text(), first);
        first
    });
    assert_eq!(of_clients.collect::<BTreeSet<_>>().len(), 3);
}

#[test]
fn chance_gives_everybody_a_share_by_weight() {
    let (one, two) = (named("one"), named("two"));
    let servers = format!(
        "servers = [{{ address = {:?}, weight = 4 }}, {:?}]",
        one.server(),
        two.server()
    );
    let config = uncached(&[&one])
        .set("pool.app", &servers)
        .set("pool.app", "balance = \"random\"");
    let shares = shares(&Forebay::start(&config), 200, |n| format!("/{n}"));
    // 160 and 40 on average; further away than this is once in ten thousand million runs.
    assert!((120..=195).contains(&shares["one"]), "{shares:?}");
}

#[test]
fn the_quicker_server_gets_more() {
    let slow = Origin::start(|_, connection| {
        std::thread::sleep(Duration::from_millis(50));
        connection.send(reply(200, &[], "slow"));
    });
    let quick = named("quick");
    let config = uncached(&[&slow, &quick]).set("pool.app", "balance = \"latency\"");
    let shares = shares(&Forebay::start(&config), 60, |n| format!("/{n}"));
    assert!(shares["quick"] > 45, "{shares:?}");
}

#[test]
fn a_backup_answers_only_when_the_others_are_gone() {
    let (mut main, backup) = (named("main"), named("backup"));
    let servers = format!(
        "servers = [{:?}, {{ address = {:?}, backup = true }}]",
        main.server(),
        backup.server()
    );
    let forebay = Forebay::start(&uncached(&[&main]).set("pool.app", &servers));
    assert_eq!(shares(&forebay, 5, |n| format!("/{n}"))["main"], 5);
    main.kill();
    assert_eq!(shares(&forebay, 5, |n| format!("/{n}"))["backup"], 5);
}

#[test]
fn fewest_requests_under_way_get_the_next() {
    use forebay_tests::Event;
    let release = Event::new("release");
    let gate = release.clone();
    let slow = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(reply(200, &[], "slow"));
    });
    let quick = named("quick");
    let config = uncached(&[&slow, &quick]).set("pool.app", "balance = \"least_connections\"");
    let forebay = Forebay::start(&config);
    let mut waiting = forebay.client();
    waiting.send_request("GET", "/", &[], "");
    slow.wait_for(1);
    assert_eq!(shares(&forebay, 6, |n| format!("/{n}"))["quick"], 6);
    release.set();
    assert_eq!(waiting.read().text(), "slow");
}

#[test]
fn the_host_is_the_clients_the_servers_or_a_fixed_one() {
    let origin = named("x");
    let host_for = |setting: &str| {
        let forebay = Forebay::start(&uncached(&[&origin]).set("pool.app", setting));
        forebay.get_with("/", &["Host: shop.example"]);
        origin.last().field("Host").unwrap_or("").to_owned()
    };
    assert_eq!(host_for("host = \"client\""), "shop.example");
    assert_eq!(host_for("host = \"server\""), origin.server());
    assert_eq!(host_for("host = \"app.internal\""), "app.internal");
    let forwarded = origin.last();
    assert_eq!(forwarded.field("X-Forwarded-Host"), Some("shop.example"));
}

#[test]
fn connections_are_closed_after_so_many_requests() {
    let origin = named("x");
    let config = uncached(&[&origin]).set("pool.app", "connection_requests = 3");
    let forebay = Forebay::start(&config);
    shares(&forebay, 9, |n| format!("/{n}"));
    let by_connection: Vec<usize> = origin.requests().iter().map(|r| r.connection).collect();
    assert_eq!(by_connection, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
}

#[test]
fn no_connection_is_kept_where_none_may_be() {
    let origin = named("x");
    let config = uncached(&[&origin]).set("pool.app", "idle_connections = 0");
    let forebay = Forebay::start(&config);
    shares(&forebay, 3, |n| format!("/{n}"));
    assert_eq!(origin.connections(), 3);
}
