//! However the bytes are cut into segments, they mean the same.

use forebay_tests::{Forebay, Origin, reply};

/// Where a text of `length` is cut for a seed: everywhere once, then at random.
fn cuts(seed: usize, length: usize) -> Vec<usize> {
    if seed < length {
        return vec![seed];
    }
    let mut state = (seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut cuts: Vec<usize> = (0..4)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % length
        })
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

fn pieces<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts.iter().chain([&text.len()]) {
        pieces.push(&text[from..*cut]);
        from = *cut;
    }
    pieces
}

const REQUESTS: &str = "GET /get HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n\
    POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\nGET / \r\n\
    POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;e=f\r\nabc\r\n2\r\n\r\n\r\n0\r\nT: v\r\n\r\n\
    GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[test]
fn requests_cut_anywhere_are_the_same_requests() {
    let origin = Origin::start(|request, connection| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        connection.send(reply(200, &[], &format!("{} {body:?}", request.target)));
    });
    let forebay = Forebay::before(&origin);
    let requests = REQUESTS.replace("Content-Length: 7", "Content-Length: 8");
    for seed in 0..requests.len() + 100 {
        let mut client = forebay.client();
        for piece in pieces(&requests, &cuts(seed, requests.len())) {
            client.send_anyway(piece);
        }
        let answers: Vec<String> = (0..4).map(|_| client.read().text()).collect();
        let expected = [
            "/get \"\"",
            "/length \"GET / \\r\\n\"",
            "/chunks \"abc\\r\\n\"",
            "/last \"\"",
        ];
        assert_eq!(answers, expected, "cut at {:?}", cuts(seed, requests.len()));
        client.expect_close();
    }
}

#[test]
fn responses_cut_anywhere_are_the_same_responses() {
    let responses = [
        "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n2;e=f\r\nhe\r\n3\r\nllo\r\n0\r\nT: v\r\n\r\n",
    ];
    let origin = Origin::start(move |request, connection| {
        let (which, seed) = request.target[1..].split_once('/').unwrap();
        let text = responses[which.parse::<usize>().unwrap()];
        for piece in pieces(text, &cuts(seed.parse().unwrap(), text.len())) {
            connection.send(piece);
        }
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    for (which, text) in responses.iter().enumerate() {
        for seed in 0..text.len() + 50 {
            let response = client.get(&format!("/{which}/{seed}"));
            let shown = (response.text(), response.field("x").map(str::to_owned));
            assert_eq!(
                shown,
                ("hello".to_owned(), Some("y".to_owned())),
                "cut at {:?}",
                cuts(seed, text.len())
            );
            assert_eq!(response.interim.len(), usize::from(which == 0));
        }
    }
    assert_eq!(origin.connections(), 1);
}
