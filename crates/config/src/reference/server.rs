//! The rows of `[server]`, `[[listen]]`, `[admin]` and `[log]`.

use std::path::PathBuf;

use crate::address::{self, Refused};
use crate::draft::{AdminDraft, ListenDraft, Spanned};
use crate::settings::{Forwarded, ListenAddress, Log, Server};
use crate::words;

use super::disk::{TOKEN, absolute};
use super::server_tls::pem;
use super::setting::Setting;
use super::value::each_bare;
use super::{DAY, saturate};

pub(crate) static SERVER: &[Setting<Server>] = &[
    Setting::count("workers", |server: &mut Server, n| server.workers = saturate(n))
        .between(1, 1024)
        .row(
            "server",
            "one per core",
            "2",
            "Worker threads. Each has its own listeners, connections to servers and counters.",
        ),
    Setting::count("max_connections", |server: &mut Server, n| {
        server.max_connections = saturate(n);
    })
    .between(1, 10_000_000)
    .row(
        "server",
        "65536",
        "20000",
        "Client connections at once, in the whole process.",
    ),
    Setting::time("drain_timeout", |server: &mut Server, time| server.drain_timeout = time)
        .between(0, DAY)
        .row(
            "server",
            "\"30s\"",
            "\"10s\"",
            "How long exchanges under way may finish after SIGTERM; then they are broken off.",
        ),
    Setting::text("name", "a name", |server: &mut Server, text| {
        server.name = words::server_name(&text.value)?;
        Ok(())
    })
    .row(
        "server",
        "\"forebay\"",
        "\"edge1\"",
        "This server's name in `Via` and `Cache-Status`.",
    ),
    Setting::list(
        "trusted_proxies",
        "networks or addresses such as \"10.0.0.0/8\"",
        |server: &mut Server, list, wrong| {
            server.trusted_proxies = each_bare(list, address::network, wrong);
        },
    )
    .row(
        "server",
        "[]",
        "[\"10.0.0.0/8\", \"192.0.2.7\"]",
        "Whose `Forwarded` and `X-Forwarded-*` fields are believed and extended. Those of anybody else are replaced.",
    ),
    Setting::list(
        "resolvers",
        "addresses such as \"192.0.2.53\" or \"127.0.0.1:5353\"",
        |server: &mut Server, list, wrong| {
            server.resolvers = each_bare(list, address::resolver, wrong);
        },
    )
    .row(
        "server",
        "those of the system",
        "[\"192.0.2.53\", \"127.0.0.1:5353\"]",
        "DNS servers that the names of servers are asked of. Names are asked for again when what was answered expires.",
    ),
    Setting::text("state_file", "the absolute path of a file", |server: &mut Server, text| {
        server.state_file = Some(PathBuf::from(absolute(&text.value)?));
        Ok(())
    })
    .row(
        "server",
        "none",
        "\"/var/lib/forebay/servers.json\"",
        "Where it is written down what the operator has changed of pools' servers and wants kept (`forebay pool … --keep`); it is read at the start. Without it such changes are kept over reloads only.",
    ),
    Setting::choice(
        "forwarded",
        &["both", "x-forwarded", "rfc7239", "none"],
        |server: &mut Server, word| {
            server.forwarded = match word {
                "x-forwarded" => Forwarded::XForwarded,
                "rfc7239" => Forwarded::Rfc7239,
                "none" => Forwarded::None,
                _ => Forwarded::Both,
            };
        },
    )
    .row(
        "server",
        "\"both\"",
        "\"x-forwarded\"",
        "Which fields tell the origin who the client is: `Forwarded` (RFC 7239), `X-Forwarded-For`, `-Host` and `-Proto`, both, or none.",
    ),
];

pub(crate) static LISTEN: &[Setting<ListenDraft>] = &[
    Setting::text(
    "address",
    "an address such as \"127.0.0.1:8080\", \"[::1]:8080\" or \"unix:/run/forebay.sock\"",
    |listen: &mut ListenDraft, text| {
        listen.address = Some(Spanned {
            value: address::listen(&text.value)?,
            span: text.span,
        });
        Ok(())
    },
)
.row(
    "listen",
    "none: it must be given",
    "\"127.0.0.1:8080\"",
    "Where clients connect. Port 0 takes any free port, which is reported at the start.",
),
    Setting::flag("proxy_protocol", |listen: &mut ListenDraft, is| listen.proxy_protocol = is).row(
        "listen",
        "false",
        "true",
        "Each connection begins with a header of the PROXY protocol (version 1 or 2), which says who the client is; one without it is closed. Only for an address that nobody but the proxy in front can reach.",
    ),
    Setting::text("socket_mode", super::SOCKET_MODE, |listen: &mut ListenDraft, text| {
        listen.socket_mode = words::socket_mode(&text.value)?;
        Ok(())
    })
    .row(
        "listen",
        "\"0666\"",
        "\"0660\"",
        "The permissions of the file of a Unix socket, in octal digits: who may write to it may connect. One that systemd passes keeps those it has.",
    ),
    pem!(
        ListenDraft,
        "listen",
        certificate,
        "none: no TLS",
        "\"/etc/forebay/shop.pem\"",
        "The certificate, followed by those that signed it: connections are then encrypted, of clients as of back ends that join. A reload reads it anew."
    ),
    pem!(
        ListenDraft,
        "listen",
        key,
        "none",
        "\"/etc/forebay/shop.key\"",
        "The certificate's key."
    ),
    pem!(
        ListenDraft,
        "listen",
        client_ca,
        "none: clients need no certificate",
        "\"/etc/forebay/clients.pem\"",
        "Authorities of which each client must have a certificate: for an address that is for back ends that join, or for proxies in front, alone."
    ),
];

