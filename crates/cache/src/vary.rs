//! Variants: which stored response of a key answers a request (RFC 9111 section 4.1).

use std::cell::RefCell;
use std::hash::Hasher;

use forebay_config::settings::Policy;
use forebay_http::fields::{FieldId, Fields, each_member};
use forebay_http::negotiate;
use rapidhash::quality::RapidHasher;

thread_local! {
    /// Room for the values of the request being compared: a hit must not allocate.
    /// It grows to the values of the largest request, which a limit bounds.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What selected a stored response: the fields its `Vary` names, and their
/// values in normal form in the request that it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    names: Box<[Box<[u8]>]>,
    values: Box<[u8]>,
}

/// `Vary: *`, which no later request matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariesOnEverything;

impl Selector {
    /// The selector of a response to `request`; `None` when the response does not vary.
    pub fn of(
        response: &Fields,
        request: &Fields,
        policy: &Policy,
    ) -> Result<Option<Self>, VariesOnEverything> {
        if !response.has(FieldId::Vary) {
            return Ok(None);
        }
        let mut names: Vec<Box<[u8]>> = Vec::new();
        for value in response.all(FieldId::Vary) {
            each_member(value, |name| names.push(name.to_ascii_lowercase().into()));
        }
        // What differs with every client, and what is written anew for the origin, matches nobody.
        let unique = |name: &[u8]| matches!(name, b"*" | b"x-forwarded-for" | b"forwarded");
        if names.iter().any(|name| unique(name)) {
            return Err(VariesOnEverything);
        }
        names.sort();
        names.dedup();
        if names.is_empty() {
            return Ok(None);
        }
        let mut values = Vec::new();
        normal_values(&names, request, policy, &mut values);
        Ok(Some(Self {
            names: names.into(),
            values: values.into(),
        }))
    }

    /// Whether a request selects this response; `language` is the response's Content-Language.
    pub fn matches(&self, request: &Fields, policy: &Policy, language: Option<&[u8]>) -> bool {
        let same = SCRATCH.with_borrow_mut(|values| {
            values.clear();
            normal_values(&self.names, request, policy, values);
            **values == *self.values
        });
        if same {
            return true;
        }
        // A language that the client prefers most is what the origin would select again.
        let (Some(language), true) = (language, policy.normalize_accept_language) else {
            return false;
        };
        let only_language = self.names.len() == 1 && &*self.names[0] == b"accept-language";
        only_language
            && negotiate::language_selected(request.all(FieldId::AcceptLanguage), language)
    }

    /// The names of the fields, in lower case.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| &**name)
    }

    /// The values in normal form.
    pub(crate) fn values(&self) -> &[u8] {
        &self.values
    }

    /// A number that two selectors hardly share; never 0. The same in every process.
    pub(crate) fn fingerprint(&self) -> u32 {
        self.fingerprint_with(&self.values)
    }

    /// That of the response which this request selects, if it varies by the same fields.
    pub(crate) fn fingerprint_for(&self, request: &Fields, policy: &Policy) -> u32 {
        SCRATCH.with_borrow_mut(|values| {
            values.clear();
            normal_values(&self.names, request, policy, values);
            self.fingerprint_with(values)
        })
    }

    fn fingerprint_with(&self, values: &[u8]) -> u32 {
        let mut hasher = RapidHasher::new(0);
        for name in self.names() {
            hasher.write(name);
            hasher.write_u8(0);
        }
        hasher.write(values);
        (hasher.finish() as u32).max(1)
    }

    /// A selector that was written down.
    pub(crate) fn of_parts(names: Box<[Box<[u8]>]>, values: Box<[u8]>) -> Self {
        Self { names, values }
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.values.len() + self.names.iter().map(|name| name.len() + 16).sum::<usize>()
    }
}

/// Appends each named field's value in normal form, each ended by a byte that no value contains.
fn normal_values(names: &[Box<[u8]>], request: &Fields, policy: &Policy, out: &mut Vec<u8>) {
    for name in names {
        let id = FieldId::of(name);
        let values = request.named(name);
        let present = values.clone().next().is_some();
        match id {
            FieldId::AcceptEncoding => negotiate::accept_encoding(values, out),
            FieldId::AcceptLanguage if policy.normalize_accept_language => {
                negotiate::accept_language(values, out);
            }
            _ => negotiate::combine(values, out),
        }
        out.push(if present { 1 } else { 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::new();
        for (name, value) in lines {
            fields.push_named(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    fn selects(vary: &str, stored: &[(&str, &str)], asked: &[(&str, &str)]) -> bool {
        let policy = Policy {
            normalize_accept_language: true,
            ..Policy::default()
        };
        let response = fields(&[("Vary", vary)]);
        match Selector::of(&response, &fields(stored), &policy) {
            Ok(Some(selector)) => selector.matches(&fields(asked), &policy, Some(b"de")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_are_compared_in_normal_form() {
        assert!(selects(
            "Foo",
            &[("Foo", "1, 2")],
            &[("foo", "1"), ("FOO", "2")]
        ));
        assert!(!selects("Foo", &[("Foo", "1")], &[("Foo", "2")]));
        assert!(!selects("Foo", &[("Foo", "1")], &[]));
        assert!(!selects("Foo", &[], &[("Foo", "")]));
        assert!(selects("Foo, Bar", &[("Bar", "1")], &[("Bar", "1")]));
        assert!(selects(
            "Accept-Encoding",
            &[("Accept-Encoding", "gzip, br")],
            &[("Accept-Encoding", "br;q=0.5, gzip")]
        ));
        assert!(selects(
            "Accept-Language",
            &[("Accept-Language", "en, de")],
            &[("Accept-Language", "de, EN")]
        ));
        assert!(selects(
            "Accept-Language",
            &[("Accept-Language", "en, de")],
            &[("Accept-Language", "fr;q=0.5, de")]
        ));
    }

    #[test]
    fn a_star_anywhere_matches_nothing() {
        for vary in ["*", "Foo, *", " , *"] {
            let varies = Selector::of(
                &fields(&[("Vary", vary)]),
                &Fields::new(),
                &Policy::default(),
            );
            assert_eq!(varies, Err(VariesOnEverything));
        }
    }
}
