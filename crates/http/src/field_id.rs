//! The fields that Forebay looks at, and how their names are recognised.
//!
//! A name is compared by words of eight bytes with a table made at compile time: for each
//! known name its bytes in lower case, and which of them are letters. Only letters match in
//! both cases, so that a byte which no token may have never passes for one it resembles.

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

        pub(crate) const KNOWN: &[(FieldId, &str)] = &[$((FieldId::$variant, $name),)*];
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

/// Words of the longest name that is known, with its colon.
const WORDS: usize = 4;

/// A name and its colon as words, the first byte lowest, zeros behind the colon.
type Words = [u64; WORDS];

/// A byte in each byte of a word.
const fn each(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The known names in lower case.
const PATTERNS: [Words; KNOWN.len()] = {
    let mut patterns = [[0; WORDS]; KNOWN.len()];
    let mut i = 0;
    while i < KNOWN.len() {
        let name = KNOWN[i].1.as_bytes();
        let mut at = 0;
        while at < name.len() {
            patterns[i][at / 8] |= (name[at].to_ascii_lowercase() as u64) << (at % 8 * 8);
            at += 1;
        }
        patterns[i][at / 8] |= (b':' as u64) << (at % 8 * 8);
        i += 1;
    }
    patterns
};

/// Whether words of a name and of a known one differ. Of the bytes of known names letters alone
/// have the bit 0x40: there, and only there, the bit of case is set before they are compared.
#[inline]
fn differ(name: u64, known: u64) -> u64 {
    (name | (known & each(0x40)) >> 1) ^ known
}

const SLOTS: usize = 256;

/// Where the search for a name begins that ends in the word `last`.
const fn slot(words: &Words, last: usize) -> usize {
    let (first, last) = (words[0] | each(0x20), words[last % WORDS] | each(0x20));
    ((first ^ last.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// Open addressing over the known names; 0 ends a probe.
const TABLE: [u8; SLOTS] = {
    let mut table = [0u8; SLOTS];
    let mut i = 0;
    while i < KNOWN.len() {
        let mut at = slot(&PATTERNS[i], KNOWN[i].1.len() / 8);
        while table[at] != 0 {
            at = (at + 1) % SLOTS;
        }
        table[at] = i as u8 + 1;
        i += 1;
    }
    table
};

/// The field of a name that ends in the word `last`.
#[inline]
fn find(words: &Words, last: usize) -> FieldId {
    let mut at = slot(words, last);
    while let Some(i) = (TABLE[at] as usize).checked_sub(1) {
        let known = &PATTERNS[i];
        let differs = |at: usize| differ(words[at], known[at]);
        // Most names have two words, the colon in one of them.
        if differs(0) | differs(1) == 0 && (last < 2 || differs(2) | differs(3) == 0) {
            return KNOWN[i].0;
        }
        at = (at + 1) % SLOTS;
    }
    FieldId::Other
}

/// The field that `line` begins with and the length of its name, if it is a known one and a
/// colon follows at once. Anything else is for whoever checks byte by byte.
#[inline]
pub(crate) fn known_at(line: &[u8]) -> Option<(FieldId, usize)> {
    let mut words = [0; WORDS];
    let mut rest = line;
    for (at, slot) in words.iter_mut().enumerate() {
        let (word, after) = rest.split_first_chunk()?;
        let word = u64::from_le_bytes(*word);
        let others = word ^ each(b':');
        // The lowest bit of it is that of the first colon; what is above may err.
        let colons = others.wrapping_sub(each(1)) & !others & each(0x80);
        if colons == 0 {
            (*slot, rest) = (word, after);
            continue;
        }
        // The bytes up to the colon.
        *slot = word & (colons ^ colons.wrapping_sub(1));
        let len = at * 8 + (colons.trailing_zeros() / 8) as usize;
        let id = find(&words, at);
        return (id != FieldId::Other).then_some((id, len));
    }
    None
}

impl FieldId {
    /// The identity of a name, whatever its case.
    #[inline]
    pub fn of(name: &[u8]) -> Self {
        if name.is_empty() || name.len() >= WORDS * 8 {
            return Self::Other;
        }
        let mut words = [0; WORDS];
        let (whole, rest) = name.as_chunks();
        for (word, bytes) in words.iter_mut().zip(whole) {
            *word = u64::from_le_bytes(*bytes);
        }
        words[whole.len()] = rest
            .iter()
            .rev()
            .fold(u64::from(b':'), |word, &byte| word << 8 | u64::from(byte));
        find(&words, whole.len())
    }

    /// The name as it is written; empty for `Other`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// This field's bit in [`Fields::present`](crate::Fields).
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << (self as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_finds_itself_in_any_case() {
        for &(id, name) in KNOWN {
            let upper = name.to_ascii_uppercase();
            let lower = name.to_ascii_lowercase();
            for name in [name, &upper, &lower] {
                assert_eq!(FieldId::of(name.as_bytes()), id);
                let line = format!("{name}: a value that is long enough");
                assert_eq!(known_at(line.as_bytes()), Some((id, name.len())));
            }
            assert_eq!(id.name(), name);
        }
        assert!(KNOWN.len() < 64, "a set of fields is 64 bits");
        for other in ["", "X", "Content-Lengt", "Content-Lengthx", "Hosts"] {
            assert_eq!(FieldId::of(other.as_bytes()), FieldId::Other);
            let line = format!("{other}: a value that is long enough");
            assert_eq!(known_at(line.as_bytes()), None);
        }
    }

    #[test]
    fn one_other_byte_makes_another_name() {
        for &(_, name) in KNOWN {
            for at in 0..name.len() {
                for byte in 0..=255u8 {
                    let mut line = format!("{name}:        ").into_bytes();
                    let same = byte.eq_ignore_ascii_case(&line[at]);
                    line[at] = byte;
                    let found = known_at(&line);
                    assert_eq!(found.is_some(), same, "{:?}", line.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn a_name_without_its_colon_at_hand_is_not_found() {
        assert_eq!(known_at(b"Host"), None);
        assert_eq!(known_at(b"Host : a value"), None);
        assert_eq!(known_at(b": a value"), None);
        let long = [b"x".repeat(40), b": y".to_vec()].concat();
        assert_eq!(known_at(&long), None);
        assert_eq!(known_at(b"TE\0: a value"), None);
        assert_eq!(FieldId::of(b"TE\0"), FieldId::Other);
    }
}
