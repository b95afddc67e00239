//! A hit in steady state allocates nothing, whatever a usual client asks with.

#![allow(clippy::unwrap_used)]

use std::sync::Mutex;
use std::time::Duration;

use forebay_allocations::client::Client;
use forebay_allocations::counting::Watch;
use forebay_allocations::origin::Origin;
use forebay_allocations::server;
use forebay_config::Settings;

/// Workers of another test would be counted too.
static ALONE: Mutex<()> = Mutex::new(());

const CONNECTIONS: usize = 8;
const WARM_UP: usize = 400;
const REQUESTS: usize = 1000;

const PLAIN: &str = "Host: shop.example\r\n";
const BROWSER: &str = "Host: shop.example\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Language: de-AT,de;q=0.8,en-US;q=0.5,en;q=0.3\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Referer: http://shop.example/catalogue\r\n\
    Connection: keep-alive\r\n\
    Cookie: session=0123456789abcdef; theme=dark; _ga=GA1.2.3\r\n\
    Upgrade-Insecure-Requests: 1\r\n\
    Cache-Control: max-age=600\r\n\
    Priority: u=0, i\r\n";

/// What is asked for again and again.
struct Story<'a> {
    method: &'a str,
    path: &'a str,
    fields: &'a str,
    status: &'a str,
    body_bytes: usize,
    /// It goes on until the object is so much older.
    seconds: u64,
}

impl<'a> Story<'a> {
    fn get(path: &'a str, fields: &'a str, body_bytes: usize) -> Self {
        Self {
            method: "GET",
            path,
            fields,
            status: "200",
            body_bytes,
            seconds: 0,
        }
    }

    fn request(&self) -> Vec<u8> {
        format!(
            "{} {} HTTP/1.1\r\n{}\r\n",
            self.method, self.path, self.fields
        )
        .into_bytes()
    }

    /// Asks on every connection before reading an answer; returns the age of the object.
    fn ask(&self, clients: &mut [Client]) -> u64 {
        let request = self.request();
        clients.iter_mut().for_each(|client| client.send(&request));
        let mut age = 0;
        for client in clients {
            let is_head = self.method == "HEAD";
            let answer = if is_head {
                client.receive_head()
            } else {
                client.receive()
            };
            assert_eq!(answer.status(), self.status, "{}", answer.head);
            assert_eq!(answer.body_bytes, self.body_bytes);
            let is_hit = answer
                .field("Cache-Status")
                .is_some_and(|said| said.contains("; hit"));
            assert!(is_hit, "{}", answer.head);
            age = answer
                .field("Age")
                .and_then(|age| age.parse().ok())
                .unwrap_or(0);
        }
        age
    }

    /// Runs the story against a server and returns what its workers allocated.
    fn allocations(&self, change: impl FnOnce(&mut Settings)) -> (u64, String) {
        let _alone = ALONE
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let origin = Origin::start();
        let mut settings = server::settings(&origin);
        change(&mut settings);
        let (server, address) = server::start(settings);
        let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| Client::connect(address)).collect();
        self.store(&mut clients[0]);
        let mut age = 0;
        for _ in 0..WARM_UP / CONNECTIONS {
            age = self.ask(&mut clients);
        }
        let watch = Watch::workers().tracing();
        let until = age + self.seconds;
        for _ in 0..REQUESTS / CONNECTIONS {
            age = self.ask(&mut clients);
        }
        while age < until {
            // Only time makes an object older; asking without a pause would flood the log.
            std::thread::sleep(Duration::from_millis(50));
            age = self.ask(&mut clients);
        }
        let counted = (watch.allocations(), watch.places());
        assert_eq!(origin.requests(), 1, "all but the first were hits");
        drop((watch, clients));
        assert!(server.drain(Duration::from_secs(10)).finished);
        counted
    }

    /// A GET without conditions puts the object into the cache.
    fn store(&self, client: &mut Client) {
        let fields = self
            .fields
            .split_inclusive("\r\n")
            .filter(|line| !line.starts_with("If-"));
        let first = Story {
            method: "GET",
            fields: &fields.collect::<String>(),
            ..*self
        };
        loop {
            client.send(&first.request());
            let answer = client.receive();
            assert_eq!(answer.status(), "200");
            // Its body may be complete only now.
            if answer
                .field("Cache-Status")
                .is_some_and(|said| said.contains("; hit"))
            {
                return;
            }
        }
    }
}

fn assert_none((allocations, places): (u64, String)) {
    assert_eq!(allocations, 0, "the first of them:\n{places}");
}

#[test]
fn a_hit_of_6_kb_allocates_nothing() {
    assert_none(Story::get("/6144", PLAIN, 6144).allocations(|_| {}));
}

#[test]
fn a_hit_of_75_kb_in_two_chunks_allocates_nothing() {
    assert_none(Story::get("/76800", PLAIN, 76_800).allocations(|_| {}));
}

#[test]
fn a_hit_with_a_browsers_fields_allocates_nothing() {
    assert_none(Story::get("/6144", BROWSER, 6144).allocations(|_| {}));
}

#[test]
fn a_hit_among_variants_allocates_nothing() {
    assert_none(Story::get("/6144/vary", BROWSER, 6144).allocations(|_| {}));
}

#[test]
fn an_answer_that_the_client_has_it_already_allocates_nothing() {
    let conditional = format!("{BROWSER}If-None-Match: \"one\"\r\n");
    let story = Story {
        status: "304",
        ..Story::get("/6144", &conditional, 0)
    };
    assert_none(story.allocations(|_| {}));
}

#[test]
fn a_head_request_allocates_nothing() {
    assert_none(
        Story {
            method: "HEAD",
            ..Story::get("/6144", BROWSER, 0)
        }
        .allocations(|_| {}),
    );
}

#[test]
fn neither_the_access_log_nor_the_clock_allocates() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.log");
    let story = Story {
        seconds: 2,
        ..Story::get("/6144", BROWSER, 6144)
    };
    assert_none(story.allocations(|settings| settings.log = server::log_to(path.clone())));
    let lines = std::fs::read_to_string(&path).unwrap().lines().count();
    assert!(
        lines > WARM_UP + REQUESTS,
        "every request was logged: {lines}"
    );
}
