//! Text into markup. Whatever a page shows goes through [`escape`].

use std::fmt::Write as _;

/// Text for an element's content or a quoted attribute: no character of it
/// can end the one or the other. Control characters, which XML forbids,
/// become a replacement character.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A coordinate, to a tenth of a pixel: more would only make the page larger.
pub(super) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    format!("{tenths}")
}

/// Adds formatted text; writing into a `String` cannot fail.
pub(super) fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// Labels joined for a data attribute that the script splits again. The
/// separator is taken out of the labels themselves.
pub(super) fn joined<'a>(labels: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for (i, label) in labels.enumerate() {
        if i > 0 {
            text.push('|');
        }
        text.push_str(&escape(label).replace('|', "¦"));
    }
    text
}
