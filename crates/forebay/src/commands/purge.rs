//! `forebay purge`: orders from the command line or, a line each, from
//! standard input, sent to a running server in batches.

use std::io::BufRead;

use serde_json::{Value, json};

use crate::cli::PurgeArgs;
use crate::exit::{Failure, Outcome};
use crate::out;

use super::client::Client;
use super::show;

/// Orders in one request, and bytes of them: the server's limits are a little above.
const BATCH_ORDERS: usize = 10_000;
const BATCH_BYTES: usize = 900 << 10;

/// An order, and what the user calls it.
struct Order {
    json: Value,
    name: String,
}

/// Runs the command. All orders are sent, whatever becomes of some.
///
/// # Errors
/// When the server is not there, or an order was refused.
pub(crate) fn purge(args: &PurgeArgs) -> Outcome {
    let client = Client::of(&args.server)?;
    let mut totals = Totals::default();
    let mut batch = Batch::default();
    for order in orders(args) {
        batch.add(order, &client, args.json, &mut totals)?;
    }
    if args.urls.iter().any(|url| url == "-") {
        for (number, line) in std::io::stdin().lock().lines().enumerate() {
            let line = line.map_err(|error| {
                Failure::message(format_args!("standard input cannot be read: {error}"))
            })?;
            let parsed = parse(&line, args.soft)
                .map_err(|error| Failure::message(format_args!("line {}: {error}", number + 1)))?;
            if let Some(json) = parsed {
                let name = format!("line {}: {}", number + 1, line.trim());
                batch.add(Order { json, name }, &client, args.json, &mut totals)?;
            }
        }
    }
    batch.send(&client, args.json, &mut totals)?;
    if totals.failed > 0 {
        return Err(Failure::message(format_args!(
            "{} of {} orders were refused",
            totals.failed,
            totals.done + totals.failed
        )));
    }
    Ok(())
}

#[derive(Default)]
struct Totals {
    done: usize,
    failed: usize,
}

/// Orders not yet sent.
#[derive(Default)]
struct Batch {
    orders: Vec<Order>,
    bytes: usize,
}

impl Batch {
    fn add(
        &mut self,
        order: Order,
        client: &Client,
        as_json: bool,
        totals: &mut Totals,
    ) -> Outcome {
        let bytes = order.json.to_string().len() + 1;
        if self.orders.len() >= BATCH_ORDERS || self.bytes + bytes > BATCH_BYTES {
            self.send(client, as_json, totals)?;
        }
        self.bytes += bytes;
        self.orders.push(order);
        Ok(())
    }

    fn send(&mut self, client: &Client, as_json: bool, totals: &mut Totals) -> Outcome {
        let orders = std::mem::take(&mut self.orders);
        self.bytes = 0;
        if orders.is_empty() {
            return Ok(());
        }
        let list: Vec<&Value> = orders.iter().map(|order| &order.json).collect();
        let answer = client.json("POST", "/api/v1/purge", Some(&json!({ "orders": list })))?;
        let empty = Vec::new();
        let results = answer["results"].as_array().unwrap_or(&empty);
        if results.len() != orders.len() {
            return Err(Failure::message(
                "the server did not say what became of each order",
            ));
        }
        for (order, result) in orders.iter().zip(results) {
            if as_json {
                out::line(&result.to_string());
            }
            match result["error"].as_str() {
                Some(error) => {
                    totals.failed += 1;
                    out::error_line(&format!("forebay: {}: {}", order.name, show::plain(error)));
                }
                None => {
                    totals.done += 1;
                    if !as_json {
                        out::line(&describe(result));
                    }
                }
            }
        }
        Ok(())
    }
}

/// `purged http://a/b: 3 objects`
fn describe(result: &Value) -> String {
    let done = show::plain(result["done"].as_str().unwrap_or("done"));
    let objects = |count: u64| match count {
        1 => "1 object".to_owned(),
        count => format!("{} objects", show::count(count)),
    };
    match (result["objects"].as_u64(), result["may_touch"].as_u64()) {
        (Some(count), _) => format!("{done}: {}", objects(count)),
        (None, Some(count)) => format!("{done}: up to {}", objects(count)),
        (None, None) => done,
    }
}

