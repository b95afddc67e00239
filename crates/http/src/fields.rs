//! Field lines of a head or a trailer section.
//!
//! One buffer holds all names and values, a table of offsets says where each
//! line is, and a bit set answers "is there any such field" without a search.
//! A value is reused from request to request so that its buffers are
//! allocated once in a connection's life, not once a request.

macro_rules! known_fields {
    ($($variant:ident = $name:literal,)*) => {
        /// The fields that Forebay looks at; every other is `Other`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum FieldId {
            /// A field that only passes through.
            Other,
            $(#[doc = $name] $variant,)*
        }

        const KNOWN: &[(FieldId, &str)] = &[$((FieldId::$variant, $name),)*];
        const NAMES: &[&str] = &["", $($name,)*];
    };
}

known_fields! {
    AcceptEncoding = "Accept-Encoding",
    AcceptLanguage = "Accept-Language",
    AcceptRanges = "Accept-Ranges",
    Age = "Age",
    Authorization = "Authorization",
    CacheControl = "Cache-Control",
    CacheGroups = "Cache-Groups",
    CacheGroupInvalidation = "Cache-Group-Invalidation",
    CacheStatus = "Cache-Status",
    Connection = "Connection",
    ContentEncoding = "Content-Encoding",
    ContentLanguage = "Content-Language",
    ContentLength = "Content-Length",
    ContentLocation = "Content-Location",
    ContentMd5 = "Content-MD5",
    ContentRange = "Content-Range",
    ContentType = "Content-Type",
    Cookie = "Cookie",
    Date = "Date",
    ETag = "ETag",
    Expect = "Expect",
    Expires = "Expires",
    Forwarded = "Forwarded",
    Host = "Host",
    IfMatch = "If-Match",
    IfModifiedSince = "If-Modified-Since",
    IfNoneMatch = "If-None-Match",
    IfRange = "If-Range",
    IfUnmodifiedSince = "If-Unmodified-Since",
    KeepAlive = "Keep-Alive",
    LastModified = "Last-Modified",
    Location = "Location",
    MaxForwards = "Max-Forwards",
    Pragma = "Pragma",
    ProxyAuthenticate = "Proxy-Authenticate",
    ProxyAuthenticationInfo = "Proxy-Authentication-Info",
    ProxyAuthorization = "Proxy-Authorization",
    ProxyConnection = "Proxy-Connection",
    Range = "Range",
    Referer = "Referer",
    RetryAfter = "Retry-After",
    Server = "Server",
    SetCookie = "Set-Cookie",
    SurrogateCapability = "Surrogate-Capability",
    SurrogateControl = "Surrogate-Control",
    Te = "TE",
    Trailer = "Trailer",
    TransferEncoding = "Transfer-Encoding",
    Upgrade = "Upgrade",
    UserAgent = "User-Agent",
    Vary = "Vary",
    Via = "Via",
    XForwardedFor = "X-Forwarded-For",
    XForwardedHost = "X-Forwarded-Host",
    XForwardedProto = "X-Forwarded-Proto",
}

const SLOTS: usize = 256;

const fn slot(name: &[u8]) -> usize {
    let first = (name[0] | 0x20) as usize;
    let middle = (name[name.len() / 2] | 0x20) as usize;
    let last = (name[name.len() - 1] | 0x20) as usize;
    (name.len() * 37 + first * 11 + middle * 5 + last * 3) % SLOTS
}

/// Open addressing over the known names; 0 ends a probe.
const TABLE: [u8; SLOTS] = {
    let mut table = [0u8; SLOTS];
    let mut i = 0;
    while i < KNOWN.len() {
        let mut at = slot(KNOWN[i].1.as_bytes());
        while table[at] != 0 {
            at = (at + 1) % SLOTS;
        }
        table[at] = i as u8 + 1;
        i += 1;
    }
    table
};

/// Whether two tokens are the same but for case. Setting the bit of case makes only letters of
/// the two cases equal, for no other two bytes of a token differ in it alone.
#[inline]
fn same_name(known: &[u8], name: &[u8]) -> bool {
    const CASE: u64 = 0x2020_2020_2020_2020;
    if known.len() != name.len() {
        return false;
    }
    let (mut a, mut b) = (known, name);
    while let (Some((x, rest_a)), Some((y, rest_b))) =
        (a.split_first_chunk(), b.split_first_chunk())
    {
        if (u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y)) & !CASE != 0 {
            return false;
        }
        (a, b) = (rest_a, rest_b);
    }
    a.iter().zip(b).all(|(x, y)| (x ^ y) & !0x20 == 0)
}

impl FieldId {
    /// The identity of a name, whatever its case.
    #[inline]
    pub fn of(name: &[u8]) -> Self {
        if name.is_empty() {
            return Self::Other;
        }
        let mut at = slot(name);
        loop {
            let Some((id, known)) = (TABLE[at] as usize).checked_sub(1).map(|i| KNOWN[i]) else {
                return Self::Other;
            };
            if same_name(known.as_bytes(), name) {
                return id;
            }
            at = (at + 1) % SLOTS;
        }
    }

    /// The name as it is written; empty for `Other`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// This field's bit in [`Fields::present`].
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << (self as u8)
    }
}

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

#[derive(Clone, Copy, Debug)]
struct Line {
    id: FieldId,
    name_len: u16,
    start: u32,
    value_start: u32,
    value_len: u32,
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
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
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
        for field in self.iter() {
            write_line(out, field.name, field.value);
        }
    }

    /// Takes over the bytes that lines noted with [`Fields::note_line`] lie in.
    #[inline]
    pub(crate) fn take_over(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Notes a line of a head that [`Fields::take_over`] will copy whole.
    #[inline]
    pub(crate) fn note_line(
        &mut self,
        id: FieldId,
        start: usize,
        name_len: usize,
        value: (usize, usize),
    ) {
        self.lines.push(Line {
            id,
            name_len: name_len as u16,
            start: start as u32,
            value_start: value.0 as u32,
            value_len: value.1 as u32,
        });
        self.present |= id.bit();
    }

    #[inline]
    fn push_line(&mut self, id: FieldId, name: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        let value_start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.lines.push(Line {
            id,
            name_len: name.len() as u16,
            start: start as u32,
            value_start: value_start as u32,
            value_len: value.len() as u32,
        });
        self.present |= id.bit();
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
    fn every_known_name_finds_itself_in_any_case() {
        for &(id, name) in KNOWN {
            assert_eq!(FieldId::of(name.as_bytes()), id);
            assert_eq!(FieldId::of(name.to_ascii_uppercase().as_bytes()), id);
            assert_eq!(FieldId::of(name.to_ascii_lowercase().as_bytes()), id);
            assert_eq!(id.name(), name);
        }
        assert!(KNOWN.len() < 64, "a set of fields is 64 bits");
        for other in ["", "X", "Content-Lengt", "Content-Lengthx", "Hosts"] {
            assert_eq!(FieldId::of(other.as_bytes()), FieldId::Other);
        }
    }

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
    fn list_members_respect_quotes() {
        let mut seen = Vec::new();
        each_member(br#" a ,, "b,\"c" , d="e,f",g "#, |member| seen.push(member));
        assert_eq!(seen, [&b"a"[..], br#""b,\"c""#, br#"d="e,f""#, b"g"]);
    }
}
