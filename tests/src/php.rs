//! A real PHP-FPM, which knows nothing of these tests.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::DEADLINE;
use crate::site::free_port;
use crate::stream::{Address, Stream};

/// A running PHP-FPM and the directory of a site; ended when dropped.
#[derive(Debug)]
pub struct PhpFpm {
    child: Option<Child>,
    directory: TempDir,
    address: Address,
}

impl PhpFpm {
    /// Starts so many workers on a Unix socket.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn start(workers: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let address = Address::Unix(directory.path().join("fpm.sock"));
        Self::start_at(workers, directory, address, &[])
    }

    /// Starts them with values of php.ini that no script can change.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn start_with(workers: usize, values: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let address = Address::Unix(directory.path().join("fpm.sock"));
        Self::start_at(workers, directory, address, values)
    }

    /// Starts them on a free TCP port.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn start_tcp(workers: usize) -> Self {
        // The port is free again when the listener is dropped.
        let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], free_port())));
        Self::start_at(workers, tempfile::tempdir().unwrap(), address, &[])
    }

    fn start_at(
        workers: usize,
        directory: TempDir,
        address: Address,
        values: &[(&str, &str)],
    ) -> Self {
        let mut fpm = Self {
            child: None,
            directory,
            address,
        };
        std::fs::create_dir(fpm.root()).unwrap();
        let root = fpm.directory.path().display();
        let listen = fpm.address.to_string();
        let listen = listen.trim_start_matches("unix:");
        let mut configuration = format!(
            "[global]\nerror_log = {root}/fpm.log\ndaemonize = no\n\
             [www]\nuser = root\ngroup = root\nlisten = {listen}\npm = static\n\
             ping.path = /ping\n\
             pm.max_children = {workers}\nphp_admin_value[error_log] =\n\
             php_admin_flag[log_errors] = on\nphp_admin_value[post_max_size] = 64M\n"
        );
        for (name, value) in values {
            configuration.push_str(&format!("php_admin_value[{name}] = {value}\n"));
        }
        std::fs::write(fpm.directory.path().join("fpm.conf"), configuration).unwrap();
        fpm.run();
        fpm
    }

    fn run(&mut self) {
        let child = Command::new(program())
            .args(["--nodaemonize", "--allow-to-run-as-root", "--fpm-config"])
            .arg(self.directory.path().join("fpm.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.expect("PHP-FPM is installed"));
        let deadline = Instant::now() + DEADLINE;
        while Stream::connect(&self.address).is_err() {
            assert!(
                Instant::now() < deadline,
                "PHP-FPM does not start:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it and all its workers.
    pub fn stop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let pid = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = child.wait();
    }

    /// Ends it, and starts another at the same address.
    pub fn restart(&mut self) {
        self.stop();
        self.run();
    }

    /// The directory of its scripts.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("site")
    }

    /// How a pool names it.
    pub fn server(&self) -> String {
        self.address.to_string()
    }

    /// Writes a file of the site, and the directories it is in.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("fpm.log")).unwrap_or_default()
    }
}

/// Debian names the program by its version.
fn program() -> PathBuf {
    let named = |entry: std::fs::DirEntry| {
        let is_fpm = entry.file_name().to_string_lossy().starts_with("php-fpm");
        is_fpm.then(|| entry.path())
    };
    let directory = std::fs::read_dir("/usr/sbin").unwrap();
    let found = directory.filter_map(Result::ok).find_map(named);
    found.unwrap_or_else(|| "php-fpm".into())
}

impl Drop for PhpFpm {
    fn drop(&mut self) {
        self.stop();
    }
}
