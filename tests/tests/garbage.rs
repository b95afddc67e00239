//! Messages with random damage, from both sides: the program answers or
//! closes, speaks correct HTTP whatever it hears, and lives.

use std::thread;

use forebay_tests::{Broken, Client, Config, Forebay, Origin, reply};

/// The same sequence for the same seed.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % end as u64) as usize
    }
}

/// Pieces that are more often trouble than random bytes are.
const TROUBLE: [&[u8]; 16] = [
    b"\r\n",
    b"\n",
    b"\r",
    b" ",
    b"\t",
    b":",
    b"\0",
    b"\x7f",
    b",",
    b";",
    b"\r\n\r\n",
    b"0",
    b"-1",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"\xff",
];

/// `text` with one to three places damaged.
fn damaged(text: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = dice.below(bytes.len());
        match dice.below(5) {
            0 => bytes[at] = dice.below(256) as u8,
            1 => drop(bytes.remove(at)),
            2 => drop(bytes.splice(at..at, TROUBLE[dice.below(TROUBLE.len())].iter().copied())),
            3 => bytes.truncate(at.max(1)),
            _ => {
                let end = (at + 1 + dice.below(20)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, copy));
            }
        }
    }
    bytes
}

const REQUESTS: [&str; 6] = [
    "GET /a?b=c HTTP/1.1\r\nHost: test.example\r\nAccept: */*\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: test.example\r\nRange: bytes=0-3,5-\r\nIf-Range: \"a\"\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: test.example\r\nContent-Length: 5\r\n\r\nhello",
    "POST /a HTTP/1.1\r\nHost: test.example\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: v\r\n\r\n",
    "GET http://test.example/a HTTP/1.1\r\nHost: test.example\r\nConnection: x, close\r\nCookie: a=b; c=d\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: test.example\r\nCache-Control: max-age=0, min-fresh=5\r\nIf-None-Match: \"a\", W/\"b\"\r\n\r\n",
];

#[test]
fn damaged_requests_get_correct_answers_or_a_close() {
    let origin = Origin::start(|request, connection| {
        let text = reply(
            200,
            &["Cache-Control: max-age=60", "ETag: \"a\""],
            "0123456789",
        );
        let end = if request.method == "HEAD" {
            text.len() - 10
        } else {
            text.len()
        };
        connection.send(&text[..end]);
    });
    let config = Config::to(&origin)
        .set("server", "workers = 2")
        .set("timeouts", "request_head = \"300ms\"")
        .set("timeouts", "request_body = \"300ms\"");
    let mut forebay = Forebay::start(&config);
    let address = &forebay.addresses[0];
    thread::scope(|scope| {
        for part in 0..6_u64 {
            scope.spawn(move || {
                for seed in (part * 300)..(part * 300 + 300) {
                    let mut dice = Dice::new(seed);
                    let request = damaged(REQUESTS[dice.below(REQUESTS.len())], &mut dice);
                    let mut client = Client::connect(address);
                    client.send_anyway(&request).finish();
                    loop {
                        match client.try_read() {
                            Ok(response) => assert!((200..600).contains(&response.status)),
                            Err((None, Broken::Closed | Broken::Reset)) => break,
                            // A damaged method may be HEAD, whose answer this reader cannot follow.
                            Err(_)
                                if !request.starts_with(b"GET")
                                    && !request.starts_with(b"POST") =>
                            {
                                break;
                            }
                            Err((partial, why)) => panic!(
                                "seed {seed}: {:?} gave {why:?} after {partial:#?}",
                                String::from_utf8_lossy(&request)
                            ),
                        }
                    }
                }
            });
        }
    });
    assert!(forebay.is_running());
    assert_eq!(forebay.get("/a").text(), "0123456789");
    drop(forebay);
    drop(origin);
}

const RESPONSES: [&str; 5] = [
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"a\"\r\nContent-Length: 10\r\n\r\n0123456789",
    "HTTP/1.1 200 OK\r\nCache-Control: s-maxage=5, private=\"x\"\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\n01234\r\n5\r\n56789\r\n0\r\nT: v\r\n\r\n",
    "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nVary: Accept, X\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 206 Part\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\nETag: \"a\"\r\nCache-Control: max-age=60\r\n\r\n01234",
    "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nExpires: Sun, 06 Nov 1994 08:49:37 GMT\r\nAge: 5\r\n\r\n",
];

#[test]
fn damaged_responses_reach_no_client_as_damage() {
    let origin = Origin::start(|request, connection| {
        let Ok(seed) = request.target[1..].parse::<u64>() else {
            return connection.send(reply(200, &[], "clean"));
        };
        let mut dice = Dice::new(seed);
        connection.send(damaged(RESPONSES[dice.below(RESPONSES.len())], &mut dice));
        if dice.below(2) == 0 {
            connection.close();
        }
    });
    let config = Config::to(&origin)
        .set("server", "workers = 2")
        .set("timeouts", "response_head = \"100ms\"")
        .set("timeouts", "response_body = \"100ms\"");
    let mut forebay = Forebay::start(&config);
    let address = &forebay.addresses[0];
    thread::scope(|scope| {
        for part in 0..8_u64 {
            scope.spawn(move || {
                for seed in (part * 150)..(part * 150 + 150) {
                    let mut client = Client::connect(address);
                    match client
                        .send_request("GET", &format!("/{seed}"), &[], "")
                        .try_read()
                    {
                        Ok(response) => assert!(
                            (200..600).contains(&response.status),
                            "seed {seed}: {response:?}"
                        ),
                        Err((_, Broken::Closed | Broken::Reset)) => {}
                        Err((partial, why)) => {
                            panic!("seed {seed} gave {why:?} after {partial:#?}")
                        }
                    }
                    // What was left of it is nobody else's answer.
                    assert_eq!(
                        Client::connect(address).get("/clean").text(),
                        "clean",
                        "seed {seed}"
                    );
                }
            });
        }
    });
    assert!(forebay.is_running());
}
