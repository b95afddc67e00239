//! Stores of sessions, each behind the same application: nginx and PHP with a
//! page that writes a session and one that reads it.
//!
//! PHP keeps its connections to a store, and locks no sessions: a session here
//! has one request at a time. Processor time and memory are those of the
//! store; where sessions are files that is nobody's.

use super::apps;
use super::beside::{self, Companion, Listens, Observed, Requirement};
use super::{Program, Role, Server};

/// Processes of PHP; a request occupies one.
const PROCESSES: usize = 20;

/// All of them.
pub(super) fn servers() -> Vec<Server> {
    vec![
        forebay("forebay", "on disk within a second", "interval"),
        forebay("forebay-always", "on disk before it answers", "always"),
        memcached(),
        redis("redis", "in memory only", "save \"\"\nappendonly no"),
        redis(
            "redis-log",
            "with its log, synced once a second",
            "save \"\"\nappendonly yes\nappendfsync everysec",
        ),
        tyrant(),
        files("files", "files in a directory"),
        nfs(),
    ]
}

/// The application, with PHP's settings for a store.
fn behind_php(name: &str, about: &str, settings: &[(&str, &str)]) -> Server {
    let lines: Vec<String> = settings
        .iter()
        .chain(&[
            ("session.gc_probability", "0"),
            ("session.use_strict_mode", "0"),
        ])
        .map(|(name, value)| format!("php_admin_value[{name}] = \"{value}\""))
        .collect();
    let program = Program::Packaged {
        program: "nginx",
        package: "nginx-light",
    };
    let mut server = Server::new(&format!("sessions-{name}"), about, Role::Store, program)
        .file(
            "nginx.conf",
            include_str!("../templates/sessions-nginx.conf"),
        )
        .file(
            "app/index.php",
            include_str!("../../apps/session/index.php"),
        )
        .file(
            "php-fpm.conf",
            apps::php_config(Listens::Socket, PROCESSES, &lines.join("\n")),
        )
        .arguments("-c {dir}/nginx.conf -p {dir} -e {dir}/error.log")
        .version("-v");
    server.account = Some("www-data");
    server.observed = Observed::Nobody;
    server.beside.push(apps::php(Listens::Socket));
    server
}

/// Sessions in what speaks memcached's text protocol.
fn behind_memcached(name: &str, about: &str, store: Companion) -> Server {
    let settings = [
        ("session.save_handler", "memcached"),
        ("session.save_path", "127.0.0.1:{store_1}"),
        ("memcached.sess_locking", "Off"),
        ("memcached.sess_persistent", "On"),
        ("memcached.sess_binary_protocol", "Off"),
    ];
    let mut server = behind_php(name, about, &settings);
    server.requires.push(Requirement::PhpModule {
        name: "memcached",
        package: "php-memcached",
    });
    with_store(server, store)
}

fn with_store(mut server: Server, store: Companion) -> Server {
    server.observed = Observed::Companion(store.name);
    // The store is there before PHP wants it.
    server.beside.insert(0, store);
    server
}

fn memcached() -> Server {
    let store = Companion::new("store", "memcached", "memcached")
        .arguments("-l 127.0.0.1 -p {own} -U 0 -u {user} -m {memory_mib} -t {cores} -c 10000")
        .version("-V");
    behind_memcached("memcached", "sessions in memcached, in memory only", store)
}

fn tyrant() -> Server {
    let program = Program::Built {
        program: "ttserver",
        remedy: "no package of Debian brings it; build Tokyo Cabinet and Tokyo Tyrant from their sources",
    };
    let store = Companion::of("store", program)
        .arguments("-host 127.0.0.1 -port {own} -thnum {cores} {cache}/sessions.tch#bnum=1000000")
        .version("--version");
    behind_memcached("tyrant", "sessions in Tokyo Tyrant's hash database", store)
}

fn forebay(name: &str, about: &str, durability: &str) -> Server {
    let config =
        include_str!("../templates/sessions-forebay.toml").replace("{durability}", durability);
    let store = Companion::of("store", Program::Forebay)
        .arguments("serve -c {dir}/forebay.toml")
        .version("--version");
    let about = format!("sessions in Forebay, {about}");
    let mut server = behind_memcached(name, &about, store).file("forebay.toml", config);
    server.requires.push(Requirement::Understood(FOREBAY_TRIAL));
    server
}

/// What a version with a session store understands.
const FOREBAY_TRIAL: &str = "[session.web]
address = \"127.0.0.1:11211\"
path = \"{dir}\"
memory = \"1GiB\"
durability = \"interval\"
";

fn redis(name: &str, about: &str, persistence: &str) -> Server {
    let settings = [
        ("session.save_handler", "redis"),
        (
            "session.save_path",
            "tcp://127.0.0.1:{store_1}?persistent=1",
        ),
        ("redis.session.locking_enabled", "0"),
    ];
    let config = include_str!("../templates/redis.conf").replace("{persistence}", persistence);
    let store = Companion::new("store", "redis-server", "redis-server")
        .arguments("{dir}/redis.conf")
        .version("--version");
    let about = format!("sessions in Redis, {about}");
    let mut server = behind_php(name, &about, &settings).file("redis.conf", config);
    server.requires.push(Requirement::PhpModule {
        name: "redis",
        package: "php-redis",
    });
    with_store(server, store)
}

/// PHP's own way.
fn files(name: &str, about: &str) -> Server {
    let settings = [
        ("session.save_handler", "files"),
        ("session.save_path", "{cache}"),
    ];
    behind_php(name, &format!("sessions as {about}"), &settings)
}

fn nfs() -> Server {
    let mut server = files("nfs", "files in a directory on NFS");
    server.requires.push(Requirement::Nfs);
    server.cache_above = beside::nfs();
    server
}
