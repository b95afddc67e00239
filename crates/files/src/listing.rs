//! The list of a directory, as a page or as JSON.

use std::fmt::Write as _;
use std::os::fd::{AsFd, OwnedFd};

use forebay_config::settings::{Files, Symlinks};
use forebay_http::date;
use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::path::{self, Relative};
use crate::root::Root;
use crate::stamp::Stamp;

/// Entries of one list; what is beyond is left out, and the list says so.
pub const MOST_ENTRIES: usize = 10_000;

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, any bytes.
    pub name: Vec<u8>,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Bytes, of a file.
    pub size: u64,
    /// Seconds since the epoch.
    pub modified: u64,
}

/// What is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Directories first, each by name.
    pub entries: Vec<Entry>,
    /// There are more.
    pub is_cut: bool,
}

/// Reads the directory at `path`, which is `directory`: what would be served of it.
///
/// # Errors
/// The system cannot read it.
pub fn read(
    root: &Root,
    root_directory: &impl AsFd,
    (directory, path): (&OwnedFd, &Relative),
    settings: &Files,
) -> rustix::io::Result<Listing> {
    let mut listing = Listing::default();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." || (name.starts_with(b".") && !settings.hidden) {
            continue;
        }
        if listing.entries.len() == MOST_ENTRIES {
            listing.is_cut = true;
            break;
        }
        listing.entries.extend(look(
            root,
            root_directory,
            (directory, path),
            name,
            settings,
        ));
    }
    listing.entries.sort_by(|a, b| {
        let directories_first = b.is_directory.cmp(&a.is_directory);
        directories_first.then_with(|| a.name.cmp(&b.name))
    });
    Ok(listing)
}

/// An entry, if it would be served.
fn look(
    root: &Root,
    root_directory: &impl AsFd,
    (directory, path): (&OwnedFd, &Relative),
    name: &[u8],
    settings: &Files,
) -> Option<Entry> {
    let mut stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        if settings.symlinks == Symlinks::Never {
            return None;
        }
        let target = Relative::of_decoded(&[path.as_path(), name].concat(), true).ok()?;
        let target = root.look(root_directory, target.below()).ok()?;
        stat = rustix::fs::fstat(target).ok()?;
    }
    let stamp = Stamp::of(&stat);
    let kind = FileType::from_raw_mode(stat.st_mode);
    let is_served = matches!(kind, FileType::RegularFile | FileType::Directory);
    is_served.then(|| Entry {
        name: name.to_vec(),
        is_directory: kind == FileType::Directory,
        size: stamp.size,
        modified: stamp.modified(),
    })
}

/// The list as a page of HTML.
pub fn html(path: &Relative, listing: &Listing) -> String {
    let title = escaped(path.as_path());
    let mut page = format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Index of {title}</title>\n<style>body{{font:16px sans-serif;margin:2em}}\
         td,th{{padding:.2em 1em .2em 0;text-align:left}}td:nth-child(2){{text-align:right}}\
         </style></head>\n<body><h1>Index of {title}</h1>\n\
         <table><tr><th>Name</th><th>Size</th><th>Modified</th></tr>\n"
    );
    if !path.below().is_empty() {
        page.push_str("<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n");
    }
    for entry in &listing.entries {
        let slash = if entry.is_directory { "/" } else { "" };
        let mut link = b"./".to_vec();
        path::encode(&entry.name, &mut link);
        let size = if entry.is_directory {
            String::new()
        } else {
            entry.size.to_string()
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "<tr><td><a href=\"{}{slash}\">{}{slash}</a></td><td>{size}</td><td>{}</td></tr>",
            escaped(&link),
            escaped(&entry.name),
            date::rfc3339(entry.modified),
        );
    }
    page.push_str("</table>\n");
    if listing.is_cut {
        page.push_str("<p>There are more entries than are shown.</p>\n");
    }
    page.push_str("</body></html>\n");
    page
}

/// The list as JSON: an array of objects with `name`, `type`, `mtime` and, for files, `size`.
pub fn json(listing: &Listing) -> String {
    let mut text = String::from("[");
    for (at, entry) in listing.entries.iter().enumerate() {
        let kind = if entry.is_directory {
            "directory"
        } else {
            "file"
        };
        text.push_str(if at == 0 { "\n" } else { ",\n" });
        text.push_str("{\"name\":\"");
        push_json(&String::from_utf8_lossy(&entry.name), &mut text);
        let modified = date::rfc3339(entry.modified);
        let _ = write!(text, "\",\"type\":\"{kind}\",\"mtime\":\"{modified}\"");
        if !entry.is_directory {
            let _ = write!(text, ",\"size\":{}", entry.size);
        }
        text.push('}');
    }
    text.push_str("\n]\n");
    text
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for letter in String::from_utf8_lossy(bytes).chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#39;"),
            letter if letter.is_control() => text.push('\u{fffd}'),
            letter => text.push(letter),
        }
    }
    text
}

fn push_json(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Listing {
        let entries = names.iter().map(|name| Entry {
            name: name.as_bytes().to_vec(),
            is_directory: false,
            size: 1,
            modified: 0,
        });
        Listing {
            entries: entries.collect(),
            is_cut: false,
        }
    }

    #[test]
    fn names_are_text_and_never_markup() {
        let Ok(path) = Relative::of_request(b"/%3cb%3e/", false) else {
            panic!("a plain path")
        };
        let page = html(
            &path,
            &of(&["<script>\"'&", "javascript:alert(1)", "a?b#c"]),
        );
        assert!(!page.contains("<script>") && !page.contains("<b>"));
        assert!(page.contains("&lt;script&gt;&quot;&#39;&amp;"));
        assert!(page.contains("href=\"./javascript:alert(1)\""));
        assert!(page.contains("href=\"./a%3Fb%23c\""));
        assert!(page.contains("href=\"../\""));
    }

    #[test]
    fn json_is_json() {
        let text = json(&of(&["a\"b\\c\n"]));
        assert!(text.contains(r#"{"name":"a\"b\\c\u000a","type":"file","mtime":"#));
        assert_eq!(json(&Listing::default()), "[\n]\n");
    }
}
