//! The program's own life: start, reload, drain, systemd.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};

use forebay_tests::site::self_signed;
use forebay_tests::stream::Stream;
use forebay_tests::{Address, Client, Config, Event, Forebay, Origin, program, reply};
use rustix::process::Signal;

use crate::common::{eventually, is_fresh_for, numbered};

#[test]
fn bad_configuration_does_not_start_and_says_everything() {
    let text = "[[listen]]\naddress = \"nonsense\"\n[pool.app]\nservers = []\n[cache]\ndefault_tttl = \"1s\"\n";
    let mut forebay = Forebay::spawn_text(text);
    assert_eq!(forebay.wait_exit().code(), Some(1));
    eventually(|| {
        ["nonsense", "servers", "default_ttl"]
            .iter()
            .all(|word| forebay.output().contains(word))
    });
    assert!(!forebay.output().contains("ready"));
}

#[test]
fn address_in_use_is_said_plainly() {
    let origin = numbered(&[]);
    let holder = Forebay::before(&origin);
    // A listener of another kind: SO_REUSEPORT must not let two programs share a port unnoticed.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut forebay = Forebay::spawn_text(&Config::to(&origin).listen(&[&address]).text());
    assert_eq!(forebay.wait_exit().code(), Some(1));
    eventually(|| forebay.output().contains(&address));
    assert_eq!(holder.get("/").status, 200);
}

#[track_caller]
fn reload(forebay: &Forebay) {
    let answer = forebay.admin("POST", "/reload");
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn reload_changes_the_policy_and_keeps_cache_and_connections() {
    let origin = numbered(&[]);
    let config = Config::to(&origin);
    let forebay = Forebay::start(&config.clone().cache("default_ttl = \"1h\""));
    let mut client = forebay.client();
    client.get("/stored");
    forebay.write_config(&config.cache("default_ttl = \"5s\"").text());
    reload(&forebay);
    assert!(client.get("/stored").is_hit(), "the cache was lost");
    client.get("/new");
    assert!(
        is_fresh_for(&client.get("/new"), 5),
        "the new policy is not in force"
    );
}

#[test]
fn reload_that_names_the_chosen_port_keeps_the_listener() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let config = Config::to(&origin);
    let forebay = Forebay::start(&config);
    let mut client = forebay.client();
    client.get("/");
    forebay.write_config(&config.listen(&[&forebay.authority()]).text());
    reload(&forebay);
    assert!(client.get("/").is_hit());
    assert!(forebay.get("/").is_hit());
}

#[test]
fn reload_opens_new_listeners_and_closes_old_ones() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| Address::Unix(directory.path().join(name));
    let (one, two, three) = (path("1"), path("2"), path("3"));
    let config = Config::to(&origin);
    let at = |a: &Address, b: &Address| config.clone().listen(&[&a.to_string(), &b.to_string()]);
    let forebay = Forebay::start(&at(&one, &two));
    let mut kept = Client::connect(&one);
    kept.get("/");
    forebay.write_config(&at(&two, &three).text());
    reload(&forebay);
    eventually(|| forebay_tests::stream::Stream::connect(&three).is_ok());
    assert!(Client::connect(&three).get("/").is_hit());
    assert!(Client::connect(&two).get("/").is_hit());
    eventually(|| forebay_tests::stream::Stream::connect(&one).is_err());
    assert_eq!(
        kept.get("/").status,
        200,
        "a connection of the old listener was dropped"
    );
}

#[test]
fn reload_by_signal_does_the_same() {
    let origin = numbered(&[]);
    let config = Config::to(&origin);
    let forebay = Forebay::start(&config.clone().cache("default_ttl = \"1h\""));
    let mut client = forebay.client();
    client.get("/stored");
    forebay.write_config(&config.cache("default_ttl = \"5s\"").text());
    forebay.signal(Signal::HUP);
    forebay.wait_for_metric("forebay_config_generation", 2.0);
    let mut n = 0;
    // A worker takes the new settings with its next request.
    eventually(|| {
        n += 1;
        client.get(&format!("/new{n}"));
        is_fresh_for(&client.get(&format!("/new{n}")), 5)
    });
    assert!(client.get("/stored").is_hit());
}

