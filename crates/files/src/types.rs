//! Media types by extension.

use forebay_config::settings::Files;

/// Where no type is known.
const UNKNOWN: &str = "application/octet-stream";

/// Newer than the table of the library, or registered otherwise since (RFC 9239).
const NEWER: [(&str, &str); 5] = [
    ("mjs", "text/javascript"),
    ("map", "application/json"),
    ("webmanifest", "application/manifest+json"),
    ("jxl", "image/jxl"),
    ("gltf", "model/gltf+json"),
];

/// Text although their name does not begin so.
const TEXTS: [&str; 5] = [
    "application/javascript",
    "application/xml",
    "application/xhtml+xml",
    "application/rss+xml",
    "application/atom+xml",
];

/// `Content-Type` of a file of this name.
pub fn content_type(name: &[u8], settings: &Files) -> String {
    let extension = extension(name);
    let own = settings.types.get(&extension);
    let kind = match own {
        Some(kind) => kind.as_str(),
        None => usual(&extension),
    };
    match &settings.charset {
        Some(charset) if is_text(kind) => format!("{kind}; charset={charset}"),
        _ => kind.to_owned(),
    }
}

fn usual(extension: &str) -> &'static str {
    let newer = NEWER.iter().find(|(known, _)| *known == extension);
    newer.map_or_else(
        || {
            mime_guess::from_ext(extension)
                .first_raw()
                .unwrap_or(UNKNOWN)
        },
        |(_, kind)| kind,
    )
}

/// In lower case, without its dot; empty where there is none.
fn extension(name: &[u8]) -> String {
    let dot = name.iter().rposition(|&byte| byte == b'.');
    let extension = dot.map_or(&b""[..], |dot| &name[dot + 1..]);
    String::from_utf8_lossy(extension).to_ascii_lowercase()
}

fn is_text(kind: &str) -> bool {
    (kind.starts_with("text/") || TEXTS.contains(&kind)) && !kind.contains(';')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, settings: &Files) -> String {
        content_type(name.as_bytes(), settings)
    }

    #[test]
    fn types_by_table() {
        let usual = Files::default();
        for (name, expected) in [
            ("index.html", "text/html; charset=utf-8"),
            ("INDEX.HTM", "text/html; charset=utf-8"),
            ("a.css", "text/css; charset=utf-8"),
            ("a.js", "text/javascript; charset=utf-8"),
            ("a.mjs", "text/javascript; charset=utf-8"),
            ("a.json", "application/json"),
            ("a.svg", "image/svg+xml"),
            ("a.png", "image/png"),
            ("a.webp", "image/webp"),
            ("a.avif", "image/avif"),
            ("a.woff2", "font/woff2"),
            ("a.wasm", "application/wasm"),
            ("a.pdf", "application/pdf"),
            ("a.mp4", "video/mp4"),
            ("a.txt", "text/plain; charset=utf-8"),
            ("a.tar.gz", "application/gzip"),
            ("Makefile", UNKNOWN),
            ("a.", UNKNOWN),
            ("a.unheard-of", UNKNOWN),
            ("", UNKNOWN),
        ] {
            assert_eq!(kind(name, &usual), expected, "{name}");
        }
    }

    #[test]
    fn the_settings_come_first() {
        let mut settings = Files {
            charset: None,
            ..Files::default()
        };
        settings.types.insert("html".into(), "text/x-own".into());
        assert_eq!(kind("a.html", &settings), "text/x-own");
        assert_eq!(kind("a.css", &settings), "text/css");
        settings.charset = Some("iso-8859-1".into());
        settings
            .types
            .insert("txt".into(), "text/plain; charset=koi8-r".into());
        assert_eq!(kind("a.css", &settings), "text/css; charset=iso-8859-1");
        assert_eq!(kind("a.txt", &settings), "text/plain; charset=koi8-r");
    }
}
