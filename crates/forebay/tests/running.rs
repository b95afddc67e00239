//! A running server as its operator meets it: the lines it prints, signals,
//! reload and the end; and the demonstration, with nothing but the program.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Far beyond what anything here takes; a hang fails instead of blocking.
const DEADLINE: Duration = Duration::from_secs(30);

/// A running program, killed when the test ends or takes too long.
struct Program {
    child: Child,
    /// While it is held, the program may run.
    _patience: Sender<()>,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let command = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (patience, over) = mpsc::channel();
        let pid = Pid::from_child(&child);
        std::thread::spawn(move || {
            if over.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        Self {
            child,
            _patience: patience,
            stdout,
            stderr,
        }
    }

    /// The next line of standard output, without its end.
    #[track_caller]
    fn line(&mut self) -> String {
        let mut line = String::new();
        if self.stdout.read_line(&mut line).unwrap() == 0 {
            let mut errors = String::new();
            self.stderr.read_to_string(&mut errors).unwrap();
            panic!("standard output ended: {errors}");
        }
        line.trim_end().to_owned()
    }

    /// Reads standard output up to the line that starts with `start`, and gives the rest of it.
    #[track_caller]
    fn wait_for(&mut self, start: &str) -> String {
        loop {
            if let Some(rest) = self.line().trim_start().strip_prefix(start) {
                return rest.to_owned();
            }
        }
    }

    /// Reads the error log up to a line that contains `part`.
    #[track_caller]
    fn wait_for_log(&mut self, part: &str) {
        let mut log = String::new();
        while self.stderr.read_line(&mut log).unwrap() > 0 {
            if log.lines().last().unwrap_or_default().contains(part) {
                return;
            }
        }
        panic!("no {part:?} in the error log: {log}");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end; status and the rest of standard output.
    fn finish(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forebay(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.args(arguments);
    command
}

/// One GET on a connection of its own, head and body.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

const FILE: &str = "[server]\ndrain_timeout = \"1s\"\n[[listen]]\naddress = \"127.0.0.1:0\"\n\
                    [admin]\naddress = \"127.0.0.1:0\"\n[pool.app]\nservers = [\"127.0.0.1:9\"]\n";

#[test]
fn the_lines_of_the_start_are_those_a_script_waits_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forebay.toml");
    fs::write(&file, FILE).unwrap();
    let mut program = Program::start(&mut forebay(&["serve", "-c", file.to_str().unwrap()]));
    let lines = [program.line(), program.line(), program.line()];
    let port = |line: &str| line.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    assert!(
        lines[0].starts_with("listening on 127.0.0.1:") && port(&lines[0]) != 0,
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("admin on 127.0.0.1:") && port(&lines[1]) != 0,
        "{lines:?}"
    );
    assert_eq!(lines[2], "ready");
    program.signal(Signal::TERM);
    assert_eq!(program.finish(), (Some(0), String::new()));
}

#[test]
fn a_bad_file_leaves_the_server_as_it_was_and_a_good_one_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forebay.toml");
    let file = path.to_str().unwrap();
    fs::write(file, FILE).unwrap();
    let mut program = Program::start(&mut forebay(&["serve", "-c", file]));
    let admin = program.wait_for("admin on ");
    program.wait_for("ready");

    fs::write(file, FILE.replace("servers", "severs")).unwrap();
    program.signal(Signal::HUP);
    program.wait_for_log("the configuration was refused");
    program.wait_for_log("did you mean `servers`");
    let refused = forebay(&["reload", "--admin", &admin]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("did you mean `servers`"));

    fs::write(file, FILE.replace("127.0.0.1:9\"", "127.0.0.1:10\"")).unwrap();
    program.signal(Signal::HUP);
    program.wait_for_log("the new configuration is in force");
    assert!(get(&admin, "/status").contains("127.0.0.1:10"));
    let taken = forebay(&["reload", "--admin", &admin]).output().unwrap();
    assert_eq!(taken.status.code(), Some(0), "{taken:?}");
    program.signal(Signal::TERM);
    assert_eq!(program.finish().0, Some(0));
}

#[test]
fn a_rotated_error_log_is_opened_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (path, log) = (
        folder.path().join("forebay.toml"),
        folder.path().join("error.log"),
    );
    fs::write(
        &path,
        format!("{FILE}[log]\nerror = {:?}\n", log.display().to_string()),
    )
    .unwrap();
    let mut program = Program::start(&mut forebay(&["serve", "-c", path.to_str().unwrap()]));
    let admin = program.wait_for("admin on ");
    program.wait_for("ready");
    fs::rename(&log, folder.path().join("error.log.1")).unwrap();
    let reload = forebay(&["reload", "--admin", &admin]).output().unwrap();
    assert_eq!(reload.status.code(), Some(0), "{reload:?}");
    assert!(
        fs::read_to_string(&log)
            .unwrap()
            .contains("the new configuration is in force")
    );
    program.signal(Signal::TERM);
    assert_eq!(program.finish().0, Some(0));
}

#[test]
fn systemd_hears_of_start_reload_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forebay.toml");
    fs::write(&path, FILE).unwrap();
    let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    let heard = || {
        let mut buffer = [0; 4096];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let mut command = forebay(&["serve", "-c", path.to_str().unwrap()]);
    let mut program = Program::start(command.env("NOTIFY_SOCKET", folder.path().join("notify")));
    assert!(heard().starts_with("READY=1\n"));
    program.wait_for("ready");
    program.signal(Signal::HUP);
    let reloading = heard();
    assert!(
        reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
        "{reloading}"
    );
    assert!(heard().starts_with("READY=1\n"));
    program.signal(Signal::TERM);
    assert!(heard().starts_with("STOPPING=1\n"));
    assert_eq!(program.finish().0, Some(0));
}

#[test]
fn an_address_in_use_is_named() {
    let owner = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = owner.local_addr().unwrap().to_string();
    let mut program = Program::start(&mut forebay(&[
        "serve",
        "--origin",
        "127.0.0.1:9",
        "--listen",
        &address,
    ]));
    program.wait_for_log(&address);
    assert_eq!(program.finish(), (Some(1), String::new()));
}

#[test]
fn the_demonstration_caches_and_sums_up() {
    let mut program = Program::start(&mut forebay(&[
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--quiet",
    ]));
    let line = program.wait_for("http://");
    let address = line.split('/').next().unwrap().to_owned();
    let line = program.wait_for("http://");
    let origin = line.split('/').next().unwrap().to_owned();
    program.wait_for("Ctrl-C");

    let direct = get(&origin, "/object/6k");
    assert!(!direct.contains("Cache-Status"), "{direct}");
    let first = get(&address, "/object/6k?_=1");
    assert!(
        first.contains("Cache-Status: forebay; fwd=uri-miss"),
        "{first}"
    );
    let second = get(&address, "/object/6k?_=2");
    assert!(second.contains("Cache-Status: forebay; hit"), "{second}");
    let body = |answer: &str| answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body(&second), body(&direct));
    assert_eq!(body(&second).len(), 6000);
    let page = get(&address, "/");
    assert!(page.contains("What happened to each request"), "{page}");

    program.signal(Signal::INT);
    let (status, rest) = program.finish();
    assert_eq!(status, Some(0));
    assert!(
        rest.contains("3 requests in ") && rest.contains("answered from the cache"),
        "{rest}"
    );
}
