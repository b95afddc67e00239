//! Queries and cookies reduced to what a cache key or an origin should see.
//!
//! Parameters and cookies are compared as sent; nothing is decoded.

use crate::glob;

/// Queries of up to this many parameters are sorted without allocating.
const FEW: usize = 64;

/// Appends `query` (without its `?`) without the parameters whose name matches
/// a glob of `ignore` and, when `keep` is not empty, with only those whose name
/// matches one of `keep`. The order stays, unless `sort` asks for that of the
/// names; parameters of one name always keep theirs. Empty parameters (`a&&b`)
/// go, unless nothing at all is asked for.
pub fn filter_query(
    query: &[u8],
    ignore: &[String],
    keep: &[String],
    sort: bool,
    out: &mut Vec<u8>,
) {
    if ignore.is_empty() && keep.is_empty() && !sort {
        out.extend_from_slice(query);
        return;
    }
    let chosen = || {
        query.split(|&b| b == b'&').filter(|parameter| {
            let name = name(parameter);
            !parameter.is_empty()
                && !any_matches(ignore, name)
                && (keep.is_empty() || any_matches(keep, name))
        })
    };
    if !sort {
        return join(chosen(), b"&", out);
    }
    let count = chosen().count();
    let (mut few, mut many): ([&[u8]; FEW], Vec<&[u8]>) = ([b""; FEW], Vec::new());
    let parameters = if count <= FEW {
        &mut few[..count]
    } else {
        many.resize(count, b"");
        &mut many[..]
    };
    for (slot, parameter) in parameters.iter_mut().zip(chosen()) {
        *slot = parameter;
    }
    // All are parts of one query, so that their addresses tell their order.
    parameters.sort_unstable_by(|a, b| name(a).cmp(name(b)).then(a.as_ptr().cmp(&b.as_ptr())));
    join(parameters.iter().copied(), b"&", out);
}

/// Appends the cookies of all `Cookie` lines as one, `a=1; b=2`, without those
/// whose name matches a glob of `ignore` and, when `keep` is present, with only
/// those whose name matches one of it. Nothing is appended when none are left:
/// the field is then to be dropped.
pub fn filter_cookies<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    ignore: &[String],
    keep: Option<&[String]>,
    out: &mut Vec<u8>,
) {
    let chosen = values.flat_map(pairs).filter(|pair| {
        let name = cookie_name(pair);
        !any_matches(ignore, name) && keep.is_none_or(|keep| any_matches(keep, name))
    });
    join(chosen, b"; ", out);
}

/// The value of the first cookie of that name (RFC 6265 section 5.4; names are
/// case-sensitive). Quotes around a value are part of it.
pub fn cookie<'a>(mut values: impl Iterator<Item = &'a [u8]>, name: &[u8]) -> Option<&'a [u8]> {
    values.find_map(|value| {
        pairs(value).find_map(|pair| {
            let equals = pair.iter().position(|&b| b == b'=')?;
            (pair[..equals].trim_ascii() == name).then(|| pair[equals + 1..].trim_ascii())
        })
    })
}

fn pairs(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&b| b == b';')
        .map(<[u8]>::trim_ascii)
        .filter(|pair| !pair.is_empty())
}

fn name(pair: &[u8]) -> &[u8] {
    let end = pair.iter().position(|&b| b == b'=').unwrap_or(pair.len());
    &pair[..end]
}

fn cookie_name(pair: &[u8]) -> &[u8] {
    name(pair).trim_ascii()
}

fn any_matches(globs: &[String], name: &[u8]) -> bool {
    globs
        .iter()
        .any(|pattern| glob::matches(pattern.as_bytes(), name))
}

fn join<'a>(parts: impl Iterator<Item = &'a [u8]>, separator: &[u8], out: &mut Vec<u8>) {
    let mut first = true;
    for part in parts {
        if !first {
            out.extend_from_slice(separator);
        }
        first = false;
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::type_complexity)]
    use super::*;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| (*s).to_owned()).collect()
    }

    #[test]
    fn queries() {
        let cases: [(&str, &[&str], &[&str], bool, &str); 11] = [
            ("b=2&a=1&", &[], &[], false, "b=2&a=1&"),
            ("", &["x"], &[], true, ""),
            (
                "utm_source=x&id=1&utm_medium=y",
                &["utm_*"],
                &[],
                false,
                "id=1",
            ),
            ("utm_source=x", &["utm_*"], &[], false, ""),
            ("a=1&b=2&c=3", &[], &["a", "c"], false, "a=1&c=3"),
            ("a=1&b=2&c=3", &["c"], &["a", "c"], false, "a=1"),
            ("b=2&a=1&b=1&a", &[], &[], true, "a=1&a&b=2&b=1"),
            ("a&&b", &["x"], &[], false, "a&b"),
            ("=1&a", &["x"], &[], true, "=1&a"),
            ("a=b=c", &["b*"], &[], false, "a=b=c"),
            ("A=1&a=2", &["a"], &[], false, "A=1"),
        ];
        for (query, ignore, keep, sort, expected) in cases {
            let mut out = Vec::new();
            filter_query(
                query.as_bytes(),
                &strings(ignore),
                &strings(keep),
                sort,
                &mut out,
            );
            assert_eq!(String::from_utf8_lossy(&out), expected, "{query}");
        }
    }

    #[test]
    fn many_parameters_are_sorted_too() {
        let names: Vec<String> = (0..200).rev().map(|n| format!("p{n:03}=")).collect();
        let mut sorted = names.clone();
        sorted.sort();
        let mut out = Vec::new();
        filter_query(names.join("&").as_bytes(), &[], &[], true, &mut out);
        assert_eq!(out, sorted.join("&").as_bytes());
    }

    #[test]
    fn cookies() {
        let lines: [&[u8]; 2] = [b"a=1; _ga=x;b = 2;", b" ;session=\"q=1\""];
        let cases: [(&[&str], Option<&[&str]>, &str); 5] = [
            (&[], None, "a=1; _ga=x; b = 2; session=\"q=1\""),
            (&["_*"], None, "a=1; b = 2; session=\"q=1\""),
            (&[], Some(&["session"]), "session=\"q=1\""),
            (&["a"], Some(&["a", "b"]), "b = 2"),
            (&[], Some(&[]), ""),
        ];
        for (ignore, keep, expected) in cases {
            let mut out = Vec::new();
            let keep = keep.map(strings);
            let lines = lines.iter().copied();
            filter_cookies(lines, &strings(ignore), keep.as_deref(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
        for (name, expected) in [
            ("a", Some(&b"1"[..])),
            ("b", Some(b"2")),
            ("session", Some(b"\"q=1\"")),
            ("A", None),
            ("", None),
        ] {
            assert_eq!(
                cookie(lines.iter().copied(), name.as_bytes()),
                expected,
                "{name}"
            );
        }
    }
}
