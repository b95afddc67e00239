//! Stores of sessions: shown, and copied.

use super::Asked;
use crate::answer::Answer;
use crate::control::{Problem, SnapshotOrder};
use serde_json::json;

/// `GET /api/v1/sessions`
pub(crate) fn sessions(asked: &Asked) -> Result<Answer, Answer> {
    let sessions = asked.control.sessions();
    Ok(Answer::json(200, &json!({ "sessions": sessions })))
}

/// `POST /api/v1/sessions/snapshot`
pub(crate) fn snapshot(asked: &Asked) -> Result<Answer, Answer> {
    let order: SnapshotOrder = serde_json::from_value(asked.body.clone())
        .map_err(|error| Problem::Invalid(error.to_string()))?;
    if !order.directory.is_absolute() {
        return Err(Problem::Invalid("`directory` is not an absolute path".into()).into());
    }
    let bytes = asked.control.snapshot_session(&order)?;
    let directory = order.directory;
    Ok(Answer::json(
        200,
        &json!({ "directory": directory, "bytes": bytes }),
    ))
}
