//! Names of servers: asked of DNS, and again when the answer expires; services with SRV records.

use std::net::{Ipv4Addr, TcpListener};

use forebay_tests::dns::Record;
use forebay_tests::{Config, Connection, DEADLINE, Dns, Forebay, Origin, Request, reply};

use crate::common::{eventually, eventually_within};

/// Origins with one port on loopback addresses of their own, each of which says its name.
fn on_one_port(names: &[(&'static str, Ipv4Addr)]) -> (u16, Vec<Origin>) {
    'ports: loop {
        let first = TcpListener::bind((names[0].1, 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let mut listeners = vec![first];
        for (_, ip) in &names[1..] {
            match TcpListener::bind((*ip, port)) {
                Ok(listener) => listeners.push(listener),
                Err(_) => continue 'ports,
            }
        }
        let origins = names.iter().zip(listeners).map(|((name, _), listener)| {
            let name = *name;
            Origin::raw_on(listener, move |connection: &mut Connection| {
                while connection.request().is_ok() {
                    connection.send(reply(200, &["Cache-Control: no-store"], name));
                }
            })
        });
        return (port, origins.collect());
    }
}

fn config(dns: &Dns, server: &str) -> Config {
    Config::new(&[server])
        .set("server", &format!("resolvers = [{:?}]", dns.server()))
        .set("pool.app", "idle_connections = 0")
}

#[test]
fn name_that_moves_is_followed_when_its_time_is_over() {
    let (here, there) = (Ipv4Addr::new(127, 0, 0, 1), Ipv4Addr::new(127, 0, 0, 2));
    let (port, _origins) = on_one_port(&[("here", here), ("there", there)]);
    let dns = Dns::start();
    dns.set("app.internal", 1, &[Record::A(here)]);
    let forebay = Forebay::start(&config(&dns, &format!("app.internal:{port}")));
    assert_eq!(
        forebay.get("/").text(),
        "here",
        "it is known before the first request"
    );
    dns.set("app.internal", 1, &[Record::A(there)]);
    eventually(|| forebay.get("/").text() == "there");
}

#[test]
fn name_that_does_not_resolve_is_told_and_asked_for_again() {
    let here = Ipv4Addr::LOCALHOST;
    let (port, _origins) = on_one_port(&[("here", here)]);
    let dns = Dns::start();
    let forebay = Forebay::start(&config(&dns, &format!("late.internal:{port}")));
    forebay.wait_for_output("cannot resolve late.internal");
    assert_eq!(forebay.get("/").status, 502);
    dns.set("late.internal", 60, &[Record::A(here)]);
    eventually_within(DEADLINE, || forebay.get("/").status == 200);
    forebay.wait_for_output("the name resolves again");
}

#[test]
fn service_is_the_servers_that_its_records_name() {
    let origin = |name: &'static str| {
        Origin::start(move |_: &Request, connection: &mut Connection| {
            connection.send(reply(200, &["Cache-Control: no-store"], name));
        })
    };
    let port = |origin: &Origin| origin.server().rsplit(':').next().unwrap().parse().unwrap();
    let (a, b, spare) = (origin("a"), origin("b"), origin("spare"));
    let dns = Dns::start();
    dns.set("host.internal", 60, &[Record::A(Ipv4Addr::LOCALHOST)]);
    let to =
        |priority, origin: &Origin| Record::Srv(priority, 1, port(origin), "host.internal".into());
    dns.set(
        "_http._tcp.app.internal",
        1,
        &[to(10, &a), to(10, &b), to(20, &spare)],
    );
    let forebay = Forebay::start(&config(&dns, "srv:_http._tcp.app.internal"));
    let names = || {
        let mut names: Vec<String> = (0..10).map(|_| forebay.get("/").text()).collect();
        names.sort();
        names.dedup();
        names
    };
    assert_eq!(names(), ["a", "b"], "the spare one waits until they fail");
    dns.set(
        "_http._tcp.app.internal",
        1,
        &[to(20, &a), to(10, &b), to(10, &spare)],
    );
    eventually(|| names() == ["b", "spare"]);
    dns.set("_http._tcp.app.internal", 1, &[to(10, &b)]);
    eventually(|| names() == ["b"]);
    dns.set("_http._tcp.app.internal", 1, &[to(10, &spare)]);
    eventually(|| names() == ["spare"]);
}

#[test]
fn servers_of_a_service_go_with_it() {
    let origin = |name: &'static str| {
        Origin::start(move |_: &Request, connection: &mut Connection| {
            connection.send(reply(200, &["Cache-Control: no-store"], name));
        })
    };
    let (of_service, listed) = (origin("of the service"), origin("listed"));
    let server = of_service.server();
    let port = server.rsplit(':').next().unwrap().parse().unwrap();
    let dns = Dns::start();
    // The name is the address, so that the file may list the very same server.
    let host = "127.0.0.1";
    dns.set(host, 60, &[Record::A(Ipv4Addr::LOCALHOST)]);
    dns.set(
        "_http._tcp.app.internal",
        60,
        &[Record::Srv(0, 1, port, host.into())],
    );
    let forebay = Forebay::start(&config(&dns, "srv:_http._tcp.app.internal"));
    let reload_to = |server: &str| {
        forebay.write_config(&config(&dns, server).text());
        assert_eq!(forebay.admin("POST", "/reload").status, 200);
    };
    assert_eq!(forebay.get("/").text(), "of the service");
    reload_to(&listed.server());
    for _ in 0..4 {
        assert_eq!(forebay.get("/").text(), "listed");
    }
    reload_to("srv:_http._tcp.app.internal");
    assert_eq!(forebay.get("/").text(), "of the service");
    reload_to(&server);
    for _ in 0..4 {
        assert_eq!(
            forebay.get("/").text(),
            "of the service",
            "it is listed now"
        );
    }
}

#[test]
fn service_itself_is_not_checked_but_its_servers_are() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: no-store"], "well"));
    let server = origin.server();
    let port = server.rsplit(':').next().unwrap().parse().unwrap();
    let dns = Dns::start();
    dns.set("host.internal", 60, &[Record::A(Ipv4Addr::LOCALHOST)]);
    dns.set(
        "_http._tcp.app.internal",
        60,
        &[Record::Srv(0, 1, port, "host.internal".into())],
    );
    let checked = config(&dns, "srv:_http._tcp.app.internal")
        .set("pool.app.health", "path = \"/health\"")
        .set("pool.app.health", "interval = \"100ms\"")
        .set("pool.app.health", "fall = 1");
    let forebay = Forebay::start(&checked);
    origin.wait_for(5);
    assert!(!forebay.output().contains("server is down"));
}
