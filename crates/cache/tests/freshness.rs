//! Freshness arithmetic for any terms, times and requests (RFC 9111 section 4.2).

#![allow(clippy::unwrap_used)]

use forebay_cache::terms::{Arrival, Doubt, Serving, Terms, assess};
use forebay_config::settings::Policy;
use forebay_http::cache_control::RequestDirectives;
use forebay_http::{Fields, Method, ResponseHead};
use proptest::prelude::*;

/// 13 September 2020, 12:26:40.
const NOW: u64 = 1_600_000_000_000;
/// The largest time that a field can state (RFC 9111 section 1.2.2), in milliseconds.
const LONGEST: u64 = (1 << 33) * 1000;

fn times() -> impl Strategy<Value = u64> {
    prop_oneof![0..20_000u64, 0..=LONGEST, Just(0), Just(LONGEST)]
}

fn any_terms() -> impl Strategy<Value = Terms> {
    let windows = (times(), times(), times());
    let age = prop_oneof![times(), Just(u64::MAX / 4)];
    (
        NOW - 10_000..NOW + 10_000,
        age,
        times(),
        windows,
        any::<(bool, bool)>(),
    )
        .prop_map(
            |(
                response_ms,
                initial_age_ms,
                lifetime_ms,
                windows,
                (always_validate, never_stale),
            )| Terms {
                response_ms,
                initial_age_ms,
                lifetime_ms,
                grace_ms: windows.0,
                error_ms: windows.1,
                keep_ms: windows.2,
                last_modified: None,
                date: response_ms / 1000,
                always_validate,
                never_stale: never_stale || always_validate,
            },
        )
}

/// Moments from before the response to long after it.
fn moments() -> impl Strategy<Value = u64> {
    prop_oneof![NOW - 20_000..NOW + 60_000, NOW..NOW + 2 * LONGEST]
}

fn any_request() -> impl Strategy<Value = RequestDirectives> {
    let seconds = || {
        proptest::option::weighted(
            0.4,
            prop_oneof![4 => 0..40u64, 1 => Just(u64::MAX), 1 => any::<u64>()],
        )
    };
    (
        proptest::bool::weighted(0.1),
        seconds(),
        seconds(),
        seconds(),
        seconds(),
    )
        .prop_map(
            |(no_cache, max_age, max_stale, min_fresh, stale_if_error)| RequestDirectives {
                no_cache,
                max_age,
                max_stale,
                min_fresh,
                stale_if_error,
                ..RequestDirectives::default()
            },
        )
}

/// Where something changes, and how many milliseconds from there; 0: anywhere.
fn edges() -> impl Strategy<Value = (u8, i64)> {
    (0..6u8, -2..=2i64)
}

/// `at`, or a moment at an edge of what the terms and the request allow.
fn moment(terms: &Terms, request: &RequestDirectives, (edge, offset): (u8, i64), at: u64) -> u64 {
    let stale = terms.response_ms + terms.lifetime_ms.saturating_sub(terms.initial_age_ms);
    let asked = |seconds: Option<u64>| milliseconds(seconds.unwrap_or(0));
    let edge = match edge {
        0 => return at,
        1 => stale,
        2 => stale + terms.grace_ms,
        3 => stale + asked(request.max_stale),
        4 => stale.saturating_sub(asked(request.min_fresh)),
        _ => terms.response_ms + asked(request.max_age).saturating_sub(terms.initial_age_ms),
    };
    edge.saturating_add_signed(offset)
}

fn milliseconds(seconds: u64) -> u64 {
    seconds.min(1 << 33) * 1000
}

