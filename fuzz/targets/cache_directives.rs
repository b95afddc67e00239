//! Caching directives, validators and normal forms, one field line for each
//! line of the input.
#![no_main]

use forebay_http::cache_control::{RequestDirectives, ResponseDirectives};
use forebay_http::{conditional, negotiate, query, targeted};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let lines = || input.split(|&b| b == b'\n');
    let response = ResponseDirectives::parse(lines());
    // One line with commas says the same, if no quote reaches over its end.
    if !input.contains(&b'"') {
        let joined = lines().collect::<Vec<_>>().join(&b", "[..]);
        assert_eq!(
            ResponseDirectives::parse(std::iter::once(&joined[..])),
            response
        );
    }
    let _ = RequestDirectives::parse(lines());
    let _ = targeted::parse(lines());
    let _ = targeted::parse_surrogate(lines(), b"forebay");
    if let Some(strings) = targeted::parse_string_list(lines(), 4) {
        assert!(strings.len() <= 4);
    }
    let _ = conditional::list_matches(lines(), Some(b"\"a\""), true);
    let _ = negotiate::language_selected(lines(), b"de");
    let _ = query::cookie(lines(), b"a");
    normal_forms(input);
});

fn normal_forms(line: &[u8]) {
    type Normal = fn(&[u8], &mut Vec<u8>);
    let forms: [Normal; 5] = [
        |v, out| negotiate::combine(std::iter::once(v), out),
        |v, out| negotiate::accept_encoding(std::iter::once(v), out),
        |v, out| negotiate::accept_language(std::iter::once(v), out),
        |v, out| query::filter_cookies(std::iter::once(v), &["a*".into()], None, out),
        |v, out| query::filter_query(v, &["a*".into()], &[], true, out),
    ];
    for normal in forms {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        normal(line, &mut once);
        normal(&once, &mut twice);
        assert_eq!(once, twice);
    }
}
