//! A response that is passed on, coded on its way.

use forebay_http::Method;
use forebay_http::fields::FieldId;
use forebay_http::framing::{self, BodyLength};
use forebay_http::negotiate::coding_weights;
use forebay_stats::Counter;

use super::rules::{Worth, recode, wanted};
use super::{CodingRules, Encoder};
use crate::client::Client;
use crate::exchange::Exchange;
use crate::fetch::Fetched;

impl<C: Client> Exchange<'_, C> {
    /// The encoder of a response that is passed on, if it is coded; its head is changed then.
    pub(crate) fn begin_coding(&self, fetched: &mut Fetched) -> Option<Encoder> {
        let rules: &CodingRules = self.location.codings.as_deref()?;
        let head = &mut fetched.origin.head;
        let stated = framing::content_length(&head.fields).ok().flatten();
        let fields = head.fields.iter().map(|field| (field.id, field.value));
        let worth = rules.worth(head.status, stated, fields);
        let is_head = self.request.head.method == Method::Head;
        if worth == Worth::No || (fetched.length == BodyLength::None && !is_head) {
            return None;
        }
        let asked = &self.request.head.fields;
        let weights = coding_weights(asked.all(FieldId::AcceptEncoding));
        let coding = wanted(&weights, rules.made.iter().copied());
        let coding = coding.filter(|_| !asked.has(FieldId::Range));
        let encoder = coding.and_then(|coding| {
            let encoder = self.worker.encoders.begin(coding)?;
            Some((encoder, coding))
        });
        match encoder {
            Some((encoder, coding)) => {
                recode(&mut head.fields, coding, worth);
                self.worker.stats.increment(Counter::Compressed);
                Some(encoder)
            }
            None => {
                if worth == Worth::Yes {
                    head.fields.push(FieldId::Vary, b"Accept-Encoding");
                }
                None
            }
        }
    }
}
