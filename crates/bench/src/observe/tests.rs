//! Against real processes: a small server, with a child, that listens and works.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use super::search::Unseen;
use super::*;

/// A process that listens, forks a worker, and answers each line it gets: `w` makes the worker use
/// 200 ms of processor time, `e` makes it use as much and end.
const SERVER: &str = r"
import os, socket, sys, time
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()
a, b = socket.socketpair()
def burn():
    t = time.process_time()
    while time.process_time() - t < 0.2: pass
if os.fork() == 0:
    a.close()
    while True:
        c = b.recv(1)
        if not c: os._exit(0)
        burn()
        if c == b'e': os._exit(0)
        b.send(c)
b.close()
print(s.getsockname()[1], flush=True)
for line in sys.stdin:
    a.send(line[0].encode())
    if line[0] == 'e': os.wait()
    else: a.recv(1)
    print('done', flush=True)
";

struct Server {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    address: SocketAddr,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new("python3")
            .args(["-c", SERVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = Self {
            child,
            lines,
            address,
        };
        let port = server.line();
        server.address.set_port(port.trim().parse().unwrap());
        server
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn ask(&mut self, what: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{what}").unwrap();
        assert_eq!(self.line(), "done\n");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_and_its_worker_are_found_and_measured() {
    let mut server = Server::start();
    let mut observed = Observed::find(&[server.address]).unwrap();
    assert_eq!(observed.pids().len(), 2, "{observed:?}");
    assert!(observed.pids().contains(&server.child.id()));
    assert!(observed.name.starts_with("python"), "{}", observed.name);

    server.ask("w");
    observed.start();
    server.ask("w");
    observed.sample(1.0);
    // Its worker ends, and is waited for: what it used is now its parent's.
    server.ask("e");
    observed.sample(2.0);
    drop(server);
    observed.sample(3.0);
    assert!(observed.pids().is_empty());
    let result = observed.finish(1000);
    let cpu = result.user_seconds + result.system_seconds;
    // Ticks of 10 ms; what the interpreter does beside is little. Twice would be 0.8.
    assert!((0.36..0.6).contains(&cpu), "{result:?}");
    assert!((result.cpu_us_per_request - cpu * 1000.0).abs() < 1e-6);
    assert!(result.pids.is_empty());
    assert_eq!(result.samples.len(), 3);
    assert!(
        (0.15..0.35).contains(&result.samples[0].cores),
        "{result:?}"
    );
    assert!(result.peak_resident_bytes > 1 << 20, "{result:?}");
}

#[test]
fn the_load_tester_is_never_the_server() {
    let own = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = own.local_addr().unwrap();
    let why = Observed::find(&[address]).unwrap_err();
    assert_eq!(why, Unseen::Own(address.to_string()));
    assert!(Observed::by_pid(std::process::id()).is_none());
}

#[test]
fn who_is_not_seen_is_said_why() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let why = Observed::find(&[free]).unwrap_err();
    assert_eq!(why, Unseen::Nobody(free.to_string()));
    // TEST-NET-1 (RFC 5737) belongs to nobody; a local server at all addresses must not be taken for it.
    let elsewhere: SocketAddr = "192.0.2.1:80".parse().unwrap();
    assert_eq!(
        Observed::find(&[elsewhere]).unwrap_err(),
        Unseen::Elsewhere(elsewhere.to_string())
    );
    assert!(Observed::by_pid(u32::MAX).is_none());
}
