//! The rows of the sections in `[pool.NAME]`: its servers, how they are watched, whom they keep,
//! and how connections to them are encrypted.

use crate::address;
use crate::draft::{EjectDraft, HealthDraft, ServerDraft, Spanned, StickyDraft, TlsDraft};
use crate::words;

use super::disk::absolute;
use super::setting::Setting;
use super::{DAY, saturate};

const PEM: &str = "the absolute path of a PEM file";

impl ServerDraft {
    /// A server that is written as its address alone.
    pub(super) fn of_text(text: &str) -> Result<Self, address::Refused> {
        let (address, https) = address::server_or_service(text)?;
        Ok(Self {
            address: Some(address),
            https,
            ..Self::default()
        })
    }
}

fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[rustfmt::skip]
pub(crate) static POOL_SERVER: &[Setting<ServerDraft>] = &[
    Setting::text("address", "a server such as \"127.0.0.1:9000\" or \"unix:/run/app.sock\"", |server: &mut ServerDraft, text| {
        let ServerDraft { address, https, .. } = ServerDraft::of_text(&text.value)?;
        (server.address, server.https) = (address, https);
        Ok(())
    })
    .row("pool.server", "none: it must be given", "\"127.0.0.1:9000\"", "Where it is."),
    Setting::count("weight", |server: &mut ServerDraft, n| server.weight = small(n))
        .between(0, 1_000)
        .row("pool.server", "1", "3", "Its share, relative to the others'; 0: none, unless a cookie keeps a user there."),
    Setting::count("priority", |server: &mut ServerDraft, n| server.priority = u8::try_from(n).unwrap_or(254))
        .between(0, 254)
        .row("pool.server", "0", "1", "Servers of a greater number are used only when none of a smaller one can be."),
    Setting::flag("backup", |server: &mut ServerDraft, on| server.backup = on)
        .row("pool.server", "false", "true", "Used only when no other can be."),
    Setting::text("zone", "a name", |server: &mut ServerDraft, text| {
        server.zone = Some(words::plain_name(&text.value)?);
        Ok(())
    })
    .row("pool.server", "none", "\"rack-a\"", "Where it stands; see `pool.zone`."),
    Setting::count("max_connections", |server: &mut ServerDraft, n| server.max_connections = Some(saturate(n)))
        .between(1, 1_000_000)
        .row("pool.server", "the pool's", "4", "In place of the pool's `max_connections`."),
];

#[rustfmt::skip]
pub(crate) static HEALTH: &[Setting<HealthDraft>] = &[
    Setting::text("path", "a path such as \"/up\"", |health: &mut HealthDraft, text| {
        health.path = Some(words::request_path(&text.value)?);
        Ok(())
    })
    .row("pool.health", "none: that a connection comes about is enough", "\"/up\"",
        "What is asked for with `GET`, in the pool's protocol; for PHP-FPM its `ping.path`."),
    Setting::text("host", "a name such as \"app.example\"", |health: &mut HealthDraft, text| {
        let value = address::host_sent(&text.value)?;
        health.host = Some(Spanned { value, span: text.span });
        Ok(())
    })
    .row("pool.health", "`pool.host` where it is a name, else `localhost`", "\"app.example\"", "The `Host` of the request."),
    Setting::shape("status", "a list of statuses and ranges such as [\"200-399\", 404]", |health: &mut HealthDraft, row, given, out| {
        let value = words::statuses(row, given, out);
        health.statuses = Some(Spanned { value, span: given.span.clone() });
    })
    .row("pool.health", "`200-399`", "[\"200\", \"204\"]", "Statuses that are good."),
    Setting::text("body", "a text", |health: &mut HealthDraft, text| {
        health.body = Some(text);
        Ok(())
    })
    .row("pool.health", "any", "\"ok\"", "What the first 64 KiB of the response's body must contain."),
    Setting::time("interval", |health: &mut HealthDraft, time| health.check.interval = time)
        .between(100, DAY)
        .row("pool.health", "\"5s\"", "\"1s\"", "From one check of a server to the next, a tenth more or less by chance."),
    Setting::time("timeout", |health: &mut HealthDraft, time| health.check.timeout = time)
        .between(1, DAY)
        .row("pool.health", "\"2s\"", "\"500ms\"", "For the whole check; beyond: it is bad."),
    Setting::count("rise", |health: &mut HealthDraft, n| health.check.rise = small(n))
        .between(1, 1_000)
        .row("pool.health", "2", "1", "Good checks in a row after which a server that was down is up."),
    Setting::count("fall", |health: &mut HealthDraft, n| health.check.fall = small(n))
        .between(1, 1_000)
        .row("pool.health", "3", "2", "Bad checks in a row after which a server is down."),
];

