//! What is looked at ten times a second, whichever worker comes first: outliers, the budget of
//! retries, and whether who waits can be given a place at a server that may be tried again.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use forebay_config::settings::Eject;

use crate::members::{Member, Members};
use crate::outlier::{Totals, ceiling};
use crate::pool::Pool;

/// From one look to the next, at least.
const EVERY_MS: u64 = 100;

impl Pool {
    /// Looks at the pool, unless somebody has just done so.
    pub(crate) fn watch(&self, now_ms: u64) {
        let core = &self.core;
        let last_ms = core.looked_ms.load(Relaxed);
        let early = now_ms < last_ms.saturating_add(EVERY_MS) && now_ms >= last_ms;
        if early
            || core
                .looked_ms
                .compare_exchange(last_ms, now_ms, Relaxed, Relaxed)
                .is_err()
        {
            return;
        }
        let members = core.members.load_full();
        core.budget.look(members.requests(), now_ms);
        if let Some(rule) = &self.settings.eject {
            self.eject(&members, rule, now_ms);
        }
        if core.waiting.load(SeqCst) > 0 {
            core.dispatch();
        }
    }

    /// Ejects servers that answer worse than the rule allows, as many as it allows.
    fn eject(&self, members: &Arc<Members>, rule: &Eject, now_ms: u64) {
        let is_out = |member: &&Member| member.server.is_ejected(now_ms);
        let mut out = members.list.iter().filter(is_out).count();
        let most = ceiling(members.list.len(), rule);
        for member in &members.list {
            let server = &member.server;
            let totals = server.stats().totals();
            let now = Totals {
                at_ms: now_ms,
                requests: totals.0,
                bad: totals.1,
            };
            if server.outlier.look(rule, now) && out < most {
                let out_ms = server.outlier.eject(rule, now);
                server.came(now_ms.saturating_add(out_ms));
                server.stats().ejected();
                out += 1;
                tracing::warn!(
                    pool = %self.name, server = %server.label(),
                    "server answers worse than eject.error_percent allows: left out for {out_ms} ms"
                );
            }
        }
    }
}
