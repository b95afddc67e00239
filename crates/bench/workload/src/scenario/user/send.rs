//! Sending: where a request goes, and its bytes.

use super::super::act::{Act, Fault, FaultKind, Sent};
use super::super::plan::{Body, Destination, Outgoing, Plan};
use super::{Away, REST, State, User, find, location};

impl User {
    pub(super) fn send(&mut self, index: usize, now: u64, out: &mut Vec<u8>) -> Act {
        let place = match self.aim(index) {
            Ok(place) => place,
            Err(why) => return self.unsendable(index, &why),
        };
        self.first_place = place;
        self.acted = true;
        let Self {
            compiled,
            memory,
            jar,
            ..
        } = self;
        let plan = &compiled.plans[index];
        let jar = jar.as_deref_mut().filter(|jar| !jar.is_empty());
        if let (Some((bytes, cookies_at)), Destination::Fixed { target, .. }) =
            (&plan.ready, &plan.to)
        {
            let (head, rest) = bytes.split_at(*cookies_at);
            out.extend_from_slice(head);
            if let Some(jar) = jar {
                jar.write_to(target, target.path.as_bytes(), now, out);
            }
            out.extend_from_slice(rest);
            return plan.sent(place, false);
        }
        let Some((target, path)) = location(plan, self.away.as_deref(), &self.path) else {
            return Act::Pause(REST);
        };
        let outgoing = Outgoing {
            target,
            path,
            as_get: false,
            foreign: false,
            body: None,
        };
        let cookies = jar.map(|jar| (jar, now));
        let length = plan.write(outgoing, cookies, &compiled.tables, memory, out);
        if plan.follow > 0 && matches!(plan.body, Body::Made(_)) {
            self.body.clear();
            self.body.extend_from_slice(&out[out.len() - length..]);
        }
        plan.sent(place, false)
    }

    /// Finds out where a plan's request goes.
    fn aim(&mut self, index: usize) -> Result<usize, String> {
        let Self {
            compiled,
            memory,
            path,
            ..
        } = self;
        let plan = &compiled.plans[index];
        self.sent = index;
        self.follow = plan.follow;
        self.away = None;
        match &plan.to {
            Destination::Fixed { place, .. } => Ok(*place),
            Destination::Path {
                place,
                path: template,
                ..
            } => {
                path.clear();
                template.write(&compiled.tables, memory, path);
                Ok(*place)
            }
            Destination::Anywhere { url, query, base } => {
                let url = url.text(&compiled.tables, memory);
                let query = query.text(&compiled.tables, memory);
                let (place, target) = find(compiled, base.as_ref(), &url, &query)?;
                self.away = Some(Box::new(Away {
                    target,
                    place,
                    as_get: false,
                }));
                Ok(place)
            }
        }
    }

    fn unsendable(&mut self, index: usize, why: &str) -> Act {
        let plan = &self.compiled.plans[index];
        let label = plan.label;
        let fault = Fault {
            words: format!("step \"{}\": {why}", plan.step),
            kind: FaultKind::Check,
        };
        self.failed();
        Act::Unsendable { label, fault }
    }

    pub(super) fn send_redirected(&mut self, now: u64, out: &mut Vec<u8>) -> Act {
        self.state = State::Running;
        let Self {
            compiled,
            memory,
            jar,
            ..
        } = self;
        let (Some(plan), Some(away)) = (compiled.plans.get(self.sent), &self.away) else {
            return Act::Pause(REST);
        };
        let outgoing = Outgoing {
            target: &away.target,
            path: away.target.path.as_bytes(),
            as_get: away.as_get,
            foreign: away.place != self.first_place,
            body: matches!(plan.body, Body::Made(_)).then_some(&self.body),
        };
        let cookies = jar.as_deref_mut().map(|jar| (jar, now));
        plan.write(outgoing, cookies, &compiled.tables, memory, out);
        plan.sent(away.place, away.as_get)
    }
}

impl Plan {
    fn sent(&self, place: usize, as_get: bool) -> Act {
        Act::Send(Sent {
            place,
            label: self.label,
            is_head: self.method(as_get) == "HEAD",
            keep_body: self.keep_body,
            close: self.close,
        })
    }
}
