//! Caching directives meant for caches like this one: targeted fields
//! (RFC 9213) such as `CDN-Cache-Control`, the older `Surrogate-Control`
//! (W3C Edge Architecture), and the lists of cache groups (RFC 9875).

use crate::cache_control::{ResponseDirectives, Scope, delta, directive};
use crate::list::{members, split_once, trim};
use crate::structured::{self, Item};

/// Reads all lines of one targeted field (RFC 9213 section 2.1).
///
/// `None` means that the field is to be ignored: it is empty or not a
/// dictionary. A member of a wrong type is ignored alone; of a member that is
/// repeated the last counts.
pub fn parse<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<ResponseDirectives> {
    let mut found = ResponseDirectives::default();
    let mut empty = true;
    for value in values {
        // Keys of a dictionary are lower case; who writes `Max-Age` means `max-age` all the
        // same, and field names in strings have no case.
        structured::dictionary(&value.to_ascii_lowercase(), |key, item| {
            empty = false;
            apply(&mut found, key, item);
        })?;
    }
    (!empty).then_some(found)
}

fn apply(found: &mut ResponseDirectives, key: &[u8], item: Item<'_>) {
    match key {
        b"public" => found.public = flag(item),
        b"private" => found.private = scope(item),
        b"no-cache" => found.no_cache = scope(item),
        b"no-store" => found.no_store = flag(item),
        b"must-revalidate" => found.must_revalidate = flag(item),
        b"proxy-revalidate" => found.proxy_revalidate = flag(item),
        b"must-understand" => found.must_understand = flag(item),
        b"immutable" => found.immutable = flag(item),
        b"no-transform" => found.no_transform = flag(item),
        b"max-age" => found.max_age = seconds(item),
        b"s-maxage" => found.s_maxage = seconds(item),
        b"stale-while-revalidate" => found.stale_while_revalidate = seconds(item),
        b"stale-if-error" => found.stale_if_error = seconds(item),
        _ => {}
    }
}

fn flag(item: Item<'_>) -> bool {
    item == Item::Boolean(true)
}

/// A negative time has passed already.
fn seconds(item: Item<'_>) -> Option<u64> {
    match item {
        Item::Integer(n) => Some(u64::try_from(n).unwrap_or(0)),
        _ => None,
    }
}

fn scope(item: Item<'_>) -> Scope {
    let mut scope = Scope::No;
    match item {
        Item::Boolean(true) => scope.widen(None),
        Item::String(names) | Item::Token(names) => scope.widen(Some(names)),
        _ => {}
    }
    scope
}

/// Reads all lines of `Surrogate-Control`.
///
/// A directive may name the device it is for, `max-age=60;device`: ours counts
/// instead of one for everybody, another's is ignored. `max-age=60+30` adds
/// seconds during which the response may be served stale while it is fetched
/// again. `None` when nothing that is known applies to us; `Cache-Control` then
/// governs alone.
pub fn parse_surrogate<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    device: &[u8],
) -> Option<ResponseDirectives> {
    let (mut ours, mut everybodys) = (Surrogate::default(), Surrogate::default());
    for member in values.flat_map(members) {
        let (text, target) = split_once(member, b';');
        match target.map(trim) {
            None => everybodys.apply(trim(text)),
            Some(target) if target == device => ours.apply(trim(text)),
            Some(_) => {}
        }
    }
    match (ours.known, everybodys.known) {
        (false, false) => None,
        (false, true) => Some(everybodys.directives),
        (true, false) => Some(ours.directives),
        (true, true) => Some(ours.over(everybodys.directives)),
    }
}

#[derive(Default)]
struct Surrogate {
    directives: ResponseDirectives,
    /// Whether any directive was one that is known.
    known: bool,
}

impl Surrogate {
    fn apply(&mut self, text: &[u8]) {
        let (name, argument) = directive(text);
        let Some(argument) = argument.filter(|_| name.eq_ignore_ascii_case(b"max-age")) else {
            self.known |= self.directives.apply(name, argument);
            return;
        };
        let (fresh, extension) = split_once(argument, b'+');
        self.known |= self.directives.apply(name, Some(fresh));
        if let Some(seconds) = delta(extension) {
            self.directives.stale_while_revalidate = Some(seconds);
        }
    }

    /// These directives, and where they say nothing, the others.
    fn over(self, others: ResponseDirectives) -> ResponseDirectives {
        let ours = self.directives;
        let either = |ours: Scope, others| if ours.is_present() { ours } else { others };
        ResponseDirectives {
            public: ours.public || others.public,
            private: either(ours.private, others.private),
            no_cache: either(ours.no_cache, others.no_cache),
            no_store: ours.no_store || (others.no_store && ours.max_age.is_none()),
            must_revalidate: ours.must_revalidate || others.must_revalidate,
            proxy_revalidate: ours.proxy_revalidate || others.proxy_revalidate,
            must_understand: ours.must_understand || others.must_understand,
            immutable: ours.immutable || others.immutable,
            no_transform: ours.no_transform || others.no_transform,
            max_age: ours.max_age.or(others.max_age),
            s_maxage: ours.s_maxage.or(others.s_maxage),
            stale_while_revalidate: ours
                .stale_while_revalidate
                .or(others.stale_while_revalidate),
            stale_if_error: ours.stale_if_error.or(others.stale_if_error),
        }
    }
}

