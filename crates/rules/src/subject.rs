//! What templates are filled from, and how that is made harmless where it is put.

use forebay_config::template::{self, Groups, Piece};
use forebay_http::fields::Fields;
use forebay_http::query;
use regex::bytes::Captures;

/// A request, as templates see it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its host, with the port if one was sent.
    pub host: &'a [u8],
    /// Path and query, as the client sent them.
    pub target: &'a [u8],
    /// Its method.
    pub method: &'a [u8],
    /// The client's address as text.
    pub client: &'a str,
    /// Whether the client spoke TLS.
    pub secure: bool,
    /// Its fields.
    pub fields: &'a Fields,
}

/// Where the text goes, which decides what must not stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// A path or a URL: what is not allowed in one is percent-encoded.
    Url,
    /// A field's value: line ends and other control characters are percent-encoded.
    Field,
    /// Plain text.
    Text,
    /// HTML or XML: what would be markup is escaped.
    Markup,
}

/// A compiled template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

/// What matched, for the groups of templates.
pub type Matched<'a> = Option<&'a Captures<'a>>;

impl Template {
    /// Compiles a template that may name these groups. The configuration's check has seen that it
    /// is right; one that is not stands for itself.
    pub fn new(text: &str, groups: &Groups) -> Self {
        let pieces = template::parse(text, groups);
        Self(pieces.unwrap_or_else(|_| vec![Piece::Text(text.into())]))
    }

    /// Whether the text begins with something that the client says; its host does not count, which
    /// follows a scheme of the operator's.
    pub fn begins_with_request(&self) -> bool {
        let first = self.0.first();
        !first.is_none_or(|piece| matches!(piece, Piece::Text(_) | Piece::Scheme))
    }

    /// Appends the text for a request.
    pub fn expand(
        &self,
        subject: &Subject<'_>,
        matched: Matched<'_>,
        context: Context,
        out: &mut Vec<u8>,
    ) {
        let (path, search) = forebay_http::uri::split_path(subject.target);
        for piece in &self.0 {
            let value: &[u8] = match piece {
                Piece::Text(text) => {
                    out.extend_from_slice(text.as_bytes());
                    continue;
                }
                Piece::Host => subject.host,
                Piece::Path => path,
                Piece::Query => search.unwrap_or_default(),
                Piece::Uri => subject.target,
                Piece::Method => subject.method,
                Piece::Client => subject.client.as_bytes(),
                Piece::Scheme if subject.secure => b"https",
                Piece::Scheme => b"http",
                Piece::Header(name) => {
                    let mut values = subject.fields.named(name.as_bytes());
                    values.next().unwrap_or_default()
                }
                Piece::Cookie(name) => {
                    let cookies = subject.fields.all(forebay_http::fields::FieldId::Cookie);
                    query::cookie(cookies, name.as_bytes()).unwrap_or_default()
                }
                Piece::Parameter(name) => parameter(search, name.as_bytes()).unwrap_or_default(),
                Piece::Group(number) => {
                    let group = matched.and_then(|captures| captures.get(*number));
                    let found = group.map_or(&b""[..], |group| group.as_bytes());
                    // It was decoded: what is said by encoding must be said so again.
                    escape(found, context, true, out);
                    continue;
                }
            };
            escape(value, context, false, out);
        }
    }
}

/// The first parameter of this name, as it stands in the query.
pub fn parameter<'a>(query: Option<&'a [u8]>, name: &[u8]) -> Option<&'a [u8]> {
    parameters(query?, name).next()
}

/// All parameters of this name, as they stand in the query.
pub fn parameters<'a>(query: &'a [u8], name: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    query.split(|&b| b == b'&').filter_map(move |pair| {
        let at = pair.iter().position(|&b| b == b'=');
        let (own, value) = pair.split_at(at.unwrap_or(pair.len()));
        let is_it = own == name || own.contains(&b'%') && crate::path::decoded(own) == name;
        is_it.then_some(value.strip_prefix(b"=").unwrap_or(value))
    })
}

fn escape(value: &[u8], context: Context, is_decoded: bool, out: &mut Vec<u8>) {
    for &byte in value {
        let control = byte < 0x20 || byte == 0x7f;
        let encode = match context {
            Context::Url => {
                let special = is_decoded && matches!(byte, b'%' | b'?' | b'#');
                special || control || byte >= 0x80 || b" \"<>\\^`{|}".contains(&byte)
            }
            Context::Field => control && byte != b'\t',
            Context::Text | Context::Markup => false,
        };
        match (context, byte) {
            _ if encode => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                let digit = |bits: u8| HEX[usize::from(bits & 15)];
                out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte)]);
            }
            (Context::Markup, b'<') => out.extend_from_slice(b"&lt;"),
            (Context::Markup, b'>') => out.extend_from_slice(b"&gt;"),
            (Context::Markup, b'&') => out.extend_from_slice(b"&amp;"),
            (Context::Markup, b'"') => out.extend_from_slice(b"&quot;"),
            (Context::Markup, b'\'') => out.extend_from_slice(b"&#39;"),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expanded(text: &str, pattern: &str, path: &[u8], context: Context) -> Vec<u8> {
        let mut fields = Fields::default();
        fields.push_named(b"X-A", b"a\xff<b>");
        fields.push_named(b"Cookie", b"a=1; s=two");
        let subject = Subject {
            host: b"shop.example",
            target: b"/p/q?x=1&y=%20z",
            method: b"GET",
            client: "192.0.2.1",
            secure: false,
            fields: &fields,
        };
        let regex = template::compile(pattern).unwrap();
        let template = Template::new(text, &Groups::of(&regex));
        let mut out = Vec::new();
        let captures = regex.captures(path);
        template.expand(&subject, captures.as_ref(), context, &mut out);
        out
    }

    #[test]
    fn names() {
        let text = "{scheme}://{host}{path}?{query}|{uri}|{method} {client} {cookie.s} {query.y}";
        let found = expanded(text, "", b"", Context::Text);
        let expected = "http://shop.example/p/q?x=1&y=%20z|/p/q?x=1&y=%20z|GET 192.0.2.1 two %20z";
        assert_eq!(String::from_utf8(found).unwrap(), expected);
    }

    #[test]
    fn groups_are_encoded_where_they_go() {
        let path = b"/a b\r\nSet-Cookie: x?#%/c";
        let url = expanded("/n{1}", "^(.*)$", path, Context::Url);
        assert_eq!(
            expanded("{1}", "(?s)^(.*)$", b"/a\r\nb", Context::Field),
            b"/a%0D%0Ab"
        );
        assert!(url.is_empty() || !url.contains(&b'\n'));
        assert_eq!(
            expanded("/n{1}", "(?s)^(.*)$", path, Context::Url),
            b"/n/a%20b%0D%0ASet-Cookie:%20x%3F%23%25/c"
        );
        assert_eq!(
            expanded("{header.x-a}", "", b"", Context::Markup),
            b"a\xff&lt;b&gt;"
        );
    }

    proptest! {
        #[test]
        fn no_path_ends_a_line(path in prop::collection::vec(any::<u8>(), 0..40)) {
            for context in [Context::Url, Context::Field] {
                let found = expanded("x{1}", "(?s)(.*)", &path, context);
                prop_assert!(!found.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)));
            }
        }
    }
}
