//! Texts of a plan: `${name}` and `${__function(arguments)}` become what a
//! scenario has for them.

use super::context::Context;
use super::functions;

/// Translates a text. `put_in`: constants as their text instead of by name.
pub(super) fn unfold(context: &mut Context, raw: &str, put_in: bool) -> String {
    let references = references(raw);
    // Without a reference JMeter leaves backslashes alone.
    if references.is_empty() {
        return raw.replace("${", "$${");
    }
    let mut out = String::with_capacity(raw.len());
    let mut done = 0;
    for (start, end) in references {
        push_plain(&mut out, &raw[done..start]);
        let inner = &raw[start + 2..end];
        let value = if inner.starts_with("__") {
            function(context, inner, put_in)
        } else {
            context.variable(inner, put_in)
        };
        push_value(context, &mut out, &value);
        context.spend(value.len());
        if context.is_exhausted() {
            return out;
        }
        done = end + 1;
    }
    push_plain(&mut out, &raw[done..]);
    out
}

/// Plain text: `\$`, `\,` and `\\` lose their backslash.
fn push_plain(out: &mut String, text: &str) {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char == '\\'
            && let Some(next @ ('$' | ',' | '\\')) = chars.peek().copied()
        {
            plain.push(next);
            chars.next();
        } else {
            plain.push(char);
        }
    }
    out.push_str(&plain.replace("${", "$${"));
}

/// A dollar sign right before a variable would make it plain text.
fn push_value(context: &mut Context, out: &mut String, value: &str) {
    if out.ends_with('$') && value.starts_with("${") {
        out.pop();
        let name = context.names.of_call("$", "dollar");
        out.push_str(&format!("${{{name}}}"));
        context.variables.insert(name, "$".into());
    }
    out.push_str(value);
}

/// The outermost references of a text: where the `$` and where the `}` of each is. One pass,
/// however many are opened and never closed.
fn references(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // Start, whether it is a function, and how many of its parentheses are open.
    let mut open: Vec<(usize, bool, usize)> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, open.last_mut()) {
            (b'\\', _) => at += 1,
            (b'$', _) if bytes.get(at + 1) == Some(&b'{') => {
                open.push((at, bytes[at..].starts_with(b"${__"), 0));
                at += 1;
            }
            (b'(', Some((_, true, depth))) => *depth += 1,
            (b')', Some((_, true, depth))) => *depth = depth.saturating_sub(1),
            (b'}', Some((start, _, 0))) => {
                found.push((*start, at));
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    found.sort_unstable();
    let mut end = 0;
    found.retain(|(start, own_end)| {
        let outermost = *start >= end;
        if outermost {
            end = *own_end + 1;
        }
        outermost
    });
    found
}

fn function(context: &mut Context, inner: &str, put_in: bool) -> String {
    let (name, arguments) = match inner.split_once('(') {
        Some((name, rest)) => (name, arguments(rest)),
        None => (inner, Vec::new()),
    };
    functions::translate(context, name.trim(), &arguments, put_in)
}

/// The arguments up to the closing parenthesis, as written, without the backslash before a comma.
fn arguments(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut depth = 0_usize;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let Some(last) = out.last_mut() else { break };
        match char {
            '\\' => match chars.next() {
                Some(',') => last.push(','),
                Some(next) => last.extend(['\\', next]),
                None => last.push('\\'),
            },
            ',' if depth == 0 => out.push(String::new()),
            ')' if depth == 0 => break,
            '(' | '{' => {
                depth += 1;
                last.push(char);
            }
            ')' | '}' => {
                depth = depth.saturating_sub(1);
                last.push(char);
            }
            char => last.push(char),
        }
    }
    if out.len() == 1 && out.first().is_some_and(|only| only.trim().is_empty()) {
        out.clear();
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn context() -> Context {
        let mut context = Context::default();
        context.define("host", "shop.example");
        context.define("base", "http://${host}:8080");
        context.define("dice", "${__Random(1,6)}");
        context.define("users", "${__P(users,10)}");
        context.define("loop", "${loop}x");
        context.assign("token");
        context
    }

    #[test]
    fn references_become_the_scenarios() {
        for (raw, expected) in [
            ("plain \\$ text", "plain \\$ text"),
            ("a ${token} b", "a ${token} b"),
            (
                "${user} ${user.name} ${user name}",
                "${user_} ${user.name} ${user_name}",
            ),
            ("${host}", "${host}"),
            ("${base}/x", "${base}/x"),
            ("${dice}", "${dice}"),
            ("${__Random(1,${users})}", "${random:1:10}"),
            ("${__UUID} ${__UUID()}", "${uuid} ${uuid}"),
            ("${__threadNum}", "${user}"),
            ("\\${token} ${token}", "$${token} ${token}"),
            ("$${token}", "${dollar}${token}"),
            ("{ ${token", "{ $${token"),
            (
                "function() { return `$${'x'}` }",
                "function() { return `${dollar}${_x_}` }",
            ),
            ("${__P(a\\,b,c)}", "${a_b}"),
            ("${__groovy(f{x})}${host}", "${groovy}${host}"),
            ("${__x(${host}", "$${__x(${host}"),
        ] {
            assert_eq!(unfold(&mut context(), raw, false), expected, "{raw}");
        }
        assert_eq!(
            unfold(&mut context(), "${base}/${token}", true),
            "http://shop.example:8080/${token}"
        );
        assert_eq!(context().number("${users}"), Some(10.0));
        assert_eq!(context().number("${token}"), None);
    }

    #[test]
    fn arguments_are_split_where_jmeter_splits() {
        assert_eq!(arguments("1,6)"), ["1", "6"]);
        assert_eq!(
            arguments("\"${a}\" == f(b,c),)"),
            ["\"${a}\" == f(b,c)", ""]
        );
        assert!(arguments(")").is_empty());
        assert_eq!(arguments("a\\,b,${__P(x,1)}) tail"), ["a,b", "${__P(x,1)}"]);
    }

    #[test]
    fn definitions_that_grow_without_end_are_cut() {
        let mut context = Context::default();
        for level in 0..60 {
            let next = format!("${{v{}}}", level + 1);
            context.define(&format!("v{level}"), &next.repeat(10));
        }
        context.define("v60", "x");
        assert!(unfold(&mut context, "${v0}${loop}", true).len() < 1 << 20);
    }

    proptest! {
        #[test]
        fn no_text_panics(raw in r"([$]\{|__P|__Random|__groovy|[a-z(){},\\$ü ]){0,30}") {
            let _ = unfold(&mut context(), &raw, false);
            let _ = unfold(&mut context(), &raw, true);
        }
    }
}
