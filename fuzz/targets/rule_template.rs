//! What rules make of a request: the path they are matched against, and texts with `{name}` in
//! them.
//!
//! Promised: no panic; a path in its normal form leads nowhere upwards; no request puts a line end
//! into a field, nor a space or a control byte into a URL.

#![no_main]

use forebay_config::template::{Groups, compile};
use forebay_http::fields::Fields;
use forebay_rules::{Context, Subject, Template, path};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(3, |&byte| byte == b'\n');
    let (Some(template), Some(target)) = (parts.next(), parts.next()) else {
        return;
    };
    let normal = path::normal(target);
    let mut segments = normal.split(|&byte| byte == b'/');
    if normal.first() == Some(&b'/') {
        assert!(segments.all(|segment| segment != b"." && segment != b".."));
    }
    let Ok(template) = std::str::from_utf8(template) else {
        return;
    };
    // The operator's own part may hold what the request's must not.
    if template.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return;
    }
    let Ok(pattern) = compile("^/(?<first>[^/]*)/?(.*)$") else {
        panic!("the pattern is good")
    };
    let template = Template::new(template, &Groups::of(&pattern));
    let matched = pattern.captures(&normal);
    let fields = Fields::default();
    let subject = Subject {
        host: parts.next().unwrap_or_default(),
        target,
        method: b"GET",
        client: "192.0.2.1",
        secure: false,
        fields: &fields,
    };
    for context in [Context::Field, Context::Url] {
        let mut out = Vec::new();
        template.expand(&subject, matched.as_ref(), context, &mut out);
        let is_bad = |byte: &u8| match context {
            Context::Url => *byte <= b' ' || *byte == 0x7f,
            _ => (*byte < b' ' && *byte != b'\t') || *byte == 0x7f,
        };
        assert!(!out.iter().any(is_bad), "{context:?}: {out:?}");
    }
});
