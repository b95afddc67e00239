//! Servers of pools and application processes: shown, changed, replaced.

use super::Asked;
use crate::answer::Answer;
use crate::control::{Problem, ServerOrder};
use serde::Deserialize;
use serde_json::json;

/// The body of `POST /api/v1/apps/replace`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replace {
    app: String,
}

/// `GET /api/v1/pools`
pub(crate) fn pools(asked: &Asked) -> Result<Answer, Answer> {
    let pools = asked.control.state().pools;
    Ok(Answer::json(200, &json!({ "pools": pools })))
}

/// `POST /api/v1/servers`
pub(crate) fn change(asked: &Asked) -> Result<Answer, Answer> {
    let order = ServerOrder::from_json(&asked.body).map_err(Problem::Invalid)?;
    let changed = asked.control.change_server(&order)?;
    Ok(Answer::json(200, &json!(changed)))
}

/// `GET /api/v1/apps`
pub(crate) fn apps(asked: &Asked) -> Result<Answer, Answer> {
    Ok(Answer::json(200, &json!({ "apps": asked.control.apps() })))
}

/// `POST /api/v1/apps/replace`
pub(crate) fn replace(asked: &Asked) -> Result<Answer, Answer> {
    let Replace { app } = serde_json::from_value(asked.body.clone())
        .map_err(|error| Problem::Invalid(error.to_string()))?;
    asked.control.replace_app(&app)?;
    Ok(Answer::json(202, &json!({ "replacing": app })))
}
