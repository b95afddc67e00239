//! Which path answers what.

use crate::answer::Answer;
use crate::{Control, page};
use forebay_http::{Method, RequestHead};
use forebay_stats::{Gauges, expose};
use serde_json::{Value, json};

/// What a request asks for.
pub(crate) enum Task {
    /// Nothing that is there.
    Refuse(Answer),
    /// Something to look at.
    Show(fn(&dyn Control) -> Answer),
    /// The configuration is to be read again.
    Reload,
}

/// Finds the path, then the method.
pub(crate) fn route(head: &RequestHead) -> Task {
    let path = head
        .target
        .split(|byte| *byte == b'?')
        .next()
        .unwrap_or_default();
    let show = match path {
        b"/" => page,
        b"/metrics" => metrics,
        b"/status" => status,
        b"/reload" if head.method == Method::Post => return Task::Reload,
        b"/reload" => return Task::Refuse(not_allowed("POST")),
        _ => {
            return Task::Refuse(Answer::refusal(
                404,
                "no such page; try / or /metrics, /status, POST /reload",
            ));
        }
    };
    if head.method.is_get_or_head() {
        Task::Show(show)
    } else {
        Task::Refuse(not_allowed("GET, HEAD"))
    }
}

/// Reads the configuration again; 422 when it is refused.
pub(crate) fn reload(control: &dyn Control) -> Answer {
    match control.reload() {
        Ok(warnings) => Answer::json(200, &json!({ "reloaded": true, "warnings": warnings })),
        Err(error) => Answer::json(422, &json!({ "reloaded": false, "error": error })),
    }
}

/// The answer while another reload is under way.
pub(crate) fn reload_busy() -> Answer {
    Answer::json(
        409,
        &json!({ "reloaded": false, "error": "another reload is under way" }),
    )
}

fn not_allowed(allow: &'static str) -> Answer {
    Answer {
        allow,
        ..Answer::refusal(405, &format!("this page answers {allow} only"))
    }
}

fn page(control: &dyn Control) -> Answer {
    Answer::ok(
        "text/html; charset=utf-8",
        page::html(control, &gauges(control)),
    )
}

fn metrics(control: &dyn Control) -> Answer {
    let text = expose::prometheus(&control.snapshot(), &gauges(control), control.version());
    Answer::ok(expose::PROMETHEUS_CONTENT_TYPE, text)
}

fn status(control: &dyn Control) -> Answer {
    let figures = expose::json(&control.snapshot(), &gauges(control));
    let mut document = match control.status_extra() {
        Value::Object(extra) => extra,
        _ => serde_json::Map::new(),
    };
    if let Ok(Value::Object(figures)) = serde_json::from_str(&figures) {
        document.extend(figures);
    }
    document.insert("version".into(), control.version().into());
    Answer::json(200, &Value::Object(document))
}

/// The gauges, with the memory that the system counts.
fn gauges(control: &dyn Control) -> Gauges {
    let mut gauges = control.gauges();
    if gauges.resident_bytes == 0 {
        gauges.resident_bytes = resident_bytes().unwrap_or(0);
    }
    gauges
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    value
        .trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}
