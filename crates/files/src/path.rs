//! The path of a request as a path below a root. Pure: no file is looked at here.
//!
//! It is decoded once (RFC 3986 section 2.4), and what could mean another file than it shows is
//! refused instead of being cleaned: `..`, slashes and zero bytes that were hidden by encoding,
//! backslashes. A double encoding is no danger: what is left of it are names with a `%`.

/// A path below a root, without a slash at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relative {
    /// With a slash before it: as a path of a request.
    text: Vec<u8>,
}

/// Why a path names no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubtful {
    /// A `%` without two digits, or an encoded zero byte.
    Malformed,
    /// `.` or `..` as a segment, an encoded slash, a backslash.
    Ambiguous,
    /// A name that begins with a dot, where those are not served.
    Hidden,
}

/// Below it names may begin with a dot themselves: RFC 8615.
const WELL_KNOWN: &[u8] = b".well-known";

impl Relative {
    /// Reads the path of a request target, which begins with a slash.
    ///
    /// Slashes that follow each other count as one. With `hidden`, names may begin with a dot;
    /// without, only `/.well-known/` may.
    ///
    /// # Errors
    /// It names no file, whatever there is.
    pub fn of_request(path: &[u8], hidden: bool) -> Result<Self, Doubtful> {
        if path.first() != Some(&b'/') {
            return Err(Doubtful::Ambiguous);
        }
        Self::of_decoded(&decoded(path)?, hidden)
    }

    /// Takes a path that is decoded already, such as one made of a template.
    ///
    /// # Errors
    /// It names no file, whatever there is.
    pub fn of_decoded(path: &[u8], hidden: bool) -> Result<Self, Doubtful> {
        let mut text = Vec::with_capacity(path.len() + 1);
        let segments = path.split(|&byte| byte == b'/').peekable();
        let mut depth = 0;
        for segment in segments {
            if segment.is_empty() {
                continue;
            }
            check(segment, hidden || (depth == 0 && segment == WELL_KNOWN))?;
            text.push(b'/');
            text.extend_from_slice(segment);
            depth += 1;
        }
        if depth == 0 || path.last() == Some(&b'/') {
            text.push(b'/');
        }
        Ok(Self { text })
    }

    /// With the slash at its start.
    pub fn as_path(&self) -> &[u8] {
        &self.text
    }

    /// As the system wants it: empty for the root itself, without slashes at the ends.
    pub fn below(&self) -> &[u8] {
        let path = &self.text[1..];
        path.strip_suffix(b"/").unwrap_or(path)
    }

    /// [`Relative::as_path`], encoded as in a URL.
    pub fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len());
        encode(&self.text, &mut out);
        out
    }

    /// Whether it ends in a slash, and so means a directory.
    pub fn is_directory(&self) -> bool {
        self.text.ends_with(b"/")
    }

    /// The last segment.
    pub fn name(&self) -> &[u8] {
        let path = self.below();
        path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
    }
}

/// `path` with its escapes resolved, once.
fn decoded(path: &[u8]) -> Result<Vec<u8>, Doubtful> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path.iter();
    while let Some(&byte) = rest.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|&digit| (digit as char).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(Doubtful::Malformed);
        };
        match (high << 4 | low) as u8 {
            0 => return Err(Doubtful::Malformed),
            b'/' => return Err(Doubtful::Ambiguous),
            byte => out.push(byte),
        }
    }
    Ok(out)
}

fn check(segment: &[u8], hidden: bool) -> Result<(), Doubtful> {
    if segment == b"." || segment == b".." || segment.contains(&b'\\') {
        return Err(Doubtful::Ambiguous);
    }
    if segment.contains(&0) {
        return Err(Doubtful::Malformed);
    }
    if segment.starts_with(b".") && !hidden {
        return Err(Doubtful::Hidden);
    }
    Ok(())
}