/// Reads all lines of a list of strings: `Cache-Groups` or
/// `Cache-Group-Invalidation` (RFC 9875 section 2). Parameters are ignored;
/// members after the first `max` are checked but not kept. `None` when it is
/// not a list, or has a member that is not a string.
pub fn parse_string_list<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    max: usize,
) -> Option<Vec<Box<[u8]>>> {
    let mut found: Vec<Box<[u8]>> = Vec::new();
    let mut strings_only = true;
    for value in values {
        structured::list(value, |item| match item {
            Item::String(raw) if found.len() < max => found.push(structured::unescape(raw).into()),
            Item::String(_) => {}
            _ => strings_only = false,
        })?;
    }
    strings_only.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directives() -> ResponseDirectives {
        ResponseDirectives::default()
    }

    #[test]
    fn targeted_fields() {
        let max_age = |n| {
            Some(ResponseDirectives {
                max_age: Some(n),
                ..directives()
            })
        };
        let names = Scope::Fields(vec!["a".into(), "b".into()]);
        let cases: [(&[&str], Option<ResponseDirectives>); 17] = [
            (&["max-age=60"], max_age(60)),
            (&["max-age=60", "max-age=30"], max_age(30)),
            (&["", "max-age=60"], max_age(60)),
            (&["max-age=60;x=1, foo=bar"], max_age(60)),
            (&["max-age=-1"], max_age(0)),
            (&["max-age=\"60\""], Some(directives())),
            (&["max-age=60.0, no-store=1"], Some(directives())),
            (&["max-age=60, max-age"], Some(directives())),
            (
                &["no-store"],
                Some(ResponseDirectives {
                    no_store: true,
                    ..directives()
                }),
            ),
            (&["no-store, no-store=?0"], Some(directives())),
            (
                &["private"],
                Some(ResponseDirectives {
                    private: Scope::Whole,
                    ..directives()
                }),
            ),
            (
                &["no-cache=\"A, b\""],
                Some(ResponseDirectives {
                    no_cache: names,
                    ..directives()
                }),
            ),
            (&["max-age=60,"], None),
            (
                &["Max-Age=60"],
                Some(ResponseDirectives {
                    max_age: Some(60),
                    ..directives()
                }),
            ),
            (&["max-age=60", "&&"], None),
            (&[""], None),
            (&[], None),
        ];
        for (lines, expected) in cases {
            assert_eq!(
                parse(lines.iter().map(|l| l.as_bytes())),
                expected,
                "{lines:?}"
            );
        }
    }

    #[test]
    fn surrogate_control() {
        let max_age = |n| {
            Some(ResponseDirectives {
                max_age: Some(n),
                ..directives()
            })
        };
        let cases: [(&[&str], Option<ResponseDirectives>); 15] = [
            (&["max-age=3600"], max_age(3600)),
            (&["MaX-aGe=3600"], max_age(3600)),
            (&["foobar, max-age=3600"], max_age(3600)),
            (&["max-age=3600;forebay"], max_age(3600)),
            (&["max-age=3600; forebay"], max_age(3600)),
            (&["max-age=3600;not-for-you"], None),
            (&["max-age=3600;not-for-you, max-age=7"], max_age(7)),
            (&["max-age=1, max-age=3600;forebay"], max_age(3600)),
            (&["max-age=3600;forebay", "max-age=1"], max_age(3600)),
            (&["no-store, max-age=3600;forebay"], max_age(3600)),
            (
                &["max-age=60+30"],
                Some(ResponseDirectives {
                    max_age: Some(60),
                    stale_while_revalidate: Some(30),
                    ..directives()
                }),
            ),
            (
                &["no-store"],
                Some(ResponseDirectives {
                    no_store: true,
                    ..directives()
                }),
            ),
            (&["max-age =100"], max_age(0)),
            (&["content=\"ESI/1.0;x, max-age=5\""], None),
            (&["foo"], None),
        ];
        for (lines, expected) in cases {
            let read = parse_surrogate(lines.iter().map(|l| l.as_bytes()), b"forebay");
            assert_eq!(read, expected, "{lines:?}");
        }
    }

    #[test]
    fn cache_groups() {
        let cases: [(&[&str], Option<&[&str]>); 8] = [
            (&["\"a\", \"b c\""], Some(&["a", "b c"])),
            (&["\"a\";x=1", "\"\\\"\""], Some(&["a", "\""])),
            (&["\"1\", \"2\", \"3\", \"4\""], Some(&["1", "2", "3"])),
            (&[], Some(&[])),
            (&["a"], None),
            (&["\"a\", 1"], None),
            (&["\"a\","], None),
            (&["\"1\", \"2\", \"3\", 4"], None),
        ];
        for (lines, expected) in cases {
            let read = parse_string_list(lines.iter().map(|l| l.as_bytes()), 3);
            let expected: Option<Vec<Box<[u8]>>> =
                expected.map(|list| list.iter().map(|s| s.as_bytes().into()).collect());
            assert_eq!(read, expected, "{lines:?}");
        }
    }
}
