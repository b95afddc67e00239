//! Back ends that dial in: `forebay join` beside a server that knows nothing of it, and the
//! protocol spoken by hand.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use forebay_tests::app::until;
use forebay_tests::{Client, Forebay, Origin, Response, program, reply};
use rustix::process::{Pid, Signal, kill_process};

/// A pool that is joined, with more of its settings.
fn edge(pool: &str) -> Forebay {
    edge_with(2, pool)
}

fn edge_with(workers: usize, pool: &str) -> Forebay {
    Forebay::start_text(&config(workers, pool))
}

fn config(workers: usize, pool: &str) -> String {
    format!(
        "[[listen]]\naddress = \"127.0.0.1:0\"\n\
         [server]\nworkers = {workers}\ndrain_timeout = \"2s\"\n\
         [admin]\naddress = \"127.0.0.1:0\"\n\
         [pool.app]\njoin_tokens = [\"other\", \"secret\"]\n{pool}\n\
         [site.app]\nhosts = [\"test.example\"]\npool = \"app\"\npass = true\n"
    )
}

/// A running `forebay join`; killed when dropped.
struct Joiner(Child);

impl Joiner {
    fn start(edge: &Forebay, local: &str, more: &[&str]) -> Self {
        let child = Command::new(program::path())
            .args(["join", &edge.authority(), "--pool", "app", "--local", local])
            .args(more)
            .env("FOREBAY_JOIN_TOKEN", "secret")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Joiner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn named(name: &'static str) -> Origin {
    Origin::start(move |_, connection| connection.send(reply(200, &[], name)))
}

#[track_caller]
fn says(response: &Response, text: &str) {
    assert_eq!((response.status, response.text().as_str()), (200, text));
}

#[test]
fn a_server_that_knows_nothing_of_it_becomes_a_back_end() {
    let edge = edge("");
    let origin = named("hello");
    let mut joiner = Joiner::start(&edge, &origin.server(), &["--name", "web-1"]);
    // The first request waits in the queue until somebody has joined.
    for _ in 0..20 {
        says(&edge.get("/"), "hello");
    }
    edge.wait_for_output("pool app: join:web-1 has joined");
    joiner.signal(Signal::TERM);
    edge.wait_for_output("join:web-1 is out: it has left");
    assert!(joiner.0.wait().unwrap().success());
}

#[test]
fn bodies_of_any_size_pass_in_both_directions() {
    let edge = edge("");
    let origin = Origin::start(|request, connection| {
        connection.send(reply(200, &[], &"x".repeat(request.body.len())));
    });
    let _joiner = Joiner::start(&edge, &origin.server(), &[]);
    let body = "u".repeat(3_000_000);
    let response = edge.exchange("POST", "/", &[], &body);
    assert_eq!((response.status, response.text().len()), (200, body.len()));
    says(&edge.exchange("POST", "/", &[], "ab"), "xx");
}

#[test]
fn requests_are_shared_among_those_who_joined() {
    let edge = edge("");
    let (one, two) = (named("one"), named("two"));
    let _first = Joiner::start(&edge, &one.server(), &["--name", "one"]);
    let _second = Joiner::start(&edge, &two.server(), &["--name", "two"]);
    edge.wait_for_output("join:one has joined");
    edge.wait_for_output("join:two has joined");
    let mut seen = std::collections::BTreeSet::new();
    until("both have answered", || {
        seen.insert(edge.get("/").text());
        seen.len() == 2
    });
}

#[test]
fn one_that_is_killed_is_out_at_once_and_the_other_goes_on() {
    let edge = edge("");
    let (one, two) = (named("one"), named("two"));
    let mut first = Joiner::start(&edge, &one.server(), &["--name", "one"]);
    edge.wait_for_output("join:one has joined");
    says(&edge.get("/"), "one");
    let _second = Joiner::start(&edge, &two.server(), &["--name", "two"]);
    edge.wait_for_output("join:two has joined");
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    edge.wait_for_output("join:one is out");
    for _ in 0..10 {
        says(&edge.get("/"), "two");
    }
}

#[test]
fn an_edge_that_was_away_is_joined_again() {
    let mut first = edge("");
    let origin = named("hello");
    let _joiner = Joiner::start(&first, &origin.server(), &["--name", "web-1"]);
    says(&first.get("/"), "hello");
    let address = first.authority();
    first.kill();
    let text = config(1, "").replace("127.0.0.1:0\"\n[server]", &format!("{address}\"\n[server]"));
    let second = Forebay::start_text(&text);
    assert_eq!(second.authority(), address);
    second.wait_for_output("join:web-1 has joined");
    says(&second.get("/"), "hello");
}

#[test]
fn several_edges_are_joined_and_each_is_left_for_itself() {
    let (mut one, two) = (edge(""), edge(""));
    let origin = named("hello");
    let other = two.authority();
    let _joiner = Joiner::start(&one, &origin.server(), &[&other, "--name", "web-1"]);
    one.wait_for_output("join:web-1 has joined");
    two.wait_for_output("join:web-1 has joined");
    says(&one.get("/"), "hello");
    says(&two.get("/"), "hello");
    one.kill();
    says(&two.get("/"), "hello");
}

#[test]
fn a_limit_of_one_is_one_request_at_a_time() {
    let edge = edge_with(2, "max_connections = 1");
    let busy = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let origin = {
        let (busy, most) = (Arc::clone(&busy), Arc::clone(&most));
        Origin::start(move |_, connection| {
            most.fetch_max(busy.fetch_add(1, SeqCst) + 1, SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(2));
            busy.fetch_sub(1, SeqCst);
            connection.send(reply(200, &[], "done"));
        })
    };
    let _joiner = Joiner::start(&edge, &origin.server(), &[]);
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut client = edge.client();
            std::thread::spawn(move || {
                for _ in 0..10 {
                    says(&client.get("/"), "done");
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("every request was answered");
    }
    assert_eq!(most.load(SeqCst), 1);
}

#[test]
fn a_local_server_that_closes_every_connection_is_served_all_the_same() {
    let edge = edge("");
    let origin = Origin::start(|_, connection| {
        connection.send(reply(200, &["Connection: close"], "bye"));
        connection.close();
    });
    let _joiner = Joiner::start(&edge, &origin.server(), &[]);
    for _ in 0..40 {
        says(&edge.get("/"), "bye");
    }
}

#[test]
fn one_whose_local_server_is_away_waits_for_it() {
    let edge = edge("");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.sock");
    let _joiner = Joiner::start(
        &edge,
        &format!("unix:{}", path.display()),
        &["--name", "late"],
    );
    let mut client = edge.client();
    client.send_request("GET", "/", &[], "");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let serving = std::thread::spawn(move || {
        use std::io::{Read, Write};
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            // The looks whether it is there bring nothing.
            if stream.read(&mut head).unwrap() > 0 {
                stream
                    .write_all(reply(200, &[], "late").as_bytes())
                    .unwrap();
                return;
            }
        }
    });
    says(&client.read(), "late");
    serving.join().unwrap();
}

fn upgrade(edge: &Forebay, fields: &[&str]) -> (Client, Response) {
    let mut client = edge.client();
    let mut all = vec!["Connection: Upgrade", "Upgrade: forebay-join/1"];
    all.extend(fields);
    let head = client
        .send_request("GET", "/.well-known/forebay-join", &all, "")
        .read_any_head();
    (client, head)
}

const CONTROL: [&str; 4] = [
    "Authorization: Bearer secret",
    "Forebay-Pool: app",
    "Forebay-Server: by-hand",
    "Forebay-Role: control",
];
const REQUESTS: [&str; 4] = [CONTROL[0], CONTROL[1], CONTROL[2], "Forebay-Role: requests"];

#[test]
fn the_protocol_can_be_spoken_by_hand() {
    let edge = edge_with(1, "max_connections = 2");
    let (mut control, head) = upgrade(&edge, &CONTROL);
    assert_eq!(
        (head.status, head.field("upgrade")),
        (101, Some("forebay-join/1"))
    );
    assert_eq!(control.read_bytes(14), b"connections 2\n");
    let (mut connection, head) = upgrade(&edge, &REQUESTS);
    assert_eq!(head.status, 101);
    let mut client = edge.client();
    client.send_request("GET", "/path", &[], "");
    assert_eq!(connection.read_bytes(18), b"GET /path HTTP/1.1");
    connection.send(reply(200, &[], "by hand"));
    says(&client.read(), "by hand");
    control.send("unknown\npong\nleaving\n");
    // The one that carries nothing is closed, then the control connection.
    connection.read_to_end();
    control.expect_close();
}

#[test]
fn more_connections_than_allowed_or_without_control_are_refused() {
    let edge = edge_with(1, "max_connections = 1");
    assert_eq!(upgrade(&edge, &REQUESTS).1.status, 409);
    let (_control, head) = upgrade(&edge, &CONTROL);
    assert_eq!(head.status, 101);
    let (_connection, head) = upgrade(&edge, &REQUESTS);
    assert_eq!(head.status, 101);
    assert_eq!(upgrade(&edge, &REQUESTS).1.status, 409);
}

#[test]
fn who_has_no_token_stays_out() {
    let edge = edge("");
    for (place, wrong) in [
        (0, "Authorization: Bearer wrong"),
        (0, "Authorization: Basic c2VjcmV0"),
        (1, "Forebay-Pool: none"),
    ] {
        let mut fields = CONTROL;
        fields[place] = wrong;
        assert_eq!(upgrade(&edge, &fields).1.status, 403, "{wrong}");
    }
    edge.wait_for_output("was refused: no such token for pool \"app\"");
    for (place, malformed) in [
        (2, "Forebay-Server: a/b"),
        (3, "Forebay-Role: other"),
        (3, "X: forebay-role"),
    ] {
        let mut fields = CONTROL;
        fields[place] = malformed;
        assert_eq!(upgrade(&edge, &fields).1.status, 400, "{malformed}");
    }
}

#[test]
fn a_reload_without_the_token_puts_a_back_end_out() {
    let edge = edge("");
    let (mut control, head) = upgrade(&edge, &CONTROL);
    assert_eq!(head.status, 101);
    let text = std::fs::read_to_string(edge.config_file()).unwrap();
    edge.write_config(&text.replace("\"secret\"", "\"changed\""));
    edge.signal(Signal::HUP);
    control.read_to_end();
    edge.wait_for_output("the configuration does not let it be there any more");
}

#[test]
fn the_newer_of_two_with_the_same_name_stays() {
    let edge = edge_with(1, "");
    let (mut older, _) = upgrade(&edge, &CONTROL);
    let (mut newer, head) = upgrade(&edge, &CONTROL);
    assert_eq!(head.status, 101);
    older.read_to_end();
    assert_eq!(newer.read_bytes(12), b"connections ");
    let (mut connection, _) = upgrade(&edge, &REQUESTS);
    let mut client = edge.client();
    client.send_request("GET", "/", &[], "");
    assert_eq!(connection.read_bytes(5), b"GET /");
    connection.send(reply(200, &[], "newer"));
    says(&client.read(), "newer");
}

#[test]
fn one_that_joins_again_while_a_request_is_under_way_gets_the_next() {
    let edge = edge_with(1, "max_connections = 1");
    let (_control, _) = upgrade(&edge, &CONTROL);
    let (mut connection, head) = upgrade(&edge, &REQUESTS);
    assert_eq!(head.status, 101);
    let mut client = edge.client();
    client.send_request("GET", "/slow", &[], "");
    assert_eq!(connection.read_bytes(9), b"GET /slow");
    let (_newer, head) = upgrade(&edge, &CONTROL);
    assert_eq!(head.status, 101);
    let (mut second, head) = upgrade(&edge, &REQUESTS);
    assert_eq!(head.status, 101);
    connection.send(reply(200, &[], "slow"));
    says(&client.read(), "slow");
    // The older self's connection is of no use any more.
    connection.read_to_end();
    let mut client = edge.client();
    client.send_request("GET", "/next", &[], "");
    assert_eq!(second.read_bytes(9), b"GET /next");
    second.send(reply(200, &[], "next"));
    says(&client.read(), "next");
}

#[test]
fn checks_leave_back_ends_that_joined_alone() {
    let listed = named("listed");
    let edge = edge_with(
        1,
        &format!(
            "servers = [{:?}]\n[pool.app.health]\npath = \"/\"\ninterval = \"100ms\"\nfall = 1",
            listed.server()
        ),
    );
    let (_control, head) = upgrade(&edge, &CONTROL);
    assert_eq!(head.status, 101);
    edge.wait_for_output("join:by-hand has joined");
    listed.wait_for(listed.count() + 5);
    assert!(!edge.output().contains("server is down"));
}
