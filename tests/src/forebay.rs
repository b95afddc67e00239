//! The real program as a child process.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::client::Client;
use crate::config::Config;
use crate::response::Response;
use crate::session::SessionClient;
use crate::stream::Address;
use crate::{DEADLINE, Origin, program};

/// A running `forebay serve -c FILE`; killed when dropped.
#[derive(Debug)]
pub struct Forebay {
    child: Child,
    lines: Mutex<Receiver<String>>,
    output: Arc<Mutex<String>>,
    directory: TempDir,
    /// What it listens on, in the order of the file.
    pub addresses: Vec<Address>,
    /// Where its stores of sessions are, by name.
    pub sessions: Vec<(String, Address)>,
    /// The administration address.
    pub admin: Option<Address>,
}

/// What a command printed, and how it ended.
#[derive(Clone, Debug)]
pub struct Said {
    /// The exit status; -1 when a signal ended it.
    pub status: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Forebay {
    /// With the plainest configuration in front of `origin`.
    #[track_caller]
    pub fn before(origin: &Origin) -> Self {
        Self::start(&Config::to(origin))
    }

    /// With `config`.
    #[track_caller]
    pub fn start(config: &Config) -> Self {
        Self::start_text(&config.text())
    }

    /// With the text of a configuration.
    #[track_caller]
    pub fn start_text(config: &str) -> Self {
        Self::start_with(config, serve)
    }

    /// With a command line of choice, made from the configuration's path.
    #[track_caller]
    pub fn start_with(config: &str, command: impl FnOnce(&Path) -> Command) -> Self {
        let mut forebay = Self::spawn(config, command);
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = forebay.lines.lock().unwrap().recv_timeout(left) else {
                panic!(
                    "not ready; configuration:\n{config}\noutput:\n{}",
                    forebay.output()
                );
            };
            if let Some(address) = line.strip_prefix("listening on ") {
                forebay
                    .addresses
                    .push(Address::parse(address).expect("an address after `listening on`"));
            } else if let Some(session) = line.strip_prefix("session ") {
                let (name, address) = session.split_once(" on ").expect("where it is");
                let address = Address::parse(address).expect("an address");
                forebay.sessions.push((name.to_owned(), address));
            } else if let Some(address) = line.strip_prefix("admin on ") {
                forebay.admin = Address::parse(address);
            } else if line == "ready" {
                return forebay;
            }
        }
    }

    /// Starts with the text of a configuration, without waiting for it to be ready: it may refuse.
    pub fn spawn_text(config: &str) -> Self {
        Self::spawn(config, serve)
    }

