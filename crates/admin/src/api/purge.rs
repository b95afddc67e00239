//! `POST /api/v1/purge`: one order or a batch, each with its outcome.

use super::{Asked, order};
use crate::answer::Answer;
use crate::control::Purged;
use serde::Serialize;
use serde_json::json;

/// What came of one order.
#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Done(Purged),
    Failed { error: String },
}

/// `POST /api/v1/purge`. Nothing is done when an order is malformed (422). When
/// some are refused later the others are done, and the answer says which.
pub(crate) fn purge(asked: &Asked) -> Result<Answer, Answer> {
    let orders = order::read(&asked.body).map_err(|error| Answer::error(422, &error))?;
    let is_batch = asked.body.get("orders").is_some();
    let mut results = asked.control.purge_batch(&orders);
    if !is_batch {
        let done = match results.pop() {
            Some(result) => result?,
            None => return Err(Answer::error(500, "the purge has no outcome")),
        };
        return Ok(Answer::json(
            200,
            &json!({ "done": 1, "failed": 0, "results": [done] }),
        ));
    }
    let outcomes: Vec<Outcome> = results
        .into_iter()
        .map(|result| match result {
            Ok(purged) => Outcome::Done(purged),
            Err(problem) => Outcome::Failed {
                error: problem.message().into(),
            },
        })
        .collect();
    let failed = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Outcome::Failed { .. }))
        .count();
    let done = outcomes.len() - failed;
    let document = json!({ "done": done, "failed": failed, "results": outcomes });
    Ok(Answer::json(200, &document))
}
