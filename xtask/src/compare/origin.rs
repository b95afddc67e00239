//! What stands behind the servers of a case, on the client's core.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::cases::{Case, PHP_PROCESSES, Work};
use super::programs::{CLIENT_CORE, Place, Programs, START, answering, pinned};
use crate::process::{Running, free_port};
use crate::{Outcome, command};

/// What the servers get their answers from.
#[derive(Debug)]
pub(super) enum Origin {
    /// A server of HTTP.
    Http {
        address: SocketAddr,
        /// `None` if somebody else ends it.
        _process: Option<Running>,
    },
    /// A folder with what is asked for, and where PHP makes it, a socket `NAME.sock` for each
    /// server in another. (PHP keeps a process for each connection that a server keeps: two
    /// servers before the same ten would keep each other waiting.)
    Folder {
        root: PathBuf,
        sockets: PathBuf,
        _php: Option<Running>,
    },
    /// They have what is asked for themselves.
    Nobody,
}

impl Origin {
    /// Starts that of `case`.
    ///
    /// # Errors
    /// When it cannot be started, or does not answer.
    pub(super) fn start(case: &Case, programs: &Programs, place: &Place) -> Outcome<Self> {
        match case.work {
            Work::Hits | Work::Misses | Work::Passes => http(case, programs),
            Work::Files => {
                let root = place.dir.join("root");
                fs::create_dir_all(&root)?;
                fs::write(root.join("object"), vec![b'x'; case.body_bytes])?;
                Ok(Self::Folder {
                    root,
                    sockets: PathBuf::new(),
                    _php: None,
                })
            }
            Work::FastCgi => php(case, place),
            Work::Commands(_) => Ok(Self::Nobody),
        }
    }

    /// A server of HTTP that the caller has started.
    pub(super) fn at(address: SocketAddr) -> Self {
        Self::Http {
            address,
            _process: None,
        }
    }

    /// What stands for it in the configuration of the server called `name`.
    pub(super) fn placeholders(&self, name: &str) -> Vec<(&'static str, String)> {
        match self {
            Self::Http { address, .. } => vec![
                ("{origin}", address.to_string()),
                ("{origin_host}", address.ip().to_string()),
                ("{origin_port}", address.port().to_string()),
            ],
            Self::Folder { root, sockets, .. } => vec![
                ("{root}", root.display().to_string()),
                ("{php}", socket(sockets, name).display().to_string()),
            ],
            Self::Nobody => Vec::new(),
        }
    }
}

fn http(case: &Case, programs: &Programs) -> Outcome<Origin> {
    let port = free_port()?;
    let mut command = pinned(CLIENT_CORE, &programs.floor);
    command.args(["--origin", "--cache-control", case.cache_control()]);
    command.args([
        "--body-size",
        &case.body_bytes.to_string(),
        "--listen",
        &format!("127.0.0.1:{port}"),
    ]);
    let process = Running::start(command.stdout(Stdio::null()))?;
    let server = answering("origin", process, port, case)?;
    Ok(Origin::Http {
        address: server.address,
        _process: Some(server.process),
    })
}

fn php(case: &Case, place: &Place) -> Outcome<Origin> {
    // As a socket's name may not be long, in a directory whose name is not.
    let sockets = place.memory.path().to_owned();
    let root = place.dir.join("root");
    fs::create_dir_all(&root)?;
    let page = format!(
        "<?php header('Cache-Control: {}'); echo str_repeat('x', {});",
        case.cache_control(),
        case.body_bytes
    );
    fs::write(root.join("object.php"), page)?;

    let log = place.dir.join("php-fpm.log");
    let mut text = format!(
        "[global]\ndaemonize = no\nerror_log = {}\nlog_level = warning\n",
        log.display()
    );
    for server in case.servers {
        let listen = socket(&sockets, server);
        _ = write!(
            text,
            "[{server}]\nuser = root\ngroup = root\nlisten = {}\npm = static\npm.max_children = {PHP_PROCESSES}\n",
            listen.display()
        );
    }
    let config = place.dir.join("php-fpm.conf");
    fs::write(&config, text)?;

    let program = command::find("php-fpm*").ok_or("php-fpm is not installed")?;
    let mut command = pinned(CLIENT_CORE, &program);
    // It says that it ignores the user where it is not root, and that root is one where it is.
    command.arg("-n").arg("-R").arg("-y").arg(&config);
    let mut php = Running::start(command.stderr(Stdio::null()))?;
    let deadline = Instant::now() + START;
    let last = case.servers.last().copied().unwrap_or_default();
    while UnixStream::connect(socket(&sockets, last)).is_err() {
        if !php.alive() || Instant::now() > deadline {
            return Err(format!("php-fpm does not answer; see {}", log.display()).into());
        }
        sleep(Duration::from_millis(20));
    }
    Ok(Origin::Folder {
        root,
        sockets,
        _php: Some(php),
    })
}

/// Where PHP listens for the server called `name`.
fn socket(sockets: &Path, name: &str) -> PathBuf {
    sockets.join(format!("{name}.sock"))
}
