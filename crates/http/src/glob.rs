//! Globs: `*` stands for any run of characters, also none; `?` for exactly one.
//! Everything else stands for itself, byte by byte.

/// Whether the whole of `text` matches `pattern`.
///
/// Only the last `*` is ever retried, so that the work is bounded by the
/// product of the two lengths whatever the pattern, and needs no memory.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // After the last `*`: where the pattern goes on, and where the text did.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                p += 1;
                retry = Some((p, t));
            }
            Some(&b) if b == b'?' || b == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match &mut retry {
                Some((after_star, from)) => {
                    *from += 1;
                    (p, t) = (*after_star, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&b| b == b'*')
}

/// Whether a path (without its query) falls under a path rule: a pattern with
/// `*` or `?` is a glob over the whole path; one without is a prefix that ends
/// at a `/`, or is the path itself.
pub fn path_matches(pattern: &[u8], path: &[u8]) -> bool {
    if pattern.iter().any(|&b| b == b'*' || b == b'?') {
        return matches(pattern, path);
    }
    match path.strip_prefix(pattern) {
        Some(rest) => rest.is_empty() || pattern.ends_with(b"/") || rest.starts_with(b"/"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("**", "", true),
            ("?", "", false),
            ("?", "a", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("utm_*", "utm_source", true),
            ("utm_*", "utm", false),
            ("*.jpg", "/a/b.jpg", true),
            ("*.jpg", "/a/b.jpg.html", false),
            ("*.jpg", ".jpg.jpg", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("*a*?b", "xaxb", true),
            ("*a*?b", "xab", false),
            ("a", "A", false),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn path_rules() {
        for (pattern, path, expected) in [
            ("/admin", "/admin", true),
            ("/admin", "/admin/", true),
            ("/admin", "/admin/users", true),
            ("/admin", "/administrator", false),
            ("/admin/", "/admin", false),
            ("/admin/", "/admin/users", true),
            ("/", "/anything", true),
            ("/*.png", "/a/b.png", true),
            ("/a/?", "/a/b", true),
            ("/a/?", "/a/bc", false),
        ] {
            assert_eq!(
                path_matches(pattern.as_bytes(), path.as_bytes()),
                expected,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn many_stars_stay_cheap() {
        let pattern = b"*a".repeat(50);
        let text = b"a".repeat(10_000);
        assert!(!matches(&[&pattern[..], b"b"].concat(), &text));
        assert!(matches(&pattern, &text));
    }
}
