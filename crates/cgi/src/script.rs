//! Which script a path names, and what behind it is `PATH_INFO` (RFC 3875 sections 4.1.5 and 4.1.13).
//!
//! `/blog/index.php/2026/may` may be the script `/blog/index.php` with `/2026/may`, or a file in
//! directories with odd names: whoever calls says which files there are, and the first that is one
//! is the script. Nothing else is ever tried, so that `/upload/image.jpg/x.php` finds no script
//! rather than an image that an interpreter takes for one.
//!
//! A name that hides what it is (encoded letters, slashes or dots, `..`, empty segments, NUL) names
//! no script: rules for paths would have been matched against something else than what runs.

/// A script and what the path says behind it, both decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script<'a> {
    /// From the root, with the slash that it begins with; empty where there is no script.
    pub name: &'a [u8],
    /// What follows; empty, or it begins with a slash.
    pub info: &'a [u8],
}

/// How scripts are told from other files.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'a> {
    /// What a script's name ends in, `.php`.
    pub extension: &'a [u8],
    /// The script of a path that ends in a slash, `index.php`.
    pub index: &'a [u8],
}

impl<'a> Script<'a> {
    /// The script that `path` (without its query) names, if `is_file` says that there is one of
    /// this name, and what is behind it leads nowhere else. The parts are written to `decoded`.
    pub fn find(
        path: &[u8],
        naming: &Naming<'_>,
        decoded: &'a mut Vec<u8>,
        mut is_file: impl FnMut(&[u8]) -> bool,
    ) -> Option<Self> {
        decoded.clear();
        let mut rest = path.strip_prefix(b"/")?;
        loop {
            let len = memchr::memchr(b'/', rest).unwrap_or(rest.len());
            let (segment, behind) = rest.split_at(len);
            decoded.push(b'/');
            if segment.is_empty() && behind.is_empty() {
                // A directory: its index.
                decoded.extend_from_slice(naming.index);
                return is_file(decoded).then_some(Self {
                    name: decoded,
                    info: b"",
                });
            }
            let begin = decoded.len();
            decode_name(segment, decoded)?;
            let name = decoded.get(begin..).unwrap_or_default();
            if is_script_name(name, naming.extension) && is_file(decoded) {
                let end = decoded.len();
                decode(behind, decoded)?;
                let (name, info) = decoded.split_at(end);
                return (!leads_elsewhere(info)).then_some(Self { name, info });
            }
            rest = behind.strip_prefix(b"/")?;
        }
    }

    /// No script: the whole path is for the application. `None` when it cannot be decoded, or has
    /// dot segments.
    pub fn none(path: &[u8], decoded: &'a mut Vec<u8>) -> Option<Self> {
        decoded.clear();
        decode(path, decoded)?;
        (!leads_elsewhere(decoded)).then_some(Self {
            name: b"",
            info: decoded,
        })
    }
}

/// Whether a decoded path has dot segments. Rules are matched against the path without them: the
/// application would be asked for another than was let through.
fn leads_elsewhere(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/')
        .any(|segment| matches!(segment, b"." | b".."))
}

/// Whether a file of this name is a script: it must be run or refused, never sent.
pub fn is_script_name(name: &[u8], extension: &[u8]) -> bool {
    !extension.is_empty() && name.len() > extension.len() && name.ends_with(extension)
}

/// Whether some segment of `path` is a script's name, also one that is hidden by encoding: such a
/// path is for the interpreter, who may have nothing there, and for nobody else.
pub fn names_script(path: &[u8], extension: &[u8]) -> bool {
    let is_one = |path: &[u8]| {
        path.split(|&byte| byte == b'/')
            .any(|segment| is_script_name(segment, extension))
    };
    if memchr::memchr(b'%', path).is_none() {
        return is_one(path);
    }
    let mut decoded = Vec::with_capacity(path.len());
    decode(path, &mut decoded).is_none() || is_one(&decoded)
}

/// Decodes a part of a path, once, to the end of `out`. `None` where an escape is malformed or
/// stands for NUL.
pub fn decode(path: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if memchr::memchr(0, path).is_some() {
        return None;
    }
    let mut rest = path;
    while let Some(at) = memchr::memchr(b'%', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        let byte = escape_at(escape).filter(|&byte| byte != 0)?;
        out.push(byte);
        rest = escape.get(3..)?;
    }
    out.extend_from_slice(rest);
    Some(())
}

/// Decodes a segment that may be a directory's or a script's name. `None` where it is not written
/// as such a name is.
fn decode_name(segment: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if matches!(segment, b"" | b"." | b"..") {
        return None;
    }
    let mut rest = segment;
    while let [byte, behind @ ..] = rest {
        rest = match byte {
            b'%' => {
                let byte = escape_at(rest)?;
                if byte.is_ascii_alphanumeric() || b"/\\.-_~\0".contains(&byte) {
                    return None;
                }
                out.push(byte);
                rest.get(3..)?
            }
            b'\\' | 0 => return None,
            &byte => {
                out.push(byte);
                behind
            }
        };
    }
    Some(())
}