#[test]
fn reload_does_not_disturb_what_is_under_way() {
    let go = Event::new("reloaded");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234");
        gate.wait();
        connection.send("56789");
    });
    let config = Config::to(&origin);
    let forebay = Forebay::start(&config);
    let mut client = forebay.client();
    let mut response = client.send_request("GET", "/", &[], "").read_head();
    client.read_body(&mut response, 5);
    forebay.write_config(&config.cache("pass = true").text());
    reload(&forebay);
    go.set();
    client.read_rest(&mut response).unwrap();
    assert_eq!(response.text(), "0123456789");
}

#[test]
fn reload_brings_new_sites_and_pools() {
    let (old, new) = (
        Origin::fixed(reply(200, &[], "old")),
        Origin::fixed(reply(200, &[], "new")),
    );
    let config = Config::to(&old);
    let forebay = Forebay::start(&config);
    let mut client = forebay.client();
    assert_eq!(client.get("/").text(), "old");
    let servers = format!("servers = [\"{}\"]", new.server());
    forebay.write_config(&config.set("pool.app", &servers).text());
    reload(&forebay);
    assert_eq!(client.get("/").text(), "new");
}

#[test]
fn reload_takes_tokens_over_and_names_what_waits_for_a_restart() {
    let origin = numbered(&[]);
    let tokens = |admin: &str| format!("admin_tokens = [\"{admin}-token-of-the-admin\"]");
    let config = Config::to(&origin);
    let text = config.clone().set("admin", &tokens("old")).text();
    let forebay = Forebay::start_text(&text);
    let reload = |token: &str| {
        forebay.command(&["reload", "--token", &format!("{token}-token-of-the-admin")])
    };
    assert_eq!(reload("old").status, 0);
    let changed = config
        .set("admin", &tokens("new"))
        .set("server", "workers = 7");
    forebay.write_config(&changed.text());
    let said = reload("old");
    assert_eq!(said.status, 0, "{said:?}");
    for _ in 0..2 {
        assert_eq!(reload("old").status, 1, "the old token opens still");
        let said = reload("new");
        assert_eq!(said.status, 0, "{said:?}");
        let told = said.stdout + &said.stderr;
        assert!(told.contains("server.workers takes a restart"), "{told}");
        assert!(!told.contains("[admin]"), "{told}");
    }
}

#[test]
fn clients_that_have_said_nothing_do_not_hold_up_the_end() {
    let files = tempfile::tempdir().unwrap();
    let (certificate, key) = self_signed(files.path(), &["localhost"]);
    let text = format!(
        "[[listen]]\naddress = \"127.0.0.1:0\"\n\
         [[listen]]\naddress = \"127.0.0.2:0\"\ncertificate = {certificate:?}\nkey = {key:?}\n\
         [server]\nworkers = 1\ndrain_timeout = \"10m\"\n[timeouts]\nrequest_head = \"10m\"\n\
         [admin]\naddress = \"127.0.0.1:0\"\n[site.all]\nroot = {:?}\n",
        files.path()
    );
    let mut forebay = Forebay::start_text(&text);
    let silent: Vec<_> = forebay.addresses.iter().map(Stream::connect).collect();
    forebay.wait_for_metric("forebay_connections", 2.0);
    forebay.signal(Signal::TERM);
    assert!(forebay.wait_exit().success());
    assert!(silent.iter().all(Result::is_ok));
}

#[test]
fn bad_file_is_refused_and_the_old_settings_stay() {
    let origin = numbered(&[]);
    let mut forebay = Forebay::start(&Config::to(&origin).cache("default_ttl = \"1h\""));
    forebay.write_config("[cache]\nmemory = \"much\"\n");
    let answer = forebay.admin("POST", "/reload");
    assert!(answer.status >= 400, "{answer:?}");
    assert!(answer.text().contains("memory"), "{}", answer.text());
    forebay.signal(Signal::HUP);
    forebay.wait_for_output("memory");
    forebay.get("/");
    assert!(is_fresh_for(&forebay.get("/"), 3600));
    assert!(forebay.is_running());
}

#[test]
fn reload_command_reaches_the_server_and_reports() {
    let origin = numbered(&[]);
    let config = Config::to(&origin);
    let forebay = Forebay::start(&config);
    forebay.write_config(&config.cache("default_ttl = \"7s\"").text());
    let admin = forebay.admin.as_ref().unwrap().to_string();
    let run = || {
        Command::new(program::path())
            .args(["reload", "--admin", &admin])
            .output()
            .unwrap()
    };
    let output = run();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    forebay.get("/");
    assert!(is_fresh_for(&forebay.get("/"), 7));
    forebay.write_config("nonsense");
    let refused = run();
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("nonsense"), "{said}");
}

