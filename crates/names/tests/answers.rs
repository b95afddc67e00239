//! Names against a DNS server of the test's own.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use forebay_names::{Names, Service};
use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, SRV};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::net::UdpSocket;

/// What the server says to a question; nothing: that there is no such name.
fn answer(name: &Name, kind: RecordType) -> Vec<Record> {
    let record = |ttl, data| Record::from_rdata(name.clone(), ttl, data);
    match (name.to_ascii().as_str(), kind) {
        ("app.internal.", RecordType::A) => vec![
            record(60, RData::A(A::new(192, 0, 2, 1))),
            record(7, RData::A(A::new(192, 0, 2, 2))),
        ],
        ("eager.internal.", RecordType::A) => vec![record(0, RData::A(A::new(192, 0, 2, 3)))],
        ("_http._tcp.app.internal.", RecordType::SRV) => {
            let to = |host: &str| Name::from_ascii(host).unwrap();
            vec![
                record(20, RData::SRV(SRV::new(0, 3, 8080, to("a.internal.")))),
                record(20, RData::SRV(SRV::new(1, 0, 8081, to("b.internal.")))),
            ]
        }
        ("_gone._tcp.app.internal.", RecordType::SRV) => {
            vec![record(20, RData::SRV(SRV::new(0, 0, 0, Name::root())))]
        }
        _ => Vec::new(),
    }
}

async fn serve(socket: UdpSocket) {
    let mut bytes = [0; 1500];
    loop {
        let (length, from) = socket.recv_from(&mut bytes).await.unwrap();
        let question = Message::from_vec(&bytes[..length]).unwrap();
        let asked = question.queries[0].clone();
        let mut response = Message::response(question.metadata.id, question.metadata.op_code);
        let answers = answer(asked.name(), asked.query_type());
        let known = ["app.internal.", "eager.internal."];
        if answers.is_empty() && !known.contains(&asked.name().to_ascii().as_str()) {
            response.metadata.response_code = ResponseCode::NXDomain;
        }
        response.add_query(asked);
        response.add_answers(answers);
        socket
            .send_to(&response.to_vec().unwrap(), from)
            .await
            .unwrap();
    }
}

/// Runs `story` with names that a server of its own knows.
fn with_server<F: Future<Output = ()>>(story: impl FnOnce(Names) -> F) {
    let event_loop = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    event_loop.block_on(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = socket.local_addr().unwrap();
        let serving = tokio::spawn(serve(socket));
        story(Names::new(&[address]).unwrap()).await;
        serving.abort();
    });
}

#[test]
fn addresses_hold_as_long_as_the_shortest_lived_of_them() {
    with_server(async |names| {
        let found = names.addresses("app.internal").await.unwrap();
        let mut items: Vec<String> = found.items.iter().map(ToString::to_string).collect();
        items.sort();
        assert_eq!(items, ["192.0.2.1", "192.0.2.2"]);
        assert!(found.valid_for <= Duration::from_secs(7), "{found:?}");
        assert!(found.valid_for > Duration::from_secs(1), "{found:?}");
        let found = names.addresses("eager.internal").await.unwrap();
        assert_eq!(
            found.valid_for,
            Duration::from_secs(1),
            "no TTL is a hammer"
        );
    });
}

#[test]
fn services_are_servers_with_port_priority_and_weight() {
    with_server(async |names| {
        let found = names.services("_http._tcp.app.internal").await.unwrap();
        let service = |host: &str, port, priority, weight| Service {
            host: host.into(),
            port,
            priority,
            weight,
        };
        assert_eq!(
            found.items,
            [
                service("a.internal", 8080, 0, 3),
                service("b.internal", 8081, 1, 0)
            ]
        );
        let gone = names.services("_gone._tcp.app.internal").await.unwrap();
        assert_eq!(gone.items, []);
    });
}

#[test]
fn what_dns_does_not_know_the_system_may() {
    with_server(async |names| {
        let found = names.addresses("localhost").await.unwrap();
        assert!(found.items.iter().all(|ip| ip.is_loopback()), "{found:?}");
        let error = names.addresses("nobody.invalid").await.unwrap_err();
        assert!(error.contains("nobody.invalid"), "{error}");
        let error = names.services("_no._tcp.app.internal").await.unwrap_err();
        assert!(error.contains("_no._tcp.app.internal"), "{error}");
    });
}
