//! Field lines of a head or a trailer section.
//!
//! One buffer holds all names and values, a table of offsets says where each
//! line is, and a bit set answers "is there any such field" without a search.
//! A value is reused from request to request so that its buffers are
//! allocated once in a connection's life, not once a request.

pub use crate::field_id::FieldId;

/// A set of field identities, for [`Fields::has_any`].
pub const fn set(ids: &[FieldId]) -> u64 {
    let mut bits = 0;
    let mut i = 0;
    while i < ids.len() {
        bits |= ids[i].bit();
        i += 1;
    }
    bits
}

/// Where a line lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) id: FieldId,
    /// It lies as it is written: the name, a colon and a space, the value, CRLF.
    pub(crate) plain: bool,
    pub(crate) name_len: u16,
    pub(crate) start: u32,
    pub(crate) value_start: u32,
    pub(crate) value_len: u32,
}

/// One field line.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Which field.
    pub id: FieldId,
    /// The name as received.
    pub name: &'a [u8],
    /// The value without surrounding white space.
    pub value: &'a [u8],
}

/// Field lines in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    lines: Vec<Line>,
    present: u64,
}

impl Fields {
    /// No lines.
    pub const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            lines: Vec::new(),
            present: 0,
        }
    }

    /// Forgets all lines, keeps the buffers.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
        self.present = 0;
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes held, for memory accounting.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.lines.capacity() * size_of::<Line>()
    }

    /// Gives unused capacity back, for heads that are kept.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.lines.shrink_to_fit();
    }

    /// Whether a line of this field is present.
    #[inline]
    pub fn has(&self, id: FieldId) -> bool {
        self.present & id.bit() != 0
    }

    /// Whether a line of any field of a [`set`] is present.
    #[inline]
    pub fn has_any(&self, set: u64) -> bool {
        self.present & set != 0
    }

    /// The lines in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> + Clone {
        self.lines.iter().map(|line| self.field(line))
    }

    /// The value of the first line of a field.
    #[inline]
    pub fn get(&self, id: FieldId) -> Option<&[u8]> {
        if !self.has(id) {
            return None;
        }
        self.lines
            .iter()
            .find(|line| line.id == id)
            .map(|line| self.field(line).value)
    }

    /// The value of a field's line, if there is exactly one.
    #[inline]
    pub fn only(&self, id: FieldId) -> Option<&[u8]> {
        let mut lines = self.lines.iter().filter(|line| line.id == id);
        match (lines.next(), lines.next()) {
            (Some(line), None) => Some(self.field(line).value),
            _ => None,
        }
    }

    /// The values of all lines of a field.
    #[inline]
    pub fn all(&self, id: FieldId) -> impl Iterator<Item = &[u8]> + Clone {
        self.lines
            .iter()
            .filter(move |line| line.id == id)
            .map(|line| self.field(line).value)
    }

    /// The values of all lines with this name, whatever its case.
    pub fn named<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + Clone {
        let id = FieldId::of(name);
        self.lines
            .iter()
            .filter(move |line| line.id == id)
            .map(|line| self.field(line))
            .filter(move |field| id != FieldId::Other || field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value)
    }

    /// How many lines of a field there are.
    pub fn count(&self, id: FieldId) -> usize {
        self.all(id).count()
    }

    /// Adds a line of a known field.
    pub fn push(&mut self, id: FieldId, value: &[u8]) {
        self.push_line(id, id.name().as_bytes(), value);
    }

    /// Adds a line; name and value are taken as they are, so they must be valid.
    pub fn push_named(&mut self, name: &[u8], value: &[u8]) {
        self.push_line(FieldId::of(name), name, value);
    }

    /// Replaces all lines of a field by one.
    pub fn set(&mut self, id: FieldId, value: &[u8]) {
        self.remove(id);
        self.push(id, value);
    }

    /// Removes all lines of a field.
    pub fn remove(&mut self, id: FieldId) {
        if self.has(id) {
            self.lines.retain(|line| line.id != id);
            self.present &= !id.bit();
        }
    }

    /// Removes all lines that do not satisfy `keep`.
    pub fn retain(&mut self, mut keep: impl FnMut(Field<'_>) -> bool) {
        let bytes = &self.bytes;
        self.lines.retain(|line| keep(view(bytes, line)));
        self.present = self.lines.iter().fold(0, |bits, line| bits | line.id.bit());
    }

    /// Appends every line as `Name: value\r\n`.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        self.write_without(0, out);
    }

    /// Appends every line but those of the fields in the [`set`] `dropped`.
    ///
    /// Lines that lie beside each other as they are written are copied in one piece.
    pub fn write_without(&self, dropped: u64, out: &mut Vec<u8>) {
        let mut run = 0..0;
        for line in self
            .lines
            .iter()
            .filter(|line| line.id.bit() & dropped == 0)
        {
            if !line.plain {
                out.extend_from_slice(&self.bytes[run]);
                run = 0..0;
                let field = self.field(line);
                write_line(out, field.name, field.value);
                continue;
            }
            let start = line.start as usize;
            let end = line.value_start as usize + line.value_len as usize + 2;
            if start != run.end {
                out.extend_from_slice(&self.bytes[run]);
                run = start..start;
            }
            run.end = end;
        }
        out.extend_from_slice(&self.bytes[run]);
    }

    /// Takes over the bytes that lines noted with [`Fields::note_line`] lie in.
    #[inline]
    pub(crate) fn take_over(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Notes a line of a head that [`Fields::take_over`] will copy whole.
    #[inline]
    pub(crate) fn note_line(&mut self, line: Line) {
        self.lines.push(line);
        self.present |= line.id.bit();
    }

    #[inline]
    fn push_line(&mut self, id: FieldId, name: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        write_line(&mut self.bytes, name, value);
        self.note_line(Line {
            id,
            plain: true,
            name_len: name.len() as u16,
            start: start as u32,
            value_start: (start + name.len() + 2) as u32,
            value_len: value.len() as u32,
        });
    }

    #[inline]
    fn field(&self, line: &Line) -> Field<'_> {
        view(&self.bytes, line)
    }
}

