//! Debian packages that commands need.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::{Outcome, command};

/// A program (with `*` where a version stands at its end), or a file for what has no program, and
/// the package that brings it.
type Need = (&'static str, &'static str);

/// What `cargo xtask test` runs.
const TESTS: &[Need] = &[
    ("nginx", "nginx-light"),
    ("curl", "curl"),
    ("strace", "strace"),
    ("make", "make"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("openssl", "openssl"),
    ("memcached", "memcached"),
    ("memccapable", "libmemcached-tools"),
    ("redis-server", "redis-server"),
    ("chromium", "chromium"),
    // What files are compressed with beforehand, and coded responses read with.
    ("brotli", "brotli"),
    ("zstd", "zstd"),
    // What speaks FastCGI, uwsgi and SCGI.
    ("php-fpm*", "php-fpm"),
    ("uwsgi-core", "uwsgi-core"),
    ("uwsgi_python3", "uwsgi-plugin-python3"),
    // Application servers that are started as processes: HTTP from Ruby and Python, FastCGI.
    ("puma", "puma"),
    ("thin", "thin"),
    ("gunicorn", "gunicorn"),
    ("php-cgi", "php-cgi"),
    ("/var/lib/dpkg/info/php-memcache.list", "php-memcache"),
    ("/var/lib/dpkg/info/php-memcached.list", "php-memcached"),
    PLAIN,
];
/// The clients of session stores that `cargo xtask clients` tries, as far as they are Debian's, and
/// what fetches and runs the others.
const CLIENTS: &[Need] = &[
    ("node", "nodejs"),
    ("npm", "npm"),
    ("curl", "curl"),
    ("javac", "default-jdk-headless"),
    (
        "/usr/lib/python3/dist-packages/pylibmc/__init__.py",
        "python3-pylibmc",
    ),
    (
        "/usr/lib/python3/dist-packages/pymemcache/__init__.py",
        "python3-pymemcache",
    ),
    ("ruby", "ruby"),
    ("/var/lib/dpkg/info/ruby-rack.list", "ruby-rack"),
    ("/var/lib/dpkg/info/ruby-dalli.list", "ruby-dalli"),
    (
        "/var/lib/dpkg/info/ruby-connection-pool.list",
        "ruby-connection-pool",
    ),
    PLAIN,
];
/// What libmemcached shows a password with; it only recommends it.
const PLAIN: Need = (
    "/usr/share/doc/libsasl2-modules/copyright",
    "libsasl2-modules",
);
/// What `cargo xtask compare` runs besides.
const COMPARISON: &[Need] = &[
    ("wrk", "wrk"),
    ("taskset", "util-linux"),
    ("nginx", "nginx-light"),
    ("varnishd", "varnish"),
    ("haproxy", "haproxy"),
    ("h2o", "h2o"),
    ("lighttpd", "lighttpd"),
    ("php-fpm*", "php-fpm"),
    ("memcached", "memcached"),
    ("redis-server", "redis-server"),
];

/// Says "no" to every daemon that a package would start while it is installed.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// `cargo xtask setup`
pub(crate) fn setup(_args: &[String]) -> Outcome {
    for_tests()?;
    install(COMPARISON)?;
    println!("everything is installed");
    Ok(())
}

/// Installs what the tests need.
///
/// # Errors
/// See [`install`].
pub(crate) fn for_tests() -> Outcome {
    install(&[TESTS, CLIENTS].concat())
}

/// Installs what the clients of session stores need.
///
/// # Errors
/// See [`install`].
pub(crate) fn for_clients() -> Outcome {
    install(CLIENTS)
}

/// Installs what the comparisons need.
///
/// # Errors
/// See [`install`].
pub(crate) fn for_comparison() -> Outcome {
    install(COMPARISON)
}

/// Installs the packages of those programs that are missing.
///
/// # Errors
/// When something is missing and we are not root, or apt fails.
fn install(needs: &[Need]) -> Outcome {
    let missing: Vec<&str> = needs
        .iter()
        .filter(|(p, _)| command::find(p).is_none())
        .map(|&(_, p)| p)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let line = format!(
        "apt-get install --no-install-recommends {}",
        missing.join(" ")
    );
    if !rustix::process::geteuid().is_root() {
        return Err(format!("missing; as root: {line}").into());
    }
    let _policy = Policy::write()?;
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args([
            "-q",
            "-y",
            "-o",
            "Acquire::Retries=3",
        ]);
        command
    };
    command::run(apt().arg("update"))?;
    command::run(
        apt()
            .args(["install", "--no-install-recommends"])
            .args(&missing),
    )
}

/// The policy file, for as long as packages are installed; one that was there before stays.
struct Policy {
    ours: bool,
}

impl Policy {
    fn write() -> Outcome<Self> {
        let ours = !Path::new(POLICY).exists();
        if ours {
            fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
            fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))?;
        }
        Ok(Self { ours })
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        if self.ours {
            // Left behind it only keeps daemons from starting.
            let _ = fs::remove_file(POLICY);
        }
    }
}
