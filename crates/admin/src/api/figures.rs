//! Figures: metrics, counters, history, and the page without scripts.

use super::Asked;
use crate::answer::Answer;
use crate::control::Control;
use crate::{history, page};
use forebay_stats::{Gauges, expose};
use serde_json::{Map, Value};

/// `GET /plain`, and `GET /` where there is no dashboard.
pub(crate) fn plain(asked: &Asked) -> Result<Answer, Answer> {
    let control = &*asked.control;
    let html = page::html(control, &gauges(control));
    Ok(Answer::ok("text/html; charset=utf-8", html))
}

/// `GET /metrics`
pub(crate) fn metrics(asked: &Asked) -> Result<Answer, Answer> {
    let control = &*asked.control;
    let text = expose::prometheus(&control.snapshot(), &gauges(control), control.version());
    Ok(Answer::ok(expose::PROMETHEUS_CONTENT_TYPE, text))
}

/// `GET /status`
pub(crate) fn status(asked: &Asked) -> Result<Answer, Answer> {
    let control = &*asked.control;
    let mut document = match control.status_extra() {
        Value::Object(extra) => extra,
        _ => Map::new(),
    };
    document.extend(counted(control));
    document.insert("version".into(), control.version().into());
    Ok(Answer::json(200, &Value::Object(document)))
}

/// `GET /api/v1/counters`
pub(crate) fn counters(asked: &Asked) -> Result<Answer, Answer> {
    let counted = counted(&*asked.control);
    Ok(Answer::json(200, &Value::Object(counted)))
}

/// `GET /api/v1/history`
pub(crate) fn history(asked: &Asked) -> Result<Answer, Answer> {
    let seconds = asked.number("seconds", 600, 1..=history::SECONDS)?;
    Ok(Answer::compact(&asked.history.to_json(seconds)))
}

fn counted(control: &dyn Control) -> Map<String, Value> {
    let text = expose::json(&control.snapshot(), &gauges(control));
    match serde_json::from_str(&text) {
        Ok(Value::Object(figures)) => figures,
        _ => Map::new(),
    }
}

/// The gauges, with the memory that the system counts.
pub(crate) fn gauges(control: &dyn Control) -> Gauges {
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
