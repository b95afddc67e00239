//! Purge: the methods `PURGE` and `BAN`, as plug-ins of content management systems send them.
//!
//! | request | purges |
//! |---|---|
//! | `PURGE /path` | the URL, all its variants |
//! | `PURGE /pattern` with `X-Purge-Method: regex` | what matches on that host |
//! | `PURGE` with `X-Magento-Tags-Pattern` | what carries tags that match (`.*`: everything on any host) |
//! | `PURGE` or `BAN` with `xkey`, `xkey-purge`, `Surrogate-Key`, `Cache-Tag` | what carries one of the tags |
//! | the same with `xkey-softpurge`, or any with `Soft-Purge: 1` | makes it stale instead |
//! | `BAN` with `X-Ban` | what the expression holds for |
//! | `BAN` with `X-Url`, `X-Host`, `X-Content-Type`, `X-Cache-Tags`, `Cache-Tags` | what matches all of these patterns |
//! | `BAN /path` | the URL, all its variants |
//!
//! Nobody may do so but who is named in `[purge]`.

use std::sync::Arc;

use forebay_cache::purge::{Expression, tag_words};
use forebay_http::fields::FieldId;
use forebay_http::{Method, bearer};

use crate::access::escape::json;
use crate::answer;
use crate::client::Client;
use crate::exchange::{Exchange, Step};
use crate::failure::{Failure, Refused};
use crate::fetch::send;
use crate::purge::{NotPurged, PurgeOrder, PurgeTarget, carry_out};

/// Fields whose words are tags.
const TAG_FIELDS: [&str; 5] = [
    "xkey",
    "xkey-purge",
    "xkey-softpurge",
    "Surrogate-Key",
    "Cache-Tag",
];

/// Fields that each hold a pattern, and what of an object it is for.
const PATTERN_FIELDS: [(&str, &str); 5] = [
    ("X-Url", "url"),
    ("X-Host", "host"),
    ("X-Content-Type", "header.content-type"),
    ("X-Cache-Tags", "header.x-cache-tags"),
    ("Cache-Tags", "header.cache-tags"),
];

/// Whether a request is one for the cache itself.
pub(crate) fn is_purge(method: &Method) -> bool {
    matches!(method, Method::Other(name) if matches!(&name[..], b"PURGE" | b"BAN"))
}