#[rustfmt::skip]
pub(crate) static EJECT: &[Setting<EjectDraft>] = &[
    Setting::percent("errors", |eject: &mut EjectDraft, n| eject.error_percent = small(n))
        .between(1, 100)
        .row("pool.eject", "\"50%\"", "\"20%\"", "A server of whose requests so many fail, or are answered with 500 or above, is left out."),
    Setting::count("requests", |eject: &mut EjectDraft, n| eject.requests = n)
        .between(1, 1_000_000)
        .row("pool.eject", "20", "100", "A server with fewer requests within `window` is not judged."),
    Setting::time("window", |eject: &mut EjectDraft, time| eject.window = time)
        .between(1_000, DAY)
        .row("pool.eject", "\"10s\"", "\"1m\"", "What is looked at."),
    Setting::time("time", |eject: &mut EjectDraft, time| eject.time = time)
        .between(100, DAY)
        .row("pool.eject", "\"30s\"", "\"10s\"", "How long it is left out; each time in a row once more as long."),
    Setting::percent("most", |eject: &mut EjectDraft, n| eject.most_percent = small(n))
        .between(1, 100)
        .row("pool.eject", "\"50%\"", "\"30%\"", "At most so many of the pool's servers are left out at once (one always may)."),
];

#[rustfmt::skip]
pub(crate) static STICKY: &[Setting<StickyDraft>] = &[
    Setting::text("cookie", "the name of a cookie", |sticky: &mut StickyDraft, text| {
        sticky.cookie = Some(words::cookie_name(&text.value)?);
        Ok(())
    })
    .row("pool.sticky", "`forebay`; with `learn` it must be given", "\"JSESSIONID\"", "The cookie by which a user is known."),
    Setting::flag("learn", |sticky: &mut StickyDraft, on| sticky.sticky.learn = on)
        .row("pool.sticky", "false", "true", "The cookie is the application's, and learned from its `Set-Cookie`, rather than one of Forebay's own."),
    Setting::time("lifetime", |sticky: &mut StickyDraft, time| sticky.sticky.lifetime = Some(time))
        .between(1_000, 365 * DAY)
        .row("pool.sticky", "a cookie of Forebay's: until the browser ends; one that is learned: 1h", "\"8h\"",
            "How long the browser keeps a cookie of Forebay's, or one that was learned is remembered after it was last seen."),
    Setting::count("most", |sticky: &mut StickyDraft, n| sticky.sticky.most = saturate(n))
        .between(1, 100_000_000)
        .row("pool.sticky", "100000", "1000000", "Cookies that are remembered (`learn`); beyond: the oldest goes."),
    Setting::text("secret", "a text", |sticky: &mut StickyDraft, text| {
        sticky.sticky.secret = Some(text.value.clone());
        Ok(())
    })
    .row("pool.sticky", "none: who guesses a server's address can tell it by its cookie", "\"a-long-random-text\"",
        "What the value of a cookie of Forebay's is made with, beside the names of pool and server. The same at all that are in front of the same servers."),
];

#[rustfmt::skip]
pub(crate) static TLS: &[Setting<TlsDraft>] = &[
    Setting::flag("verify", |tls: &mut TlsDraft, on| tls.tls.verify = on)
        .row("pool.tls", "true", "false", "Whether the server's certificate is verified. Without it anybody in between can pass for the server."),
    Setting::text("name", "a name such as \"app.example\"", |tls: &mut TlsDraft, text| {
        tls.tls.name = Some(address::host_sent(&text.value)?);
        Ok(())
    })
    .row("pool.tls", "the server's name", "\"app.example\"", "The name that is sent (SNI) and that the certificate must have."),
    Setting::text("authorities", PEM, |tls: &mut TlsDraft, text| {
        tls.tls.authorities = Some(absolute(&text.value)?.into());
        Ok(())
    })
    .row("pool.tls", "those of the system", "\"/etc/forebay/ca.pem\"", "The authorities that certificates are verified with."),
    Setting::text("certificate", PEM, |tls: &mut TlsDraft, text| {
        let wrong = absolute(&text.value).map(drop);
        tls.certificate = Some(text);
        wrong
    })
    .row("pool.tls", "none", "\"/etc/forebay/client.pem\"", "The certificate (and its chain) that is shown to servers that ask for one; with `key`."),
    Setting::text("key", PEM, |tls: &mut TlsDraft, text| {
        let wrong = absolute(&text.value).map(drop);
        tls.key = Some(text);
        wrong
    })
    .row("pool.tls", "none", "\"/etc/forebay/client.key\"", "The certificate's private key."),
];
