//! Content codings: which form of a response a client gets, and how it comes into being.
//!
//! ```text
//!  a cached object ─▶ choose ─▶ its plain form
//!                       ├─▶ a form made before (or a file that lay beside)
//!                       └─▶ a new form: an encoder reads the object's body as a client would, and
//!                           writes one that all who want this coding follow from now on
//!  a response that is passed on ─▶ an encoder of its own
//! ```
//!
//! One form for each coding is kept, and goes with its object.

mod encoder;
mod keep;
mod pass;
mod rules;

use std::sync::Arc;

use forebay_cache::Object;
use forebay_config::settings::Coding;
use forebay_http::fields::FieldId;
use forebay_http::negotiate::{CodingWeights, coding_weights};

pub(crate) use encoder::{Encoder, Encoders};
pub(crate) use keep::carry;
pub(crate) use rules::{CodingRules, Worth, recode, wanted};

use crate::client::Client;
use crate::exchange::Exchange;

impl<C: Client> Exchange<'_, C> {
    /// The form of `object` that the client gets instead of the plain one, if it gets another.
    ///
    /// A client that asks for a range of what is coded here gets it of the plain form: only that
    /// one is the same whenever it is made.
    #[inline]
    pub(crate) fn coded(&mut self, object: &Arc<Object>) -> Option<Arc<Object>> {
        let rules = self.location.codings.as_deref()?;
        let worth = rules.noted(object.noted_coding());
        let worth = worth.unwrap_or_else(|| note(rules, object));
        let fields = &self.request.head.fields;
        let weights = if fields.has(FieldId::AcceptEncoding) {
            coding_weights(fields.all(FieldId::AcceptEncoding))
        } else {
            coding_weights(std::iter::empty())
        };
        self.outcome.varies_by_coding = worth == Worth::Yes;
        let is_made = worth != Worth::No && !fields.has(FieldId::Range);
        let made = if is_made { &rules.made[..] } else { &[] };
        let beside = beside(&rules.beside, made, object, &weights);
        let coded = match beside {
            Some(coding) => object.coded(coding).cloned(),
            None => {
                let coding = wanted(&weights, made.iter().copied());
                coding.and_then(|coding| self.made(object, coding, worth))
            }
        };
        if coded.is_some() {
            // Its own head says so.
            self.outcome.varies_by_coding = false;
        }
        coded
    }
}

/// The coding of the file beside the object's own that the client wants more than what is made.
fn beside(
    beside: &[Coding],
    made: &[Coding],
    object: &Object,
    weights: &CodingWeights,
) -> Option<Coding> {
    object.stamp()?;
    let is_file = |coding: &Coding| {
        let coded = object.coded(*coding);
        coded.is_some_and(|coded| coded.stamp() != object.stamp())
    };
    let there = beside.iter().copied().filter(is_file);
    let all = there.clone().chain(made.iter().copied());
    wanted(weights, all).filter(|wanted| there.clone().any(|coding| coding == *wanted))
}

#[cold]
fn note(rules: &CodingRules, object: &Object) -> Worth {
    let length = object.whole().and_then(|body| body.known_len());
    let fields = object.fields().map(|(id, _, value)| (id, value));
    let worth = rules.worth(object.status(), length, fields);
    object.note_coding(rules.note(worth));
    worth
}