/// Appends `path` with what a URL's path may not contain encoded (RFC 3986 section 3.3).
pub(crate) fn encode(path: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            out.push(byte);
        } else {
            out.extend([
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(path: &str) -> Result<String, Doubtful> {
        let read = Relative::of_request(path.as_bytes(), false)?;
        Ok(String::from_utf8_lossy(read.as_path()).into_owned())
    }

    #[test]
    fn plain_paths_stay_as_they_are() {
        for path in ["/", "/a", "/a/", "/a/b.css", "/a.b/c..d", "/...a"] {
            let expected = if path == "/...a" {
                Err(Doubtful::Hidden)
            } else {
                Ok(path.to_owned())
            };
            assert_eq!(read(path), expected);
        }
        assert_eq!(read("//a///b//").as_deref(), Ok("/a/b/"));
        assert_eq!(read("/%61%20b/%C3%A4").as_deref(), Ok("/a b/ä"));
        assert_eq!(read("/a+b").as_deref(), Ok("/a+b"));
    }

    #[test]
    fn paths_that_could_mean_something_else_are_refused() {
        use Doubtful::{Ambiguous, Hidden, Malformed};
        for (path, why) in [
            ("/..", Ambiguous),
            ("/../a", Ambiguous),
            ("/a/../../b", Ambiguous),
            ("/a/..", Ambiguous),
            ("/./a", Ambiguous),
            ("/%2e%2e/a", Ambiguous),
            ("/%2E./a", Ambiguous),
            ("/.%2e/a", Ambiguous),
            ("/a%2f..%2fb", Ambiguous),
            ("/a%2Fb", Ambiguous),
            ("/a\\..\\b", Ambiguous),
            ("/a%5c..%5cb", Ambiguous),
            ("/a%00", Malformed),
            ("/a%00.html", Malformed),
            ("/a%", Malformed),
            ("/a%2", Malformed),
            ("/a%zz", Malformed),
            ("/%u002e", Malformed),
            ("a", Ambiguous),
            ("", Ambiguous),
            ("*", Ambiguous),
            ("/.git/config", Hidden),
            ("/a/.env", Hidden),
            ("/%2egit/config", Hidden),
            ("/a/.well-known/x", Hidden),
            ("/.well-known/.x", Hidden),
        ] {
            assert_eq!(read(path), Err(why), "{path}");
        }
        assert_eq!(
            read("/.well-known/acme-challenge/x").as_deref(),
            Ok("/.well-known/acme-challenge/x")
        );
        assert!(Relative::of_request(b"/.git/config", true).is_ok());
        assert!(Relative::of_request(b"/a/..", true).is_err());
    }

    #[test]
    fn a_double_encoding_is_decoded_once() {
        assert_eq!(read("/%252e%252e/a").as_deref(), Ok("/%2e%2e/a"));
        assert_eq!(read("/%252fa").as_deref(), Ok("/%2fa"));
    }

    #[test]
    fn a_path_for_the_system_has_no_slashes_at_its_ends() {
        for (path, below, name, is_directory) in [
            ("/", "", "", true),
            ("/a", "a", "a", false),
            ("/a/b/", "a/b", "b", true),
        ] {
            let Ok(read) = Relative::of_request(path.as_bytes(), false) else {
                panic!("{path} is plain")
            };
            assert_eq!(
                (read.below(), read.name()),
                (below.as_bytes(), name.as_bytes())
            );
            assert_eq!(read.is_directory(), is_directory);
        }
    }

    proptest! {
        #[test]
        fn nothing_leads_out_of_the_root(path in proptest::collection::vec(any::<u8>(), 0..60)) {
            let path = [b"/", &path[..]].concat();
            if let Ok(read) = Relative::of_request(&path, true) {
                let below = read.below();
                prop_assert!(!below.starts_with(b"/") && !below.contains(&0));
                let mut segments = below.split(|&byte| byte == b'/');
                prop_assert!(segments.all(|segment| segment != b".." && segment != b"."));
            }
        }

        #[test]
        fn what_is_encoded_is_decoded_again(name in "[^/\\\\\\x00.][^/\\\\\\x00]{0,20}") {
            let mut path = b"/".to_vec();
            encode(name.as_bytes(), &mut path);
            let read = Relative::of_request(&path, false);
            prop_assert_eq!(read.map(|read| read.name().to_vec()), Ok(name.into_bytes()));
        }
    }
}
