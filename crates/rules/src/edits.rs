//! Fields that are removed, set and added on the way to the origin and to the client.

use forebay_config::settings::HeaderEdits;
use forebay_config::template::Groups;
use forebay_http::fields::{Fields, write_line};
use forebay_http::glob;

use crate::subject::{Context, Matched, Subject, Template};

/// Fields that belong to one connection, or say how a message is framed and what its body and its
/// answer depend on, in lower case; nothing takes them away.
const OWN: [&[u8]; 12] = [
    b"connection",
    b"content-encoding",
    b"content-length",
    b"content-range",
    b"host",
    b"keep-alive",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"vary",
];

/// Fields of a WebSocket's handshake (RFC 6455 section 4) begin so, in lower case. Only who names
/// them takes them away: it fails without them.
const HANDSHAKE: &[u8] = b"sec-websocket";

/// The longest value that is written, in bytes: what is put together from a request may be long.
const VALUE_BYTES: usize = 16 << 10;

/// Compiled [`HeaderEdits`].
#[derive(Clone, Debug, Default)]
struct Edits {
    remove: Vec<Box<[u8]>>,
    set: Vec<(Box<[u8]>, Template)>,
    add: Vec<(Box<[u8]>, Template)>,
}

/// What is changed in a request.
#[derive(Clone, Debug, Default)]
pub struct RequestEdits(Edits);

/// What is changed in a response.
#[derive(Clone, Debug, Default)]
pub struct ResponseEdits(Edits);

impl Edits {
    fn new(edits: &HeaderEdits, groups: &Groups) -> Self {
        let list = |pairs: &[(String, String)]| -> Vec<_> {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| (name.as_bytes().into(), Template::new(value, groups)))
                .collect()
        };
        let lower = |name: &String| name.to_ascii_lowercase().into_bytes().into();
        Self {
            remove: edits.remove.iter().map(lower).collect(),
            set: list(&edits.set),
            add: list(&edits.add),
        }
    }

    fn is_empty(&self) -> bool {
        self.remove.is_empty() && self.set.is_empty() && self.add.is_empty()
    }

    /// Whether the field, its name in lower case, is left out or replaced.
    fn drops(&self, name: &[u8]) -> bool {
        if OWN.contains(&name) {
            return false;
        }
        let set = |(own, _): &(Box<[u8]>, Template)| own.eq_ignore_ascii_case(name);
        let is_named = |glob: &[u8]| glob.starts_with(HANDSHAKE) || !name.starts_with(HANDSHAKE);
        let mut removed = self.remove.iter().filter(|glob| is_named(glob));
        self.set.iter().any(set) || removed.any(|glob| glob::matches(glob, name))
    }

    /// The values of what is set, then of what is added; one that is empty is not sent.
    fn values<'a>(
        &'a self,
        subject: &'a Subject<'a>,
        matched: Matched<'a>,
    ) -> impl Iterator<Item = (&'a [u8], Vec<u8>)> + 'a {
        self.set
            .iter()
            .chain(&self.add)
            .filter_map(move |(name, template)| {
                let mut value = Vec::new();
                template.expand(subject, matched, Context::Field, &mut value);
                value.truncate(VALUE_BYTES);
                let value = value.trim_ascii().to_vec();
                (!value.is_empty()).then_some((&**name, value))
            })
    }
}

impl RequestEdits {
    /// Compiles them.
    pub fn new(edits: &HeaderEdits, groups: &Groups) -> Self {
        Self(Edits::new(edits, groups))
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lines that are put in place of what [`RequestEdits::apply`] drops; made before, for they
    /// may name fields that are dropped.
    pub fn lines(&self, subject: &Subject<'_>, matched: Matched<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
        let values = self.0.values(subject, matched);
        values.map(|(name, value)| (name.to_vec(), value)).collect()
    }

    /// Changes the fields of a request whose hop-by-hop fields are gone.
    pub fn apply(&self, fields: &mut Fields, lines: &[(Vec<u8>, Vec<u8>)]) {
        fields.retain(|field| !self.0.drops(&field.name.to_ascii_lowercase()));
        for (name, value) in lines {
            fields.push_named(name, value);
        }
    }
}

impl ResponseEdits {
    /// Compiles them.
    pub fn new(edits: &HeaderEdits, groups: &Groups) -> Self {
        Self(Edits::new(edits, groups))
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is to be done with the head of the response to this request, with `more` lines after.
    pub fn for_request(&self, subject: &Subject<'_>, matched: Matched<'_>) -> HeadChanges {
        let mut lines = Vec::new();
        for (name, value) in self.0.values(subject, matched) {
            write_line(&mut lines, name, &value);
        }
        HeadChanges {
            edits: (!self.is_empty()).then(|| self.clone()),
            dropped: &[],
            lines,
        }
    }
}

/// Changes of one response's head.
#[derive(Clone, Debug, Default)]
pub struct HeadChanges {
    edits: Option<ResponseEdits>,
    /// More names that are left out, in lower case.
    pub dropped: &'static [&'static [u8]],
    /// Whole lines that come last.
    pub lines: Vec<u8>,
}

impl HeadChanges {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.edits.is_none() && self.dropped.is_empty() && self.lines.is_empty()
    }

