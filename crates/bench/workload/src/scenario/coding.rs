//! How a text is written where it goes: into a field, a URL, a form, a
//! regular expression.

/// Where the value of a variable goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// As it is.
    Plain,
    /// Into a field of the head: no control bytes, so that a value cannot add a field.
    Field,
    /// Into a path or query: what may not stand there is percent-encoded, `/?&=%` stay.
    Url,
    /// As a name or value of a query (RFC 3986 section 2.3: all but the unreserved is encoded).
    Component,
    /// As a name or value of `application/x-www-form-urlencoded`.
    Form,
    /// Into a regular expression, to mean itself.
    Pattern,
}

impl Coding {
    /// Appends `text`.
    pub(crate) fn write(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Self::Plain => out.extend_from_slice(text.as_bytes()),
            Self::Field => out.extend(text.bytes().map(|byte| match byte {
                b'\t' => byte,
                0..=0x1f | 0x7f => b' ',
                _ => byte,
            })),
            Self::Url => percent(text, in_url, out),
            Self::Component => percent(text, |byte| unreserved(byte) || byte == b'~', out),
            Self::Form => form(text, out),
            Self::Pattern => out.extend_from_slice(regex::escape(text).as_bytes()),
        }
    }

    /// `text` as a text of its own.
    pub(crate) fn encoded(self, text: &str) -> String {
        let mut out = Vec::with_capacity(text.len());
        self.write(text, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

fn form(text: &str, out: &mut Vec<u8>) {
    for (index, part) in text.split(' ').enumerate() {
        if index > 0 {
            out.push(b'+');
        }
        percent(part, |byte| unreserved(byte) || byte == b'*', out);
    }
}

fn unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

/// What a request line may have in its target.
fn in_url(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e)
        && !matches!(
            byte,
            b'"' | b'#' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
        )
}

fn percent(text: &str, stays: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if stays(byte) {
            out.push(byte);
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            out.extend_from_slice(&[b'%', HEX[high], HEX[low]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_place() {
        for (coding, text, expected) in [
            (Coding::Plain, "a\r\nb", "a\r\nb"),
            (Coding::Field, "a\r\nX: b\tc", "a  X: b\tc"),
            (Coding::Url, "/a b?c=ü#d%20", "/a%20b?c=%C3%BC%23d%20"),
            (Coding::Url, "a\r\nb", "a%0D%0Ab"),
            (Coding::Component, "a b&c=d/~", "a%20b%26c%3Dd%2F~"),
            (Coding::Form, "a b&c=d*~", "a+b%26c%3Dd*%7E"),
            (Coding::Pattern, "a.b(", r"a\.b\("),
        ] {
            assert_eq!(coding.encoded(text), expected, "{coding:?}");
        }
    }
}
