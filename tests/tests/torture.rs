//! Everything at once: whatever happens, nobody gets another's answer, a part
//! of the wrong version, or a body that only looks whole.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use forebay_tests::{
    Address, Broken, Client, Config, Connection, Forebay, Origin, Request, Response, reply,
};

use crate::common::eventually;

/// How many resources the origin has.
const RESOURCES: u64 = 60;

/// The same sequence for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// The one true body of a resource in a variant.
fn body(resource: u64, kind: &str) -> Vec<u8> {
    let unit = format!("<{resource}/{kind}>");
    let length = (resource * 7919 % 40_000 + resource % 7) as usize;
    unit.bytes().cycle().take(length).collect()
}

/// Each sixth of the resources is served in a way of its own.
fn answer(request: &Request, connection: &mut Connection) {
    let resource: u64 = request.target[1..].parse().unwrap();
    let kind = request.fields.joined("x-kind");
    let varies = resource % 6 == 5;
    let body = body(resource, if varies { &kind } else { "" });
    let opaque = format!("\"{resource}{}\"", if varies { &kind } else { "" });
    let tag = format!("ETag: {opaque}");
    let validated = request
        .field("if-none-match")
        .is_some_and(|tags| tags.contains(&opaque));
    let text = String::from_utf8(body).unwrap();
    let sent = match (resource % 6, request.method.as_str()) {
        (2, _) if validated => reply(304, &["Cache-Control: no-cache", &tag], ""),
        (0, _) => reply(200, &["Cache-Control: max-age=60", &tag], &text),
        (1, _) => chunked("Cache-Control: max-age=60", &text),
        (2, _) => reply(200, &["Cache-Control: no-cache", &tag], &text),
        (3, _) => reply(200, &["Cache-Control: no-store"], &text),
        (4, _) => format!("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n{tag}\r\n\r\n{text}"),
        _ => reply(
            200,
            &["Cache-Control: max-age=60", "Vary: X-Kind", &tag],
            &text,
        ),
    };
    let end = match request.method.as_str() {
        "HEAD" => sent.find("\r\n\r\n").map_or(0, |at| at + 4),
        _ => sent.len(),
    };
    connection.send(&sent[..end]);
    if resource % 6 == 4 {
        connection.close();
    }
}

fn chunked(field: &str, text: &str) -> String {
    let mut sent = format!("HTTP/1.1 200 OK\r\n{field}\r\nTransfer-Encoding: chunked\r\n\r\n");
    for piece in text.as_bytes().chunks(1700) {
        sent.push_str(&format!(
            "{:x}\r\n{}\r\n",
            piece.len(),
            String::from_utf8_lossy(piece)
        ));
    }
    sent + "0\r\n\r\n"
}

/// What one step asked for, to judge the answer by.
struct Question {
    resource: u64,
    kind: &'static str,
    range: Option<(usize, usize)>,
    head: bool,
}

impl Question {
    fn roll(dice: &mut Dice) -> Self {
        let resource = dice.below(RESOURCES);
        let range = (dice.below(4) == 0).then(|| {
            let first = dice.below(3000) as usize;
            (first, first + dice.below(2000) as usize)
        });
        Self {
            resource,
            kind: ["a", "b"][dice.below(2) as usize],
            range,
            head: dice.below(8) == 0,
        }
    }

    fn text(&self) -> String {
        let method = if self.head { "HEAD" } else { "GET" };
        let range = self.range.map_or(String::new(), |(first, last)| {
            format!("Range: bytes={first}-{last}\r\n")
        });
        let Self { resource, kind, .. } = self;
        format!(
            "{method} /{resource} HTTP/1.1\r\nHost: test.example\r\nX-Kind: {kind}\r\n{range}\r\n"
        )
    }

    fn expected(&self) -> Vec<u8> {
        body(
            self.resource,
            if self.resource % 6 == 5 {
                self.kind
            } else {
                ""
            },
        )
    }

    /// Whether `response` is a right answer.
    fn accepts(&self, response: &Response) -> bool {
        let whole = self.expected();
        match response.status {
            200 if self.head => response
                .number("content-length")
                .is_none_or(|n| n == whole.len() as u64),
            200 => response.body == whole,
            206 => self.range.is_some_and(|(first, last)| {
                let last = last.min(whole.len().saturating_sub(1));
                response.field("content-range")
                    == Some(&format!("bytes {first}-{last}/{}", whole.len()))
                    && response.body == whole[first..=last]
            }),
            416 => self.range.is_some_and(|(first, _)| first >= whole.len()),
            _ => false,
        }
    }
}

