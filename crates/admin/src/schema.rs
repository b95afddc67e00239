//! The schemas of what is asked and answered (JSON Schema 2020-12, as OpenAPI
//! 3.1 wants it), one row for each member.

use crate::history;
use serde_json::{Map, Value, json};

/// Name, type, meaning. A type is a JSON type, `NAME[]` for a list, `NAME?` for
/// what may be null; a name with a capital is another schema.
type Member = (&'static str, &'static str, &'static str);

/// All schemas, by name.
pub(crate) fn all() -> Value {
    let mut all = Map::new();
    for (name, members) in SCHEMAS {
        all.insert((*name).into(), object(members));
    }
    all.insert("Purge".into(), purge());
    all.insert("ServerOrder".into(), server_order());
    all.insert("History".into(), history());
    all.insert(
        "Document".into(),
        json!({ "type": "object", "description": "An OpenAPI 3.1 document." }),
    );
    all.insert(
        "Exchange".into(),
        json!({
            "type": "object",
            "description": "The fields of a line of the access log in JSON; or `dropped` alone: exchanges that matched and could not be kept for this reader.",
            "properties": { "dropped": { "type": "integer" } },
        }),
    );
    Value::Object(all)
}

#[rustfmt::skip]
const SCHEMAS: &[(&str, &[Member])] = &[
    ("Error", &[("error", "string", "What is wrong, for the operator.")]),
    ("Status", &[
        ("version", "string", "The version of the program."),
        ("uptime_s", "integer", "Seconds since the start."),
        ("pid", "integer", "The process."),
        ("workers", "integer", "Worker threads."),
        ("connections", "integer", "Client connections open."),
        ("config_generation", "integer", "Configurations taken since the start."),
        ("log_level", "string", "The level of the error log."),
        ("hit_ratio", "number?", "The share of requests served from the cache, 0 to 1; null before the first."),
        ("objects", "integer", "Objects in memory."),
        ("memory", "Memory", "The cache in memory, and the process."),
        ("draining", "boolean", "No connections are accepted any more."),
        ("listening", "string[]", "Addresses that clients connect to."),
        ("pools", "Pool[]", "Pools with their servers."),
        ("sites", "Site[]", "Sites."),
        ("disk", "Disk?", "The cache on disk; null without one."),
        ("config_file", "string?", "The file that a reload reads."),
    ]),
    ("Memory", &[
        ("used_bytes", "integer", "What cached objects take."),
        ("limit_bytes", "integer", "What they may take."),
        ("resident_bytes", "integer", "What the process takes."),
    ]),
    ("Pool", &[
        ("name", "string", "Its name."),
        ("servers", "Server[]", "Its servers."),
    ]),
    ("Server", &[
        ("server", "string", "Its address as configured, or its name where it opens the connections."),
        ("addresses", "string[]", "What its name resolves to."),
        ("state", "string", "`up`, `draining`, `down` (the operator said so), `unhealthy` (active checks say so), `failed` (it failed requests in a row), `ejected` (it answers worse than others)."),
        ("owner", "string", "Who put it in the pool: `file`, `operator`, `program` (a process, a back end that joined, a service's name)."),
        ("weight", "integer", "Its share, relative to the others'."),
        ("priority", "integer", "Servers of a greater number are used only when none of a smaller one can be."),
        ("zone", "string?", "Where it stands."),
        ("max_connections", "integer?", "Requests it may be working on at once; null: any number."),
        ("failed", "boolean", "It could not be reached lately."),
        ("active", "integer", "Requests it is working on."),
        ("requests", "integer?", "Requests sent to it."),
        ("errors", "integer?", "Of them failed."),
        ("failures", "integer?", "Its responses with a status of 500 or above."),
        ("retries", "integer?", "Requests of it that were given to another server or connection, because it failed them."),
        ("waits", "integer?", "Requests that had waited in the pool's queue before they were given to it."),
        ("mean_us", "integer?", "Time to the head of its answers, the mean, microseconds."),
        ("p50_us", "integer?", "The median."),
        ("p99_us", "integer?", "The 99th percentile."),
    ]),
    ("Pools", &[("pools", "Pool[]", "The pools, by name.")]),
    ("ServerChanged", &[
        ("holds", "string", "How long that holds: `now` (until a reload says otherwise), `reloads` (until the process ends), `restarts`."),
        ("server", "Server?", "The server as it is now; null: it is not in the pool any more."),
    ]),
    ("Apps", &[("apps", "App[]", "The applications, by name.")]),
    ("App", &[
        ("name", "string", "Its name, which is its pool's as well."),
        ("wanted", "integer", "How many processes there should be now."),
        ("least", "integer", "How many there may be at least."),
        ("most", "integer", "How many there may be at most."),
        ("restarts", "integer", "Processes that were started because another one had failed."),
        ("failures", "integer", "Failures in a row; above 1 there is a pause before the next start."),
        ("processes", "Process[]", "Its processes."),
    ]),
    ("Process", &[
        ("number", "integer", "What `{instance}` was replaced with."),
        ("pid", "integer?", "Its process id; null: not known yet."),
        ("state", "string", "`starting`, `ready`, `draining`, `stopping`, `failed`."),
        ("address", "string", "Where it is as a server of the pool."),
        ("memory_bytes", "integer", "Bytes resident, its children's included, when it was looked last."),
        ("active", "integer", "Requests it is working on."),
        ("requests", "integer", "Requests it was sent."),
        ("uptime_s", "integer", "Seconds since it was started."),
    ]),
    ("AppName", &[("app", "string", "The name of an application.")]),
    ("Replacing", &[("replacing", "string", "The application.")]),
    ("Sessions", &[("sessions", "Session[]", "The stores of sessions, by name.")]),
    ("Session", &[
        ("name", "string", "Its name."),
        ("addresses", "string[]", "Where clients connect."),
        ("figures", "object", "What it counts and holds, by key."),
    ]),
    ("SnapshotOrder", &[
        ("store", "string", "The name of a store of sessions."),
        ("directory", "string", "The directory that is made: an absolute path on the server's machine."),
    ]),
    ("Snapshot", &[
        ("directory", "string", "The directory that was made."),
        ("bytes", "integer", "What is in it."),
    ]),
    ("Site", &[
        ("name", "string", "Its name."),
        ("hosts", "string[]", "Its hosts; empty: every host."),
        ("pool", "string", "The pool it is fetched from."),
    ]),
    ("Disk", &[
        ("used_bytes", "integer", "Bytes on disk."),
        ("limit_bytes", "integer", "What it may take."),
        ("objects", "integer", "Objects on disk."),
        ("index_bytes", "integer", "Memory that its index takes."),
        ("directories", "Directory[]", "Its directories."),
    ]),
    ("Directory", &[
        ("path", "string", "Where it is."),
        ("state", "string", "`ready`, `recovering`, `failed`."),
        ("used_bytes", "integer", "Bytes on disk."),
        ("limit_bytes", "integer", "What it may take."),
        ("error", "string?", "Why it failed."),
    ]),
    ("Figures", &[
        ("gauges", "object", "The state now, by key."),
        ("counters", "object", "What was counted since the start, by key."),
        ("timings", "object", "By key: count, mean_us, p50_us, p90_us, p99_us, p999_us, max_us."),
        ("hit_ratio", "number?", "The share of requests served from the cache, 0 to 1; null before the first."),
    ]),
    ("Config", &[("settings", "Setting[]", "Every setting.")]),
    ("Setting", &[
        ("name", "string", "As `cache.grace`."),
        ("value", "any", "As it would stand in the file; null for a secret."),
        ("default", "boolean", "The file does not say it."),
    ]),
    ("Inspection", &[
        ("url", "string", "The URL, in its normal form."),
        ("site", "string?", "The site it belongs to; null: no site answers this host."),
        ("key", "string", "The cache key."),
        ("variants", "Variant[]", "What is stored."),
        ("verdict", "string", "What a plain GET would get, and why."),
    ]),
    ("Variant", &[
        ("status", "integer", "The stored status."),
        ("age_s", "integer", "Seconds since the origin made it."),
        ("ttl_s", "integer", "Seconds that it is fresh in all."),
        ("grace_s", "integer", "Seconds it may be used beyond that."),
        ("freshness", "string", "`fresh`, `grace`, `stale`, `invalid`."),
        ("tier", "string", "`memory`, `disk`, `growing`."),
        ("hits", "integer", "How often it was used."),
        ("size_bytes", "integer", "Bytes of the body."),
        ("tags", "string[]", "Its tags and cache groups."),
        ("vary", "string[]", "The request fields that choose it."),
        ("stored_at", "integer", "When it was stored, seconds since 1970."),
        ("etag", "string?", "Its `ETag`."),
        ("last_modified", "string?", "Its `Last-Modified`."),
        ("content_type", "string?", "Its `Content-Type`."),
        ("why", "string", "Why it is, or is not, served as it is."),
    ]),
    ("Objects", &[("objects", "Object[]", "The first is the first.")]),
    ("Object", &[
        ("url", "string", "Its URL."),
        ("hits", "integer", "How often it was used."),
        ("size_bytes", "integer", "Bytes of the body."),
        ("age_s", "integer", "Seconds since the origin made it."),
        ("tier", "string", "`memory`, `disk`, `growing`."),
    ]),
    ("Purged", &[
        ("done", "integer", "Orders carried out."),
        ("failed", "integer", "Orders refused."),
        ("results", "Outcome[]", "One for each order, in order; of a refused one only `error`."),
    ]),
    ("Outcome", &[
        ("done", "string", "What was done, in words."),
        ("kind", "string", "`url`, `prefix`, `regex`, `ban`, `tag`, `all`."),
        ("soft", "boolean", "Things were made stale rather than gone."),
        ("objects", "integer?", "Objects that were hit, when that is known already."),
        ("may_touch", "integer?", "Objects that may be hit when they are looked up."),
        ("merged", "boolean", "An equal purge stood in the list and was replaced."),
    ]),
    ("Bans", &[("bans", "Ban[]", "The newest first.")]),
    ("Ban", &[
        ("moment", "integer", "Its number; a newer one is greater."),
        ("soft", "boolean", "It makes stale rather than gone."),
        ("expression", "string", "What it matches."),
        ("tests", "integer", "Objects compared with it."),
        ("hits", "integer", "Objects hit by it."),
    ]),
    ("Reloaded", &[
        ("reloaded", "boolean", "Whether the file is in force."),
        ("warnings", "string[]", "What the operator should know."),
    ]),
    ("Draining", &[("draining", "boolean", "True.")]),
    ("LogLevel", &[("level", "string", "`error`, `warn`, `info` or `debug`.")]),
];

fn object(members: &[Member]) -> Value {
    let mut properties = Map::new();
    for (name, kind, doc) in members {
        let mut schema = typed(kind);
        schema["description"] = (*doc).into();
        properties.insert((*name).into(), schema);
    }
    json!({ "type": "object", "properties": properties })
}

fn typed(kind: &str) -> Value {
    if let Some(inner) = kind.strip_suffix("[]") {
        return json!({ "type": "array", "items": typed(inner) });
    }
    if let Some(inner) = kind.strip_suffix('?') {
        return json!({ "oneOf": [typed(inner), { "type": "null" }] });
    }
    match kind {
        "any" => json!({}),
        other if other.starts_with(char::is_uppercase) => {
            json!({ "$ref": format!("#/components/schemas/{other}") })
        }
        other => json!({ "type": other }),
    }
}

/// One order, or many.
fn purge() -> Value {
    let text = |doc: &str| json!({ "type": "string", "description": doc });
    let order = json!({
        "type": "object",
        "description": "Exactly one of url, prefix, regex, ban, tags, all.",
        "additionalProperties": false,
        "properties": {
            "url": text("One URL, all its variants."),
            "prefix": text("All URLs that begin so: `host/path`, or `/path` on every host."),
            "regex": text("URLs (path and query) that match this regular expression."),
            "host": text("With `regex`: on this host only."),
            "ban": text("Objects that match this expression: `obj.status == 404 && req.url ~ \"^/news\"`."),
            "tags": { "type": "array", "items": { "type": "string" }, "description": "Objects that carry one of these tags." },
            "all": { "const": true, "description": "Everything." },
            "soft": { "type": "boolean", "default": false, "description": "Make it stale, not gone: the next request refreshes it." },
        },
    });
    json!({
        "oneOf": [
            order,
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["orders"],
                "properties": { "orders": { "type": "array", "maxItems": crate::api::order::MOST_ORDERS, "items": order } },
            },
        ],
    })
}

