//! A whole access log: every line is sent, or is counted among those that are
//! not; what is sent is one request each, at a time that does not go back.
#![no_main]

mod shared;

use forebay_workload::{Base, Target, log};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [choice, text @ ..] = input else {
        return;
    };
    let server = Target::parse("http://127.0.0.1:8080/").expect("a URL");
    let options = log::Options {
        format: match choice % 4 {
            0 => None,
            1 => Some(log::Format::Combined),
            2 => Some(log::Format::Squid),
            _ => Some(log::Format::Json),
        },
        base: if choice & 4 == 0 {
            Base::server(server)
        } else {
            Base::recorded()
        },
        all_methods: choice & 8 != 0,
        keep_fields: choice & 16 != 0,
        most_slots: if choice & 32 == 0 { usize::MAX } else { 3 },
        most_requests: if choice & 64 == 0 { usize::MAX } else { 2 },
    };
    let Ok(replay) = log::read(text, &options) else {
        return;
    };
    let lines = text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    assert!(replay.order.len() as u64 + replay.skipped.total() <= lines.count() as u64);
    assert!(
        replay.order.len() <= options.most_slots && replay.requests.len() <= options.most_requests
    );
    assert!(
        replay
            .order
            .windows(2)
            .all(|pair| pair[0].at_ms <= pair[1].at_ms)
    );
    let sent: u32 = replay.counts().iter().sum();
    assert_eq!(sent as usize, replay.order.len());
    assert!(replay.skipped.is_empty() || !replay.skipped.to_string().is_empty());
    for request in &replay.requests {
        let mut bytes = Vec::new();
        request.write_to(choice & 128 != 0, &mut bytes);
        shared::is_one_request(&bytes);
    }
});
