//! `forebay inspect` and `forebay bans`: what is stored, and what is purged.

use serde_json::Value;

use crate::cli::{BansArgs, InspectArgs};
use crate::exit::Outcome;
use crate::out;

use super::client::{Client, query};
use super::show::{self, text};

/// Runs `forebay inspect`.
///
/// # Errors
/// When the server is not there or refuses.
pub(crate) fn inspect(args: &InspectArgs) -> Outcome {
    let client = Client::of(&args.server)?;
    let target = format!(
        "/api/v1/objects{}",
        query([("url", Some(args.url.as_str()))])
    );
    let found = client.json("GET", &target, None)?;
    if args.json {
        out::line(&format!("{found:#}"));
    } else {
        out::print(&describe(&found));
    }
    Ok(())
}

/// Runs `forebay bans`.
///
/// # Errors
/// When the server is not there or refuses.
pub(crate) fn bans(args: &BansArgs) -> Outcome {
    let client = Client::of(&args.server)?;
    let answer = client.json("GET", "/api/v1/bans", None)?;
    if args.json {
        out::line(&format!("{answer:#}"));
        return Ok(());
    }
    let bans = answer["bans"].as_array().cloned().unwrap_or_default();
    if bans.is_empty() {
        out::line("no bans");
        return Ok(());
    }
    out::line("    number  kind        tests        hits  matches");
    for ban in &bans {
        let number = |name: &str| ban[name].as_u64().unwrap_or(0);
        out::line(&format!(
            "{:>10}  {:<4} {:>12} {:>11}  {}",
            number("moment"),
            if ban["soft"] == true { "soft" } else { "hard" },
            show::count(number("tests")),
            show::count(number("hits")),
            text(&ban["expression"])
        ));
    }
    Ok(())
}

fn list(value: &Value) -> String {
    let words: Vec<String> = value.as_array().into_iter().flatten().map(text).collect();
    words.join(", ")
}

/// An object and its variants, a line for each thing that is known.
fn describe(found: &Value) -> String {
    let mut lines = vec![text(&found["url"])];
    let mut row = |name: &str, value: String| {
        if !value.is_empty() && value != "–" {
            lines.push(format!("  {name:<16}{value}"));
        }
    };
    row("site", text(&found["site"]));
    row("key", text(&found["key"]));
    row("a GET would be", text(&found["verdict"]));
    let variants = found["variants"].as_array().cloned().unwrap_or_default();
    if variants.is_empty() {
        lines.push("  nothing is stored".into());
    }
    for (number, variant) in variants.iter().enumerate() {
        lines.push(format!("variant {} of {}", number + 1, variants.len()));
        lines.extend(describe_variant(variant));
    }
    lines.join("\n") + "\n"
}

fn describe_variant(variant: &Value) -> Vec<String> {
    let number = |name: &str| variant[name].as_u64().unwrap_or(0);
    let time = |name: &str| show::seconds(number(name));
    let rows = [
        ("status", number("status").to_string()),
        (
            "freshness",
            format!(
                "{}: age {}, fresh for {}, then usable for {}",
                text(&variant["freshness"]),
                time("age_s"),
                time("ttl_s"),
                time("grace_s")
            ),
        ),
        ("why", text(&variant["why"])),
        ("tier", text(&variant["tier"])),
        ("hits", show::count(number("hits"))),
        ("size", show::size(number("size_bytes") as f64)),
        ("type", text(&variant["content_type"])),
        ("etag", text(&variant["etag"])),
        ("modified", text(&variant["last_modified"])),
        ("tags", list(&variant["tags"])),
        ("chosen by", list(&variant["vary"])),
    ];
    rows.into_iter()
        .filter(|(_, value)| !value.is_empty() && value != "–")
        .map(|(name, value)| format!("  {name:<16}{value}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_described_and_absent_things_left_out() {
        let text = describe(&json!({
            "url": "http://a/b", "site": "shop", "key": "a/b", "verdict": "hit: fresh",
            "variants": [{
                "status": 200, "age_s": 5, "ttl_s": 60, "grace_s": 0, "freshness": "fresh",
                "tier": "disk", "hits": 3, "size_bytes": 2048, "tags": ["x", "y"], "vary": [],
                "etag": null, "why": "fresh"
            }],
        }));
        for expected in [
            "http://a/b\n",
            "shop",
            "variant 1 of 1",
            "2.0 KiB",
            "x, y",
            "age 5 s, fresh for 1 min 0 s",
        ] {
            assert!(text.contains(expected), "no {expected} in {text}");
        }
        assert!(
            !text.contains("etag") && !text.contains("chosen by"),
            "{text}"
        );
    }

    #[test]
    fn nothing_stored_is_said() {
        let text = describe(&json!({ "url": "a", "variants": [], "site": null }));
        assert!(text.contains("nothing is stored"), "{text}");
    }
}
