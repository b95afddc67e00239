//! Origins and questions that several themes share.

use std::time::{Duration, Instant};

use forebay_tests::{Forebay, Origin, Response, reply};

/// What a response is stale by on arrival; no test waits for one to age.
pub(crate) const STALE: &str = "Age: 1000";

/// Answers 200 with the same fields and the request's number as the body.
pub(crate) fn numbered(fields: &[&str]) -> Origin {
    let fields: Vec<String> = fields.iter().map(|f| (*f).to_owned()).collect();
    Origin::start(move |request, connection| {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        connection.send(reply(200, &fields, &format!("n{}", request.number)));
    })
}

/// Answers the n-th request with the n-th status and fields, its number as the
/// body; the last ones again and again.
pub(crate) fn scripted(answers: &[(u16, &[&str])]) -> Origin {
    let answers: Vec<String> = answers
        .iter()
        .enumerate()
        .map(|(n, (status, fields))| {
            reply(
                *status,
                fields,
                &if *status == 304 {
                    String::new()
                } else {
                    format!("n{n}")
                },
            )
        })
        .collect();
    Origin::sequence(&answers)
}

/// For each list of response fields: whether a second GET is a hit. One
/// program serves all of them.
#[track_caller]
pub(crate) fn expect_hits(cases: &[(&[&str], bool)]) {
    expect_hits_with(|config| config, &[], cases);
}

/// The same with a configuration and request fields of choice.
#[track_caller]
pub(crate) fn expect_hits_with(
    config: impl FnOnce(forebay_tests::Config) -> forebay_tests::Config,
    request: &[&str],
    cases: &[(&[&str], bool)],
) {
    let answers: Vec<String> = cases
        .iter()
        .map(|(fields, _)| reply(200, fields, "body"))
        .collect();
    let origin = Origin::start(move |request, connection| {
        let which: usize = request.target[1..].parse().unwrap();
        connection.send(&answers[which]);
    });
    let forebay = Forebay::start(&config(forebay_tests::Config::to(&origin)));
    let mut client = forebay.client();
    let mut wrong = Vec::new();
    for (which, (fields, expected)) in cases.iter().enumerate() {
        let target = format!("/{which}");
        client.get_with(&target, request);
        let second = client.get_with(&target, request);
        if second.is_hit() != *expected {
            wrong.push(format!(
                "{fields:?}: hit expected {expected}, got {:?}",
                second.fields.joined("cache-status")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asks until the answer is as wanted: for what happens behind an answer.
#[track_caller]
pub(crate) fn eventually(wanted: impl FnMut() -> bool) {
    eventually_within(Duration::from_secs(5), wanted);
}

/// The same for what the program does only now and then.
#[track_caller]
pub(crate) fn eventually_within(patience: Duration, mut wanted: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !wanted() {
        assert!(Instant::now() < deadline, "never came true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An origin for one resource that honours `Range`, `If-Range` and
/// `If-None-Match` as nginx would.
pub(crate) fn file(
    etag: &'static str,
    body: &'static str,
    fields: &'static [&'static str],
) -> Origin {
    Origin::start(move |request, connection| {
        let tag = format!("ETag: {etag}");
        let mut all = vec![tag.as_str()];
        all.extend_from_slice(fields);
        if request.field("if-none-match") == Some(etag) {
            return connection.send(reply(304, &all, ""));
        }
        let valid = request.field("if-range").is_none_or(|tag| tag == etag);
        match request
            .field("range")
            .filter(|_| valid)
            .map(|range| resolve(range, body.len()))
        {
            Some(Some((first, last))) => {
                let range = format!("Content-Range: bytes {first}-{last}/{}", body.len());
                all.push(&range);
                connection.send(reply(206, &all, &body[first..=last]));
            }
            Some(None) => {
                let range = format!("Content-Range: bytes */{}", body.len());
                connection.send(reply(416, &[&range], ""));
            }
            None => connection.send(reply(200, &all, body)),
        }
    })
}

/// One `bytes=a-b`, `a-` or `-n`, as first and last position.
fn resolve(range: &str, length: usize) -> Option<(usize, usize)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) => (first, last.min(length - 1)),
        (Ok(first), Err(_)) => (first, length - 1),
        (Err(_), Ok(suffix)) => (length.saturating_sub(suffix), length - 1),
        _ => return None,
    };
    (first <= last && first < length).then_some((first, last))
}

/// `Content-Range` and body of a 206.
pub(crate) fn part(response: &Response) -> (u16, &str, String) {
    (
        response.status,
        response.field("content-range").unwrap_or(""),
        response.text(),
    )
}

/// Whether a hit was stored with a freshness of `seconds`, all but a moment of
/// which is left.
pub(crate) fn is_fresh_for(hit: &Response, seconds: i64) -> bool {
    let status = hit.cache_status();
    status.hit
        && status
            .ttl
            .is_some_and(|ttl| (seconds - 3..=seconds).contains(&ttl))
}