/// One client that asks `steps` times, on connections that it drops now and then.
fn client(
    address: &Address,
    seed: u64,
    steps: usize,
    judge: &dyn Fn(&Question, forebay_tests::Received),
) {
    let mut dice = Dice(seed);
    let mut connection = Client::connect(address);
    for _ in 0..steps {
        let questions: Vec<Question> = (0..=dice.below(3))
            .map(|_| Question::roll(&mut dice))
            .collect();
        connection.send_anyway(questions.iter().map(Question::text).collect::<String>());
        let mut fresh = false;
        for question in &questions {
            // Some leave in the middle, by FIN or RST.
            if dice.below(30) == 0 {
                fresh = true;
                break;
            }
            let received = connection.try_read_for(if question.head { "HEAD" } else { "GET" });
            let closing = !received
                .as_ref()
                .is_ok_and(|r| !r.fields.lists("connection", "close"));
            judge(question, received);
            if closing {
                fresh = true;
                break;
            }
        }
        if fresh {
            let left = std::mem::replace(&mut connection, Client::connect(address));
            if dice.below(2) == 0 {
                left.reset();
            }
        }
    }
}

/// Runs `count` clients side by side.
fn crowd(
    forebay: &Forebay,
    count: u64,
    judge: impl Fn(&Question, forebay_tests::Received) + Send + Sync,
) {
    let judge: &(dyn Fn(&Question, forebay_tests::Received) + Send + Sync) = &judge;
    thread::scope(|scope| {
        for n in 0..count {
            let address = forebay.addresses[0].clone();
            scope.spawn(move || {
                client(
                    &address,
                    0x9E37_79B9_7F4A_7C15 ^ ((n + 1) * 0x1_0001),
                    150,
                    judge,
                )
            });
        }
    });
}

fn config(origin: &Origin) -> Config {
    Config::to(origin)
        .set("server", "workers = 2")
        // Too little for all of it: objects go while they are read.
        .cache("memory = \"1MiB\"")
        .cache("max_object = \"256KiB\"")
}

#[track_caller]
fn nothing_is_left_over(forebay: &Forebay) {
    for name in ["forebay_connections", "forebay_origin_connections_active"] {
        eventually(|| forebay.metric(name) == Some(0.0));
    }
}

#[test]
fn everybody_gets_the_right_answer() {
    let origin = Origin::start(answer);
    let mut forebay = Forebay::start(&config(&origin));
    crowd(&forebay, 8, |question, received| match received {
        Ok(response) => assert!(
            question.accepts(&response),
            "{} gave {response:#?}",
            question.text()
        ),
        Err((partial, why)) => panic!("{} gave {why:?} after {partial:#?}", question.text()),
    });
    nothing_is_left_over(&forebay);
    assert!(forebay.is_running());
}

struct Done(AtomicBool);

/// Says that it is over, also when a client's judgement panics.
struct End<'a>(&'a Done);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn everybody_gets_the_right_answer_while_the_configuration_is_reloaded() {
    let origin = Origin::start(answer);
    let forebay = Forebay::start(&config(&origin));
    let done = Done(AtomicBool::new(false));
    thread::scope(|scope| {
        let end = End(&done);
        scope.spawn(|| {
            while !done.0.load(Ordering::SeqCst) {
                assert_eq!(forebay.admin("POST", "/reload").status, 200);
            }
        });
        crowd(&forebay, 6, |question, received| match received {
            Ok(response) => assert!(
                question.accepts(&response),
                "{} gave {response:#?}",
                question.text()
            ),
            Err((partial, why)) => panic!("{} gave {why:?} after {partial:#?}", question.text()),
        });
        drop(end);
    });
    nothing_is_left_over(&forebay);
}

#[test]
fn nobody_gets_a_wrong_answer_from_a_failing_origin() {
    let origin = Origin::start(|request, connection| match request.number % 11 {
        3 => connection.close(),
        5 => connection.reset(),
        7 => {
            // Half of an answer.
            connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 100000\r\n\r\nwrong");
            connection.close();
        }
        9 => {
            connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwrong\r\n");
            connection.reset();
        }
        _ => answer(request, connection),
    });
    let mut forebay = Forebay::start(&config(&origin));
    crowd(&forebay, 8, |question, received| match received {
        Ok(response) if matches!(response.status, 502 | 504) => {}
        // A HEAD cannot tell that the origin will break its word.
        Ok(response) if question.head && response.number("content-length") == Some(100_000) => {}
        Ok(response) => assert!(
            question.accepts(&response),
            "{} gave {response:#?}",
            question.text()
        ),
        Err((_, Broken::Closed | Broken::Reset)) => {}
        Err((partial, why)) => panic!("{} gave {why:?} after {partial:#?}", question.text()),
    });
    nothing_is_left_over(&forebay);
    assert!(forebay.is_running());
}
