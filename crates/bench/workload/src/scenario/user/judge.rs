//! What a user makes of a response: cookies, redirections, checks, variables.

use forebay_http::FieldId;

use super::super::act::{Answer, FaultKind};
use super::super::pattern::{LazyJson, shortened};
use super::super::plan::Plan;
use super::{Away, State, User, find, location};
use crate::Target;

impl User {
    /// Keeps cookies, follows a redirection, checks, takes variables.
    pub(super) fn judge(
        &mut self,
        plan: &Plan,
        answer: &Answer<'_>,
    ) -> Result<(), (FaultKind, String)> {
        let Some((target, path)) = location(plan, self.away.as_deref(), &self.path) else {
            return Ok(());
        };
        if answer.head.fields.has(FieldId::SetCookie) {
            let jar = self.jar.get_or_insert_default();
            jar.take(answer.head, target, path, answer.now);
        }
        if plan.follow > 0
            && matches!(answer.status, 301..=303 | 307 | 308)
            && let Some(location) = answer.head.fields.get(FieldId::Location)
        {
            let mut base = target.clone();
            base.path = String::from_utf8_lossy(path).into_owned();
            let redirected = self.redirect(plan, answer.status, &base, location);
            return redirected.map_err(|what| (FaultKind::Check, what));
        }
        self.check(plan, answer)
    }

    /// Checks a response and takes variables from it.
    fn check(&mut self, plan: &Plan, answer: &Answer<'_>) -> Result<(), (FaultKind, String)> {
        if let Some(what) = plan.statuses.failure(answer.status) {
            return Err((FaultKind::Status, what));
        }
        let mut json = LazyJson::new(answer.body);
        let (tables, memory) = (&self.compiled.tables, &mut self.memory);
        for test in &plan.tests {
            if let Some(what) = test.failure(answer, &mut json, tables, memory) {
                return Err((FaultKind::Check, what));
            }
        }
        for extraction in &plan.extractions {
            if !extraction.make(answer, &mut json, tables, memory) {
                let (name, place) = (&extraction.variable, &extraction.written);
                let what = format!(
                    "nothing for `${{{name}}}` from {}",
                    shortened(place.as_bytes())
                );
                return Err((FaultKind::Check, what));
            }
        }
        Ok(())
    }

    /// RFC 9110 section 15.4: 307 and 308 are repeated as they were, the others become `GET`.
    fn redirect(
        &mut self,
        plan: &Plan,
        status: u16,
        base: &Target,
        location: &[u8],
    ) -> Result<(), String> {
        if self.follow == 0 {
            return Err(format!("redirected more than {} times", plan.follow));
        }
        let location = String::from_utf8_lossy(location);
        let (place, target) = find(&self.compiled, Some(base), &location, "")
            .map_err(|why| format!("redirected, but {why}"))?;
        let before = self.away.as_ref().is_some_and(|away| away.as_get);
        let as_get = before || matches!(status, 301..=303);
        self.follow -= 1;
        self.away = Some(Box::new(Away {
            target,
            place,
            as_get,
        }));
        self.state = State::Redirected;
        Ok(())
    }
}

impl Plan {
    /// Whether nothing needs to be done about this response.
    pub(super) fn asks_little(&self, answer: &Answer<'_>) -> bool {
        self.follow == 0
            && self.tests.is_empty()
            && self.extractions.is_empty()
            && !answer.head.fields.has(FieldId::SetCookie)
            && self.statuses.fits(answer.status)
    }
}
