//! Purges as they are written in a request's JSON. Pure: a value in, orders out.

use crate::control::{Order, What};
use serde::Deserialize;
use serde_json::Value;

/// Orders in one request.
pub(crate) const MOST_ORDERS: usize = 10_000;
/// Tags in one order.
pub(crate) const MOST_TAGS: usize = 1_000;
/// The longest URL, prefix, expression or tag, in bytes.
pub(crate) const TEXT_BYTES: usize = 8 << 10;

/// The members that say what to purge; exactly one of them is needed.
const KINDS: &str = "`url`, `prefix`, `regex`, `ban`, `tags` or `all`";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    url: Option<String>,
    prefix: Option<String>,
    regex: Option<String>,
    host: Option<String>,
    ban: Option<String>,
    tags: Option<Vec<String>>,
    all: Option<bool>,
    #[serde(default)]
    soft: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    orders: Vec<Value>,
}

/// The orders of a request: one, or a batch under `orders`.
///
/// # Errors
/// What is wrong, in words; in a batch with the number of the order, counted
/// from 0. Nothing of a batch with a mistake is to be carried out.
pub(crate) fn read(body: &Value) -> Result<Vec<Order>, String> {
    if body.get("orders").is_none() {
        return Ok(vec![one(body)?]);
    }
    let batch = Batch::deserialize(body).map_err(|error| error.to_string())?;
    if batch.orders.len() > MOST_ORDERS {
        return Err(format!("a batch has at most {MOST_ORDERS} orders"));
    }
    let numbered = batch.orders.iter().enumerate();
    numbered
        .map(|(number, order)| one(order).map_err(|error| format!("orders[{number}]: {error}")))
        .collect()
}

fn one(body: &Value) -> Result<Order, String> {
    if !body.is_object() {
        return Err(format!("expected a JSON object with one of {KINDS}"));
    }
    let written = Written::deserialize(body).map_err(|error| error.to_string())?;
    let soft = written.soft;
    Ok(Order {
        what: what(written)?,
        soft,
    })
}

fn what(written: Written) -> Result<What, String> {
    let host = written.host.map(text).transpose()?;
    let has_host = host.is_some();
    let what = match written {
        Written {
            url: Some(url),
            prefix: None,
            regex: None,
            ban: None,
            tags: None,
            all: None,
            ..
        } => What::Url(text(url)?),
        Written {
            url: None,
            prefix: Some(prefix),
            regex: None,
            ban: None,
            tags: None,
            all: None,
            ..
        } => What::Prefix(text(prefix)?),
        Written {
            url: None,
            prefix: None,
            regex: Some(regex),
            ban: None,
            tags: None,
            all: None,
            ..
        } => What::Regex {
            regex: text(regex)?,
            host,
        },
        Written {
            url: None,
            prefix: None,
            regex: None,
            ban: Some(ban),
            tags: None,
            all: None,
            ..
        } => What::Ban(text(ban)?),
        Written {
            url: None,
            prefix: None,
            regex: None,
            ban: None,
            tags: Some(tags),
            all: None,
            ..
        } => What::Tags(self::tags(tags)?),
        Written {
            url: None,
            prefix: None,
            regex: None,
            ban: None,
            tags: None,
            all: Some(true),
            ..
        } => What::All,
        _ => return Err(format!("exactly one of {KINDS} is needed")),
    };
    if has_host && !matches!(what, What::Regex { .. }) {
        return Err("`host` goes with `regex` only".into());
    }
    Ok(what)
}

fn tags(tags: Vec<String>) -> Result<Vec<String>, String> {
    if tags.is_empty() || tags.len() > MOST_TAGS {
        return Err(format!("`tags` has from 1 to {MOST_TAGS} tags"));
    }
    tags.into_iter().map(text).collect()
}

fn text(text: String) -> Result<String, String> {
    if text.is_empty() {
        return Err("a text is empty".into());
    }
    if text.len() > TEXT_BYTES {
        return Err(format!("a text is longer than {TEXT_BYTES} bytes"));
    }
    if text.chars().any(char::is_control) {
        return Err("a text has a control character".into());
    }
    Ok(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn what(body: Value) -> Result<(What, bool), String> {
        read(&body).map(|orders| (orders[0].what.clone(), orders[0].soft))
    }

    #[test]
    fn each_kind_is_read() {
        let cases = [
            (
                json!({"url": "http://a/b"}),
                What::Url("http://a/b".into()),
                false,
            ),
            (
                json!({"url": "a/b", "soft": true}),
                What::Url("a/b".into()),
                true,
            ),
            (
                json!({"prefix": "/news"}),
                What::Prefix("/news".into()),
                false,
            ),
            (
                json!({"regex": "^/x", "host": "a"}),
                What::Regex {
                    regex: "^/x".into(),
                    host: Some("a".into()),
                },
                false,
            ),
            (
                json!({"regex": "^/x"}),
                What::Regex {
                    regex: "^/x".into(),
                    host: None,
                },
                false,
            ),
            (
                json!({"ban": "obj.status == 404"}),
                What::Ban("obj.status == 404".into()),
                false,
            ),
            (
                json!({"tags": ["a", "b c"]}),
                What::Tags(vec!["a".into(), "b c".into()]),
                false,
            ),
            (json!({"all": true, "soft": false}), What::All, false),
        ];
        for (body, expected, soft) in cases {
            assert_eq!(what(body.clone()), Ok((expected, soft)), "{body}");
        }
    }

    #[test]
    fn what_is_not_exactly_one_order_is_refused() {
        for body in [
            json!({}),
            json!(null),
            json!("all"),
            json!([]),
            json!({"all": false}),
            json!({"url": "a", "all": true}),
            json!({"url": "a", "prefix": "b"}),
            json!({"url": "a", "host": "b"}),
            json!({"host": "b"}),
            json!({"soft": true}),
            json!({"url": ""}),
            json!({"url": "a\r\nb"}),
            json!({"url": 1}),
            json!({"tags": []}),
            json!({"tags": "a"}),
            json!({"tags": [""]}),
            json!({"tag": "a"}),
            json!({"soft": "yes", "all": true}),
            json!({"url": "a".repeat(TEXT_BYTES + 1)}),
            json!({"orders": [], "soft": true}),
            json!({"orders": {}}),
            json!({"orders": vec![json!({"all": true}); MOST_ORDERS + 1]}),
        ] {
            assert!(read(&body).is_err(), "{body:.100}");
        }
    }

    #[test]
    fn a_mistake_in_a_batch_has_its_number() {
        let orders = read(&json!({"orders": [{"all": true}, {"url": "a", "soft": true}]})).unwrap();
        assert_eq!((orders.len(), orders[1].soft), (2, true));
        let error = read(&json!({"orders": [{"all": true}, {"ulr": "a"}]})).unwrap_err();
        assert!(
            error.starts_with("orders[1]: ") && error.contains("ulr"),
            "{error}"
        );
        assert_eq!(read(&json!({"orders": []})).unwrap(), []);
    }
}
