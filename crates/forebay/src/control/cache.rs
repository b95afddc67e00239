//! What is asked of the cache: objects, purges, bans, the disk tier.
//!
//! The seam between the administration's types and the proxy's.

use std::time::{SystemTime, UNIX_EPOCH};

use forebay_admin::control::{
    Ban, DirectoryState, DiskState, Inspection, Order, Popular, Problem, Purged, Variant, What,
};
use forebay_proxy::{Handle, NotPurged, PurgeOrder, PurgeTarget, Tier, tag_words};

/// Fields whose values are the words by which an object can be purged.
const GROUPS: &str = "Cache-Groups";

/// What is stored for a URL.
///
/// # Errors
/// It is no URL, or no site has its host.
pub(super) fn inspect(handle: &Handle, url: &str, tags: &[String]) -> Result<Inspection, Problem> {
    let found = handle.inspect(url).map_err(problem)?;
    let variants = found.variants.iter().map(|one| variant(one, tags));
    Ok(Inspection {
        variants: variants.collect(),
        url: found.url,
        site: Some(found.site),
        key: found.key,
        verdict: found.verdict,
    })
}

fn variant(found: &forebay_proxy::Inspection, tag_fields: &[String]) -> Variant {
    let object = &found.object;
    let owned = |name: &str| object.field(name).map(str::to_owned);
    let is_tags = |name: &str| {
        name.eq_ignore_ascii_case(GROUPS)
            || tag_fields
                .iter()
                .any(|field| field.eq_ignore_ascii_case(name))
    };
    let tags = object.fields.iter().filter(|(name, _)| is_tags(name));
    let words = tags.flat_map(|(_, value)| tag_words(value.as_bytes()));
    Variant {
        status: object.status,
        age_s: found.age_ms / 1000,
        ttl_s: object.terms.lifetime_ms / 1000,
        grace_s: object.terms.grace_ms / 1000,
        freshness: found.freshness.to_owned(),
        tier: tier(object.tier).to_owned(),
        hits: object.hits,
        size_bytes: object.bytes,
        tags: words
            .map(|word| String::from_utf8_lossy(word).trim_matches('"').to_owned())
            .filter(|word| !word.is_empty())
            .collect(),
        vary: object
            .vary
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect(),
        stored_at: object.terms.response_ms / 1000,
        etag: owned("ETag"),
        last_modified: owned("Last-Modified"),
        content_type: owned("Content-Type"),
        why: found.why.clone(),
    }
}

fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Memory => "memory",
        Tier::Disk => "disk",
        Tier::Growing => "growing",
    }
}

/// The objects with the most hits.
pub(super) fn hottest(handle: &Handle, limit: usize) -> Vec<Popular> {
    handle.hottest(limit).into_iter().map(popular).collect()
}

/// The largest objects.
pub(super) fn biggest(handle: &Handle, limit: usize) -> Vec<Popular> {
    handle.biggest(limit).into_iter().map(popular).collect()
}

fn popular(object: forebay_proxy::Popular) -> Popular {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = now.map_or(0, |since| since.as_millis() as u64);
    Popular {
        url: object.url,
        hits: object.hits,
        size_bytes: object.bytes,
        age_s: now_ms.saturating_sub(object.made_ms) / 1000,
        tier: tier(object.tier).to_owned(),
    }
}

/// Purges, all or none of them.
///
/// # Errors
/// One of them makes no sense, or they could not be written down.
pub(super) fn purge_all(handle: &Handle, orders: &[Order]) -> Result<Vec<Purged>, Problem> {
    let wanted: Vec<PurgeOrder> = orders
        .iter()
        .map(|order| PurgeOrder {
            target: target(&order.what),
            soft: order.soft,
        })
        .collect();
    let done = handle.purge(&wanted).map_err(problem)?;
    let purged = orders.iter().zip(done).map(|(order, done)| Purged {
        done: done.done,
        kind: kind(&order.what).to_owned(),
        soft: order.soft,
        objects: done.objects,
        may_touch: done.may_touch,
        merged: done.merged,
    });
    Ok(purged.collect())
}

fn target(what: &What) -> PurgeTarget {
    match what {
        What::Url(url) => PurgeTarget::Url(url.clone()),
        What::Prefix(prefix) => PurgeTarget::Prefix(prefix.clone()),
        What::Regex { regex, host } => PurgeTarget::Regex {
            regex: regex.clone(),
            host: host.clone(),
        },
        What::Ban(expression) => PurgeTarget::Ban(expression.clone()),
        What::Tags(tags) => PurgeTarget::Tags(tags.clone()),
        What::All => PurgeTarget::All,
    }
}

fn kind(what: &What) -> &'static str {
    match what {
        What::Url(_) => "url",
        What::Prefix(_) => "prefix",
        What::Regex { .. } => "regex",
        What::Ban(_) => "ban",
        What::Tags(_) => "tag",
        What::All => "all",
    }
}

/// The purges that objects are still compared with.
pub(super) fn bans(handle: &Handle) -> Vec<Ban> {
    let lines = handle.bans().into_iter().map(|line| Ban {
        moment: line.moment,
        soft: line.soft,
        expression: line.expression,
        tests: line.tests,
        hits: line.hits,
    });
    lines.collect()
}

/// The disk tier; `None` without one.
pub(super) fn disk(handle: &Handle) -> Option<DiskState> {
    let directories = handle.directories();
    if directories.is_empty() {
        return None;
    }
    let mut state = DiskState::default();
    for directory in directories {
        let figures = directory.figures;
        state.used_bytes += figures.used_bytes;
        state.limit_bytes += figures.limit_bytes;
        state.objects += figures.entries;
        state.index_bytes += figures.index_bytes;
        let word = match (figures.failed, figures.recovered) {
            (true, _) => "failed",
            (false, false) => "recovering",
            (false, true) => "ready",
        };
        state.directories.push(DirectoryState {
            path: directory.path.display().to_string(),
            state: word.to_owned(),
            used_bytes: figures.used_bytes,
            limit_bytes: figures.limit_bytes,
            error: figures
                .failed
                .then(|| "it could not be written to; see the error log".to_owned()),
        });
    }
    Some(state)
}

fn problem(error: NotPurged) -> Problem {
    match error {
        NotPurged::Invalid(why) => Problem::Invalid(why),
        NotPurged::Failed(why) => Problem::Failed(why),
    }
}
