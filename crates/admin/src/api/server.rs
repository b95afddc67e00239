//! The server itself: its state, its settings, reload, drain, the log's level.

use super::Asked;
use super::figures::gauges;
use crate::answer::Answer;
use crate::control::{Problem, State};
use crate::openapi;
use serde::Serialize;
use serde_json::{Value, json};

/// `GET /api/v1/status`
#[derive(Serialize)]
struct Status {
    version: String,
    uptime_s: u64,
    pid: u32,
    workers: u64,
    connections: u64,
    config_generation: u64,
    log_level: String,
    hit_ratio: Option<f64>,
    objects: u64,
    memory: Memory,
    #[serde(flatten)]
    state: State,
}

#[derive(Serialize)]
struct Memory {
    used_bytes: u64,
    limit_bytes: u64,
    resident_bytes: u64,
}

/// `GET /api/v1/openapi.json`
pub(crate) fn openapi(asked: &Asked) -> Result<Answer, Answer> {
    let document = openapi::document(asked.control.version());
    Ok(Answer::json(200, &document))
}

/// `GET /api/v1/status`
pub(crate) fn status(asked: &Asked) -> Result<Answer, Answer> {
    let control = &*asked.control;
    let gauges = gauges(control);
    let status = Status {
        version: control.version().into(),
        uptime_s: gauges.uptime_seconds,
        pid: std::process::id(),
        workers: gauges.workers,
        connections: gauges.connections,
        config_generation: gauges.config_generation,
        log_level: control.log_level(),
        hit_ratio: control.snapshot().hit_ratio(),
        objects: gauges.objects,
        memory: Memory {
            used_bytes: gauges.cache_bytes,
            limit_bytes: gauges.cache_budget_bytes,
            resident_bytes: gauges.resident_bytes,
        },
        state: control.state(),
    };
    Ok(Answer::json(200, &status))
}

/// `GET /api/v1/config`
pub(crate) fn config(asked: &Asked) -> Result<Answer, Answer> {
    let settings = asked.control.settings();
    Ok(Answer::json(200, &json!({ "settings": settings })))
}

/// `POST /reload` and `POST /api/v1/reload`; 422 when the file is refused.
pub(crate) fn reload(asked: &Asked) -> Result<Answer, Answer> {
    Ok(match asked.control.reload() {
        Ok(warnings) => Answer::json(200, &json!({ "reloaded": true, "warnings": warnings })),
        Err(error) => Answer::json(422, &json!({ "reloaded": false, "error": error })),
    })
}

/// The answer while another reload is under way.
pub(crate) fn reload_busy() -> Answer {
    let text = "another reload is under way";
    Answer::json(409, &json!({ "reloaded": false, "error": text }))
}

/// `POST /api/v1/drain`
pub(crate) fn drain(asked: &Asked) -> Result<Answer, Answer> {
    asked.control.drain()?;
    Ok(Answer::json(202, &json!({ "draining": true })))
}

/// `GET /api/v1/log-level`
pub(crate) fn log_level(asked: &Asked) -> Result<Answer, Answer> {
    let level = asked.control.log_level();
    Ok(Answer::json(200, &json!({ "level": level })))
}

/// `PUT /api/v1/log-level`
pub(crate) fn set_log_level(asked: &Asked) -> Result<Answer, Answer> {
    let level = match &asked.body {
        Value::Object(body) if body.len() == 1 => body.get("level").and_then(Value::as_str),
        _ => None,
    };
    let level = level.ok_or_else(|| {
        Problem::Invalid("expected {\"level\": …} with one of error, warn, info, debug".into())
    })?;
    asked.control.set_log_level(level)?;
    log_level(asked)
}
