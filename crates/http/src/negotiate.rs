//! Normal forms of the request fields that `Vary` names (RFC 9111 section
//! 4.1), so that requests that mean the same find the same variant.
//!
//! Each writes to a buffer of the caller and allocates nothing else.

use crate::list::{members, split_once, trim};

/// The codings told apart, in the order in which they are written.
const CODINGS: [&[u8]; 4] = [b"br", b"zstd", b"gzip", b"deflate"];
/// Fields with more languages are compared as text.
const MOST_LANGUAGES: usize = 32;
/// A qvalue in thousandths.
const WHOLE: u16 = 1000;

/// Appends the lines of any field as one, joined with `,`, without the optional
/// white space around commas and at the ends (quoted strings stay as they are).
pub fn combine<'a>(values: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let mut first = true;
    for member in values.flat_map(members) {
        if !first {
            out.push(b',');
        }
        first = false;
        out.extend_from_slice(member);
    }
}

/// Appends the normal form of `Accept-Encoding` (RFC 9110 section 12.5.3):
/// those of br, zstd, gzip and deflate that are acceptable, in this order
/// whatever their weights; `identity` when none is; `identity;q=0` at the end
/// when the plain form is refused. The form is itself a valid field value.
///
/// Nothing is appended only when the field is absent, which accepts everything;
/// an empty field accepts `identity` alone.
pub fn accept_encoding<'a>(values: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let (mut weights, mut identity, mut others) = ([None; CODINGS.len()], None, None);
    let mut absent = true;
    for member in values.inspect(|_| absent = false).flat_map(members) {
        let (coding, q) = weighted(member);
        let coding = if coding.eq_ignore_ascii_case(b"x-gzip") {
            b"gzip"
        } else {
            coding
        };
        if let Some(i) = CODINGS.iter().position(|c| c.eq_ignore_ascii_case(coding)) {
            weights[i] = Some(q);
        } else if coding == b"*" {
            others = Some(q);
        } else if coding.eq_ignore_ascii_case(b"identity") {
            identity = Some(q);
        }
    }
    if absent {
        return;
    }
    let start = out.len();
    for (coding, weight) in CODINGS.iter().zip(weights) {
        if weight.or(others).is_some_and(|q| q > 0) {
            separate(start, out);
            out.extend_from_slice(coding);
        }
    }
    if identity.or(others) == Some(0) {
        separate(start, out);
        out.extend_from_slice(b"identity;q=0");
    } else if out.len() == start {
        out.extend_from_slice(b"identity");
    }
}

/// What a request's `Accept-Encoding` makes of the codings, each weight in thousandths; 0: refused
/// (RFC 9110 section 12.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodingWeights {
    /// `br`
    pub brotli: u16,
    /// `zstd`
    pub zstd: u16,
    /// `gzip` or `x-gzip`
    pub gzip: u16,
    /// No coding. Where nothing is said of it, it is the least that is acceptable.
    pub identity: u16,
}

/// Reads the lines of `Accept-Encoding`. A request without any gets no coding.
pub fn coding_weights<'a>(values: impl Iterator<Item = &'a [u8]>) -> CodingWeights {
    let (mut known, mut identity, mut others) = ([None; 3], None, None);
    for member in values.flat_map(members) {
        let (coding, q) = weighted(member);
        let place = match coding.len() {
            2 if coding.eq_ignore_ascii_case(b"br") => Some(0),
            4 if coding.eq_ignore_ascii_case(b"zstd") => Some(1),
            4 if coding.eq_ignore_ascii_case(b"gzip") => Some(2),
            6 if coding.eq_ignore_ascii_case(b"x-gzip") => Some(2),
            _ => None,
        };
        match place {
            Some(place) => known[place] = Some(q),
            None if coding == b"*" => others = Some(q),
            None if coding.eq_ignore_ascii_case(b"identity") => identity = Some(q),
            None => {}
        }
    }
    let [brotli, zstd, gzip] = known.map(|q| q.or(others).unwrap_or(0));
    let identity = identity.unwrap_or(if others == Some(0) { 0 } else { 1 });
    CodingWeights {
        brotli,
        zstd,
        gzip,
        identity,
    }
}

/// Appends the normal form of `Accept-Language` (RFC 9110 section 12.5.4):
/// lower case, the preferred first, equals in the order of the alphabet,
/// refused ones (`q=0`) left out. Of the weights only the order is kept: `de,en`
/// are equals, `de,en;q=0.9` are not, whatever the weights were. The form is
/// itself a valid field value.
pub fn accept_language<'a>(values: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Vec<u8>) {
    let mut languages = [Language { range: b"", q: 0 }; MOST_LANGUAGES];
    let Some(languages) = collect_languages(values.clone(), &mut languages) else {
        let start = out.len();
        combine(values, out);
        return out[start..].make_ascii_lowercase();
    };
    let start = out.len();
    let (mut rank, mut before) = (0, None);
    for language in languages {
        if before.is_some_and(|q| q != language.q) {
            rank = (rank + 1).min(9);
        }
        before = Some(language.q);
        separate(start, out);
        let from = out.len();
        out.extend_from_slice(language.range);
        out[from..].make_ascii_lowercase();
        if rank > 0 {
            out.extend_from_slice(b";q=0.");
            out.push(b'0' + (10 - rank));
        }
    }
}

