//! A real memcached or Redis, as the server under a key-value load.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::DEADLINE;
use crate::site::free_port;

/// A running server; killed when dropped.
#[derive(Debug)]
pub struct KvServer {
    child: Child,
    port: u16,
    /// Its directory; Redis writes where it is started.
    _directory: TempDir,
    dialect: Dialect,
}

#[derive(Clone, Copy, Debug)]
enum Dialect {
    Memcached,
    Redis,
}

impl KvServer {
    /// Starts memcached.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn memcached(arguments: &[&str]) -> Self {
        let port = free_port();
        let mut command = Command::new("memcached");
        // It does not run as root unless told to.
        command.args(["-u", "root", "-l", "127.0.0.1", "-U", "0", "-t", "1"]);
        command.args(["-p", &port.to_string()]).args(arguments);
        Self::start(command, port, Dialect::Memcached)
    }

    /// Starts Redis, which writes nothing to disk.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn redis(arguments: &[&str]) -> Self {
        let port = free_port();
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.args(["--port", &port.to_string()]).args(arguments);
        Self::start(command, port, Dialect::Redis)
    }

    fn start(mut command: Command, port: u16, dialect: Dialect) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let child = command
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let name = command.get_program().to_string_lossy().into_owned();
        let server = Self {
            child: child.unwrap_or_else(|error| panic!("{name}: {error}")),
            port,
            _directory: directory,
            dialect,
        };
        let deadline = Instant::now() + DEADLINE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "{name} does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// `memcached://127.0.0.1:PORT`; `scheme` may be another name of the protocol.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Forgets every key.
    pub fn flush(&self) {
        let (command, answer) = match self.dialect {
            Dialect::Memcached => ("flush_all\r\n", "OK\r\n"),
            Dialect::Redis => ("FLUSHALL\r\n", "+OK\r\n"),
        };
        assert_eq!(self.ask(command, "\r\n"), answer);
    }

    /// How many reads it has answered.
    pub fn reads(&self) -> u64 {
        let (text, name) = match self.dialect {
            Dialect::Memcached => (self.ask("stats\r\n", "END\r\n"), "STAT cmd_get "),
            Dialect::Redis => {
                let text = self.ask("INFO stats\r\nPING\r\n", "+PONG\r\n");
                return field(&text, "keyspace_hits:") + field(&text, "keyspace_misses:");
            }
        };
        field(&text, name)
    }

    /// Waits until it has answered so many reads.
    #[track_caller]
    pub fn wait_for_reads(&self, count: u64) {
        let deadline = Instant::now() + DEADLINE;
        while self.reads() < count {
            assert!(Instant::now() < deadline, "{} reads", self.reads());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a line on a connection of its own and reads until the answer has this.
    fn ask(&self, line: &str, end: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let (mut text, mut piece) = (Vec::new(), [0; 8192]);
        loop {
            let count = stream.read(&mut piece).unwrap();
            text.extend_from_slice(&piece[..count]);
            let so_far = String::from_utf8_lossy(&text);
            if count == 0 || so_far.contains(end) || so_far.len() > 100_000 {
                return so_far.into_owned();
            }
        }
    }
}

fn field(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0)
}

impl Drop for KvServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
