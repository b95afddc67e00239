//! Expressions of bans: read, or refused with words and a place; what is read is written so
//! that it is read the same; looking at an object never fails.
#![no_main]

use forebay_cache::purge::{Expression, Subject};
use forebay_http::fields::Fields;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => {
            assert!(error.at <= text.len(), "{text}: {error}");
            assert!(!error.message.is_empty() && !error.message.contains('\n'));
            return;
        }
    };
    let again = Expression::parse(expression.text());
    assert_eq!(again.as_ref(), Ok(&expression), "{text}");
    let mut fields = Fields::new();
    fields.push_named(b"Content-Type", b"text/html");
    let subject = Subject {
        host: b"a.example",
        target: text.as_bytes(),
        status: 404,
        fields: &fields,
        key: 1,
        tags: &[],
        asked: 0,
        checked: 0,
    };
    if let Ok(again) = again {
        assert_eq!(
            expression.matches(&subject),
            again.matches(&subject),
            "{text}"
        );
    }
});