/// Whether the language that a request's `Accept-Language` prefers above all
/// others is exactly the one of a stored `Content-Language`. `false` when the
/// field has several equals, or the response several languages.
pub fn language_selected<'a>(
    accept: impl Iterator<Item = &'a [u8]>,
    content_language: &[u8],
) -> bool {
    let mut languages = [Language { range: b"", q: 0 }; MOST_LANGUAGES];
    match collect_languages(accept, &mut languages) {
        Some([only]) => only.is(content_language),
        Some([first, second, ..]) => first.q > second.q && first.is(content_language),
        _ => false,
    }
}

#[derive(Clone, Copy)]
struct Language<'a> {
    range: &'a [u8],
    q: u16,
}

impl Language<'_> {
    fn is(&self, content_language: &[u8]) -> bool {
        self.range.eq_ignore_ascii_case(trim(content_language))
    }
}

/// The acceptable languages, each once, the preferred first; `None` when there
/// are too many.
fn collect_languages<'s, 'a>(
    values: impl Iterator<Item = &'a [u8]>,
    space: &'s mut [Language<'a>; MOST_LANGUAGES],
) -> Option<&'s [Language<'a>]> {
    let mut count = 0;
    for (range, q) in values.flat_map(members).map(weighted) {
        if q == 0 || !is_language_range(range) {
            continue;
        }
        let known = space[..count]
            .iter_mut()
            .find(|l| l.range.eq_ignore_ascii_case(range));
        match known {
            Some(language) => language.q = language.q.max(q),
            None => {
                *space.get_mut(count)? = Language { range, q };
                count += 1;
            }
        }
    }
    let lower = |l: &Language<'a>| l.range.iter().map(u8::to_ascii_lowercase);
    space[..count].sort_unstable_by(|a, b| b.q.cmp(&a.q).then_with(|| lower(a).cmp(lower(b))));
    Some(&space[..count])
}

/// Letters, digits and `-`, or `*` (RFC 4647 section 2); what is none is
/// ignored.
fn is_language_range(v: &[u8]) -> bool {
    !v.is_empty()
        && v.iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-*".contains(b))
}

/// Splits `name;q=0.5`; the weight is in thousandths, 1000 when none is given
/// and 0 when it is none of RFC 9110 section 12.4.2. Other parameters are
/// ignored.
fn weighted(member: &[u8]) -> (&[u8], u16) {
    let (name, mut parameters) = split_once(member, b';');
    while let Some(rest) = parameters {
        let (parameter, following) = split_once(rest, b';');
        if let [b'q' | b'Q', b'=', weight @ ..] = trim(parameter) {
            return (trim(name), thousandths(weight).unwrap_or(0));
        }
        parameters = following;
    }
    (trim(name), WHOLE)
}

/// `0`, `1`, `0.5`, `0.125`, `1.000`
fn thousandths(weight: &[u8]) -> Option<u16> {
    let (whole, fraction) = match weight {
        [whole @ (b'0' | b'1')] => (whole, &b""[..]),
        [whole @ (b'0' | b'1'), b'.', fraction @ ..] if fraction.len() <= 3 => (whole, fraction),
        _ => return None,
    };
    let mut q = u16::from(whole - b'0') * WHOLE;
    for (digit, worth) in fraction.iter().zip([100, 10, 1]) {
        q += digit
            .is_ascii_digit()
            .then(|| u16::from(digit - b'0') * worth)?;
    }
    (q <= WHOLE).then_some(q)
}

