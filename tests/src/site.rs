//! A real nginx on TCP ports, as the server under a load: its access log is
//! the other side's account of what was sent.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::DEADLINE;
use crate::stream::{Address, Stream};

/// A running nginx; killed when dropped.
#[derive(Debug)]
pub struct Site {
    child: Child,
    directory: TempDir,
    port: u16,
    tls_port: Option<u16>,
}

/// What is in its configuration.
#[derive(Clone, Debug, Default)]
pub struct SiteConfig {
    /// Directives of the server block.
    pub server: String,
    /// Directives of the http block.
    pub http: String,
    /// Certificate and key of a second, TLS, port (PEM).
    pub tls: Option<(PathBuf, PathBuf)>,
}

impl Site {
    /// Starts it with these directives in its server block.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn start(server: &str) -> Self {
        Self::with(&SiteConfig {
            server: server.into(),
            ..SiteConfig::default()
        })
    }

    /// Starts it so.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn with(config: &SiteConfig) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        // nginx started by root serves as another user.
        open_to_all(root);
        std::fs::create_dir(root.join("www")).unwrap();
        std::fs::write(root.join("www/index.html"), "<html>hello</html>").unwrap();
        let port = free_port();
        let tls_port = config.tls.as_ref().map(|_| free_port());
        let text = configuration(root, config, port, tls_port);
        std::fs::write(root.join("nginx.conf"), text).unwrap();
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
        let site = Self {
            child,
            directory,
            port,
            tls_port,
        };
        site.wait_until_it_listens();
        site
    }

    fn wait_until_it_listens(&self) {
        // The Unix socket is the last one it binds.
        let deadline = Instant::now() + DEADLINE;
        while Stream::connect(&Address::Unix(self.socket())).is_err() {
            let errors = std::fs::read_to_string(self.directory.path().join("error.log"));
            assert!(
                Instant::now() < deadline,
                "nginx does not start:\n{}",
                errors.unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// `http://127.0.0.1:PORT` and a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// `https://HOST:PORT` and a path.
    pub fn tls_url(&self, host: &str, path: &str) -> String {
        let port = self.tls_port.expect("a site with a certificate");
        format!("https://{host}:{port}{path}")
    }

    /// `127.0.0.1:PORT`, as a pool names it.
    pub fn server(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The plain port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port that speaks TLS.
    pub fn tls_port(&self) -> u16 {
        self.tls_port.expect("a site with a certificate")
    }

    /// Its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("nginx.sock")
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a file of the site.
    pub fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.directory.path().join("www").join(name), content).unwrap();
    }

    /// Where it logs, in the combined format.
    pub fn log_path(&self) -> PathBuf {
        self.directory.path().join("access.log")
    }

    /// What it logged, when at least so many lines are there: it logs after it has answered.
    #[track_caller]
    pub fn log(&self, lines: u64) -> Vec<String> {
        self.wait_for_lines("access.log", lines)
    }

    /// The same of its second log: a line `METHOD HOST TARGET CONNECTION LENGTH` a request.
    #[track_caller]
    pub fn details(&self, lines: u64) -> Vec<String> {
        self.wait_for_lines("details.log", lines)
    }

    #[track_caller]
    fn wait_for_lines(&self, name: &str, lines: u64) -> Vec<String> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let text =
                std::fs::read_to_string(self.directory.path().join(name)).unwrap_or_default();
            let found = text.matches('\n').count() as u64;
            if found >= lines {
                return text.lines().map(str::to_owned).collect();
            }
            assert!(
                Instant::now() < deadline,
                "nginx logged {found} requests, not {lines}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody listens on. It is below those that the system gives to outgoing connections,
/// which other tests open in great number.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 15_000
            + ((std::process::id() as u16)
                .wrapping_mul(37)
                .wrapping_add(step))
                % 15_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A certificate of its own for these names, and its key, made by openssl as anybody does.
///
/// # Panics
/// When openssl is not installed.
pub fn self_signed(directory: &Path, names: &[&str]) -> (PathBuf, PathBuf) {
    let (certificate, key) = (directory.join("cert.pem"), directory.join("key.pem"));
    let names: Vec<String> = names.iter().map(|name| format!("DNS:{name}")).collect();
    let output = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=test"])
        .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-addext", &format!("subjectAltName={}", names.join(","))])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl is installed");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl: {complaint}");
    (certificate, key)
}

/// A client's certificate and its key, signed by the certificate that [`self_signed`] made in this
/// directory.
///
/// # Panics
/// When openssl is not installed.
pub fn signed_client(authority: &Path) -> [String; 2] {
    let path = |name| authority.join(name).display().to_string();
    let (cert, key) = (path("client.pem"), path("client.key"));
    let output = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=client",
        ])
        .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", &key, "-out", &cert])
        .args(["-CA", &path("cert.pem"), "-CAkey", &path("key.pem")])
        .output()
        .expect("openssl is installed");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl: {complaint}");
    [cert, key]
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn configuration(root: &Path, config: &SiteConfig, port: u16, tls_port: Option<u16>) -> String {
    let root = root.display();
    let mut listen = format!("listen 127.0.0.1:{port} backlog=4096;");
    if let (Some(port), Some((certificate, key))) = (tls_port, &config.tls) {
        let (certificate, key) = (certificate.display(), key.display());
        let _ = write!(
            listen,
            "listen 127.0.0.1:{port} ssl; ssl_certificate {certificate}; ssl_certificate_key {key};"
        );
    }
    format!(
        "daemon off; master_process off; worker_processes 1; pid {root}/nginx.pid;
events {{ worker_connections 12000; multi_accept on; }}
http {{
  types {{ text/html html; text/plain txt; }}
  log_format details '$request_method $http_host $request_uri $connection $content_length';
  access_log {root}/access.log combined;
  access_log {root}/details.log details;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
  uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
  keepalive_requests 1000000; keepalive_timeout 60s;
  {http}
  server {{
    {listen}
    listen unix:{root}/nginx.sock;
    root {root}/www;
    {server}
  }}
}}
",
        http = config.http,
        server = config.server,
    )
}
