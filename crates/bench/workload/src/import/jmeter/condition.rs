//! Conditions of If and While controllers: comparisons of a variable with a
//! text, in any of the languages that JMeter takes, joined by `and`.

/// What a condition comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// Holds, or does not, whatever the variables are.
    Fixed(bool),
    /// Holds when all of these do.
    All(Vec<Term>),
}

/// A variable (by the plan's name) is, or is not, a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) variable: String,
    pub(super) equal: bool,
    pub(super) text: String,
}

/// Longer conditions are not looked into.
const MAX_BYTES: usize = 4096;

/// Reads a condition; `None` when it is not as simple as that. `is_text`: what the condition
/// unfolds to is compared with `true`; otherwise it is a script.
pub(super) fn parse(raw: &str, is_text: bool) -> Option<Condition> {
    let raw = raw.trim();
    if raw.len() > MAX_BYTES {
        return None;
    }
    if let Some(script) = script(raw) {
        return expression(&script);
    }
    if is_text {
        return match (raw, variable(raw)) {
            ("true", _) => Some(Condition::Fixed(true)),
            ("false", _) => Some(Condition::Fixed(false)),
            (_, Some(name)) if !name.starts_with("__") => Some(Condition::All(vec![Term {
                variable: name.into(),
                equal: true,
                text: "true".into(),
            }])),
            _ => None,
        };
    }
    expression(raw)
}

/// The script in `${__jexl3(script,)}` and its kin.
fn script(raw: &str) -> Option<String> {
    let inner = raw.strip_prefix("${__")?.strip_suffix(")}")?;
    let (function, script) = inner.split_once('(')?;
    if !matches!(
        function.trim(),
        "jexl3" | "jexl2" | "jexl" | "groovy" | "javaScript"
    ) {
        return None;
    }
    let script = script.trim().trim_end_matches(',').replace("\\,", ",");
    Some(script)
}

fn expression(script: &str) -> Option<Condition> {
    let script = unwrapped(script);
    if script.contains("||") {
        return None;
    }
    let mut terms = Vec::new();
    for part in script.split("&&") {
        match comparison(unwrapped(part))? {
            Condition::Fixed(false) => return Some(Condition::Fixed(false)),
            Condition::Fixed(true) => {}
            Condition::All(more) => terms.extend(more),
        }
    }
    Some(if terms.is_empty() {
        Condition::Fixed(true)
    } else {
        Condition::All(terms)
    })
}

/// Without blanks, and without parentheses around the whole.
fn unwrapped(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(inner) = text
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let mut depth = 0_i32;
        let closes_early = inner.bytes().any(|byte| {
            depth += i32::from(byte == b'(') - i32::from(byte == b')');
            depth < 0
        });
        if closes_early {
            break;
        }
        text = inner.trim();
    }
    text
}

fn comparison(text: &str) -> Option<Condition> {
    match text {
        "true" => return Some(Condition::Fixed(true)),
        "false" => return Some(Condition::Fixed(false)),
        _ => {}
    }
    let (negated, bare) = match text.strip_prefix('!') {
        Some(rest) if !rest.starts_with('=') => (true, unwrapped(rest)),
        _ => (false, text),
    };
    for (call, end) in [(".equals(", ")"), (".equalsIgnoreCase(", ")")] {
        if let Some((left, right)) = bare.split_once(call)
            && let Some(right) = right.strip_suffix(end)
        {
            return compare(left, right, !negated);
        }
    }
    if negated {
        return None;
    }
    for (operator, equal) in [("==", true), ("!=", false), (" eq ", true), (" ne ", false)] {
        if let Some((left, right)) = text.split_once(operator) {
            return compare(left, right.trim_start_matches('='), equal);
        }
    }
    None
}

/// One side of a comparison.
#[derive(Debug)]
enum Operand {
    Variable(String),
    Text(String),
    Null,
}

fn compare(left: &str, right: &str, equal: bool) -> Option<Condition> {
    let (variable, text) = match (operand(left)?, operand(right)?) {
        (Operand::Variable(variable), other) | (other, Operand::Variable(variable)) => {
            (variable, other)
        }
        (Operand::Text(left), Operand::Text(right)) => {
            return Some(Condition::Fixed((left == right) == equal));
        }
        _ => return None,
    };
    let text = match text {
        // `"${x}" == "\${x}"` asks whether x was ever set.
        Operand::Text(text) if text == format!("\\${{{variable}}}") => String::new(),
        Operand::Text(text) if text.contains("${") => return None,
        Operand::Text(text) => text,
        Operand::Null => String::new(),
        Operand::Variable(_) => return None,
    };
    Some(Condition::All(vec![Term {
        variable,
        equal,
        text,
    }]))
}