/// What is to be done with a server of a pool.
fn server_order() -> Value {
    let text = |doc: &str| json!({ "type": "string", "description": doc });
    let number = |doc: &str| json!({ "type": "integer", "minimum": 0, "description": doc });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["pool", "server", "action"],
        "properties": {
            "pool": text("The pool's name."),
            "server": text("The server's address as it would stand in the file, or its name."),
            "action": {
                "enum": ["add", "remove", "drain", "down", "up", "set"],
                "description": "`drain`: no new requests, but for users that are bound to it; `down`: none; `set`: another weight or limit.",
            },
            "keep": { "type": "boolean", "default": false, "description": "It holds over reloads and, with `server.state_file`, over restarts." },
            "weight": number("With `add` and `set`: its share, relative to the others'."),
            "max_connections": number("With `add` and `set`: requests it may be working on at once; 0: as the pool says."),
            "priority": number("With `add`: servers of a greater number are used only when none of a smaller one can be."),
            "zone": text("With `add`: where it stands."),
        },
    })
}

/// The table of columns as a schema.
fn history() -> Value {
    let mut columns = Map::new();
    for column in history::COLUMNS {
        columns.insert(
            column.name.into(),
            json!({ "type": "array", "items": { "type": "integer" }, "description": column.doc }),
        );
    }
    json!({
        "type": "object",
        "properties": {
            "until": { "type": "integer", "description": "When the last sample ended, seconds since 1970." },
            "step_s": { "type": "integer", "description": "Seconds between samples: 1." },
            "samples": { "type": "integer", "description": "How many there are, the oldest first." },
            "columns": { "type": "object", "properties": columns, "description": "A list for each column." },
        },
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::control;
    use serde::Serialize;
    use std::collections::BTreeSet;

    /// The members of a value's JSON are those of its schema.
    fn agrees(schema: &str, value: &impl Serialize) {
        let value = serde_json::to_value(value).unwrap();
        let names = |object: &Value| -> BTreeSet<String> {
            object.as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(
            names(&all()[schema]["properties"]),
            names(&value),
            "{schema}"
        );
    }

    #[test]
    fn the_schemas_say_what_the_types_say() {
        agrees("Pool", &control::PoolState::default());
        agrees("Server", &control::PoolServer::default());
        agrees("ServerChanged", &control::ServerChanged::default());
        agrees("App", &control::AppState::default());
        agrees("Process", &control::ProcessState::default());
        agrees("Site", &control::SiteState::default());
        agrees("Disk", &control::DiskState::default());
        agrees("Directory", &control::DirectoryState::default());
        agrees("Inspection", &control::Inspection::default());
        agrees("Variant", &control::Variant::default());
        agrees("Object", &control::Popular::default());
        agrees("Outcome", &control::Purged::default());
        agrees("Ban", &control::Ban::default());
        let setting = control::SettingInForce {
            name: String::new(),
            value: Value::Null,
            default: true,
        };
        agrees("Setting", &setting);
        agrees("History", &history::History::default().to_json(1));
    }
}
