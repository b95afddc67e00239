//! Scenario files, and users that go through them: what is sent is one request
//! each, whatever the responses say. Behind a NUL stand the responses' bytes.
#![no_main]

mod shared;

use std::sync::Arc;
use std::time::Duration;

use forebay_http::ResponseHead;
use forebay_http::head::HeadLimits;
use forebay_workload::scenario::{Act, Answer, Compiled, Scenario, Setup, User};
use libfuzzer_sys::fuzz_target;

const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 500,
    head_bytes: 2000,
    fields: 20,
};

fuzz_target!(|input: &[u8]| {
    let cut = input
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(input.len());
    let (text, response) = (&input[..cut], input.get(cut + 1..).unwrap_or_default());
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let scenario = match Scenario::parse(text, "x.toml") {
        Ok(scenario) => scenario,
        Err(errors) => {
            assert!(!errors.list().is_empty() && !errors.to_string().is_empty());
            return;
        }
    };
    let written = scenario.to_toml();
    match Scenario::parse(&written, "x.toml") {
        Ok(again) => assert_eq!(again, scenario, "{written}"),
        Err(errors) => panic!("{errors}\n{written}"),
    }
    let files = |_: &str| Ok(b"login,password\nann,a b\nbob,\"b\nc\"\n".to_vec());
    match Compiled::load(text, "x.toml", &files, &Setup::default()) {
        Ok(compiled) => go_through(&Arc::new(compiled), response),
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
});

fn go_through(compiled: &Arc<Compiled>, response: &[u8]) {
    let mut head = ResponseHead::default();
    let body = match head.parse(response, &LIMITS) {
        Ok(Some(length)) => &response[length..],
        _ => response,
    };
    head.status = head.status.max(200);
    for number in 0..2 {
        let mut user = User::new(compiled, number, 1);
        for now in 0..30 {
            let mut bytes = Vec::new();
            match user.next(now, &mut bytes) {
                Act::Send(sent) => {
                    shared::is_one_request(&bytes);
                    assert!(compiled.place(sent.place).is_some());
                    assert!(sent.label < compiled.labels().len());
                    let answer = Answer {
                        status: head.status,
                        head: &head,
                        body: if sent.keep_body { body } else { b"" },
                        whole: Duration::from_millis(now * 100),
                        now,
                    };
                    match user.answered(&answer) {
                        Ok(()) => {}
                        Err(fault) => assert!(!fault.words.is_empty()),
                    }
                }
                Act::Unsendable { label, fault } => {
                    assert!(label < compiled.labels().len() && !fault.words.is_empty());
                }
                Act::Finished => break,
                Act::Pause(_) | Act::EndOfIteration => {}
            }
        }
    }
}
