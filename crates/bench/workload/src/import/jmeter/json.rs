//! Paths into JSON: the part of JSONPath that a scenario has, and what of
//! JMESPath is the same.

/// A path as a scenario takes it: `$`, then `.name`, `['name']`, `[n]`, `[*]`, `..name`.
pub(super) fn path(text: &str) -> Option<String> {
    let rest = text.trim().strip_prefix('$')?;
    steps(rest).then(|| text.trim().to_owned())
}

/// A JMESPath that is nothing but names and indexes, as a path.
pub(super) fn from_jmespath(text: &str) -> Option<String> {
    let text = text.trim();
    let path = if text.starts_with('[') {
        format!("${text}")
    } else {
        format!("$.{text}")
    };
    (!path.contains("..") && !path.contains('\'')).then_some(())?;
    self::path(&path)
}

fn steps(mut rest: &str) -> bool {
    while !rest.is_empty() {
        let after = if let Some(inner) = rest.strip_prefix('[') {
            bracket(inner)
        } else if let Some(inner) = rest.strip_prefix("..").or_else(|| rest.strip_prefix('.')) {
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            is_name(&inner[..end]).then(|| &inner[end..])
        } else {
            None
        };
        let Some(after) = after else { return false };
        rest = after;
    }
    true
}

fn bracket(inner: &str) -> Option<&str> {
    for mark in ['\'', '"'] {
        if let Some(name) = inner.strip_prefix(mark) {
            let (name, after) = name.split_once(mark)?;
            let plain = !name.is_empty() && !name.contains(['\\', '\'', '"']);
            return after.strip_prefix(']').filter(|_| plain);
        }
    }
    let (index, after) = inner.split_once(']')?;
    let digits =
        !index.is_empty() && index.len() < 10 && index.bytes().all(|byte| byte.is_ascii_digit());
    (index == "*" || digits).then_some(after)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|char| char.is_alphanumeric() || char == '_' || char == '-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn simple_paths_pass_and_others_do_not() {
        for text in ["$.a", "$.a.b[0].c", "$..id", "$['a b'][*].c", "$[3]", "$"] {
            assert_eq!(path(text).as_deref(), Some(text));
        }
        for text in [
            "a",
            "$.a[?(@.b>1)]",
            "$.a[0:2]",
            "$.a[-1]",
            "$.",
            "$.a..",
            "$.a.length()",
            "$['a",
            "$.*",
            "",
        ] {
            assert_eq!(path(text), None, "{text}");
        }
        assert_eq!(from_jmespath("a.b[0]").as_deref(), Some("$.a.b[0]"));
        assert_eq!(from_jmespath("[0].a").as_deref(), Some("$[0].a"));
        assert_eq!(from_jmespath("a | b"), None);
    }

    proptest! {
        #[test]
        fn no_path_panics(text in r#"[$a-z.\[\]'"0-9*ü]{0,30}"#) {
            let _ = path(&text);
            let _ = from_jmespath(&text);
        }
    }
}
