//! The table of routes: one documented row each. Which request does what, who
//! may, and the description at `/api/v1/openapi.json` come from it.

use crate::access::Role;
use crate::answer::Answer;
use crate::api::{Handler, figures, objects, pools, purge, server, sessions};
use forebay_http::Method;

/// One method of one path.
pub(crate) struct Route {
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    /// What it takes; `None`: nothing.
    pub(crate) role: Option<Role>,
    pub(crate) action: Action,
    /// One sentence for the operator.
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [Parameter],
    /// The schema of the request's JSON; `None`: it has no body.
    pub(crate) body: Option<&'static str>,
    pub(crate) answer: Content,
    /// The statuses that it may have, the good one first; those that any
    /// request may get (400, 401, 403, 421, …) are left out.
    pub(crate) statuses: &'static [u16],
}

/// A method of this API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// And HEAD.
    Get,
    Post,
    Put,
}

/// How a route is answered.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    /// By a handler.
    Ask(Handler),
    /// By [`server::reload`], one at a time.
    Reload,
    /// With lines, until the client goes.
    Follow,
    /// With the page of the dashboard, or the plain one.
    Page,
}

/// A parameter of the query.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) is_number: bool,
    pub(crate) doc: &'static str,
}

/// What an answer is.
pub(crate) enum Content {
    /// JSON of this schema.
    Json(&'static str),
    /// JSON of this schema, a line each.
    Lines(&'static str),
    /// Text of this media type.
    Text(&'static str),
}

const fn text(name: &'static str, doc: &'static str) -> Parameter {
    Parameter {
        name,
        required: false,
        is_number: false,
        doc,
    }
}

const fn number(name: &'static str, doc: &'static str) -> Parameter {
    Parameter {
        is_number: true,
        ..text(name, doc)
    }
}

const LIMIT: Parameter = number("limit", "How many; 20 unless told, at most 1000.");

const URL: Parameter = Parameter {
    required: true,
    ..text(
        "url",
        "The URL: `http://host/path?query`, or without `http://`.",
    )
};

const LOG_FILTERS: &[Parameter] = &[
    text("status", "Statuses and classes, any of them: `404,5xx`."),
    text("host", "A glob over the host: `*.example.com`."),
    text(
        "url",
        "A glob over path and query, `/api/*`, or over host and both, `a.example/api/*`.",
    ),
    text(
        "cache",
        "What the cache did, any of: `hit,stale,miss,pass,…` as in the access log.",
    ),
    text(
        "slower_than",
        "Exchanges that took longer: `200ms`, `1.5s`.",
    ),
    number("limit", "Ends after so many exchanges."),
];

/// A look at something, as JSON.
const fn look(
    path: &'static str,
    handler: Handler,
    schema: &'static str,
    summary: &'static str,
) -> Route {
    Route {
        verb: Verb::Get,
        path,
        role: Some(Role::Read),
        action: Action::Ask(handler),
        summary,
        parameters: &[],
        body: None,
        answer: Content::Json(schema),
        statuses: &[200],
    }
}

/// Something that is done, answered as JSON.
const fn act(
    path: &'static str,
    role: Role,
    action: Action,
    schema: &'static str,
    summary: &'static str,
) -> Route {
    Route {
        verb: Verb::Post,
        role: Some(role),
        action,
        ..look(path, server::drain, schema, summary)
    }
}

/// All routes. Beside them only the files of the dashboard are served, below
/// `/dashboard/`.
#[rustfmt::skip]
pub(crate) const ROUTES: &[Route] = &[
    Route {
        role: None, action: Action::Page, answer: Content::Text("text/html"),
        ..look("/", figures::plain, "", "The dashboard.")
    },
    Route {
        answer: Content::Text("text/html"),
        ..look("/plain", figures::plain, "", "A page with the figures that needs no scripts.")
    },
    Route {
        answer: Content::Text("text/plain"),
        ..look("/metrics", figures::metrics, "", "All figures in the text format of Prometheus.")
    },
    look("/status", figures::status, "Figures", "All figures, and the state of listeners and pools."),
    Route {
        statuses: &[200, 409, 422],
        ..act("/reload", Role::Admin, Action::Reload, "Reloaded", "Reads the configuration again; a bad one changes nothing.")
    },
    Route {
        role: None,
        ..look("/api/v1/openapi.json", server::openapi, "Document", "This description.")
    },
    look("/api/v1/status", server::status, "Status", "The server: version, listeners, pools, memory, disk."),
    look("/api/v1/counters", figures::counters, "Figures", "All counters, gauges and timings with percentiles."),
    Route {
        parameters: &[number("seconds", "How far back; 600 unless told, at most 3600.")],
        ..look("/api/v1/history", figures::history, "History", "What happened in each of the last seconds.")
    },
    look("/api/v1/config", server::config, "Config", "Every setting in force, and whether the file says it. Secrets are left out."),
    Route {
        parameters: &[URL], statuses: &[200, 422, 503],
        ..look("/api/v1/objects", objects::inspect, "Inspection", "What is stored for a URL, and why it is or is not served.")
    },
    Route {
        parameters: &[LIMIT], statuses: &[200, 503],
        ..look("/api/v1/objects/hottest", objects::hottest, "Objects", "The objects with the most hits.")
    },
    Route {
        parameters: &[LIMIT], statuses: &[200, 503],
        ..look("/api/v1/objects/biggest", objects::biggest, "Objects", "The largest objects.")
    },
    Route {
        body: Some("Purge"), statuses: &[200, 413, 415, 422, 500, 503],
        ..act("/api/v1/purge", Role::Purge, Action::Ask(purge::purge), "Purged", "Purges by URL, prefix, regular expression, expression, tag, or everything; one order or a batch.")
    },
    Route {
        statuses: &[200, 503],
        ..look("/api/v1/bans", objects::bans, "Bans", "The purges that objects are still compared with.")
    },
    look("/api/v1/pools", pools::pools, "Pools", "The pools with their servers."),
    Route {
        body: Some("ServerOrder"), statuses: &[200, 404, 409, 413, 415, 422, 500, 503],
        ..act("/api/v1/servers", Role::Admin, Action::Ask(pools::change), "ServerChanged", "Adds a server to a pool, removes, drains, or changes one, while requests go on.")
    },
    look("/api/v1/apps", pools::apps, "Apps", "The application processes."),
    Route {
        body: Some("AppName"), statuses: &[202, 404, 413, 415, 422, 503],
        ..act("/api/v1/apps/replace", Role::Admin, Action::Ask(pools::replace), "Replacing", "Replaces the processes of an application one by one, never with fewer at work.")
    },
    look("/api/v1/sessions", sessions::sessions, "Sessions", "The stores of sessions."),
    Route {
        body: Some("SnapshotOrder"), statuses: &[200, 404, 413, 415, 422, 500, 503],
        ..act("/api/v1/sessions/snapshot", Role::Admin, Action::Ask(sessions::snapshot), "Snapshot", "Copies what a store of sessions holds, as it is at this moment, into a new directory that a store can be opened on.")
    },
    Route {
        action: Action::Follow, parameters: LOG_FILTERS, answer: Content::Lines("Exchange"), statuses: &[200, 503],
        ..look("/api/v1/log", figures::plain, "", "Exchanges as they end, a JSON object a line, until the client goes. A line `{\"dropped\":N}` says how many did not fit; empty lines keep the connection alive.")
    },
    Route {
        statuses: &[200, 409, 422],
        ..act("/api/v1/reload", Role::Admin, Action::Reload, "Reloaded", "Reads the configuration again; a bad one changes nothing.")
    },
    Route {
        statuses: &[202, 409, 503],
        ..act("/api/v1/drain", Role::Admin, Action::Ask(server::drain), "Draining", "Stops accepting, lets exchanges finish, ends the process.")
    },
    look("/api/v1/log-level", server::log_level, "LogLevel", "The level of the error log."),
    Route {
        verb: Verb::Put, body: Some("LogLevel"), statuses: &[200, 413, 415, 422],
        ..act("/api/v1/log-level", Role::Admin, Action::Ask(server::set_log_level), "LogLevel", "Changes the level of the error log until the next reload or start.")
    },
];

impl Verb {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
        }
    }

    fn allow(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }

    fn is(self, method: &Method) -> bool {
        match self {
            Self::Get => method.is_get_or_head(),
            Self::Post => *method == Method::Post,
            Self::Put => *method == Method::Put,
        }
    }
}

/// The route of a method and a path (without query).
///
/// # Errors
/// The answer: 404, or 405 with what is allowed.
pub(crate) fn find(method: &Method, path: &[u8]) -> Result<&'static Route, Answer> {
    let of_path = || ROUTES.iter().filter(|route| route.path.as_bytes() == path);
    if let Some(route) = of_path().find(|route| route.verb.is(method)) {
        return Ok(route);
    }
    let allowed: Vec<&str> = of_path().map(|route| route.verb.allow()).collect();
    if allowed.is_empty() {
        let text = "there is nothing at this path; /api/v1/openapi.json says what there is";
        return Err(Answer::refusal(404, text));
    }
    let allow = allowed.join(", ");
    Err(Answer {
        allow: allow.clone(),
        ..Answer::refusal(405, &format!("this path answers {allow} only"))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_row_is_there_once_and_documented() {
        let mut seen = BTreeSet::new();
        for route in ROUTES {
            assert!(
                seen.insert((route.path, route.verb.name())),
                "{}",
                route.path
            );
            assert!(route.summary.ends_with('.'), "{}", route.path);
            assert!(route.statuses[0] < 300);
            assert!(route.parameters.iter().all(|one| one.doc.ends_with('.')));
        }
    }

    #[test]
    fn what_changes_something_takes_more_than_a_look() {
        for route in ROUTES {
            match route.verb {
                Verb::Get => assert!(route.role <= Some(Role::Read), "{}", route.path),
                _ => assert!(route.role >= Some(Role::Purge), "{}", route.path),
            }
        }
    }

    #[test]
    fn all_methods_of_a_path_are_named() {
        let refused = |method, path: &str| find(&method, path.as_bytes()).err().unwrap();
        assert_eq!(
            refused(Method::Delete, "/api/v1/log-level").allow,
            "GET, HEAD, PUT"
        );
        assert_eq!(refused(Method::Get, "/reload").allow, "POST");
        assert_eq!(refused(Method::Get, "/api/v1/").status, 404);
        assert!(find(&Method::Head, b"/metrics").is_ok());
    }
}
