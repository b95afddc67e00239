//! Responses as the load tester reads them: at once, byte by byte and in
//! pieces, with one result.
#![no_main]

use forebay_engine::{Expect, Http1, Malformed, Response, Session};
use forebay_http::ResponseHead;
use libfuzzer_sys::fuzz_target;

/// Each response with its body, how they ended, and how many bytes were left.
type Outcome = (Vec<(Response, Vec<u8>)>, Result<bool, Malformed>);

fuzz_target!(|input: &[u8]| {
    let [choice, piece, input @ ..] = input else {
        return;
    };
    let expect = Expect {
        is_head: choice & 1 != 0,
        keep_head: choice & 2 != 0,
        keep_body: choice & 4 != 0,
    };
    let whole = receive(input, input.len(), expect);
    let pieces = receive(input, usize::from(*piece).max(1), expect);
    let bytes = receive(input, 1, expect);
    for other in [pieces, bytes] {
        assert_eq!(other.0, whole.0);
        // Where a message is broken, its first bytes may show it in another way than the whole.
        assert_eq!(
            other.1.is_ok(),
            whole.1.is_ok(),
            "{:?} {:?}",
            other.1,
            whole.1
        );
    }
    for (response, body) in &whole.0 {
        assert!((101..1000).contains(&response.status));
        if expect.keep_body {
            assert_eq!(response.body_bytes, body.len() as u64);
        }
        assert!(!expect.is_head || response.body_bytes == 0);
    }
});

fn receive(input: &[u8], piece: usize, expect: Expect) -> Outcome {
    let (mut session, mut scratch) = (Http1::new(), ResponseHead::default());
    let (mut responses, mut at, mut limit) = (Vec::new(), 0, 0);
    let mut note = |response: Response, session: &Http1| {
        let body = session.kept().map(|kept| kept.body.clone());
        responses.push((response, body.unwrap_or_default()));
    };
    let end = loop {
        let shown = &input[at..limit];
        let progress = match session.receive(&mut scratch, shown, expect) {
            Ok(progress) => progress,
            Err(malformed) => break Err(malformed),
        };
        assert!(progress.consumed <= shown.len());
        at += progress.consumed;
        if let Some(response) = progress.done {
            note(response, &session);
            if !response.reusable {
                break Ok(true);
            }
            if at < limit {
                continue;
            }
        }
        if limit == input.len() {
            let last = session.closed();
            if let Some(response) = last {
                note(response, &session);
            }
            break Ok(last.is_some());
        }
        limit = input.len().min(limit.max(at) + piece);
    };
    (responses, end)
}
