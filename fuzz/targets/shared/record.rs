//! The recorder's own files, which are not public, and what must hold for what they make.

use std::time::Duration;

use forebay_http::head::is_token;
use forebay_workload::Target;
use forebay_workload::scenario::Scenario;

#[path = "../../../crates/bench/src/record/draft.rs"]
mod draft;
#[path = "../../../crates/bench/src/record/hosts.rs"]
mod hosts;
#[path = "../../../crates/bench/src/record/html.rs"]
mod html;
#[path = "../../../crates/bench/src/record/pages.rs"]
mod pages;
#[path = "../../../crates/bench/src/record/rewrite.rs"]
mod rewrite;
#[path = "../../../crates/bench/src/record/tape.rs"]
mod tape;
#[path = "../../../crates/bench/src/record/tokens.rs"]
mod tokens;
#[path = "../../../crates/bench/src/record/weave.rs"]
mod weave;

use rewrite::Names;
use tape::Taken;
use weave::{Wishes, weave};

/// Panics unless what was recorded becomes a scenario.
pub fn check(input: &[u8]) {
    let texts: Vec<&[u8]> = input.split(|byte| *byte == 0).collect();
    let (exchanges, _) = texts.as_chunks::<6>();
    let taken: Vec<Taken> = (0..).zip(exchanges).filter_map(exchange).collect();
    for one in &taken {
        shown(one);
    }
    for without_resources in [false, true] {
        let wishes = Wishes {
            name: "recorded".into(),
            without_resources,
            keep_hosts: Vec::new(),
            stem: "recorded".into(),
        };
        let woven = weave(&taken, &wishes);
        let written = woven.scenario.to_toml();
        match Scenario::parse(&written, "x.toml") {
            Ok(again) => assert_eq!(again, woven.scenario, "{written}"),
            // A recording without any request is none.
            Err(errors) => assert!(
                woven.scenario.flow[0].step.is_empty(),
                "{errors}\n{written}"
            ),
        }
    }
}

/// Method and URL, the request's fields, its body, status, the response's fields, and its body.
fn exchange((number, texts): (u64, &[&[u8]; 6])) -> Option<Taken> {
    let [first, headers, body, status, response, content] = texts;
    let (method, url) = std::str::from_utf8(first).ok()?.split_once(' ')?;
    if method.is_empty() || !method.bytes().all(is_token) {
        return None;
    }
    Some(Taken {
        at: Duration::from_millis(number * 300),
        end: Duration::from_millis(number * 300 + 200),
        method: method.into(),
        url: Target::parse(url).ok().filter(|url| url.unix.is_none())?,
        headers: fields(headers),
        body: body.to_vec(),
        status: 100 + u16::from(*status.first()?) * 2,
        response: fields(response),
        content: content.to_vec(),
    })
}

fn fields(lines: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(lines);
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_field = !name.is_empty() && name.bytes().all(is_token);
        let is_text = !value.chars().any(|char| char.is_control());
        (is_field && is_text).then(|| (name.into(), value.trim().into()))
    });
    lines.collect()
}

/// What goes to a browser that uses the site under the recorder's name.
fn shown(taken: &Taken) {
    let names = Names {
        target: taken.origin(),
        local: "http://127.0.0.1:8888".into(),
    };
    let shown = names.to_browser(&taken.content);
    assert!(shown.len() <= 8 * (taken.content.len() + 8));
    names.to_target(&taken.body);
    for (_, value) in taken.response.iter().chain(&taken.headers) {
        rewrite::cookie(&rewrite::set_cookie(value));
        names.text_to_target(value);
    }
}
