//! Regular expressions: JMeter's are Perl's, a scenario's have no look-around
//! and no back references, and read some characters differently.
//!
//! Variables (`${name}`) in a pattern stay as they are.

/// Longer patterns are not taken.
const MAX_BYTES: usize = 16 << 10;

/// Which groups of a pattern capture afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Groups {
    /// None, so that the whole match counts.
    None,
    /// Only the one of this number, from 1.
    Only(usize),
}

/// A pattern as the scenario's engine reads it.
///
/// # Errors
/// When it cannot be said there, in words.
pub(super) fn translate(pattern: &str, groups: Groups) -> Result<String, String> {
    if pattern.len() > MAX_BYTES {
        return Err(format!(
            "its pattern is longer than {} KiB",
            MAX_BYTES >> 10
        ));
    }
    let mut scan = Scan {
        rest: pattern,
        out: String::with_capacity(pattern.len() + 8),
        plain: String::with_capacity(pattern.len() + 8),
        group: 0,
        groups,
    };
    while !scan.rest.is_empty() {
        scan.step();
    }
    if let Groups::Only(number) = groups
        && number > scan.group
    {
        return Err(format!("its pattern has no group {number}"));
    }
    regex::RegexBuilder::new(&scan.plain)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| format!("its pattern is not supported here ({})", reason(&error)))?;
    Ok(scan.out)
}

/// A pattern that matches this text, variables aside.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(&regex::escape(before));
            out.push_str(r"\$\{");
            rest = &from[2..];
        } else {
            out.push_str(&regex::escape(before));
            let end = from.find('}').map_or(from.len(), |end| end + 1);
            out.push_str(&from[..end]);
            rest = &from[end..];
        }
    }
    out.push_str(&regex::escape(rest));
    out
}

/// The text that a pattern matches, when it matches only one.
pub(super) fn only_text(pattern: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next()? {
                next if next.is_ascii_alphanumeric() => return None,
                next => out.push(next),
            },
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '|' | '^' | '$' | '{' => return None,
            char => out.push(char),
        }
    }
    Some(out)
}

/// The last line of the engine's report, which has the cause.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.trim().trim_start_matches("error: ").to_owned()
}

/// A walk over a pattern. `plain` is the same with something in place of the variables, to try.
struct Scan<'a> {
    rest: &'a str,
    out: String,
    plain: String,
    group: usize,
    groups: Groups,
}

impl Scan<'_> {
    fn step(&mut self) {
        let rest = self.rest;
        if rest.starts_with("$${") {
            self.put(r"\$\{", 3);
        } else if rest.starts_with("${") {
            self.variable();
        } else if rest.starts_with(r"\Q") {
            self.quoted();
        } else if rest.starts_with('\\') {
            self.escape();
        } else if rest.starts_with('[') {
            self.class();
        } else if rest.starts_with('(') {
            self.open();
        } else if rest.starts_with('{') && !is_repetition(rest) {
            self.put(r"\{", 1);
        } else {
            self.copy();
        }
    }

    /// Emits something for as many bytes of the source.
    fn put(&mut self, text: &str, bytes: usize) {
        self.out.push_str(text);
        self.plain.push_str(text);
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn copy(&mut self) {
        if let Some(char) = self.rest.chars().next() {
            self.put(char.encode_utf8(&mut [0; 4]), char.len_utf8());
        }
    }

    fn variable(&mut self) {
        let end = self.rest.find('}').map_or(self.rest.len(), |end| end + 1);
        let (variable, rest) = self.rest.split_at(end);
        self.out.push_str(variable);
        self.plain.push('x');
        self.rest = rest;
    }

    /// `\Q…\E`
    fn quoted(&mut self) {
        let inner = &self.rest[2..];
        let (text, bytes) = match inner.find(r"\E") {
            Some(end) => (&inner[..end], end + 4),
            None => (inner, self.rest.len()),
        };
        let text = regex::escape(text);
        self.put(&text, bytes);
    }

    fn escape(&mut self) {
        match self.rest[1..].chars().next() {
            Some('Z') => self.put(r"\z", 2),
            Some('e') => self.put(r"\x1B", 2),
            Some(char @ ('<' | '>')) => self.put(char.encode_utf8(&mut [0; 4]), 2),
            Some(char) if !char.is_ascii() => {
                self.put(char.encode_utf8(&mut [0; 4]), 1 + char.len_utf8());
            }
            Some(_) => {
                let both = self.rest[..2].to_owned();
                self.put(&both, 2);
            }
            None => self.put("\\", 1),
        }
    }

    fn class(&mut self) {
        let start = if self.rest.starts_with("[^") { 2 } else { 1 };
        let head = self.rest[..start].to_owned();
        self.put(&head, start);
        if self.rest.starts_with(']') {
            self.put(r"\]", 1);
        }
        while !self.rest.is_empty() {
            let rest = self.rest;
            if rest.starts_with(']') {
                return self.put("]", 1);
            } else if rest.starts_with("[:") && rest.contains(":]") {
                let end = rest.find(":]").map_or(rest.len(), |end| end + 2);
                let posix = rest[..end].to_owned();
                self.put(&posix, end);
            } else if rest.starts_with('[') {
                self.put(r"\[", 1);
            } else if rest.starts_with("${") && !rest.starts_with("${}") && rest.contains('}') {
                self.variable();
            } else if rest.starts_with('\\') {
                self.escape();
            } else if let Some(char) = rest.chars().next().filter(|char| "&~".contains(*char)) {
                self.put(&format!("\\{char}"), 1);
            } else {
                self.copy();
            }
        }
    }

    fn open(&mut self) {
        let named = self.rest.starts_with("(?P<")
            || (self.rest.starts_with("(?<")
                && !self.rest.starts_with("(?<=")
                && !self.rest.starts_with("(?<!"));
        if self.rest.starts_with("(?") && !named {
            return self.put("(?", 2);
        }
        self.group += 1;
        let keeps = match self.groups {
            Groups::None => false,
            Groups::Only(number) => number == self.group,
        };
        let head = if named {
            self.rest.find('>').map_or(self.rest.len(), |end| end + 1)
        } else {
            1
        };
        self.put(if keeps { "(" } else { "(?:" }, head);
    }
}

