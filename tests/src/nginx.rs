//! A real nginx, as an origin that knows nothing of these tests.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::DEADLINE;
use crate::app::until;
use crate::stream::{Address, Stream};

/// A running nginx that serves a directory; killed when dropped.
#[derive(Debug)]
pub struct Nginx {
    child: Child,
    directory: TempDir,
}

impl Nginx {
    /// Starts it on a Unix socket; `server` is put into its server block.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn start(server: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        // nginx started by root serves as another user.
        open_to_all(root);
        std::fs::create_dir(root.join("www")).unwrap();
        std::fs::write(root.join("nginx.conf"), configuration(root, server)).unwrap();
        let child = Command::new("nginx")
            .arg("-p")
            .arg(root)
            .arg("-c")
            .arg(root.join("nginx.conf"))
            .arg("-e")
            .arg(root.join("error.log"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("nginx is installed");
        let nginx = Self { child, directory };
        nginx.wait_until_it_listens();
        nginx
    }

    fn wait_until_it_listens(&self) {
        let deadline = Instant::now() + DEADLINE;
        while Stream::connect(&Address::Unix(self.socket())).is_err() {
            assert!(
                Instant::now() < deadline,
                "nginx does not start:\n{}",
                self.error_log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("nginx.sock")
    }

    /// How a pool names it.
    pub fn server(&self) -> String {
        format!("unix:{}", self.socket().display())
    }

    /// Writes a file of the site.
    pub fn write(&self, name: &str, content: &[u8]) {
        let path = self.directory.path().join("www").join(name);
        std::fs::write(&path, content).unwrap();
    }

    /// What it logged: a line `METHOD TARGET STATUS BYTES CONNECTION` a request. Waits for `least`
    /// lines, because nginx writes one after the answer has left.
    #[track_caller]
    pub fn access_log(&self, least: usize) -> Vec<String> {
        let path = self.directory.path().join("access.log");
        let mut lines: Vec<String> = Vec::new();
        until("nginx has logged so many requests", || {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            lines = text.lines().map(str::to_owned).collect();
            lines.len() >= least
        });
        lines
    }

    fn error_log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("error.log")).unwrap_or_default()
    }
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn configuration(root: &Path, server: &str) -> String {
    let root = root.display();
    format!(
        "daemon off; master_process off; worker_processes 1; pid {root}/nginx.pid;
events {{ worker_connections 256; }}
http {{
  types {{ text/html html; text/css css; image/png png; text/plain txt; }}
  log_format plain '$request_method $request_uri $status $body_bytes_sent $connection';
  access_log {root}/access.log plain;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
  uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
  gzip on; gzip_min_length 20; gzip_proxied any; gzip_vary on; gzip_types text/css text/plain;
  server {{
    listen unix:{root}/nginx.sock;
    root {root}/www;
    {server}
  }}
}}
"
    )
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
