//! The rows of `[pool.NAME]`, `[site.NAME]` and `[[site.NAME.path]]`.

use crate::address;
use crate::draft::{PathDraft, SiteDraft, Spanned};
use crate::settings::Pool;
use crate::words;

use super::setting::Setting;
use super::value::{each, each_bare};
use super::{DAY, saturate};

pub(crate) static POOL: &[Setting<Pool>] = &[
    Setting::list(
        "servers",
        "servers such as \"127.0.0.1:9000\", \"app.internal:80\" or \"unix:/run/app.sock\"",
        |pool: &mut Pool, list, wrong| {
            pool.servers = each_bare(list, address::server, wrong);
        },
    )
    .between(1, u64::MAX)
    .row(
        "pool",
        "none: it must be given",
        "[\"127.0.0.1:9000\", \"unix:/run/app.sock\"]",
        "The servers, which give the same answers. A name is resolved at the start and again from time to time; without a port: 80.",
    ),
    Setting::count_or_unlimited("max_connections", |pool: &mut Pool, n| {
        pool.max_connections = n.map(saturate);
    })
    .between(1, 1_000_000)
    .row(
        "pool",
        "\"unlimited\"",
        "10",
        "Connections to each server at once; other requests wait in a queue (`timeouts.queue`). With several workers such connections are not kept idle.",
    ),
    Setting::count("idle_connections", |pool: &mut Pool, n| {
        pool.idle_connections = saturate(n);
    })
    .between(0, 100_000)
    .row(
        "pool",
        "128",
        "8",
        "Idle connections kept open to each server by each worker; 0: a connection for every request.",
    ),
    Setting::time("fail_timeout", |pool: &mut Pool, time| pool.fail_timeout = time)
        .between(0, DAY)
        .row(
            "pool",
            "\"10s\"",
            "\"1s\"",
            "How long a server is left out after it could not be reached, unless all are.",
        ),
    Setting::count("retries", |pool: &mut Pool, n| pool.retries = saturate(n))
        .between(0, 100)
        .row(
            "pool",
            "2",
            "0",
            "How many more servers or connections are tried when a request can be repeated.",
        ),
];

pub(crate) static SITE: &[Setting<SiteDraft>] = &[
    Setting::list(
        "hosts",
        "hosts such as \"shop.example\", \"*.shop.example\" or \"*\"",
        |site: &mut SiteDraft, list, wrong| {
            site.hosts = each(list, address::host, wrong);
        },
    )
    .between(1, u64::MAX)
    .row(
        "site",
        "every host",
        "[\"shop.example\", \"*.shop.example\"]",
        "The hosts of the site. An exact host is stronger than a longer `*.`, that than a shorter one, and that than `*`.",
    ),
    Setting::text("pool", "the name of a [pool.NAME]", |site: &mut SiteDraft, text| {
        site.pool = Some(text);
        Ok(())
    })
    .row(
        "site",
        "the only pool, if there is one only",
        "\"app\"",
        "The pool that answers what the cache does not.",
    ),
    Setting::list("methods", "methods such as \"GET\"", |site: &mut SiteDraft, list, wrong| {
        site.methods = each_bare(list, words::method, wrong);
    })
    .between(1, u64::MAX)
    .row(
        "site",
        "every method",
        "[\"GET\", \"HEAD\", \"POST\"]",
        "The methods allowed; others get 405.",
    ),
];

pub(crate) static PATH: &[Setting<PathDraft>] = &[Setting::text(
    "match",
    "a pattern such as \"/img/*\" or \"*.css\"",
    |path: &mut PathDraft, text| {
        path.pattern = Some(Spanned {
            value: words::path_pattern(&text.value)?,
            span: text.span,
        });
        Ok(())
    },
)
.row(
    "site.path",
    "none: it must be given",
    "\"/img/*\"",
    "The paths the rule is for: `*` stands for any run of characters, `?` for one; without either, it is a prefix that ends at a `/` or matches whole. The first rule of a site that matches decides.",
)];