/// The orders of the command line.
fn orders(args: &PurgeArgs) -> Vec<Order> {
    let order = |kind: &str, value: Value, name: String| {
        let mut json = json!({ kind: value });
        if args.soft {
            json["soft"] = true.into();
        }
        Order { json, name }
    };
    let mut orders = Vec::new();
    for url in args.urls.iter().filter(|url| *url != "-") {
        orders.push(order("url", url.as_str().into(), url.clone()));
    }
    for prefix in &args.prefix {
        orders.push(order(
            "prefix",
            prefix.as_str().into(),
            format!("prefix {prefix}"),
        ));
    }
    for regex in &args.regex {
        let mut one = order("regex", regex.as_str().into(), format!("regex {regex}"));
        if let Some(host) = &args.host {
            one.json["host"] = host.as_str().into();
        }
        orders.push(one);
    }
    for ban in &args.ban {
        orders.push(order("ban", ban.as_str().into(), format!("ban {ban}")));
    }
    if !args.tag.is_empty() {
        let name = format!("tags {}", args.tag.join(", "));
        orders.push(order("tags", json!(args.tag), name));
    }
    if args.all {
        orders.push(order("all", true.into(), "all".into()));
    }
    orders
}

/// A line of a batch: a URL, `tag T`, `prefix P`, `regex R`, `ban EXPR` or
/// `all`, with `soft ` before it or not. `None`: empty, or a comment.
fn parse(line: &str, all_soft: bool) -> Result<Option<Value>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (soft, rest) = match line.strip_prefix("soft ") {
        Some(rest) => (true, rest.trim_start()),
        None => (all_soft, line),
    };
    let (word, value) = match rest.split_once(char::is_whitespace) {
        Some((word, value)) => (word, value.trim_start()),
        None => (rest, ""),
    };
    let mut order = match (word, value) {
        ("all", "") => json!({ "all": true }),
        ("tag" | "prefix" | "regex" | "ban", "") => return Err(format!("`{word}` needs a value")),
        ("tag", tag) => json!({ "tags": [tag] }),
        ("prefix" | "regex" | "ban", value) => json!({ word: value }),
        (url, "") => json!({ "url": url }),
        (word, _) => {
            return Err(format!(
                "`{}` is none of a URL, `tag T`, `prefix P`, `regex R`, `ban EXPR`, `all`",
                show::plain(word)
            ));
        }
    };
    if soft {
        order["soft"] = true.into();
    }
    Ok(Some(order))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lines_of_a_batch() {
        for (line, expected) in [
            ("http://a/b", json!({ "url": "http://a/b" })),
            (" soft  a/b ", json!({ "url": "a/b", "soft": true })),
            ("tag product-1", json!({ "tags": ["product-1"] })),
            ("tag two words", json!({ "tags": ["two words"] })),
            ("prefix a/b", json!({ "prefix": "a/b" })),
            ("regex ^/(a|b) c", json!({ "regex": "^/(a|b) c" })),
            (
                "soft ban obj.status == 404",
                json!({ "ban": "obj.status == 404", "soft": true }),
            ),
            ("all", json!({ "all": true })),
            ("soft all", json!({ "all": true, "soft": true })),
        ] {
            assert_eq!(parse(line, false), Ok(Some(expected)), "{line}");
        }
        assert_eq!(
            parse("a/b", true),
            Ok(Some(json!({ "url": "a/b", "soft": true })))
        );
        for line in ["", "  ", "# all"] {
            assert_eq!(parse(line, false), Ok(None));
        }
        for line in ["tag", "ban", "a/b c", "soft tag", "all of it"] {
            assert!(parse(line, false).is_err(), "{line}");
        }
    }

    #[test]
    fn what_was_done_is_said_with_how_many() {
        let of = |json: Value| describe(&json);
        assert_eq!(
            of(json!({ "done": "purged a", "objects": 1 })),
            "purged a: 1 object"
        );
        assert_eq!(
            of(json!({ "done": "purged a", "objects": null, "may_touch": 1000 })),
            "purged a: up to 1 000 objects"
        );
        assert_eq!(of(json!({ "done": "purged a" })), "purged a");
    }
}
