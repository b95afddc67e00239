//! A recording as HAR 1.2, for other tools.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use serde_json::{Value, json};

use super::pages::{self, Kind};
use super::tape::Taken;

/// The recording as a HAR document; `began_at` is when it began.
pub(super) fn document(taken: &[Taken], began_at: SystemTime) -> Value {
    let (mut pages, mut entries) = (Vec::new(), Vec::new());
    for one in taken {
        let started = rfc3339(began_at + one.at);
        if pages::kind(one) == Kind::Page {
            pages.push(json!({
                "id": format!("page_{}", pages.len() + 1),
                "title": one.url.to_string(),
                "startedDateTime": started,
                "pageTimings": {},
            }));
        }
        let mut entry = entry(one, &started);
        if !pages.is_empty() {
            entry["pageref"] = format!("page_{}", pages.len()).into();
        }
        entries.push(entry);
    }
    json!({"log": {
        "version": "1.2",
        "creator": {"name": "forebay bench record", "version": env!("CARGO_PKG_VERSION")},
        "pages": pages,
        "entries": entries,
    }})
}

fn entry(taken: &Taken, started: &str) -> Value {
    let took = taken.end.saturating_sub(taken.at).as_secs_f64() * 1e3;
    let query = taken
        .url
        .path
        .split_once('?')
        .map_or("", |(_, query)| query);
    let pairs = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            json!({"name": name, "value": value})
        });
    let mut request = json!({
        "method": taken.method,
        "url": taken.url.to_string(),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": fields(&taken.headers),
        "queryString": pairs.collect::<Vec<_>>(),
        "headersSize": -1,
        "bodySize": taken.body.len(),
    });
    if !taken.body.is_empty() {
        request["postData"] = text(
            taken.header("Content-Type").unwrap_or_default(),
            &taken.body,
        );
    }
    let mut content = text(
        taken.response_header("Content-Type").unwrap_or_default(),
        &taken.content,
    );
    content["size"] = taken.content.len().into();
    json!({
        "startedDateTime": started,
        "time": took,
        "request": request,
        "response": {
            "status": taken.status,
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": fields(&taken.response),
            "content": content,
            "redirectURL": taken.response_header("Location").unwrap_or_default(),
            "headersSize": -1,
            "bodySize": taken.content.len(),
        },
        "cache": {},
        "timings": {"send": 0, "wait": took, "receive": 0},
    })
}

fn fields(fields: &[(String, String)]) -> Vec<Value> {
    fields
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect()
}

/// A body, in base64 when it is no text.
fn text(kind: &str, bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!({"mimeType": kind, "text": text}),
        Err(_) => {
            let coded = base64::engine::general_purpose::STANDARD.encode(bytes);
            json!({"mimeType": kind, "text": coded, "encoding": "base64"})
        }
    }
}

/// A moment as `2026-11-21T20:00:00.123Z`.
pub(super) fn rfc3339(at: SystemTime) -> String {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    forebay_http::date::rfc3339_ms(since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use forebay_workload::{Target, har};

    use super::*;

    #[test]
    fn moments_are_written_as_they_are_read() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_799, "2000-02-29T23:59:59.000Z"),
            (1_795_291_200, "2026-11-21T20:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(rfc3339(at), text);
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        let taken = Taken {
            at: Duration::from_millis(1500),
            end: Duration::from_millis(1600),
            method: "POST".into(),
            url: Target::parse("http://shop.example/a?b=c").unwrap(),
            headers: vec![
                ("Content-Type".into(), "text/plain".into()),
                ("X-A".into(), "1".into()),
            ],
            body: b"hello".to_vec(),
            status: 201,
            response: vec![("Content-Type".into(), "text/html; charset=utf-8".into())],
            content: vec![0xff, 0x00],
        };
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_291_200);
        let text = document(std::slice::from_ref(&taken), began).to_string();
        let entries = har::entries(&text).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].at_ms, 1_795_291_201_500);
        assert_eq!(entries[0].took_ms, 100);
        assert_eq!(entries[0].status, 201);
        assert_eq!(entries[0].request.method, "POST");
        assert_eq!(entries[0].request.target, taken.url);
        assert_eq!(entries[0].request.body, b"hello");
    }
}
