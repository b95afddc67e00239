//! Properties of field values: round trips, arithmetic, and that no input
//! panics.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forebay_http::cache_control::{RequestDirectives, ResponseDirectives};
use forebay_http::range::{ContentRange, RangeSpec};
use forebay_http::{conditional, date, glob, negotiate, query, range, targeted, uri};
use proptest::prelude::*;

const LAST: u64 = 253_402_300_799;

fn written(seconds: u64) -> Vec<u8> {
    let mut out = Vec::new();
    date::write(seconds, &mut out);
    out
}

/// Text with much of what fields are made of.
fn field_like() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "max-age",
        "no-cache",
        "private",
        "=",
        ",",
        ";",
        " ",
        "\"",
        "\\",
        "*",
        "-",
        "q=",
        "0",
        "1",
        "99999999999999999999",
        "bytes=",
        "/",
        "//",
        "?",
        "&",
        ":",
        "http:",
        "..",
        "%41",
        "[::1]",
        "W/",
        "gzip",
        "identity",
        "en",
        "de",
        "@",
        "(",
        ")",
        ".",
        "+",
        "'",
        "GMT",
        "Sun, ",
    ];
    let piece = prop_oneof![
        9 => prop::sample::select(words.to_vec()).prop_map(|w| w.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|b| vec![b]),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_date_is_read_as_it_was_written(seconds in 0..=LAST) {
        prop_assert_eq!(date::parse(&written(seconds)), Some(seconds));
    }

    #[test]
    fn dates_are_those_of_another_implementation(seconds in 0..=LAST) {
        let other = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        prop_assert_eq!(written(seconds), other.as_bytes());
    }

    #[test]
    fn a_date_that_another_implementation_reads_is_read_the_same(
        text in "(Sun|Monday|Tue)(, | )([0-3][0-9][ -])?(Jan|Feb|Dec)[ -]([ 12][0-9]|20[0-9]{2}|[0-9]{2}) [0-2][0-9]:[0-5][0-9]:[0-6][0-9]( GMT| 20[0-9]{2})",
    ) {
        if let Ok(time) = httpdate::parse_http_date(&text) {
            let other = time.duration_since(UNIX_EPOCH).unwrap().as_secs();
            prop_assert_eq!(date::parse(text.as_bytes()), Some(other));
        }
    }

    #[test]
    fn dates_before_now_are_before_now(a in 0..=LAST, b in 0..=LAST) {
        let time = |text: &[u8]| -> SystemTime {
            httpdate::parse_http_date(std::str::from_utf8(text).unwrap()).unwrap()
        };
        prop_assert_eq!(a < b, time(&written(a)) < time(&written(b)));
    }

    #[test]
    fn resolved_ranges_lie_within_the_length(
        text in "bytes=([0-9]{0,3}-[0-9]{0,3},){0,5}[0-9]{1,2}-", length in 0_u64..1200,
    ) {
        let Some(specs) = range::parse(text.as_bytes(), 8) else { return Ok(()) };
        let resolved = range::resolve(&specs, length);
        let asked = |byte: u64| specs.iter().any(|spec| match *spec {
            RangeSpec::From { first, last } => first <= byte && last.is_none_or(|last| byte <= last),
            RangeSpec::Suffix(n) => length - byte <= n,
        });
        let mut merged = resolved.clone();
        range::coalesce(&mut merged);
        for byte in 0..length {
            prop_assert_eq!(resolved.iter().any(|r| r.contains(&byte)), asked(byte), "byte {}", byte);
            prop_assert_eq!(merged.iter().filter(|r| r.contains(&byte)).count(), usize::from(asked(byte)));
        }
        prop_assert!(resolved.iter().all(|r| r.start < r.end && r.end <= length));
        let sum: u64 = merged.iter().map(|r| r.end - r.start).sum();
        prop_assert!(sum <= length);
    }

    #[test]
    fn a_content_range_is_read_as_it_was_written(first in any::<u64>(), last in any::<u64>(), complete in any::<Option<u64>>()) {
        let content_range = ContentRange { range: Some((first, last)), complete };
        let mut out = Vec::new();
        content_range.write(&mut out);
        let sound = first <= last && complete.is_none_or(|complete| last < complete);
        prop_assert_eq!(ContentRange::parse(&out), sound.then_some(content_range));
    }

    #[test]
    fn directives_do_not_depend_on_how_they_are_spread_over_lines(
        parts in prop::collection::vec("(max-age|s-maxage|no-cache|private|no-store|x)(=([0-9]{1,3}|\"[a-c, ]{0,5}\"))?", 0..6),
    ) {
        let line = parts.join(" , ");
        let one = ResponseDirectives::parse(std::iter::once(line.as_bytes()));
        let many = ResponseDirectives::parse(parts.iter().map(|part| part.as_bytes()));
        prop_assert_eq!(&one, &many);
        let upper = line.to_ascii_uppercase();
        prop_assert_eq!(one, ResponseDirectives::parse(std::iter::once(upper.as_bytes())));
    }

    #[test]
    fn a_query_is_only_ever_reordered_or_shortened(
        text in "([a-c]{0,2}(=[0-9]{0,2})?&){0,8}[a-c]{1,2}", sort in any::<bool>(),
    ) {
        let mut out = Vec::new();
        query::filter_query(text.as_bytes(), &["c*".into()], &[], sort, &mut out);
        let mut found: Vec<&[u8]> = out.split(|&b| b == b'&').filter(|p| !p.is_empty()).collect();
        let mut expected: Vec<&[u8]> =
            text.as_bytes().split(|&b| b == b'&').filter(|p| !p.is_empty() && p[0] != b'c').collect();
        if sort {
            let name = |p: &[u8]| p.split(|&b| b == b'=').next().unwrap_or_default().to_vec();
            expected.sort_by_key(|p| name(p));
        }
        prop_assert_eq!(&found, &expected);
        found.clear();
    }

    #[test]
    fn a_glob_made_from_a_text_matches_it(text in "[a-c]{0,12}", cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..4)) {
        let mut pattern = text.clone().into_bytes();
        for (at, star) in cuts {
            if star {
                pattern.insert(at.index(pattern.len() + 1), b'*');
            } else if !pattern.is_empty() {
                let at = at.index(pattern.len());
                if pattern[at] != b'*' { pattern[at] = b'?'; }
            }
        }
        prop_assert!(glob::matches(&pattern, text.as_bytes()));
    }

    #[test]
    fn normal_forms_stay_as_they_are(value in field_like()) {
        type Normal = fn(&[u8], &mut Vec<u8>);
        let forms: [Normal; 3] = [
            |v, out| negotiate::combine(std::iter::once(v), out),
            |v, out| negotiate::accept_encoding(std::iter::once(v), out),
            |v, out| negotiate::accept_language(std::iter::once(v), out),
        ];
        for normal in forms {
            let (mut once, mut twice) = (Vec::new(), Vec::new());
            normal(&value, &mut once);
            normal(&once, &mut twice);
            prop_assert_eq!(once.escape_ascii().to_string(), twice.escape_ascii().to_string());
        }
    }

    #[test]
    fn resolved_references_stay_as_they_are(reference in field_like()) {
        if let Some((authority, target)) = uri::resolve(b"a", b"/b/c?d", &reference) {
            prop_assert!(target.starts_with(b"/"));
            let (path, _) = uri::split_path(&target);
            prop_assert!(!path.split(|&b| b == b'/').any(|s| s == b"." || s == b".."));
            let again = uri::resolve(b"x", b"/", &[b"//", &authority[..], &target].concat());
            prop_assert_eq!(again, Some((authority, target)));
        }
    }

    #[test]
    fn nothing_panics(value in prop_oneof![field_like(), prop::collection::vec(any::<u8>(), 0..100)]) {
        let v = &value[..];
        let one = || std::iter::once(v);
        let mut out = Vec::new();
        let _ = (date::parse(v), RequestDirectives::parse(one()), ResponseDirectives::parse(one()));
        let _ = (targeted::parse(one()), targeted::parse_surrogate(one(), b"1"), targeted::parse_string_list(one(), 2));
        let _ = range::parse(v, 4).map(|specs| range::resolve(&specs, u64::MAX));
        let _ = (ContentRange::parse(v), uri::parse_target(v), uri::parse_host(v), uri::resolve(v, v, v));
        let _ = (conditional::list_matches(one(), Some(v), true), conditional::is_valid_etag(v));
        let _ = (negotiate::language_selected(one(), v), query::cookie(one(), b"1"));
        query::filter_query(v, &["1".into()], &[], true, &mut out);
        query::filter_cookies(one(), &[], None, &mut out);
        prop_assert!(out.len() <= 3 * v.len());
    }
}
