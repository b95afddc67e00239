//! `forebay bench` as a child process, and the result it wrote.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::figures::Figures;
use crate::program;

/// How long a load may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(90);

/// A `forebay bench` that is put together, with a directory for the files it reads and writes.
#[derive(Debug)]
pub struct Bench {
    command: Command,
    directory: TempDir,
}

/// One that runs; killed when dropped.
#[derive(Debug)]
pub struct RunningBench {
    child: Child,
    stdout: Pipe,
    stderr: Pipe,
    /// Kept for as long as it runs.
    directory: TempDir,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit status; -1 when a signal ended it.
    pub status: i32,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
    directory: TempDir,
}

impl Bench {
    /// `forebay bench` with these arguments. It prints nothing while it runs.
    pub fn new(arguments: &[&str]) -> Self {
        let mut command = Command::new(program::path());
        command
            .arg("bench")
            .args(arguments)
            .env("NO_COLOR", "1")
            .env_remove("CI")
            .env_remove("FOREBAY_AGENT_SECRET")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let directory = tempfile::tempdir().unwrap();
        command.current_dir(directory.path());
        Self { command, directory }
    }

    /// Further arguments.
    pub fn args(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    /// Writes a file that arguments may name as it is: the program runs in this directory.
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.directory.path().join(name), content).unwrap();
        self
    }

    /// Sets a variable of the environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Where it runs.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Starts it.
    pub fn start(mut self) -> RunningBench {
        let mut child = self.command.spawn().unwrap();
        RunningBench {
            stdout: Pipe::of(child.stdout.take().unwrap()),
            stderr: Pipe::of(child.stderr.take().unwrap()),
            child,
            directory: self.directory,
        }
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(self) -> Ended {
        self.start().wait()
    }

    /// Runs it, and returns its result, as it prints it for programs.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn figures(self) -> Figures {
        self.args(&["--format", "json", "--live", "off"])
            .run()
            .ok()
            .printed()
    }
}

impl RunningBench {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until a line of its output begins so, and returns what follows.
    #[track_caller]
    pub fn wait_for_line(&self, beginning: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.stdout.text();
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            if let Some(rest) = whole.lines().find_map(|line| line.strip_prefix(beginning)) {
                return rest.to_owned();
            }
            assert!(
                Instant::now() < deadline,
                "no line `{beginning}` in:\n{text}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end, and says how much memory was resident at most, in bytes.
    #[track_caller]
    pub fn wait_with_peak(self) -> (Ended, u64) {
        let status = format!("/proc/{}/status", self.pid());
        let mut peak = 0;
        // A process that has ended has no memory any more.
        while let Some(bytes) = peak_bytes(&status) {
            peak = bytes;
            std::thread::sleep(Duration::from_millis(10));
        }
        (self.wait(), peak)
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < deadline,
                "does not end; output:\n{}{}",
                self.stdout.text(),
                self.stderr.text()
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        let directory = std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap());
        Ended {
            status: status.code().unwrap_or(-1),
            stdout: self.stdout.end(),
            stderr: self.stderr.end(),
            directory,
        }
    }
}

impl Drop for RunningBench {
    fn drop(&mut self) {
        // SIGKILL by its own process id; it may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Itself, when the exit status is 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.with_status(0)
    }

    /// Itself, when the exit status is this.
    #[track_caller]
    pub fn with_status(self, status: i32) -> Self {
        assert_eq!(
            self.status, status,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// Itself, when it complained in these words, and did not panic.
    #[track_caller]
    pub fn saying(self, words: &[&str]) -> Self {
        for word in words {
            assert!(
                self.stderr.contains(word),
                "`{word}` is not in: {}",
                self.stderr
            );
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// The result that it printed as JSON.
    #[track_caller]
    pub fn printed(&self) -> Figures {
        Figures::parse(&self.stdout)
    }

    /// A file that it wrote.
    #[track_caller]
    pub fn file(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The result in a file that it wrote.
    #[track_caller]
    pub fn figures(&self, name: &str) -> Figures {
        Figures::parse(&self.file(name))
    }

    /// Where a file of it lies.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What it printed, as any JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// The most memory that was resident so far, in bytes.
fn peak_bytes(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// What comes out of a pipe, so far.
#[derive(Debug)]
struct Pipe {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Pipe {
    fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let reader = std::thread::spawn({
            let text = text.clone();
            move || {
                let mut piece = [0; 4096];
                while let Ok(count @ 1..) = pipe.read(&mut piece) {
                    text.lock().unwrap().extend_from_slice(&piece[..count]);
                }
            }
        });
        Self {
            text,
            reader: Some(reader),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    /// Everything, when the other end is closed.
    fn end(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.text()
    }
}
