//! The head of a response that is a file.

use forebay_config::settings::{Coding, Files};
use forebay_http::fields::{FieldId, Fields};
use forebay_http::{ResponseHead, date};

use crate::path;
use crate::path::Relative;
use crate::stamp::Stamp;
use crate::types::content_type;

/// What is said of a file, but its length.
///
/// `coding` is the one that `stamp`'s file is in, `path` that of the file without it. `varies`:
/// another client may get another coding.
pub fn head(
    path: &Relative,
    stamp: &Stamp,
    coding: Option<Coding>,
    varies: bool,
    settings: &Files,
) -> ResponseHead {
    let mut head = ResponseHead {
        status: 200,
        reason: b"OK".to_vec(),
        ..ResponseHead::default()
    };
    let fields = &mut head.fields;
    let kind = content_type(path.name(), settings);
    fields.push(FieldId::ContentType, kind.as_bytes());
    let mut modified = Vec::with_capacity(32);
    date::write(stamp.modified(), &mut modified);
    fields.push(FieldId::LastModified, &modified);
    fields.push(FieldId::ETag, entity_tag(stamp, coding).as_bytes());
    fields.push(FieldId::AcceptRanges, b"bytes");
    if let Some(coding) = coding {
        fields.push(FieldId::ContentEncoding, coding.name().as_bytes());
    }
    if varies {
        fields.push(FieldId::Vary, b"Accept-Encoding");
    }
    push_max_age(fields, settings);
    head
}

fn push_max_age(fields: &mut Fields, settings: &Files) {
    if let Some(max_age) = settings.max_age {
        let value = format!("max-age={}", max_age.as_secs());
        fields.push(FieldId::CacheControl, value.as_bytes());
    }
}

/// A strong entity tag (RFC 9110 section 8.8.3): it changes with the file's size and with the
/// moment of its last change, and is the same on all machines that have the file with its times.
pub fn entity_tag(stamp: &Stamp, coding: Option<Coding>) -> String {
    let (modified, size) = (stamp.modified_ns, stamp.size);
    match coding {
        None => format!("\"{modified:x}-{size:x}\""),
        Some(coding) => format!("\"{modified:x}-{size:x}-{}\"", coding.name()),
    }
}

/// `Location` of a directory that was asked for without its slash: its path, encoded, and the
/// query. Without scheme and host, so that it holds whatever the client calls this server. A path
/// that begins with two slashes would be taken for a host; [`Relative`] never does.
pub fn with_slash(path: &Relative, query: Option<&[u8]>) -> Vec<u8> {
    let mut location = Vec::new();
    path::encode(path.as_path(), &mut location);
    location.push(b'/');
    if let Some(query) = query {
        location.push(b'?');
        location.extend_from_slice(query);
    }
    location
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp {
        device: 1,
        inode: 2,
        size: 255,
        modified_ns: 1_600_000_000_000_000_001,
        changed_ns: 0,
    };

    #[test]
    fn a_file_is_described_as_a_whole() {
        let Ok(path) = Relative::of_request(b"/a/b.css", false) else {
            panic!("a plain path")
        };
        let settings = Files {
            max_age: Some(std::time::Duration::from_secs(60)),
            ..Files::default()
        };
        let head = head(&path, &STAMP, Some(Coding::Brotli), true, &settings);
        let mut text = Vec::new();
        head.fields.write_to(&mut text);
        assert_eq!(
            String::from_utf8_lossy(&text),
            "Content-Type: text/css; charset=utf-8\r\n\
             Last-Modified: Sun, 13 Sep 2020 12:26:40 GMT\r\n\
             ETag: \"16345785d8a00001-ff-br\"\r\n\
             Accept-Ranges: bytes\r\n\
             Content-Encoding: br\r\n\
             Vary: Accept-Encoding\r\n\
             Cache-Control: max-age=60\r\n"
        );
    }

    #[test]
    fn a_tag_changes_with_the_file() {
        let other = |change: fn(&mut Stamp)| {
            let mut stamp = STAMP;
            change(&mut stamp);
            entity_tag(&stamp, None)
        };
        let own = entity_tag(&STAMP, None);
        assert_ne!(other(|stamp| stamp.size += 1), own);
        assert_ne!(other(|stamp| stamp.modified_ns += 1), own);
        assert_eq!(other(|stamp| stamp.inode += 1), own);
    }

    #[test]
    fn a_redirection_carries_nothing_but_a_path() {
        let location = |path: &[u8], query: Option<&[u8]>| {
            let path = Relative::of_request(path, true).ok()?;
            String::from_utf8(with_slash(&path, query)).ok()
        };
        assert_eq!(location(b"/a", None).as_deref(), Some("/a/"));
        assert_eq!(location(b"/a", Some(b"x=1")).as_deref(), Some("/a/?x=1"));
        assert_eq!(
            location(b"//evil.example", None).as_deref(),
            Some("/evil.example/")
        );
        assert_eq!(
            location(b"/a%0d%0aSet-Cookie:x", None).as_deref(),
            Some("/a%0D%0ASet-Cookie:x/")
        );
        assert_eq!(
            location(b"/%3f%23%25", None).as_deref(),
            Some("/%3F%23%25/")
        );
    }
}
