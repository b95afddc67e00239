//! What each path answers. A handler is a function from what was asked to an
//! answer; it may wait, and runs where it holds nobody else up.

pub(crate) mod figures;
pub(crate) mod objects;
pub(crate) mod order;
pub(crate) mod pools;
pub(crate) mod purge;
pub(crate) mod server;
pub(crate) mod sessions;
pub(crate) mod tail;

use crate::answer::Answer;
use crate::control::Control;
use crate::history::History;
use crate::query::Query;
use serde_json::Value;
use std::sync::Arc;

/// What was asked, read and allowed.
pub(crate) struct Asked {
    pub(crate) control: Arc<dyn Control>,
    pub(crate) history: Arc<History>,
    pub(crate) query: Query,
    /// The body as JSON; `null` where the route takes none.
    pub(crate) body: Value,
}

/// A handler. An error is an answer too.
pub(crate) type Handler = fn(&Asked) -> Result<Answer, Answer>;

impl Asked {
    /// A parameter that must be there.
    fn required(&self, name: &str) -> Result<&str, Answer> {
        self.query
            .get(name)
            .ok_or_else(|| Answer::error(400, &format!("the parameter `{name}` is missing")))
    }

    /// A number of a parameter.
    fn number(
        &self,
        name: &str,
        default: usize,
        range: std::ops::RangeInclusive<usize>,
    ) -> Result<usize, Answer> {
        self.query
            .number(name, default, range)
            .map_err(|text| Answer::error(400, &text))
    }
}
