//! The end of the program: what is under way finishes, what is idle closes.

use std::time::{Duration, Instant};

use forebay_tests::{Address, Config, Event, Forebay, Origin, reply};
use rustix::process::Signal;

use crate::common::{eventually, numbered};

#[test]
fn termination_lets_exchanges_finish_and_closes_idle_connections() {
    let go = Event::new("draining");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        if request.target == "/busy" {
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234");
            gate.wait();
            return connection.send("56789");
        }
        connection.send(reply(200, &[], "x"));
    });
    let mut forebay = Forebay::start(&Config::to(&origin).set("server", "drain_timeout = \"8s\""));
    let (mut idle, mut busy) = (forebay.client(), forebay.client());
    idle.get("/");
    let mut response = busy.send_request("GET", "/busy", &[], "").read_head();
    busy.read_body(&mut response, 5);
    forebay.signal(Signal::TERM);
    idle.expect_close();
    let Address::Tcp(address) = &forebay.addresses[0] else {
        unreachable!()
    };
    eventually(|| std::net::TcpStream::connect(address).is_err());
    go.set();
    busy.read_rest(&mut response).unwrap();
    assert_eq!(response.text(), "0123456789");
    busy.expect_close();
    assert_eq!(forebay.wait_exit().code(), Some(0));
}

#[test]
fn request_that_meets_a_drain_is_told_to_close() {
    let go = Event::new("draining");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(reply(200, &[], "x"));
    });
    let mut forebay = Forebay::start(&Config::to(&origin).set("server", "drain_timeout = \"8s\""));
    let mut client = forebay.client();
    client.send_request("GET", "/", &[], "");
    origin.wait_for(1);
    forebay.signal(Signal::TERM);
    let Address::Tcp(address) = &forebay.addresses[0] else {
        unreachable!()
    };
    eventually(|| std::net::TcpStream::connect(address).is_err());
    go.set();
    let response = client.read();
    assert_eq!(response.status, 200);
    assert!(response.fields.lists("connection", "close"), "{response:?}");
    assert_eq!(forebay.wait_exit().code(), Some(0));
}

#[test]
fn drain_ends_at_its_deadline() {
    let origin = Origin::start(|_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234");
        connection.read_to_end();
    });
    let mut forebay =
        Forebay::start(&Config::to(&origin).set("server", "drain_timeout = \"300ms\""));
    let mut client = forebay.client();
    let mut response = client.send_request("GET", "/", &[], "").read_head();
    client.read_body(&mut response, 5);
    let before = Instant::now();
    forebay.signal(Signal::TERM);
    assert_eq!(
        forebay.wait_exit().code(),
        Some(1),
        "it must say that a connection was cut"
    );
    assert!(
        before.elapsed() < Duration::from_secs(5),
        "{:?}",
        before.elapsed()
    );
    assert!(client.read_rest(&mut response).is_err());
}

#[test]
fn second_signal_ends_at_once() {
    let origin = Origin::start(|_, connection| drop(connection.read_to_end()));
    let mut forebay = Forebay::start(&Config::to(&origin).set("server", "drain_timeout = \"1h\""));
    let mut client = forebay.client();
    client.send_request("GET", "/", &[], "");
    origin.wait_for(1);
    forebay.signal(Signal::TERM);
    let Address::Tcp(address) = &forebay.addresses[0] else {
        unreachable!()
    };
    eventually(|| std::net::TcpStream::connect(address).is_err());
    forebay.signal(Signal::TERM);
    forebay.wait_exit();
}

#[test]
fn interrupt_ends_an_idle_server_at_once_and_well() {
    let origin = numbered(&[]);
    let mut forebay = Forebay::before(&origin);
    forebay.get("/");
    forebay.signal(Signal::INT);
    assert_eq!(forebay.wait_exit().code(), Some(0));
}
