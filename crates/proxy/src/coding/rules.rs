//! Which responses are worth coding, and what their heads say then.

use std::hash::{DefaultHasher, Hash, Hasher};

use forebay_config::settings::{Coding, Service};
use forebay_http::cache_control::ResponseDirectives;
use forebay_http::fields::{FieldId, Fields, each_member, set};
use forebay_http::negotiate::CodingWeights;
use forebay_http::{ResponseHead, glob};

/// What a location says of content codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodingRules {
    /// Codings that lie beside files, the preferred first.
    pub(crate) beside: Vec<Coding>,
    /// Codings that are made here, the preferred first.
    pub(crate) made: Vec<Coding>,
    types: Vec<String>,
    min_bytes: u64,
    /// Tells these rules from others: what was noted by others does not count.
    number: u32,
}

/// Whether a response may be coded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// It stays as it is.
    No,
    /// Who accepts a coding gets it, and all are told that others may get another form.
    Yes,
    /// The same, and the response itself says already that it varies.
    YesAndVaries,
}

/// The lowest bits of what is noted of an object.
const WORTH_BITS: u32 = 2;

impl CodingRules {
    /// Those of a service, if it has any.
    pub(crate) fn of(service: &Service) -> Option<Box<Self>> {
        let beside = service.files.as_ref().map(|files| &files.precompressed);
        let beside = beside.cloned().unwrap_or_default();
        let made = service.compress.clone();
        if beside.is_empty() && made.is_none() {
            return None;
        }
        let (made, types, min_bytes) = made.map_or_else(Default::default, |made| {
            (made.codings, made.types, made.min_bytes)
        });
        let mut hasher = DefaultHasher::new();
        (&types, min_bytes).hash(&mut hasher);
        Some(Box::new(Self {
            beside,
            made,
            types,
            min_bytes,
            number: (hasher.finish() as u32).max(1 << WORTH_BITS) >> WORTH_BITS,
        }))
    }

    /// Whether a response with this head and a body of that length, if it is known, is coded.
    pub(crate) fn worth<'f>(
        &self,
        status: u16,
        length: Option<u64>,
        fields: impl Iterator<Item = (FieldId, &'f [u8])>,
    ) -> Worth {
        let no_body = matches!(status, 0..200 | 204..=206 | 304 | 416);
        if self.made.is_empty() || no_body || length.is_some_and(|bytes| bytes < self.min_bytes) {
            return Worth::No;
        }
        let (mut fits, mut varies) = (false, false);
        for (id, value) in fields {
            match id {
                FieldId::ContentEncoding if !value.eq_ignore_ascii_case(b"identity") => {
                    return Worth::No;
                }
                FieldId::ContentRange => return Worth::No,
                FieldId::CacheControl if is_not_to_be_changed(value) => return Worth::No,
                FieldId::ContentType => fits = self.is_type(value),
                FieldId::Vary => each_member(value, |name| {
                    varies |= name == b"*" || name.eq_ignore_ascii_case(b"Accept-Encoding");
                }),
                _ => {}
            }
        }
        match (fits, varies) {
            (false, _) => Worth::No,
            (true, false) => Worth::Yes,
            (true, true) => Worth::YesAndVaries,
        }
    }

    /// Whether these media types are coded, whatever their parameters.
    fn is_type(&self, value: &[u8]) -> bool {
        let kind = value.split(|&byte| byte == b';').next().unwrap_or(value);
        let kind = kind.trim_ascii().to_ascii_lowercase();
        let mut types = self.types.iter();
        types.any(|pattern| glob::matches(pattern.as_bytes(), &kind))
    }

    /// What is noted of an object, in its own number.
    pub(crate) fn noted(&self, noted: u32) -> Option<Worth> {
        (noted >> WORTH_BITS == self.number).then_some(match noted & 3 {
            2 => Worth::Yes,
            3 => Worth::YesAndVaries,
            _ => Worth::No,
        })
    }

    /// The number that [`CodingRules::noted`] reads.
    pub(crate) fn note(&self, worth: Worth) -> u32 {
        let worth = match worth {
            Worth::No => 1,
            Worth::Yes => 2,
            Worth::YesAndVaries => 3,
        };
        self.number << WORTH_BITS | worth
    }
}

fn is_not_to_be_changed(cache_control: &[u8]) -> bool {
    ResponseDirectives::parse(std::iter::once(cache_control)).no_transform
}

/// The coding of `codings`, the preferred first, that a client wants most; `None`: the plain form.
pub(crate) fn wanted(
    weights: &CodingWeights,
    codings: impl Iterator<Item = Coding>,
) -> Option<Coding> {
    let mut best = (None, weights.identity.max(1));
    for coding in codings {
        let weight = match coding {
            Coding::Brotli => weights.brotli,
            Coding::Zstd => weights.zstd,
            Coding::Gzip => weights.gzip,
        };
        let is_better = weight > best.1 || (best.0.is_none() && weight == best.1);
        if weight > 0 && is_better {
            best = (Some(coding), weight);
        }
    }
    best.0
}

/// Fields that are true of the plain form only.
const OF_THE_PLAIN_FORM: u64 = set(&[
    FieldId::AcceptRanges,
    FieldId::ContentLength,
    FieldId::ContentMd5,
    FieldId::ContentEncoding,
]);

/// The same, which are known by name alone (RFC 9530).
const DIGESTS: [&[u8]; 3] = [b"content-digest", b"repr-digest", b"digest"];

