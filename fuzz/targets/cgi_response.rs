//! Heads of responses by SCGI, uwsgi and FastCGI: any prefix of a head is incomplete, refused like
//! the whole, or the same head; and what it becomes is a head of HTTP.
#![no_main]

use forebay_http::ResponseHead;
use forebay_http::head::HeadLimits;
use libfuzzer_sys::fuzz_target;

const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 500,
    head_bytes: 2000,
    fields: 20,
};

fuzz_target!(|input: &[u8]| {
    let mut head = ResponseHead::default();
    let whole = forebay_cgi::head::parse(&mut head, input, &LIMITS);
    if let Ok(Some(length)) = whole {
        assert!(length <= input.len());
        assert!((200..1000).contains(&head.status));
        let mut text = format!("HTTP/1.1 {} ", head.status).into_bytes();
        text.extend_from_slice(&head.reason);
        text.extend_from_slice(b"\r\n");
        head.fields.write_to(&mut text);
        text.extend_from_slice(b"\r\n");
        let roomy = HeadLimits {
            line_bytes: 5000,
            head_bytes: 9000,
            fields: 20,
        };
        let again = ResponseHead::default().parse(&text, &roomy);
        assert_eq!(again, Ok(Some(text.len())), "{}", text.escape_ascii());
    }
    let mut prefix = ResponseHead::default();
    for end in 0..input.len().min(300) {
        match forebay_cgi::head::parse(&mut prefix, &input[..end], &LIMITS) {
            Ok(None) => {}
            Ok(Some(length)) => assert_eq!(whole, Ok(Some(length)), "prefix of {end}"),
            Err(error) => assert!(whole.is_err(), "prefix of {end}: {error:?}"),
        }
    }
});