fn operand(text: &str) -> Option<Operand> {
    let text = unwrapped(text);
    for call in ["vars.get(", "vars["] {
        if let Some(rest) = text.strip_prefix(call) {
            let name = quoted(rest.strip_suffix([')', ']'])?.trim())?;
            return Some(Operand::Variable(name.into()));
        }
    }
    if text == "null" {
        return Some(Operand::Null);
    }
    let inner = quoted(text);
    if let Some(name) = variable(inner.unwrap_or(text).trim()) {
        return (!name.starts_with("__") && !name.starts_with("JMeterThread."))
            .then(|| Operand::Variable(name.into()));
    }
    match inner {
        Some(inner) if !inner.contains(['"', '\'']) => Some(Operand::Text(inner.into())),
        Some(_) => None,
        None => is_word(text).then(|| Operand::Text(text.into())),
    }
}

/// What stands between equal quotation marks.
fn quoted(text: &str) -> Option<&str> {
    ['"', '\'']
        .iter()
        .find_map(|mark| text.strip_prefix(*mark)?.strip_suffix(*mark))
}

/// The name in `${name}`, when that is all.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains(['$', '{', '}', '"', '\''])).then_some(name)
}

/// A number, `true` or `false`.
fn is_word(text: &str) -> bool {
    matches!(text, "true" | "false") || text.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn term(variable: &str, equal: bool, text: &str) -> Term {
        Term {
            variable: variable.into(),
            equal,
            text: text.into(),
        }
    }

    #[test]
    fn simple_comparisons_are_understood() {
        for (raw, expected) in [
            (r#""${role}" == "admin""#, term("role", true, "admin")),
            (r#"'${role}'!='admin'"#, term("role", false, "admin")),
            (r#""admin" == "${role}""#, term("role", true, "admin")),
            ("${n} == 3", term("n", true, "3")),
            (
                r#"${__jexl3("${role}" == "admin",)}"#,
                term("role", true, "admin"),
            ),
            (
                r#"${__groovy(vars.get("role") == "admin")}"#,
                term("role", true, "admin"),
            ),
            (
                r#"${__groovy((vars.get('role')).equals('a\,b'),)}"#,
                term("role", true, "a,b"),
            ),
            (
                r#"${__groovy(!"x".equals(vars.get("role")))}"#,
                term("role", false, "x"),
            ),
            (
                r#"${__jexl3("${role}" eq "admin")}"#,
                term("role", true, "admin"),
            ),
            (r#""${x}" != "\${x}""#, term("x", false, "")),
            (
                r#"${__groovy(vars.get("x") != null)}"#,
                term("x", false, ""),
            ),
        ] {
            assert_eq!(
                parse(raw, false),
                Some(Condition::All(vec![expected])),
                "{raw}"
            );
        }
        let both = parse(r#"("${a}" == "1") && "${b}" != "2""#, false);
        assert_eq!(
            both,
            Some(Condition::All(vec![
                term("a", true, "1"),
                term("b", false, "2")
            ]))
        );
        assert_eq!(
            parse("${ok}", true),
            Some(Condition::All(vec![term("ok", true, "true")]))
        );
        assert_eq!(parse(" true ", true), Some(Condition::Fixed(true)));
        assert_eq!(parse("1 == 2", false), Some(Condition::Fixed(false)));
    }

    #[test]
    fn others_are_not_guessed_at() {
        for raw in [
            r#""${a}" == "1" || "${b}" == "2""#,
            "${n} > 3",
            r#"${__groovy(vars.get("n").toInteger() == 3)}"#,
            "${__jexl3(${JMeterThread.last_sample_ok})}",
            r#""${a}" == "${b}""#,
            "${__groovy(sampler.name ==~ /x/)}",
            "",
        ] {
            assert_eq!(parse(raw, false), None, "{raw}");
        }
        assert_eq!(parse("${JMeterThread.last_sample_ok} == true", false), None);
        assert_eq!(parse(&"(".repeat(9000), false), None);
    }

    proptest! {
        #[test]
        fn no_condition_panics(raw in r#"([$]\{|__jexl3\(|vars.get\(|&&|==|!=|[a-z"'(){}!, ü]){0,20}"#, is_text: bool) {
            let _ = parse(&raw, is_text);
        }
    }
}