/// Whether `{…` is `{n}`, `{n,}` or `{n,m}`.
fn is_repetition(text: &str) -> bool {
    let Some(inner) = text
        .strip_prefix('{')
        .and_then(|rest| rest.split('}').next())
    else {
        return false;
    };
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    text.contains('}') && !least.is_empty() && digits(least) && digits(most)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn perl_patterns_become_ours() {
        for (pattern, expected) in [
            (
                r#"name="csrf" value="(.+?)""#,
                r#"name="csrf" value="(?:.+?)""#,
            ),
            (r#"{"id":(\d+)}"#, r#"\{"id":(?:\d+)}"#),
            (r"a{2,3}b{x}", r"a{2,3}b\{x}"),
            (r"\<b\>(.*)\</b\>", r"<b>(?:.*)</b>"),
            (r"[^[]+", r"[^\[]+"),
            (r"[a&&b]", r"[a\&\&b]"),
            (r"[[:alpha:]_]", r"[[:alpha:]_]"),
            (r"[]x]", r"[\]x]"),
            (r"\Qa.b\E.", r"a\.b."),
            (r"x\Z", r"x\z"),
            (r"id=${id}&t=(\w+)", r"id=${id}&t=(?:\w+)"),
            (r"$${x", r"\$\{x"),
            (r"(?i)(?:a)(?<n>b)", r"(?i)(?:a)(?:b)"),
        ] {
            assert_eq!(
                translate(pattern, Groups::None).unwrap(),
                expected,
                "{pattern}"
            );
        }
    }

    #[test]
    fn one_group_is_kept() {
        let pattern = r"(a)(?:b)(\(c)([(])";
        assert_eq!(
            translate(pattern, Groups::Only(2)).unwrap(),
            r"(?:a)(?:b)(\(c)(?:[(])"
        );
        assert_eq!(
            translate(pattern, Groups::None).unwrap(),
            r"(?:a)(?:b)(?:\(c)(?:[(])"
        );
        assert!(
            translate(pattern, Groups::Only(4))
                .unwrap_err()
                .contains("no group 4")
        );
    }

    #[test]
    fn what_cannot_be_said_is_refused_with_its_reason() {
        for pattern in [
            r"(?=x)",
            r"(?<!a)b",
            r"(a)\1",
            "(",
            "[",
            "*",
            &"(".repeat(9_000),
        ] {
            assert!(translate(pattern, Groups::None).is_err(), "{pattern}");
        }
        assert!(
            translate("(?=x)", Groups::None)
                .unwrap_err()
                .contains("look-around")
        );
    }

    #[test]
    fn texts_become_patterns_that_match_them() {
        assert_eq!(literal("a.b${c}(d)$${e}"), r"a\.b${c}\(d\)\$\{e\}");
        assert_eq!(only_text(r"a\.b/").unwrap(), "a.b/");
        assert_eq!(only_text(r"a\d"), None);
        assert_eq!(only_text("a|b"), None);
    }

    proptest! {
        #[test]
        fn no_pattern_panics(pattern in r"[a-z(){}\[\]\\$^?<>=!:|.*+,0-9QEé&-]{0,40}", group in 0_usize..4) {
            let _ = translate(&pattern, Groups::None);
            let _ = translate(&pattern, Groups::None);
            let _ = translate(&pattern, Groups::Only(group));
            let _ = only_text(&pattern);
        }

        #[test]
        fn a_literal_matches_its_text(text in r"[a-z(){}\[\]\\^?<>|.*+-]{1,30}") {
            prop_assert!(regex::Regex::new(&literal(&text)).unwrap().is_match(&text));
            let translated = translate(&literal(&text), Groups::None).unwrap();
            prop_assert!(regex::Regex::new(&translated).unwrap().is_match(&text));
        }
    }
}
