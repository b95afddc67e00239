//! `session.save_path` as PHP writes it, and the names of its files.

use std::path::PathBuf;
use std::str::FromStr;

/// How a session's file begins.
const FILE: &[u8] = b"sess_";

/// The longest identifier that PHP makes, in bytes.
const ID_MOST: usize = 256;

/// More levels of directories than anybody has.
const DEPTH_MOST: usize = 16;

/// Where PHP's sessions lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavePath {
    /// The directory.
    pub root: PathBuf,
    /// How many levels of directories with names of one character are below it; `None`: any
    /// number, and what is found is taken.
    pub depth: Option<usize>,
}

impl FromStr for SavePath {
    type Err = String;

    /// `/path`, `N;/path` or `N;MODE;/path`.
    fn from_str(text: &str) -> Result<Self, String> {
        let Some((depth, rest)) = text.split_once(';') else {
            return match text {
                "" => Err("a directory is expected".into()),
                text => Ok(Self {
                    root: text.into(),
                    depth: None,
                }),
            };
        };
        let depth = depth.parse().ok().filter(|depth| *depth <= DEPTH_MOST);
        let root = rest.split_once(';').map_or(rest, |(_mode, root)| root);
        match (depth, root) {
            (Some(depth), root) if !root.is_empty() => Ok(Self {
                root: root.into(),
                depth: Some(depth),
            }),
            _ => Err(format!(
                "`{text}`: expected DIR or PHP's N;MODE;DIR, with N up to {DEPTH_MOST}"
            )),
        }
    }
}

impl SavePath {
    /// Whether directories of the next level are of interest, `depth` levels below the root.
    pub(super) fn goes_below(&self, depth: usize) -> bool {
        depth < self.depth.unwrap_or(DEPTH_MOST)
    }

    /// Whether files are of interest, `depth` levels below the root.
    pub(super) fn has_files(&self, depth: usize) -> bool {
        self.depth.is_none_or(|own| own == depth)
    }
}

/// What an identifier is made of.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b',' || byte == b'-'
}

/// The character that a directory of a level is called, if it is one.
pub(super) fn level(name: &[u8]) -> Option<u8> {
    match name {
        [byte] if is_letter(*byte) => Some(*byte),
        _ => None,
    }
}

/// The session's identifier, if this is the name of its file below directories of these names: PHP
/// looks for a session where its first characters lead.
pub(super) fn identifier<'n>(name: &'n [u8], levels: &[u8]) -> Option<&'n [u8]> {
    let id = name.strip_prefix(FILE)?;
    let is_id = (1..=ID_MOST).contains(&id.len()) && id.iter().all(|byte| is_letter(*byte));
    (is_id && id.starts_with(levels)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_path_is_read_as_php_writes_it() {
        let path = |depth, root: &str| {
            Ok(SavePath {
                root: root.into(),
                depth,
            })
        };
        assert_eq!("/var/lib/php".parse(), path(None, "/var/lib/php"));
        assert_eq!("2;/s".parse(), path(Some(2), "/s"));
        assert_eq!("5;0600;/a;b".parse(), path(Some(5), "/a;b"));
        for text in ["", "x;/s", "2;", "2;0600;", "99;/s", "-1;/s"] {
            assert!(text.parse::<SavePath>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_names_that_php_would_look_for_are_sessions() {
        assert_eq!(identifier(b"sess_ab-,9", b"ab"), Some(&b"ab-,9"[..]));
        assert_eq!(identifier(b"sess_ab", b"b"), None);
        for name in [
            "sess_",
            "sess_a b",
            "sess_a/b",
            "sess_a\r\nflush_all",
            "Sess_a",
            ".",
            "x",
        ] {
            assert_eq!(identifier(name.as_bytes(), b""), None, "{name}");
        }
        assert_eq!(
            identifier(&[b"sess_", &[b'a'; 257][..]].concat(), b""),
            None
        );
        assert_eq!(
            (level(b"a"), level(b"ab"), level(b".")),
            (Some(b'a'), None, None)
        );
    }
}