/// How usable an answer is; less with time.
fn rank(serving: Serving) -> u8 {
    match serving {
        Serving::Fresh => 2,
        Serving::Grace | Serving::StaleAccepted => 1,
        Serving::Validate(_) => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn age_starts_as_stated_and_never_falls(terms in any_terms(), at in moments(), later in 0..LONGEST) {
        prop_assert!(terms.age_ms(at) >= terms.initial_age_ms);
        prop_assert_eq!(terms.age_ms(terms.response_ms), terms.initial_age_ms);
        prop_assert!(terms.age_ms(at + later) >= terms.age_ms(at));
        prop_assert!(terms.age_ms(at + later) - terms.age_ms(at) <= later);
    }

    #[test]
    fn age_and_what_is_left_make_up_the_lifetime(terms in any_terms(), at in moments()) {
        let sum = i128::from(terms.ttl_ms(at)) + i128::from(terms.age_ms(at));
        prop_assert_eq!(sum, i128::from(terms.lifetime_ms));
    }

    #[test]
    fn without_a_request_of_its_own_an_object_goes_from_fresh_to_grace_to_validation(
        terms in any_terms(), edge in edges(), at in moments(), later in 0..LONGEST,
    ) {
        let none = RequestDirectives::default();
        let at = moment(&terms, &none, edge, at);
        let (ttl, serving) = (terms.ttl_ms(at), terms.serving(at, &none));
        prop_assert_eq!(serving == Serving::Fresh, ttl > 0 && !terms.always_validate);
        let in_grace = ttl <= 0 && ttl.unsigned_abs() < terms.grace_ms;
        prop_assert_eq!(serving == Serving::Grace, in_grace && !terms.never_stale);
        prop_assert_ne!(serving, Serving::StaleAccepted);
        prop_assert_ne!(serving, Serving::Validate(Doubt::Request));
        prop_assert!(rank(terms.serving(at + later, &none)) <= rank(serving));
    }

    #[test]
    fn what_must_not_be_stale_never_is(mut terms in any_terms(), at in moments(), request in any_request()) {
        terms.never_stale = true;
        let served = terms.serving(at, &request);
        prop_assert!(!matches!(served, Serving::Grace | Serving::StaleAccepted));
        prop_assert!(served != Serving::Fresh || terms.ttl_ms(at) > 0);
        prop_assert!(!terms.may_replace_error(at, &request));
    }

    #[test]
    fn a_requests_own_terms_are_kept(
        terms in any_terms(), edge in edges(), at in moments(), request in any_request(),
    ) {
        let at = moment(&terms, &request, edge, at);
        let (age, ttl) = (terms.age_ms(at), terms.ttl_ms(at));
        let served = terms.serving(at, &request);
        if rank(served) > 0 {
            prop_assert!(!request.no_cache && !terms.always_validate);
            prop_assert!(request.max_age.is_none_or(|most| age <= milliseconds(most)));
            prop_assert!(request.min_fresh.is_none_or(|least| ttl >= milliseconds(least) as i64));
        }
        match served {
            Serving::Fresh => prop_assert!(ttl > 0),
            Serving::Grace => prop_assert!(ttl <= 0 && ttl.unsigned_abs() < terms.grace_ms),
            Serving::StaleAccepted => {
                prop_assert!(ttl <= 0);
                prop_assert!(request.max_stale.is_some_and(|most| ttl.unsigned_abs() <= milliseconds(most)));
            }
            Serving::Validate(Doubt::Stale) => prop_assert!(ttl <= 0),
            Serving::Validate(_) => {}
        }
        let is_stale_accepted = ttl <= 0 && !terms.never_stale && !terms.always_validate
            && request.max_stale.is_some_and(|most| ttl.unsigned_abs() <= milliseconds(most));
        prop_assert!(!is_stale_accepted || served != Serving::Validate(Doubt::Stale));
        // A request can ask for less, never get something fresh that is not.
        if served == Serving::Fresh {
            prop_assert_eq!(terms.serving(at, &RequestDirectives::default()), Serving::Fresh);
        }
    }

    #[test]
    fn windows_close_once(terms in any_terms(), at in moments(), later in 0..LONGEST, request in any_request()) {
        let replaces = terms.may_replace_error(at, &request);
        prop_assert!(replaces || !terms.may_replace_error(at + later, &request));
        prop_assert!(terms.is_worth_keeping(at) || !terms.is_worth_keeping(at + later));
        let none = RequestDirectives::default();
        let usable = rank(terms.serving(at, &none)) > 0 || terms.may_replace_error(at, &none);
        prop_assert!(!usable || terms.is_worth_keeping(at), "what is served is kept");
    }
}

/// Field lines as origins write them, right and wrong.
fn any_lines() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let number = || prop_oneof![any::<u64>(), 0..100u64].prop_map(|number| number.to_string());
    let seconds = (number(), 0..8usize).prop_map(|(number, form)| match form {
        0 => format!("max-age={number}"),
        1 => format!("s-maxage={number}"),
        2 => format!("max-age=\"{number}\", stale-while-revalidate={number}"),
        3 => format!("max-age={number}, stale-if-error={number}"),
        4 => "no-cache".to_owned(),
        5 => format!("must-revalidate, max-age={number}"),
        6 => format!("public, max-age=-{number}"),
        _ => format!("max-age={number}{number}{number}"),
    });
    let date =
        prop_oneof![0..4_000_000_000u64, NOW / 1000 - 100..NOW / 1000 + 100].prop_map(|seconds| {
            let mut text = Vec::new();
            forebay_http::date::write(seconds, &mut text);
            String::from_utf8(text).unwrap()
        });
    let line = prop_oneof![
        seconds.prop_map(|value| ("Cache-Control", value)),
        date.clone().prop_map(|value| ("Expires", value)),
        date.clone().prop_map(|value| ("Date", value)),
        date.prop_map(|value| ("Last-Modified", value)),
        number().prop_map(|value| ("Age", value)),
        "[ -~]{0,12}".prop_map(|value| ("Age", value)),
        "[ -~]{0,12}".prop_map(|value| ("Expires", value)),
        "[ -~]{0,20}".prop_map(|value| ("Cache-Control", value)),
        Just(("ETag", "\"one\"".to_owned())),
    ];
    proptest::collection::vec(line, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn whatever_the_origin_states_the_terms_are_within_bounds(
        lines in any_lines(),
        status in prop_oneof![Just(200u16), 200..600u16],
        delay in 0..10_000u64,
    ) {
        let mut response = ResponseHead { status, ..ResponseHead::default() };
        for (name, value) in &lines {
            response.fields.push_named(name.as_bytes(), value.as_bytes());
        }
        let arrival = Arrival {
            method: &Method::Get,
            request: &Fields::new(),
            response: &response,
            located_here: false,
            request_ms: NOW - delay,
            response_ms: NOW,
            policy: &Policy::default(),
            device: "forebay",
        };
        let Ok(terms) = assess(&arrival) else { return Ok(()) };
        prop_assert!(terms.lifetime_ms <= LONGEST && terms.grace_ms <= LONGEST && terms.error_ms <= LONGEST);
        prop_assert!(terms.initial_age_ms <= u64::MAX / 4);
        prop_assert!(terms.initial_age_ms >= delay, "the way here counts");
        let ages: Vec<u64> = lines.iter().filter(|(name, _)| *name == "Age").filter_map(|(_, v)| v.parse().ok()).collect();
        for age in ages {
            prop_assert!(terms.initial_age_ms >= milliseconds(age), "the age it came with counts");
        }
        prop_assert!(terms.never_stale || !terms.always_validate);
        let no_cache = lines.iter().any(|(name, value)| *name == "Cache-Control" && value == "no-cache");
        let served = terms.serving(NOW, &RequestDirectives::default());
        prop_assert!(!no_cache || rank(served) == 0);
    }
}
