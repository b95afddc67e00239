//! The rows of `[cache]`, and of the cache policy that `[cache]`, sites and paths share.

use crate::address::Refused;
use crate::draft::{CacheDraft, Spanned};
use crate::settings::Policy;
use crate::words;

use super::setting::Setting;
use super::value::each_bare;
use super::{DAY, YEAR};

pub(crate) static CACHE: &[Setting<CacheDraft>] = &[
    Setting::size("memory", |cache: &mut CacheDraft, bytes| cache.memory = bytes)
        .between(1 << 20, 64 << 40)
        .row(
            "cache",
            "\"256MiB\"",
            "\"1GiB\"",
            "What cached objects may take in memory, with everything needed to keep them: bodies, heads, index, objects under way.",
        ),
    Setting::size_or_share("max_object", |cache: &mut CacheDraft, share| {
        cache.max_object = Some(share);
    })
    .between(1, u64::MAX)
    .row(
        "cache",
        "12.5 % of `memory`, at most 64MiB",
        "\"10%\"",
        "Objects larger than this are streamed, not stored: a size, or a percentage of `memory`.",
    ),
    Setting::time("hit_for_miss", |cache: &mut CacheDraft, time| cache.hit_for_miss = time)
        .between(0, DAY)
        .row(
            "cache",
            "\"2m\"",
            "\"10s\"",
            "After a response that cannot be cached, how long requests for its key go to the origin side by side rather than wait for each other.",
        ),
    Setting::list(
        "tag_fields",
        "names of fields",
        |cache: &mut CacheDraft, list, wrong| {
            cache.tag_fields = each_bare(list, words::field_name, wrong);
        },
    )
    .row(
        "cache",
        "[\"Surrogate-Key\", \"Cache-Tag\", \"xkey\"]",
        "[\"X-Tags\"]",
        "Fields of responses whose words, separated by spaces or commas, are an object's tags, by which it can be purged.",
    ),
];

/// A row of the policy.
macro_rules! policy {
    (flag $name:ident, $default:literal, $example:literal, $doc:literal) => {
        Setting::flag(stringify!($name), |policy: &mut Policy, flag| {
            policy.$name = flag
        })
        .row("cache", $default, $example, $doc)
    };
    ($kind:ident $name:ident, $default:literal, $example:literal, $doc:literal) => {
        Setting::$kind(stringify!($name), |policy: &mut Policy, time| {
            policy.$name = time
        })
        .between(0, 10 * YEAR)
        .row("cache", $default, $example, $doc)
    };
}

/// A row of the policy that is a list of globs over names.
macro_rules! globs {
    ($name:ident, $what:literal, $example:literal, $doc:literal) => {
        Setting::list(
            stringify!($name),
            $what,
            |policy: &mut Policy, list, wrong| {
                policy.$name = each_bare(list, words::glob, wrong);
            },
        )
        .row("cache", "[]", $example, $doc)
    };
}

/// All optional in a site or path, where an absent one is inherited.
#[rustfmt::skip]
pub(crate) static POLICY: &[Setting<Policy>] = &[
    policy!(flag pass, "false", "true",
        "Never look up, never store: every request goes to the origin."),
    policy!(time_or_off default_ttl, "\"off\"", "\"2m\"",
        "Freshness of a response that states none. `\"off\"`: RFC 9111 alone decides."),
    policy!(time_or_off force_ttl, "\"off\"", "\"10s\"",
        "Freshness whatever the response states, also for `private`, `no-cache`, `no-store` and `max-age=0`. Only for content that is the same for everybody."),
    policy!(times_by_status ttl_status, "{}", "{ 404 = \"10s\", 301 = \"1h\" }",
        "Freshness by status of a response that states none; stronger than `default_ttl`. Statuses whose responses are never stored, such as 304, 412 or 416, are refused. Given in a site or path, it replaces the whole table."),
    policy!(time grace, "\"0s\"", "\"1m\"",
        "How long past its freshness an object may be served while it is fetched anew, unless the response forbids it."),
    policy!(time stale_if_error, "\"0s\"", "\"1h\"",
        "How long past its freshness an object may be served when the origin fails, unless the response forbids it."),
    policy!(time keep, "\"1h\"", "\"1d\"",
        "How long past its freshness an object is kept so that it can be validated rather than fetched anew."),
    policy!(flag heuristic, "true", "false",
        "Guess the freshness of a response that states none from its `Last-Modified` (RFC 9111 section 4.2.2)."),
    policy!(time heuristic_max, "\"1d\"", "\"1h\"",
        "The longest such guess."),
    policy!(flag store_set_cookie, "false", "true",
        "Store responses that carry `Set-Cookie`. Whoever gets such an object gets the cookie of another."),
    policy!(flag request_directives, "true", "false",
        "Obey `Cache-Control` and `Pragma` of requests (RFC 9111 section 5.2.1). When false, a client cannot force a fetch."),
    Setting::list("targeted_fields", "names of fields", |policy: &mut Policy, list, wrong| {
        policy.targeted_fields = each_bare(list, words::field_name, wrong);
    })
    .row("cache", "[\"CDN-Cache-Control\"]", "[\"Forebay-Cache-Control\", \"CDN-Cache-Control\"]",
        "Response fields that override `Cache-Control` here, the strongest first (RFC 9213)."),
    Setting::list("key", "parts: \"host\", \"path\", \"query\", \"header:NAME\", \"cookie:NAME\"",
        |policy: &mut Policy, list, wrong| {
            policy.key = each_bare(list, words::key_part, wrong);
        })
    .between(1, u64::MAX)
    .row("cache", "[\"host\", \"path\", \"query\"]", "[\"host\", \"path\", \"query\", \"header:X-Country\"]",
        "What a cache key is made of. Requests that agree in all parts get the same object (`Vary` aside)."),
    globs!(ignore_query, "names of query parameters (globs)", "[\"utm_*\", \"fbclid\"]",
        "Query parameters dropped from the key and from the request to the origin."),
    globs!(keep_query, "names of query parameters (globs)", "[\"page\", \"q\"]",
        "When not empty: the only query parameters kept in the key and in the request."),
    policy!(flag sort_query, "false", "true",
        "Sort query parameters by name in the key, so that their order makes no difference."),
    globs!(ignore_cookies, "names of cookies (globs)", "[\"_ga*\"]",
        "Cookies dropped from the request to the origin."),
    Setting::list_or_all("keep_cookies", "names of cookies (globs)", keep_cookies)
    .row("cache", "\"all\"", "[\"session\"]",
        "The only cookies kept in the request to the origin; an empty list drops all."),
    policy!(flag normalize_accept_language, "false", "true",
        "Compare `Accept-Language` in normal form, so that fewer variants are kept. The origin gets it as the client sent it."),
    policy!(flag cache_status, "true", "false",
        "Add `Cache-Status` (RFC 9211) to responses: what the cache did, and why."),
];

fn keep_cookies(
    policy: &mut Policy,
    list: Option<Vec<Spanned<String>>>,
    wrong: &mut Vec<Spanned<Refused>>,
) {
    policy.keep_cookies = list.map(|list| each_bare(list, words::glob, wrong));
}
