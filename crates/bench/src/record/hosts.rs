//! Which hosts belong to the recording.
//!
//! Pure.

use forebay_http::glob;

/// What browsers ask for by themselves: updates, lists of dangerous sites, whether there is a
/// portal in the way.
const BROWSERS_OWN: &[&str] = &[
    "update.googleapis.com",
    "content-autofill.googleapis.com",
    "optimizationguide-pa.googleapis.com",
    "safebrowsing.googleapis.com",
    "safebrowsingohttpgateway.googleapis.com",
    "android.clients.google.com",
    "clients?.google.com",
    "accounts.google.com",
    "*.gvt?.com",
    "detectportal.firefox.com",
    "*.services.mozilla.com",
    "*.cdn.mozilla.net",
    "*.mozaws.net",
    "edge.microsoft.com",
    "*.msedge.net",
];

/// What becomes of a host's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// They are recorded.
    Kept,
    /// The user wants none of them.
    Unwanted,
    /// The browser makes them by itself.
    BrowsersOwn,
}

/// What becomes of the requests to a host; `wanted` are globs, none is all but the browser's own.
pub(super) fn of(host: &str, wanted: &[String]) -> Use {
    let host = host.to_ascii_lowercase();
    let matches =
        |pattern: &str| glob::matches(pattern.to_ascii_lowercase().as_bytes(), host.as_bytes());
    if wanted.iter().any(|pattern| matches(pattern)) {
        Use::Kept
    } else if BROWSERS_OWN.iter().any(|pattern| matches(pattern)) {
        Use::BrowsersOwn
    } else if wanted.is_empty() {
        Use::Kept
    } else {
        Use::Unwanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_word_comes_first() {
        let wanted = [
            "*.shop.example".to_owned(),
            "accounts.google.com".to_owned(),
        ];
        for (host, wanted, expected) in [
            ("shop.example", &[][..], Use::Kept),
            ("clients2.google.com", &[], Use::BrowsersOwn),
            ("fonts.googleapis.com", &[], Use::Kept),
            ("WWW.shop.example", &wanted, Use::Kept),
            ("tracker.example", &wanted, Use::Unwanted),
            ("accounts.google.com", &wanted, Use::Kept),
            ("update.googleapis.com", &wanted, Use::BrowsersOwn),
        ] {
            assert_eq!(of(host, wanted), expected, "{host}");
        }
    }
}