pub(crate) static ADMIN: &[Setting<AdminDraft>] = &[
    Setting::text(
        "address",
        "an IP address with a port such as \"127.0.0.1:8081\", or \"unix:/run/forebay-admin.sock\"",
        |admin: &mut AdminDraft, text| {
            admin.addresses.push(Spanned {
                value: address::listen(&text.value)?,
                span: text.span,
            });
            Ok(())
        },
    )
    .row(
        "admin",
        "none: no administration",
        "\"127.0.0.1:8081\"",
        "Where metrics, status, the dashboard and administration are served. Beyond this machine's own addresses it takes tokens.",
    ),
    Setting::text(
        "socket",
        "the path of a Unix socket such as \"unix:/run/forebay-admin.sock\"",
        |admin: &mut AdminDraft, text| {
            let value = address::listen(&text.value)?;
            if matches!(value, ListenAddress::Tcp(_)) {
                return Err(Refused::write(
                    "a socket is a path",
                    "unix:/run/forebay-admin.sock",
                ));
            }
            admin.addresses.push(Spanned {
                value,
                span: text.span,
            });
            Ok(())
        },
    )
    .row(
        "admin",
        "none",
        "\"unix:/run/forebay-admin.sock\"",
        "A Unix socket for the same, beside `address` or alone. Who may open it (mode 0660) needs no token.",
    ),
    Setting::list("read_tokens", TOKEN, |admin: &mut AdminDraft, list, wrong| {
        admin.read_tokens = each_bare(list, words::token, wrong);
    })
    .row(
        "admin",
        "[]",
        "[\"a-long-random-text\"]",
        "Bearer tokens that may look. With a token of any kind configured, nothing is served over TCP without one.",
    ),
    Setting::list("purge_tokens", TOKEN, |admin: &mut AdminDraft, list, wrong| {
        admin.purge_tokens = each_bare(list, words::token, wrong);
    })
    .row(
        "admin",
        "[]",
        "[\"another-long-random-text\"]",
        "Bearer tokens that may look and purge.",
    ),
    Setting::list("admin_tokens", TOKEN, |admin: &mut AdminDraft, list, wrong| {
        admin.admin_tokens = each_bare(list, words::token, wrong);
    })
    .row(
        "admin",
        "[]",
        "[\"a-third-long-random-text\"]",
        "Bearer tokens that may do everything.",
    ),
    Setting::list("hosts", "names such as \"forebay.example\"", |admin: &mut AdminDraft, list, wrong| {
        admin.hosts = each_bare(list, address::host, wrong);
    })
    .row(
        "admin",
        "[]",
        "[\"forebay.example\"]",
        "Names that `address` may be reached by, beside IP addresses and `localhost`: a page of another site must not reach it by a name of its own.",
    ),
];

/// What a log target may be, in words.
const TARGET: &str = "\"off\", \"stdout\", \"stderr\", or the path of a file with a `/` in it";

pub(crate) static LOG: &[Setting<Log>] = &[
    Setting::text("access", TARGET, |log: &mut Log, text| {
        log.access = words::log_target(&text.value)?;
        Ok(())
    })
    .row(
        "log",
        "\"off\"",
        "\"/var/log/forebay/access.log\"",
        "Where accesses are logged. A file is appended to, and opened anew on reload. Workers never wait for it: what does not fit in `buffer` is dropped and counted.",
    ),
    Setting::text(
        "format",
        "\"combined\", \"json\", or a template such as \"{client} {status}\"",
        |log: &mut Log, text| {
            log.format = words::log_format(&text.value)?;
            Ok(())
        },
    )
    .row(
        "log",
        "\"combined\"",
        "\"{time} {client} {status} {cache} {request_line}\"",
        "What a line of the access log looks like. In a template a field stands in braces; `{{` and `}}` are the braces themselves.",
    ),
    Setting::text("error", TARGET, |log: &mut Log, text| {
        log.error = words::log_target(&text.value)?;
        Ok(())
    })
    .row(
        "log",
        "\"stderr\"",
        "\"/var/log/forebay/error.log\"",
        "Where everything else is logged.",
    ),
    Setting::choice("level", &["error", "warn", "info", "debug"], |log: &mut Log, word| {
        log.level = word.into();
    })
    .row(
        "log",
        "\"info\"",
        "\"warn\"",
        "The least level that `error` gets.",
    ),
    Setting::size("buffer", |log: &mut Log, bytes| log.buffer_bytes = saturate(bytes))
        .between(64 << 10, 1 << 30)
        .row(
            "log",
            "\"8MiB\"",
            "\"1MiB\"",
            "Lines of the access log waiting to be written, for each worker; beyond: they are dropped and counted.",
        ),
];