impl<C: Client> Exchange<'_, C> {
    /// Purges what the request says, and answers with what was done.
    pub(crate) async fn purge(&mut self) -> Result<Step, Failure> {
        if !self.may_purge() {
            return Err(Refused::new(403, "purging is for those in [purge]").into());
        }
        if self.client.has_more_body() {
            self.client.close_after();
        }
        let order = self.purge_order();
        let shared = Arc::clone(&self.worker.shared);
        // It waits for the disk, which a worker does not.
        let done = tokio::task::spawn_blocking(move || {
            order.and_then(|order| carry_out(&shared, &[order]))
        });
        self.outcome.forwarded = "";
        let (status, body) = match done.await {
            Ok(Ok(done)) => (200, done.first().map(said).unwrap_or_default()),
            Ok(Err(NotPurged::Invalid(why))) => (400, format!("{why}\n")),
            Ok(Err(NotPurged::Failed(why))) => (500, format!("{why}\n")),
            Err(_) => (500, "the purge failed; see the error log\n".into()),
        };
        self.moment = self.worker.now();
        self.outcome.status = status;
        answer::stage_text(self.client, self.snapshot, self.now_ms(), status, &body);
        send(self.client, self.snapshot, &[body.as_bytes()]).await?;
        self.outcome.body_bytes = body.len() as u64;
        Ok(Step::Finish)
    }

    fn may_purge(&self) -> bool {
        let purge = &self.snapshot.settings.purge;
        let address = self.peer.address.map(|address| address.ip());
        let by_address =
            address.is_some_and(|ip| purge.allow.iter().any(|network| network.contains(ip)));
        let token = bearer::token(self.request.head.fields.all(FieldId::Authorization));
        let is_known = |given| {
            let mut known = purge.tokens.iter();
            known.any(|token| bearer::is_secret(token.as_bytes(), given))
        };
        by_address || token.is_some_and(is_known)
    }

    fn field(&self, name: &str) -> Option<String> {
        let value = self.request.head.fields.named(name.as_bytes()).next()?;
        Some(String::from_utf8_lossy(value).trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn purge_order(&self) -> Result<PurgeOrder, NotPurged> {
        let soft = self.field("xkey-softpurge").is_some()
            || ["Soft-Purge", "Fastly-Soft-Purge", "X-Soft-Purge"]
                .iter()
                .any(|name| self.field(name).is_some_and(|value| value != "0"));
        let readable = |name: &&str| {
            let mut values = self.request.head.fields.named(name.as_bytes());
            values.all(|value| std::str::from_utf8(value).is_ok())
        };
        let patterns = PATTERN_FIELDS.iter().map(|(name, _)| name);
        if let Some(name) = TAG_FIELDS
            .iter()
            .chain(patterns)
            .find(|name| !readable(name))
        {
            return Err(NotPurged::Invalid(format!("`{name}` is not UTF-8")));
        }
        let target = self.purge_target()?;
        Ok(PurgeOrder { target, soft })
    }

    fn purge_target(&self) -> Result<PurgeTarget, NotPurged> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let tags: Vec<String> = TAG_FIELDS
            .iter()
            .filter_map(|name| self.field(name))
            .flat_map(|value| {
                let words = tag_words(value.as_bytes());
                words.map(text).collect::<Vec<_>>()
            })
            .collect();
        if !tags.is_empty() {
            return Ok(PurgeTarget::Tags(tags));
        }
        match self.field("X-Magento-Tags-Pattern").as_deref() {
            Some(".*") => return Ok(PurgeTarget::All),
            Some(pattern) => return matching(&[("header.x-magento-tags", pattern.to_owned())]),
            None => {}
        }
        if let Some(expression) = self.field("X-Ban") {
            return Ok(PurgeTarget::Ban(expression));
        }
        let patterns: Vec<(&str, String)> = PATTERN_FIELDS
            .iter()
            .filter_map(|(name, of)| Some((*of, self.field(name)?)))
            .collect();
        let is_ban = matches!(&self.request.head.method, Method::Other(name) if **name == *b"BAN");
        if is_ban && !patterns.is_empty() {
            return matching(&patterns);
        }
        let (host, target) = (text(&self.request.authority), text(&self.request.target));
        match self.field("X-Purge-Method").as_deref() {
            Some("regex") => Ok(PurgeTarget::Regex {
                regex: format!("^{}", target.trim_start_matches('^')),
                host: Some(host),
            }),
            _ => Ok(PurgeTarget::Url(format!("{host}{target}"))),
        }
    }
}

/// A ban of what matches all of these patterns.
fn matching(patterns: &[(&str, String)]) -> Result<PurgeTarget, NotPurged> {
    let conditions: Vec<(&str, &str, &str)> = patterns
        .iter()
        .map(|(of, pattern)| (*of, "~", pattern.as_str()))
        .collect();
    Expression::all_of(&conditions)
        .map(|expression| PurgeTarget::Ban(expression.text().to_owned()))
        .map_err(|error| NotPurged::Invalid(error.to_string()))
}

/// What was done, as a line of JSON.
fn said(done: &crate::purge::Purged) -> String {
    let mut text = br#"{"done": ""#.to_vec();
    json(done.done.as_bytes(), &mut text);
    let count = match (done.objects, done.may_touch) {
        (Some(objects), _) => format!("\"objects\": {objects}"),
        (None, most) => format!("\"may_touch\": {}", most.unwrap_or(0)),
    };
    let text = String::from_utf8_lossy(&text);
    format!("{text}\", {count}}}\n")
}