    /// Starts without waiting for it to be ready.
    pub fn spawn(config: &str, command: impl FnOnce(&Path) -> Command) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("forebay.toml");
        std::fs::write(&file, config).unwrap();
        let mut command = command(&file);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env("NO_COLOR", "1");
        if command.get_envs().all(|(name, _)| name != "NOTIFY_SOCKET") {
            command.env_remove("NOTIFY_SOCKET");
        }
        let mut child = command.spawn().unwrap();
        let output = Arc::new(Mutex::new(String::new()));
        let (sender, lines) = channel();
        let stdout = child.stdout.take().unwrap();
        collect(stdout, output.clone(), move |line| {
            drop(sender.send(line.to_owned()))
        });
        collect(child.stderr.take().unwrap(), output.clone(), |_| {});
        Self {
            child,
            lines: Mutex::new(lines),
            output,
            directory,
            addresses: Vec::new(),
            sessions: Vec::new(),
            admin: None,
        }
    }

    /// A connection to the first listener.
    #[track_caller]
    pub fn client(&self) -> Client {
        Client::connect(&self.addresses[0])
    }

    /// A connection to the first address of the first store of sessions.
    #[track_caller]
    pub fn session(&self) -> SessionClient {
        SessionClient::connect(&self.sessions[0].1)
    }

    /// One GET on a connection of its own.
    #[track_caller]
    pub fn get(&self, target: &str) -> Response {
        self.client().get(target)
    }

    /// One GET with more fields on a connection of its own.
    #[track_caller]
    pub fn get_with(&self, target: &str, fields: &[&str]) -> Response {
        self.client().get_with(target, fields)
    }

    /// One exchange on a connection of its own.
    #[track_caller]
    pub fn exchange(&self, method: &str, target: &str, fields: &[&str], body: &str) -> Response {
        self.client().exchange(method, target, fields, body)
    }

    /// The first listener's `127.0.0.1:PORT`.
    pub fn authority(&self) -> String {
        self.addresses[0].to_string()
    }

    /// One exchange with the administration address.
    #[track_caller]
    pub fn admin(&self, method: &str, target: &str) -> Response {
        let address = self.admin.as_ref().expect("an administration address");
        Client::connect(address).exchange(method, target, &[&format!("Host: {address}")], "")
    }

    /// Sends JSON to the administration address.
    #[track_caller]
    pub fn admin_json(&self, method: &str, target: &str, body: &str) -> Response {
        let address = self.admin.as_ref().expect("an administration address");
        let fields = [
            &*format!("Host: {address}"),
            "Content-Type: application/json",
        ];
        Client::connect(address).exchange(method, target, &fields, body)
    }

    /// Runs another `forebay` command against this server, to its end.
    pub fn command(&self, arguments: &[&str]) -> Said {
        self.command_with(arguments, "")
    }

    /// The same with a standard input.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn command_with(&self, arguments: &[&str], input: &str) -> Said {
        let address = self.admin.as_ref().expect("an administration address");
        let mut child = Command::new(program::path())
            .args(arguments)
            .args(["--admin", &address.to_string()])
            .env("NO_COLOR", "1")
            .env_remove("FOREBAY_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Said {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// A counter or gauge of `/metrics`, summed over its labels.
    #[track_caller]
    pub fn metric(&self, name: &str) -> Option<f64> {
        let text = self.admin("GET", "/metrics").text();
        let values = text.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?;
            let rest = match rest.strip_prefix('{') {
                Some(labels) => labels.split_once('}')?.1,
                None => rest,
            };
            rest.strip_prefix(' ')?.trim().parse::<f64>().ok()
        });
        values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
    }

    /// Waits until a metric has at least `value`: counters are added up by
    /// the workers after the response has left.
    #[track_caller]
    pub fn wait_for_metric(&self, name: &str, value: f64) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let now = self.metric(name);
            if now.is_some_and(|now| now >= value) {
                return;
            }
            assert!(Instant::now() < deadline, "{name} is {now:?}, not {value}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Where its configuration lies.
    pub fn config_file(&self) -> PathBuf {
        self.directory.path().join("forebay.toml")
    }

    /// A directory that lives as long as the process.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a new configuration; nothing is told to the process.
    pub fn write_config(&self, text: &str) {
        std::fs::write(self.config_file(), text).unwrap();
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whatever it wrote to stdout and stderr so far.
    pub fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    /// Waits until its output contains `text`.
    #[track_caller]
    pub fn wait_for_output(&self, text: &str) {
        let deadline = Instant::now() + DEADLINE;
        while !self.output().contains(text) {
            assert!(
                Instant::now() < deadline,
                "no {text:?} in:\n{}",
                self.output()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether the process is still there.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it with SIGKILL, as the machine would when memory runs out.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it with SIGTERM, and waits for its end.
    ///
    /// # Panics
    /// When it does not end well.
    #[track_caller]
    pub fn stop(&mut self) {
        self.signal(Signal::TERM);
        let status = self.wait_exit();
        assert_eq!(status.code(), Some(0), "{}", self.output());
    }

    /// The most memory that was resident so far, in bytes.
    pub fn peak_bytes(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kib.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap() << 10
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait_exit(&mut self) -> ExitStatus {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "does not exit; output:\n{}",
                self.output()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Forebay {
    fn drop(&mut self) {
        // SIGKILL by its own process id; it may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- output of the program ---\n{}", self.output());
        }
    }
}

/// The command line of most stories.
fn serve(file: &Path) -> Command {
    let mut command = Command::new(program::path());
    command.arg("serve").arg("-c").arg(file);
    command
}

fn collect(
    pipe: impl Read + Send + 'static,
    output: Arc<Mutex<String>>,
    each: impl Fn(&str) + Send + 'static,
) {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut output = output.lock().unwrap();
            output.push_str(&line);
            output.push('\n');
            drop(output);
            each(&line);
        }
    });
}