#[test]
fn systemd_is_told_when_ready_reloading_and_stopping() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(forebay_tests::DEADLINE))
        .unwrap();
    let origin = numbered(&[]);
    let mut forebay = Forebay::start_with(&Config::to(&origin).text(), |file| {
        let mut command = Command::new(program::path());
        command
            .arg("serve")
            .arg("-c")
            .arg(file)
            .env("NOTIFY_SOCKET", &path);
        command
    });
    let expect = |line: &str| {
        let mut buffer = [0; 4096];
        loop {
            let count = socket
                .recv(&mut buffer)
                .unwrap_or_else(|e| panic!("no {line}: {e}"));
            if String::from_utf8_lossy(&buffer[..count])
                .lines()
                .any(|l| l == line)
            {
                return;
            }
        }
    };
    expect("READY=1");
    forebay.signal(Signal::HUP);
    expect("RELOADING=1");
    expect("READY=1");
    forebay.signal(Signal::TERM);
    expect("STOPPING=1");
    assert_eq!(forebay.wait_exit().code(), Some(0));
}

/// A server to which this socket is passed as systemd passes one.
fn with_socket(listener: std::net::TcpListener, file: &Path) -> Command {
    // systemd passes descriptor 3; the listener arrives here as the standard input.
    let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" serve -c \"$1\" 3<&0 0</dev/null";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program::path()).arg(file);
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)));
    command
}

#[test]
fn socket_that_is_passed_is_not_served_without_the_tls_of_the_file() {
    let files = tempfile::tempdir().unwrap();
    let (certificate, key) = self_signed(files.path(), &["localhost"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The same port, but written for all addresses.
    let text = format!(
        "[[listen]]\naddress = \"0.0.0.0:{port}\"\ncertificate = {certificate:?}\nkey = {key:?}\n\
         [site.all]\nroot = {:?}\n",
        files.path()
    );
    let mut forebay = Forebay::spawn(&text, |file| with_socket(listener, file));
    assert_eq!(forebay.wait_exit().code(), Some(1));
    forebay.wait_for_output(&format!("[[listen]] 0.0.0.0:{port}: sockets were passed"));
}

#[test]
fn socket_passed_by_systemd_is_used() {
    let origin = Origin::fixed(reply(200, &[], "passed"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = Config::to(&origin)
        .listen(&[&address.to_string()])
        .set("server", "workers = 2")
        .text();
    let forebay = Forebay::start_with(&config, |file| with_socket(listener, file));
    let mut clients: Vec<Client> = (0..8)
        .map(|_| Client::connect(&Address::Tcp(address)))
        .collect();
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.get("/").text(), "passed"));
    assert_eq!(forebay.addresses, [Address::Tcp(address)]);
}

#[test]
fn unix_socket_left_by_a_killed_process_is_replaced() {
    let origin = numbered(&[]);
    let directory = tempfile::tempdir().unwrap();
    let listen = format!("unix:{}", directory.path().join("s").display());
    let config = Config::to(&origin).listen(&[&listen]);
    drop(Forebay::start(&config));
    let forebay = Forebay::start(&config);
    assert_eq!(forebay.get("/").status, 200);
}

#[test]
fn closed_standard_output_does_not_end_the_server() {
    let origin = numbered(&[]);
    let directory = tempfile::tempdir().unwrap();
    let address = Address::Unix(directory.path().join("s"));
    let config = Config::to(&origin)
        .set("log", "access = \"stdout\"")
        .listen(&[&address.to_string()]);
    let file = directory.path().join("forebay.toml");
    std::fs::write(&file, config.text()).unwrap();
    let mut command = Command::new(program::path());
    let mut child = command
        .arg("serve")
        .arg("-c")
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The reader of its output leaves before it says a word, as `| head -0` would.
    drop(child.stdout.take());
    eventually(|| forebay_tests::stream::Stream::connect(&address).is_ok());
    for _ in 0..3 {
        assert_eq!(Client::connect(&address).get("/").status, 200);
    }
    assert!(child.try_wait().unwrap().is_none(), "it ended");
    child.kill().unwrap();
    child.wait().unwrap();
}
