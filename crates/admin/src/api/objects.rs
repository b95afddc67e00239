//! Objects: one looked up, the hottest, the biggest; and the bans.

use super::Asked;
use crate::answer::Answer;
use serde_json::json;

/// The longest list of objects.
pub(crate) const MOST_OBJECTS: usize = 1_000;

/// `GET /api/v1/objects`
pub(crate) fn inspect(asked: &Asked) -> Result<Answer, Answer> {
    let found = asked.control.inspect(asked.required("url")?)?;
    Ok(Answer::json(200, &found))
}

/// `GET /api/v1/objects/hottest`
pub(crate) fn hottest(asked: &Asked) -> Result<Answer, Answer> {
    let objects = asked.control.hottest(limit(asked)?)?;
    Ok(Answer::json(200, &json!({ "objects": objects })))
}

/// `GET /api/v1/objects/biggest`
pub(crate) fn biggest(asked: &Asked) -> Result<Answer, Answer> {
    let objects = asked.control.biggest(limit(asked)?)?;
    Ok(Answer::json(200, &json!({ "objects": objects })))
}

/// `GET /api/v1/bans`
pub(crate) fn bans(asked: &Asked) -> Result<Answer, Answer> {
    let bans = asked.control.bans()?;
    Ok(Answer::json(200, &json!({ "bans": bans })))
}

fn limit(asked: &Asked) -> Result<usize, Answer> {
    asked.number("limit", 20, 1..=MOST_OBJECTS)
}