    /// Changes a head that is being written: what lies in `head` from `from` on is a status line
    /// and whole field lines, without the framing that comes after them.
    pub fn apply(&self, head: &mut Vec<u8>, from: usize) {
        let Some(written) = head.get(from..) else {
            return;
        };
        let mut kept = Vec::with_capacity(written.len() + self.lines.len());
        for (number, line) in written.split_inclusive(|&b| b == b'\n').enumerate() {
            if number == 0 || !self.drops(line) {
                kept.extend_from_slice(line);
            }
        }
        kept.extend_from_slice(&self.lines);
        head.truncate(from);
        head.append(&mut kept);
    }

    fn drops(&self, line: &[u8]) -> bool {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let name = line[..colon].to_ascii_lowercase();
        self.dropped.contains(&&name[..])
            || self
                .edits
                .as_ref()
                .is_some_and(|edits| edits.0.drops(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    fn edits() -> HeaderEdits {
        HeaderEdits {
            remove: vec!["x-*".into(), "server".into()],
            set: vec![
                pair("Cache-Control", "no-store"),
                pair("X-Was", "{header.x-a}"),
            ],
            add: vec![pair("Link", "<{path}>"), pair("Empty", "{header.none}")],
        }
    }

    fn subject(fields: &Fields) -> Subject<'_> {
        Subject {
            host: b"a.example",
            target: b"/p",
            method: b"GET",
            client: "::1",
            secure: false,
            fields,
        }
    }

    #[test]
    fn a_request_is_changed_by_what_it_was() {
        let mut fields = Fields::default();
        for (name, value) in [
            ("X-A", "1"),
            ("x-b", "2"),
            ("Link", "<o>"),
            ("Accept", "*/*"),
        ] {
            fields.push_named(name.as_bytes(), value.as_bytes());
        }
        let edits = RequestEdits::new(&edits(), &Groups::default());
        let lines = edits.lines(&subject(&fields), None);
        edits.apply(&mut fields, &lines);
        let mut out = Vec::new();
        fields.write_to(&mut out);
        let text = String::from_utf8_lossy(&out).to_lowercase();
        assert_eq!(
            text,
            "link: <o>\r\naccept: */*\r\ncache-control: no-store\r\nx-was: 1\r\nlink: </p>\r\n"
        );
    }

    #[test]
    fn only_who_names_a_field_of_the_handshake_takes_it_away() {
        let drops = |glob: &str| {
            let edits = HeaderEdits {
                remove: vec![glob.into()],
                ..HeaderEdits::default()
            };
            Edits::new(&edits, &Groups::default()).drops(b"sec-websocket-extensions")
        };
        assert!(drops("Sec-WebSocket-Extensions") && drops("Sec-WebSocket*"));
        assert!(!drops("*") && !drops("sec-*"));
    }

    #[test]
    fn a_response_keeps_its_status_and_its_framing() {
        let fields = Fields::default();
        let edits = ResponseEdits::new(
            &HeaderEdits {
                remove: vec!["*".into()],
                ..edits()
            },
            &Groups::default(),
        );
        let changes = edits.for_request(&subject(&fields), None);
        let mut head = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
        let from = head.len();
        head.extend_from_slice(
            b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Range: bytes 0-1/2\r\nX-A: 1\r\n",
        );
        changes.apply(&mut head, from);
        assert_eq!(
            String::from_utf8_lossy(&head),
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Range: bytes 0-1/2\r\n\
             Cache-Control: no-store\r\nLink: </p>\r\n"
        );
    }
}