#[inline]
fn view<'a>(bytes: &'a [u8], line: &Line) -> Field<'a> {
    let name = line.start as usize..line.start as usize + line.name_len as usize;
    let value = line.value_start as usize..(line.value_start + line.value_len) as usize;
    Field {
        id: line.id,
        name: &bytes[name],
        value: &bytes[value],
    }
}

/// Appends one field line, `Name: value\r\n`.
#[inline]
pub fn write_line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Calls `each` with every member of a comma-separated list (RFC 9110 section 5.6.1), empty ones left out.
///
/// Commas within quoted strings do not separate.
pub fn each_member<'a>(value: &'a [u8], mut each: impl FnMut(&'a [u8])) {
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (i, &byte) in value.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                emit(&value[start..i], &mut each);
                start = i + 1;
            }
            _ => {}
        }
    }
    emit(&value[start..], &mut each);

    fn emit<'a>(member: &'a [u8], each: &mut impl FnMut(&'a [u8])) {
        let member = member.trim_ascii();
        if !member.is_empty() {
            each(member);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_keeps_order_and_the_set() {
        let mut fields = Fields::new();
        fields.push(FieldId::Host, b"a");
        fields.push_named(b"x-one", b"1");
        fields.push(FieldId::Via, b"v");
        fields.push_named(b"X-Two", b"2");
        fields.remove(FieldId::Via);
        assert!(!fields.has(FieldId::Via) && fields.has(FieldId::Host));
        let mut out = Vec::new();
        fields.write_to(&mut out);
        assert_eq!(out, b"Host: a\r\nx-one: 1\r\nX-Two: 2\r\n");
        assert_eq!(fields.named(b"X-ONE").collect::<Vec<_>>(), [b"1"]);
        fields.retain(|field| field.id != FieldId::Other);
        assert!(!fields.has(FieldId::Other));
        assert_eq!(fields.len(), 1);
    }

    #[test]
    fn runs_of_lines_are_written_as_one_by_one() {
        let mut fields = Fields::new();
        for (name, value) in [
            ("A", "1"),
            ("Via", "v"),
            ("B", ""),
            ("Age", "2"),
            ("C", "3"),
        ] {
            fields.push_named(name.as_bytes(), value.as_bytes());
        }
        let mut out = Vec::new();
        fields.write_without(set(&[FieldId::Via]), &mut out);
        assert_eq!(out, b"A: 1\r\nB: \r\nAge: 2\r\nC: 3\r\n");
        fields.remove(FieldId::Age);
        out.clear();
        fields.write_to(&mut out);
        assert_eq!(out, b"A: 1\r\nVia: v\r\nB: \r\nC: 3\r\n");
    }

    #[test]
    fn list_members_respect_quotes() {
        let mut seen = Vec::new();
        each_member(br#" a ,, "b,\"c" , d="e,f",g "#, |member| seen.push(member));
        assert_eq!(seen, [&b"a"[..], br#""b,\"c""#, br#"d="e,f""#, b"g"]);
    }
}
