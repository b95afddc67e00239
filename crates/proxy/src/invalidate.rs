//! What a successful unsafe request makes invalid.

use forebay_cache::key::{self, Place};
use forebay_cache::purge::{Order, What};
use forebay_config::settings::Policy;
use forebay_http::fields::FieldId;
use forebay_http::{ResponseHead, targeted, uri};
use forebay_stats::Counter;

use crate::arrive::MOST_GROUPS;
use crate::client::Client;
use crate::exchange::Exchange;
use crate::worker::Request;

impl<C: Client> Exchange<'_, C> {
    /// What a successful unsafe request makes invalid (RFC 9111 section 4.4, RFC 9875 section 3).
    pub(crate) fn invalidate(&self, head: &ResponseHead) {
        if self.request.head.method.is_safe() || !(200..400).contains(&head.status) {
            return;
        }
        let cache = self.worker.cache();
        let named = [FieldId::Location, FieldId::ContentLocation];
        let references = named.into_iter().filter_map(|id| head.fields.get(id));
        let mut targets = vec![self.request.target.clone()];
        targets.extend(references.filter_map(|reference| self.resolve(reference)));
        for target in targets {
            let path = uri::split_path(&target).0;
            let policy = self.snapshot.policy(self.location.site, path);
            let site = self.location.site_of(&self.snapshot.settings);
            let site = site.map_or("", |site| &site.name);
            for answerer in self.snapshot.locations.answerers(self.location.site) {
                let place = self.request.place(site, answerer);
                let key = policy_key(self.request, policy, &place, &target);
                let invalidated = cache.invalidate(&cache.key(&key));
                self.worker
                    .stats
                    .add(Counter::Invalidated, invalidated as u64);
            }
        }
        let groups = head.fields.all(FieldId::CacheGroupInvalidation);
        for group in targeted::parse_string_list(groups, MOST_GROUPS).unwrap_or_default() {
            let order = Order {
                what: What::Group {
                    origin: self.request.authority[..].into(),
                    name: group[..].into(),
                },
                soft: false,
            };
            if let Err(error) = cache.purges().invalidate(&order) {
                tracing::warn!("a cache group was not invalidated: {error}");
            }
        }
    }

    /// A reference of the response as a target at this host; `None` for another's.
    pub(crate) fn resolve(&self, reference: &[u8]) -> Option<Vec<u8>> {
        let request = &self.request;
        let (authority, target) = uri::resolve(&request.authority, &request.target, reference)?;
        (authority == request.authority).then_some(target)
    }
}

/// The key that another target of the same host has for a request like this one.
fn policy_key(request: &Request, policy: &Policy, place: &Place<'_>, target: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    key::write(policy, place, target, &request.head.fields, &mut key);
    key
}
