//! The work that the program does while it is watched: what servers like it do most, one kind after
//! another, and its own load tester with it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::fastcgi;
use crate::forebay::{self, Server};
use crate::memory::origin::Origin;
use crate::process::Running;
use crate::{Outcome, command, process};

/// The page that is served in most kinds, in bytes.
const PAGE: usize = 6144;
/// How long the server may take to end, and to write down what was counted.
const END: Duration = Duration::from_secs(20);

/// One kind of work: what it is, and the arguments of `forebay bench` behind the common ones. A
/// name of a site is completed by the server's port.
const WORK: &[(&str, &[&str])] = &[
    ("requests passed on", &["http://pass.test/page"]),
    ("misses", &["http://miss.test/page"]),
    ("hits", &["http://keep.test/page"]),
    (
        "hits, one after another",
        &["-c", "1", "http://keep.test/page"],
    ),
    (
        "new connections",
        &["--no-keepalive", "http://keep.test/page"],
    ),
    (
        "validation",
        &[
            "-H",
            "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT",
            "http://files.test/page.html",
        ],
    ),
    (
        "ranges",
        &["-H", "Range: bytes=100-999", "http://keep.test/page"],
    ),
    (
        "many objects, memory and disk",
        &[
            "--zipf",
            "20000",
            "--path",
            "/{index}/{size}",
            "http://many.test/",
        ],
    ),
    (
        "large objects",
        &[
            "-c",
            "8",
            "http://many.test/1/500000",
            "http://many.test/2/300000",
        ],
    ),
    (
        "bodies",
        &[
            "-X",
            "POST",
            "--body",
            "name=value&other=thing",
            "http://pass.test/form",
        ],
    ),
    (
        "files",
        &["http://files.test/page.html", "http://files.test/style.css"],
    ),
    (
        "compressed",
        &["-H", "Accept-Encoding: gzip", "http://packed.test/page"],
    ),
    ("FastCGI", &["http://script.test/page.php"]),
];

/// The same for sessions: the arguments of `forebay bench kv`.
const SESSIONS: &[(&str, &[&str])] = &[
    ("sessions", &["memcached"]),
    (
        "sessions, 16 commands at a time",
        &["memcached", "--pipeline", "16"],
    ),
    (
        "sessions, ten keys at a time",
        &["memcached", "--multiget", "10"],
    ),
    (
        "sessions, meta commands",
        &["memcached+meta", "--ratio", "90:9:1"],
    ),
    (
        "sessions, binary",
        &["memcached+binary", "--ratio", "90:9:1"],
    ),
];

/// Lets `program` do each kind of work for so long.
///
/// # Errors
/// When something cannot be started, or a request fails.
pub(super) fn run(program: &Path, each: Duration) -> Outcome {
    process::raise_descriptor_limit();
    let dir = tempfile::tempdir()?;
    let floor = forebay::release("forebay-floor")?;
    let (changing, _changing) = origin(&floor, "no-store")?;
    let (lasting, _lasting) = origin(&floor, "max-age=86400")?;
    let many = Origin::start()?.address;
    let script = fastcgi::start(PAGE)?;
    let root = dir.path().join("root");
    fs::create_dir_all(&root)?;
    for file in ["page.html", "style.css"] {
        fs::write(root.join(file), "a { b: c } <p>text\n".repeat(PAGE / 19))?;
    }
    let config = config(dir.path(), &root, [changing, lasting, many, script]);
    let mut server = Server::start(program, &config, &dir.path().join("server"))?;
    let (web, seconds) = (server.address, format!("{}s", each.as_secs()));
    let sessions = server.sessions.first().ok_or("no store of sessions")?.1;

    let common = ["--duration", &seconds, "--live", "off", "-t", "1"];
    let bench = |what: &str, load: &mut Command| {
        println!("{what}");
        let assert = ["--assert", "failed == 0"];
        command::capture(load.args(common).args(assert)).map(drop)
    };
    for (what, args) in WORK {
        let mut load = Command::new(program);
        load.args(["bench", "-c", "64"]);
        for argument in *args {
            load.arg(with_port(argument, web.port()));
        }
        for site in ["pass", "miss", "keep", "many", "files", "packed", "script"] {
            let resolved = format!("{site}.test:{}:127.0.0.1", web.port());
            load.args(["--resolve", &resolved]);
        }
        bench(what, &mut load)?;
    }
    for (what, args) in SESSIONS {
        let (scheme, rest) = args.split_first().ok_or("no protocol")?;
        let mut load = Command::new(program);
        load.args(["bench", "kv", &format!("{scheme}://{sessions}")]);
        load.args([
            "-c",
            "64",
            "--keys",
            "100000",
            "--size",
            "1KiB",
            "--preload",
        ]);
        bench(what, load.args(rest))?;
    }
    server.process.end(END)?;
    // A server that did not end by itself has not written down what was counted.
    match server.process.child().wait()? {
        status if status.success() => Ok(()),
        status => Err(format!("the server: {status}").into()),
    }
}

/// An origin of pages with this `Cache-Control`.
fn origin(floor: &Path, cache_control: &str) -> Outcome<(SocketAddr, Running)> {
    let address = SocketAddr::from(([127, 0, 0, 1], process::free_port()?));
    let mut origin = Command::new(floor);
    origin.args(["--origin", "--listen", &address.to_string()]);
    origin.args([
        "--cache-control",
        cache_control,
        "--body-size",
        &PAGE.to_string(),
    ]);
    let mut running = Running::start(origin.stdout(Stdio::piped()))?;
    // It listens when it says where.
    let said = running.child().stdout.take().ok_or("no standard output")?;
    BufReader::new(said).read_line(&mut String::new())?;
    Ok((address, running))
}

/// `http://NAME.test/PATH` with the port behind the name.
fn with_port(argument: &str, port: u16) -> String {
    argument.replacen(".test/", &format!(".test:{port}/"), 1)
}

fn config(dir: &Path, root: &Path, [changing, lasting, many, script]: [SocketAddr; 4]) -> String {
    let (dir, root) = (dir.display(), root.display());
    format!(
        r#"[server]
workers = 1
max_connections = 1000
[[listen]]
address = "127.0.0.1:0"
[log]
access = "{dir}/access.log"
[cache]
memory = "48MiB"
[cache.disk]
path = "{dir}/cache"
size = "256MiB"
[pool.changing]
servers = ["{changing}"]
[pool.lasting]
servers = ["{lasting}"]
[pool.many]
servers = ["{many}"]
[pool.script]
servers = ["{script}"]
protocol = "fastcgi"
[site.pass]
hosts = ["pass.test"]
pool = "changing"
pass = true
[site.miss]
hosts = ["miss.test"]
pool = "changing"
[site.keep]
hosts = ["keep.test"]
pool = "lasting"
[site.packed]
hosts = ["packed.test"]
pool = "changing"
compress = ["gzip"]
[site.many]
hosts = ["many.test"]
pool = "many"
[site.files]
hosts = ["files.test"]
root = "{root}"
[site.script]
hosts = ["script.test"]
pool = "script"
cgi_extension = ""
[session.web]
address = "127.0.0.1:0"
max_connections = 1000
path = "{dir}/sessions"
"#
    )
}
