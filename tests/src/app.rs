//! Configurations with application processes, and small applications in Python.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::DEADLINE;

/// Serves HTTP/1.1 on `SOCKET` (or `PORT`), a thread for each connection; SIGTERM ends it at once,
/// whatever it is doing. What it answers begins with its process id.
pub const PYTHON: &str = r#"
import http.server, os, signal, socket, socketserver, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path == "/die":
            print("dying as asked", file=sys.stderr, flush=True)
            os._exit(9)
        if self.path.startswith("/sleep/"):
            time.sleep(float(self.path[7:]))
        body = f"{os.getpid()} {os.environ.get('COLOUR', 'grey')} {os.getuid()} {os.getcwd()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, form, *values):
        print("served", self.path, flush=True)
class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    def server_bind(self):
        self.socket.bind(self.server_address)
if "SOCKET" in os.environ:
    Server.address_family = socket.AF_UNIX
    where = os.environ["SOCKET"]
else:
    where = ("127.0.0.1", int(os.environ["PORT"]))
"#;

/// The end of a program that begins with [`PYTHON`].
pub const SERVE: &str = "Server(where, Handler).serve_forever()";

/// A configuration with `[app.shop]`, whose settings are `lines`, and a site for it.
pub fn config(lines: &str) -> String {
    format!(
        "[[listen]]\naddress = \"127.0.0.1:0\"\n\
         [server]\nworkers = 2\ndrain_timeout = \"5s\"\n\
         [admin]\naddress = \"127.0.0.1:0\"\n\
         [app.shop]\n{lines}\n\
         [site.shop]\nhosts = [\"*\"]\npool = \"shop\"\npass = true\n"
    )
}

/// The line `command = …` of a Python program that listens on its socket.
pub fn python(script: &str) -> String {
    format!(
        "command = ['python3', '-c', '''{script}''', '{{socket}}']\nstop_timeout = \"2s\"\nbackoff = \"100ms\"\n"
    )
}

/// The usual application.
pub fn serving() -> String {
    python(&format!("{PYTHON}{SERVE}"))
}

/// Whether a process of this id lives: a zombie does not.
pub fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The processes that `pid` has started, and those that they have.
pub fn descendants(pid: u32) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let child = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok());
        if let Some(child) = child
            && let Some(parent) = parent(&entry.path())
        {
            parents.push((child, parent));
        }
    }
    let mut found = BTreeSet::from([pid]);
    loop {
        let before = found.len();
        let below = parents.iter().filter(|(_, parent)| found.contains(parent));
        let below: Vec<u32> = below.map(|(child, _)| *child).collect();
        found.extend(below);
        if found.len() == before {
            found.remove(&pid);
            return found.into_iter().filter(|&pid| lives(pid)).collect();
        }
    }
}

fn parent(process: &Path) -> Option<u32> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

/// Waits until something holds.
///
/// # Panics
/// When it does not before the deadline; `what` is in the message.
#[track_caller]
pub fn until(what: &str, mut wanted: impl FnMut() -> bool) {
    let deadline = Instant::now() + 2 * DEADLINE;
    while !wanted() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
