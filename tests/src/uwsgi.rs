//! A real uWSGI with an application in Python, spoken to by uwsgi, SCGI, FastCGI or HTTP.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::DEADLINE;
use crate::stream::{Address, Stream};

/// A running uWSGI; ended when dropped.
#[derive(Debug)]
pub struct Uwsgi {
    child: Child,
    directory: TempDir,
}

impl Uwsgi {
    /// Starts a WSGI application on a Unix socket; `protocol` is `uwsgi`, `scgi` or `fastcgi`.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn start(protocol: &str, application: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::write(root.join("app.py"), application).unwrap();
        let option = match protocol {
            "uwsgi" => "--socket".to_owned(),
            other => format!("--{other}-socket"),
        };
        let child = Command::new("uwsgi")
            .args([
                "--plugin",
                "python3",
                "--processes",
                "2",
                "--need-app",
                "--master",
                "--die-on-term",
            ])
            .arg(option)
            .arg(root.join("app.sock"))
            .arg("--wsgi-file")
            .arg(root.join("app.py"))
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(root.join("log")).unwrap())
            .spawn()
            .expect("uWSGI is installed");
        let uwsgi = Self { child, directory };
        uwsgi.wait_until_it_listens();
        uwsgi
    }

    fn wait_until_it_listens(&self) {
        let deadline = Instant::now() + DEADLINE;
        while Stream::connect(&Address::Unix(self.socket())).is_err() {
            assert!(
                Instant::now() < deadline,
                "uWSGI does not start:\n{}",
                std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("app.sock")
    }

    /// How a pool names it.
    pub fn server(&self) -> String {
        format!("unix:{}", self.socket().display())
    }
}

impl Drop for Uwsgi {
    fn drop(&mut self) {
        // All of its processes are of its own group.
        let group = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}
