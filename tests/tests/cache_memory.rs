//! One budget of memory: what is too large for it, and what goes first.

use forebay_tests::{Config, Forebay, Origin, reply};

#[test]
fn objects_beyond_the_size_limit_are_streamed() {
    let large = "x".repeat(200_000);
    let origin = Origin::start(move |request, connection| {
        if request.target == "/chunked" {
            let chunk = format!("{:x}\r\n{large}\r\n", large.len());
            let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n";
            return connection.send(format!("{head}{chunk}0\r\n\r\n"));
        }
        connection.send(reply(200, &["Cache-Control: max-age=60"], &large));
    });
    let forebay = Forebay::start(&Config::to(&origin).cache("max_object = \"100KiB\""));
    for target in ["/length", "/chunked"] {
        for _ in 0..2 {
            let response = forebay.get(target);
            assert!(!response.is_hit());
            assert_eq!(response.body.len(), 200_000);
        }
    }
}

#[test]
fn memory_is_bounded_and_the_newest_objects_live() {
    let body = "x".repeat(100_000);
    let origin = Origin::start(move |_, connection| {
        connection.send(reply(200, &["Cache-Control: max-age=600"], &body))
    });
    let forebay = Forebay::start(
        &Config::to(&origin)
            .cache("memory = \"4MiB\"")
            .cache("max_object = \"1MiB\""),
    );
    let mut client = forebay.client();
    for n in 0..200 {
        assert_eq!(client.get(&format!("/{n}")).body.len(), 100_000);
    }
    let hits = (0..200).filter(|n| {
        client
            .get_with(&format!("/{n}"), &["Cache-Control: only-if-cached"])
            .status
            == 200
    });
    let hits = hits.count();
    assert!(
        (5..=42).contains(&hits),
        "{hits} objects of 100 KB in 4 MiB"
    );
}

#[test]
fn hot_objects_survive_a_scan() {
    const HOT: usize = 16;
    let body = "x".repeat(5_000);
    let origin = Origin::start(move |_, connection| {
        connection.send(reply(200, &["Cache-Control: max-age=600"], &body))
    });
    let forebay = Forebay::start(&Config::to(&origin).cache("memory = \"4MiB\""));
    let mut client = forebay.client();
    // Ten times what the memory holds: first in, first out would fetch each of them ten times.
    for n in 0..8_000 {
        client.get(&format!("/{n}"));
        client.get(&format!("/hot/{}", n % HOT));
    }
    let fetched = origin
        .requests()
        .iter()
        .filter(|r| r.target.starts_with("/hot/"))
        .count();
    assert!(
        fetched <= 3 * HOT,
        "{HOT} hot objects were fetched {fetched} times"
    );
}
