//! A real memcached for the tests of crates that speak to one.

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to listen: a machine under load is slow.
const DEADLINE: Duration = Duration::from_secs(20);

/// A memcached of a test's own on loopback; killed when dropped.
#[derive(Debug)]
pub struct Memcached {
    process: Child,
    address: SocketAddr,
}

impl Memcached {
    /// Starts it with these options besides; `None`, and a line that says so: it is not installed.
    ///
    /// It chooses its port itself: one that was free a moment ago may be somebody else's by the
    /// time it listens, and then a test speaks to a stranger.
    ///
    /// # Panics
    /// When it does not listen in time.
    #[must_use]
    pub fn start(options: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("port");
        let process = Command::new("memcached")
            // As root it would run as nobody, who may not write the file.
            .args(["-u", "root", "-l", "127.0.0.1", "-U", "0", "-t", "1"])
            .args(["-p", "-1"])
            .args(options)
            .env("MEMCACHED_PORT_FILENAME", &file)
            .stderr(Stdio::null())
            .spawn();
        let mut process = match process {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("passed over: memcached is not installed");
                return None;
            }
            process => process.expect("memcached starts"),
        };
        let deadline = Instant::now() + DEADLINE;
        let port = loop {
            // It appears under its name when it is whole: `TCP INET: 11211`.
            let text = fs::read_to_string(&file).unwrap_or_default();
            if let Some(port) = text
                .lines()
                .find_map(|line| line.strip_prefix("TCP INET: "))
            {
                break port.trim().parse().expect("a port");
            }
            let ended = process.try_wait().expect("its state");
            assert!(ended.is_none(), "memcached {options:?} ended: {ended:?}");
            assert!(Instant::now() < deadline, "memcached does not listen");
            std::thread::sleep(Duration::from_millis(5));
        };
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Some(Self { process, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