/// Makes the head of the plain form that of the one in `coding`. Its entity tag becomes weak: the
/// same text, not the same bytes (RFC 9110 section 8.8.3.3).
pub(crate) fn recode(fields: &mut Fields, coding: Coding, worth: Worth) {
    fields.retain(|field| {
        let is_digest = |name: &&[u8]| field.name.eq_ignore_ascii_case(name);
        field.id.bit() & OF_THE_PLAIN_FORM == 0 && !DIGESTS.iter().any(is_digest)
    });
    fields.push(FieldId::ContentEncoding, coding.name().as_bytes());
    if worth != Worth::YesAndVaries {
        fields.push(FieldId::Vary, b"Accept-Encoding");
    }
    let weak = fields.get(FieldId::ETag).and_then(|tag| {
        let is_strong = tag.starts_with(b"\"");
        is_strong.then(|| [b"W/", tag].concat())
    });
    if let Some(weak) = weak {
        fields.set(FieldId::ETag, &weak);
    }
}

/// [`recode`] for a whole head.
pub(crate) fn recoded(mut head: ResponseHead, coding: Coding, worth: Worth) -> ResponseHead {
    recode(&mut head.fields, coding, worth);
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_config::settings::Compress;
    use forebay_http::negotiate::coding_weights;

    fn rules() -> CodingRules {
        let service = Service {
            compress: Some(Compress::default()),
            ..Service::default()
        };
        match CodingRules::of(&service) {
            Some(rules) => *rules,
            None => panic!("it compresses"),
        }
    }

    fn fields(lines: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::new();
        for (name, value) in lines {
            fields.push_named(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    fn worth(status: u16, length: Option<u64>, lines: &[(&str, &str)]) -> Worth {
        let fields = fields(lines);
        rules().worth(
            status,
            length,
            fields.iter().map(|field| (field.id, field.value)),
        )
    }

    #[test]
    fn what_is_coded_by_table() {
        const HTML: (&str, &str) = ("Content-Type", "Text/HTML; charset=utf-8");
        assert_eq!(worth(200, None, &[HTML]), Worth::Yes);
        assert_eq!(worth(200, Some(1024), &[HTML]), Worth::Yes);
        assert_eq!(worth(404, Some(5000), &[HTML]), Worth::Yes);
        let vary = ("Vary", "Cookie, accept-encoding");
        assert_eq!(worth(200, None, &[HTML, vary]), Worth::YesAndVaries);
        for status in [100, 204, 206, 304] {
            assert_eq!(worth(status, None, &[HTML]), Worth::No, "{status}");
        }
        assert_eq!(worth(200, Some(1023), &[HTML]), Worth::No);
        assert_eq!(worth(200, None, &[]), Worth::No);
        for line in [
            ("Content-Encoding", "gzip"),
            ("Cache-Control", "max-age=1, no-transform"),
            ("Content-Range", "bytes 0-1/2"),
        ] {
            assert_eq!(worth(200, None, &[HTML, line]), Worth::No, "{line:?}");
        }
        for (kind, expected) in [
            ("application/json", Worth::Yes),
            ("application/ld+json", Worth::Yes),
            ("image/svg+xml", Worth::Yes),
            ("text/event-stream", Worth::Yes),
            ("image/png", Worth::No),
            ("application/octet-stream", Worth::No),
            ("multipart/byteranges", Worth::No),
        ] {
            assert_eq!(
                worth(200, None, &[("Content-Type", kind)]),
                expected,
                "{kind}"
            );
        }
    }

    #[test]
    fn the_clients_wish_comes_before_ours() {
        const ALL: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];
        let wanted = |value: &str, codings: &[Coding]| {
            let weights = coding_weights(std::iter::once(value.as_bytes()));
            super::wanted(&weights, codings.iter().copied()).map(Coding::name)
        };
        assert_eq!(wanted("gzip, deflate, br, zstd", &ALL), Some("br"));
        assert_eq!(
            wanted("gzip, br", &[Coding::Gzip, Coding::Brotli]),
            Some("gzip")
        );
        assert_eq!(wanted("br;q=0.5, gzip;q=0.9", &ALL), Some("gzip"));
        assert_eq!(wanted("br;q=0, *", &ALL), Some("zstd"));
        assert_eq!(wanted("gzip;q=0.1", &ALL), Some("gzip"));
        assert_eq!(wanted("gzip;q=0.001", &ALL), Some("gzip"));
        assert_eq!(wanted("identity, gzip;q=0.5", &ALL), None);
        assert_eq!(wanted("", &ALL), None);
        assert_eq!(wanted("deflate", &ALL), None);
        assert_eq!(wanted("identity;q=0", &ALL), None);
    }

    #[test]
    fn a_head_says_which_form_it_is_of() {
        let mut fields = fields(&[
            ("Content-Type", "text/html"),
            ("ETag", "\"a\""),
            ("Accept-Ranges", "bytes"),
            ("Content-Length", "5"),
            ("Repr-Digest", "sha-256=:x:"),
        ]);
        recode(&mut fields, Coding::Gzip, Worth::Yes);
        let mut text = Vec::new();
        fields.write_to(&mut text);
        assert_eq!(
            String::from_utf8_lossy(&text),
            "Content-Type: text/html\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n\
             ETag: W/\"a\"\r\n"
        );
        recode(&mut fields, Coding::Brotli, Worth::YesAndVaries);
        assert_eq!(fields.get(FieldId::ETag), Some(&b"W/\"a\""[..]));
        assert_eq!(fields.only(FieldId::Vary), Some(&b"Accept-Encoding"[..]));
    }

    #[test]
    fn what_other_rules_noted_does_not_count() {
        let rules = rules();
        for worth in [Worth::No, Worth::Yes, Worth::YesAndVaries] {
            assert_eq!(rules.noted(rules.note(worth)), Some(worth));
        }
        assert_eq!(rules.noted(0), None);
        let others = CodingRules {
            number: rules.number + 1,
            ..rules.clone()
        };
        assert_eq!(others.noted(rules.note(Worth::Yes)), None);
    }
}
