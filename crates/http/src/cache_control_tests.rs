//! Tables of `Cache-Control` fields and what they must be read as.

use super::*;

fn response(lines: &[&str]) -> ResponseDirectives {
    ResponseDirectives::parse(lines.iter().map(|line| line.as_bytes()))
}

fn request(lines: &[&str]) -> RequestDirectives {
    RequestDirectives::parse(lines.iter().map(|line| line.as_bytes()))
}

fn fields(names: &[&str]) -> Scope {
    Scope::Fields(names.iter().map(|&name| name.into()).collect())
}

#[test]
fn max_age_of_responses() {
    let cases: [(&[&str], Option<u64>); 26] = [
        (&["max-age=3600"], Some(3600)),
        (&["MaX-aGe=3600"], Some(3600)),
        (&["max-age=\"3600\""], Some(3600)),
        (&["max-age=003600"], Some(3600)),
        (&["foobar, max-age=3600"], Some(3600)),
        (&[" ,, max-age=3600 ,"], Some(3600)),
        (&["max-age=2147483648"], Some(2_147_483_648)),
        (&["max-age=99999999999"], Some(99_999_999_999)),
        (&["max-age=99999999999999999999999999"], Some(LONGEST)),
        (&["max-age=18446744073709551615"], Some(LONGEST)),
        (&["max-age='3600'"], Some(0)),
        (&["max-age=-3600"], Some(0)),
        (&["max-age=3600.0"], Some(0)),
        (&["max-age=a3600"], Some(0)),
        (&["max-age=3600a"], Some(0)),
        (&["max-age =3600"], Some(0)),
        (&["max-age= 3600"], Some(0)),
        (&["max-age"], Some(0)),
        (&["max-age="], Some(0)),
        (&["max-age=\"36\\00\""], Some(0)),
        (&["extension=\"max-age=3600\", max-age=1"], Some(1)),
        (&["max-age=1, extension=\"a, max-age=3600\""], Some(1)),
        (&["max-age=3600, max-age=1800"], Some(1800)),
        (&["max-age=1", "max-age=1800"], Some(1)),
        (&["x-max-age=3600", "max-agee=1", "max-age:1"], None),
        (&[], None),
    ];
    for (lines, expected) in cases {
        assert_eq!(response(lines).max_age, expected, "{lines:?}");
    }
}

#[test]
fn flags_of_responses() {
    let all = "public, private, no-cache, No-StOrE, must-revalidate, proxy-revalidate, \
               must-understand, immutable, no-transform, max-age=1, s-maxage=2, \
               stale-while-revalidate=3, stale-if-error=4";
    let expected = ResponseDirectives {
        public: true,
        private: Scope::Whole,
        no_cache: Scope::Whole,
        no_store: true,
        must_revalidate: true,
        proxy_revalidate: true,
        must_understand: true,
        immutable: true,
        no_transform: true,
        max_age: Some(1),
        s_maxage: Some(2),
        stale_while_revalidate: Some(3),
        stale_if_error: Some(4),
    };
    assert_eq!(response(&[all]), expected);
    let lines: Vec<_> = all.split(", ").collect();
    assert_eq!(response(&lines), expected);
}

#[test]
fn stale_times_that_cannot_be_read_allow_nothing_and_forbid_nothing() {
    let read = response(&["stale-while-revalidate, stale-if-error=x, s-maxage=x"]);
    assert_eq!(
        (read.stale_while_revalidate, read.stale_if_error),
        (None, None)
    );
    assert_eq!(read.s_maxage, Some(0));
}

#[test]
fn a_quote_that_is_not_closed_hides_nothing() {
    assert!(response(&["private=\"a, no-store"]).no_store);
    assert_eq!(response(&["private=\"a, no-store"]).private, Scope::Whole);
}

#[test]
fn scopes() {
    let cases: [(&[&str], Scope); 12] = [
        (&["no-store"], Scope::No),
        (&["no-cache"], Scope::Whole),
        (&["no-cache=\"a\""], fields(&["a"])),
        (
            &["no-cache=\"Set-Cookie , b,\""],
            fields(&["set-cookie", "b"]),
        ),
        (&["no-cache=Set-Cookie"], fields(&["set-cookie"])),
        (&["no-cache=\"a, A\", no-cache=b"], fields(&["a", "b"])),
        (&["no-cache=\"a\"", "no-cache"], Scope::Whole),
        (&["no-cache", "no-cache=\"a\""], Scope::Whole),
        (&["no-cache=\"\""], Scope::Whole),
        (&["no-cache="], Scope::Whole),
        (&["no-cache=\"a b\""], Scope::Whole),
        (&["no-cache =\"a\""], Scope::Whole),
    ];
    for (lines, expected) in cases {
        assert_eq!(response(lines).no_cache, expected, "{lines:?}");
    }
}

#[test]
fn too_many_names_mean_the_whole_response() {
    let names: Vec<_> = (0..=MOST_NAMES).map(|n| format!("x{n}")).collect();
    let line = |names: &[String]| format!("private=\"{}\"", names.join(","));
    assert_eq!(response(&[&line(&names)]).private, Scope::Whole);
    let some = names[1..].iter().map(|name| name.as_str().into()).collect();
    assert_eq!(response(&[&line(&names[1..])]).private, Scope::Fields(some));
}

#[test]
fn requests() {
    let none = RequestDirectives::default();
    let cases: [(&[&str], RequestDirectives); 9] = [
        (&[], none),
        (
            &["No-Cache"],
            RequestDirectives {
                no_cache: true,
                ..none
            },
        ),
        (
            &["no-store, only-if-cached", "no-transform"],
            RequestDirectives {
                no_store: true,
                only_if_cached: true,
                no_transform: true,
                ..none
            },
        ),
        (
            &["max-age=5, max-age=3"],
            RequestDirectives {
                max_age: Some(3),
                ..none
            },
        ),
        (
            &["max-age=x"],
            RequestDirectives {
                max_age: Some(0),
                ..none
            },
        ),
        (
            &["max-stale"],
            RequestDirectives {
                max_stale: Some(u64::MAX),
                ..none
            },
        ),
        (
            &["max-stale, max-stale=7"],
            RequestDirectives {
                max_stale: Some(7),
                ..none
            },
        ),
        (&["max-stale=x, min-fresh=x"], none),
        (
            &["min-fresh=3, min-fresh=9, stale-if-error=4"],
            RequestDirectives {
                min_fresh: Some(9),
                stale_if_error: Some(4),
                ..none
            },
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(request(lines), expected, "{lines:?}");
    }
}