/// The byte that `%2f` at the start of `escape` stands for.
fn escape_at(escape: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*escape.get(at)?).to_digit(16);
    Some((digit(1)? * 16 + digit(2)?) as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMING: Naming<'_> = Naming {
        extension: b".php",
        index: b"index.php",
    };

    fn found(path: &str, files: &[&str]) -> Option<(String, String)> {
        let mut decoded = Vec::new();
        let is_file = |name: &[u8]| files.iter().any(|file| file.as_bytes() == name);
        let script = Script::find(path.as_bytes(), &NAMING, &mut decoded, is_file)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some((text(script.name), text(script.info)))
    }

    const FILES: &[&str] = &[
        "/index.php",
        "/a.php",
        "/dir.php/b.php",
        "/blog/index.php",
        "/image.jpg",
        "/a b/\u{fc}.php",
        "/x~y.php",
    ];

    #[test]
    fn scripts_by_table() {
        let cases = [
            ("/index.php", "/index.php", ""),
            ("/", "/index.php", ""),
            ("/blog/", "/blog/index.php", ""),
            ("/a.php/", "/a.php", "/"),
            ("/a.php/b.php", "/a.php", "/b.php"),
            ("/dir.php/b.php/c/d", "/dir.php/b.php", "/c/d"),
            ("/a.php/%C3%A9%2Fx//y", "/a.php", "/\u{e9}/x//y"),
            ("/a%20b/%c3%bc.php/z", "/a b/\u{fc}.php", "/z"),
            ("/x~y.php", "/x~y.php", ""),
        ];
        for (path, name, info) in cases {
            assert_eq!(
                found(path, FILES),
                Some((name.into(), info.into())),
                "{path}"
            );
        }
    }

    #[test]
    fn hostile_names_find_no_script() {
        for path in [
            "",
            "*",
            "/image.jpg/x.php",
            "/image.jpg",
            "/image.jpg%00.php",
            "/image.jpg\0.php",
            "/a.php/\0",
            "/a.php%00",
            "/a.php/%00",
            "/a.ph%70",
            "/a%2ephp",
            "/%61.php",
            "/./a.php",
            "//a.php",
            "/x/../a.php",
            "/%2e%2e/a.php",
            "/dir.php%2fb.php",
            "/dir.php\\b.php",
            "/dir.php%5cb.php",
            "/a.php%",
            "/a.php/%4",
            "/a.php/%zz",
            "/a.php/../../x",
            "/a.php/%2e%2e/x",
            "/a.php/..%2f..%2fx",
            "/a.php/..",
            "/a.php/./x",
            "/a.php.",
            "/a.php%20",
            "/A.PHP",
            "/.php",
            "/blog",
            "/x%7ey.php",
            "/missing.php",
            "/missing.php/",
        ] {
            assert_eq!(found(path, FILES), None, "{path}");
        }
    }

    #[test]
    fn what_hides_a_script_is_no_static_file_either() {
        for path in [
            "/a.php",
            "/a.php/x",
            "/a%2ephp",
            "/a.ph%70",
            "/x/a.php/b/c",
            "/a.php%00",
            "/a%",
        ] {
            assert!(names_script(path.as_bytes(), b".php"), "{path}");
        }
        for path in ["/", "/a", "/.php", "/php", "/a.phps", "/a%20b.html"] {
            assert!(!names_script(path.as_bytes(), b".php"), "{path}");
        }
        assert!(!names_script(b"/a.php", b""));
    }

    #[test]
    fn without_scripts_the_path_is_the_applications() {
        let mut decoded = Vec::new();
        let script = Script::none(b"/a%20b/%2F", &mut decoded).map(|script| script.info.to_vec());
        assert_eq!(script, Some(b"/a b//".to_vec()));
        assert_eq!(Script::none(b"/%00", &mut decoded), None);
    }

    proptest! {
        #[test]
        fn a_script_is_a_plain_name_below_the_root(path in "/?[a-z./%2efF0\\\\~-]{0,30}(\\.php)?[/a-z.%0-9]{0,9}") {
            let mut decoded = Vec::new();
            if let Some(script) = Script::find(path.as_bytes(), &NAMING, &mut decoded, |_| true) {
                let name = String::from_utf8_lossy(script.name).into_owned();
                prop_assert!(name.starts_with('/') && name.ends_with(".php"));
                prop_assert!(!name.contains('\0') && !name.contains("//"));
                prop_assert!(name.split('/').all(|segment| segment != ".." && segment != "."));
                prop_assert!(script.info.is_empty() || script.info.starts_with(b"/"));
                prop_assert!(names_script(path.as_bytes(), b".php") || path.ends_with('/'));
            }
        }
    }
}