fn separate(start: usize, out: &mut Vec<u8>) {
    if out.len() > start {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_have_weights() {
        let weights = |value: &str| {
            let weights = coding_weights([value.as_bytes()].into_iter());
            (weights.brotli, weights.zstd, weights.gzip, weights.identity)
        };
        assert_eq!(weights("gzip, deflate, br"), (1000, 0, 1000, 1));
        assert_eq!(weights("gzip;q=0.5, br;q=0"), (0, 0, 500, 1));
        assert_eq!(weights("*"), (1000, 1000, 1000, 1));
        assert_eq!(weights("*;q=0, zstd"), (0, 1000, 0, 0));
        assert_eq!(weights("identity;q=0.8, X-GZIP;q=0.2"), (0, 0, 200, 800));
        assert_eq!(weights(""), (0, 0, 0, 1));
        assert_eq!(
            coding_weights(std::iter::empty()),
            coding_weights([&b""[..]].into_iter())
        );
    }

    fn bytes<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = &'a [u8]> + Clone {
        lines.iter().map(|line| line.as_bytes())
    }

    fn check(cases: &[(&[&str], &str)], normal: impl Fn(&[&str], &mut Vec<u8>)) {
        for (lines, expected) in cases {
            let mut out = b"before".to_vec();
            normal(lines, &mut out);
            assert_eq!(String::from_utf8_lossy(&out[6..]), *expected, "{lines:?}");
        }
    }

    #[test]
    fn combined() {
        let cases: [(&[&str], &str); 6] = [
            (&["1, 2"], "1,2"),
            (&["1", "2"], "1,2"),
            (&[" 1 ,\t2 "], "1,2"),
            (&["\"a , b\" , c d"], "\"a , b\",c d"),
            (&[], ""),
            (&["", "a"], ",a"),
        ];
        check(&cases, |lines, out| combine(bytes(lines), out));
    }

    #[test]
    fn encodings() {
        let cases: [(&[&str], &str); 20] = [
            (&[], ""),
            (&[""], "identity"),
            (&["identity"], "identity"),
            (&["gzip"], "gzip"),
            (&["x-gzip"], "gzip"),
            (&["GZIP;q=0.5"], "gzip"),
            (&["gzip, deflate, br, zstd"], "br,zstd,gzip,deflate"),
            (&["zstd;q=0.1,br", "deflate , gzip"], "br,zstd,gzip,deflate"),
            (&["gzip;q=0"], "identity"),
            (&["gzip;q=0, br;q=0.000"], "identity"),
            (&["gzip;q=x"], "identity"),
            (&["*"], "br,zstd,gzip,deflate"),
            (&["*;q=0"], "identity;q=0"),
            (&["gzip, *;q=0"], "gzip,identity;q=0"),
            (&["gzip, identity;q=0"], "gzip,identity;q=0"),
            (&["gzip, *;q=0, identity"], "gzip"),
            (&["br;q=0, *"], "zstd,gzip,deflate"),
            (&["identity;q=0"], "identity;q=0"),
            (&["compress, dcb"], "identity"),
            (&["gzip;level=1;Q=0.3, br; q=0"], "gzip"),
        ];
        check(&cases, |lines, out| accept_encoding(bytes(lines), out));
    }

    #[test]
    fn languages() {
        let cases: [(&[&str], &str); 12] = [
            (&[], ""),
            (&["en, de"], "de,en"),
            (&["de", "eN"], "de,en"),
            (&[" en ,   De"], "de,en"),
            (&["en-US,en;q=0.5"], "en-us,en;q=0.9"),
            (&["en;q=0.5, en-us"], "en-us,en;q=0.9"),
            (&["fr;q=0.5, de;q=1.0, it;q=0.5"], "de,fr;q=0.9,it;q=0.9"),
            (&["a;q=0.9, b;q=0.8, c;q=0.7"], "a,b;q=0.9,c;q=0.8"),
            (&["en, de;q=0"], "en"),
            (&["en;q=0.5, EN"], "en"),
            (&["*;q=0.1, en"], "en,*;q=0.9"),
            (&["en;q=2, de, \"x\", a b"], "de"),
        ];
        check(&cases, |lines, out| accept_language(bytes(lines), out));
    }

    #[test]
    fn a_normal_form_stays_as_it_is() {
        for line in [
            "fr;q=0.5, de;q=1.0, it;q=0.25, en",
            "b, a",
            "x;q=0.001,y;q=0.002",
        ] {
            let (mut once, mut twice) = (Vec::new(), Vec::new());
            accept_language(bytes(&[line]), &mut once);
            accept_language(std::iter::once(&once[..]), &mut twice);
            assert_eq!(once, twice, "{line}");
        }
    }

    #[test]
    fn too_many_languages_are_compared_as_text() {
        let line = (0..=MOST_LANGUAGES)
            .map(|n| format!("L{n} "))
            .collect::<Vec<_>>()
            .join(", ");
        let mut out = Vec::new();
        accept_language(bytes(&[&line]), &mut out);
        assert!(out.starts_with(b"l0,l1,"));
        assert!(!language_selected(bytes(&[&line]), b"l0"));
    }

    #[test]
    fn more_ranks_than_weights() {
        let line = (0..12)
            .map(|n| format!("l{n};q=0.{:02}", 99 - n))
            .collect::<Vec<_>>()
            .join(",");
        let mut out = Vec::new();
        accept_language(bytes(&[&line]), &mut out);
        assert!(
            out.ends_with(b"l9;q=0.1,l10;q=0.1,l11;q=0.1"),
            "{}",
            out.escape_ascii()
        );
    }

    #[test]
    fn selected_languages() {
        let cases: [(&[&str], &str, bool); 9] = [
            (&["fr;q=0.5, de;q=1.0"], "de", true),
            (&["DE"], " de ", true),
            (&["de, fr;q=0.5"], "fr", false),
            (&["de, en"], "de", false),
            (&["de"], "de-at", false),
            (&["de"], "de, en", false),
            (&["de;q=0"], "de", false),
            (&["*"], "de", false),
            (&[], "de", false),
        ];
        for (lines, content_language, expected) in cases {
            assert_eq!(
                language_selected(bytes(lines), content_language.as_bytes()),
                expected,
                "{lines:?} {content_language}"
            );
        }
    }
}
