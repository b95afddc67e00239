//! Changes of address: redirections, which are answered, and rewriting, which is looked up.

use forebay_config::settings::{Redirect, Rewrite};
use forebay_config::template::{self, Groups};
use forebay_http::uri;
use regex::bytes::Regex;

use crate::subject::{Context, Subject, Template};

/// One rule that is compiled.
#[derive(Clone, Debug)]
struct Rule {
    pattern: Regex,
    to: Template,
    /// Of a redirection.
    status: u16,
}

/// What `redirect` and `rewrite` of a site or path rule say.
#[derive(Clone, Debug, Default)]
pub struct Rewriting {
    redirects: Vec<Rule>,
    rewrites: Vec<Rule>,
}

/// Where a client is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirected {
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    /// `Location`.
    pub location: Vec<u8>,
}

impl Rule {
    fn new(pattern: &str, to: &str, status: u16) -> Option<Self> {
        let pattern = template::compile(pattern).ok()?;
        let to = Template::new(to, &Groups::of(&pattern));
        Some(Self {
            pattern,
            to,
            status,
        })
    }

    fn apply(&self, path: &[u8], subject: &Subject<'_>) -> Option<Vec<u8>> {
        let captures = self.pattern.captures(path)?;
        let mut out = Vec::new();
        self.to
            .expand(subject, Some(&captures), Context::Url, &mut out);
        Some(out)
    }
}

impl Rewriting {
    /// Compiles them; the configuration's check has seen that the patterns are right.
    pub fn new(redirects: &[Redirect], rewrites: &[Rewrite]) -> Self {
        let redirect = |own: &Redirect| Rule::new(&own.pattern, &own.to, own.status);
        let rewrite = |own: &Rewrite| Rule::new(&own.pattern, &own.to, 0);
        Self {
            redirects: redirects.iter().filter_map(redirect).collect(),
            rewrites: rewrites.iter().filter_map(rewrite).collect(),
        }
    }

    /// Where the client is sent, if it is: the first rule that matches the path in its normal form.
    pub fn redirect(&self, path: &[u8], subject: &Subject<'_>) -> Option<Redirected> {
        self.redirects.iter().find_map(|rule| {
            let location = rule.apply(path, subject)?;
            Some(Redirected {
                status: rule.status,
                location: at_this_host(location, rule.to.begins_with_request()),
            })
        })
    }

    /// The new target, if there is one. Without a `?` in it the query stays.
    pub fn rewrite(&self, path: &[u8], subject: &Subject<'_>) -> Option<Vec<u8>> {
        let mut found = self.rewrites.iter();
        let mut target = found.find_map(|rule| rule.apply(path, subject))?;
        if !target.starts_with(b"/") {
            target.insert(0, b'/');
        }
        if let Some(fragment) = target.iter().position(|&b| b == b'#') {
            target.truncate(fragment);
        }
        if !target.contains(&b'?')
            && let (_, Some(query)) = uri::split_path(subject.target)
        {
            target.push(b'?');
            target.extend_from_slice(query);
        }
        if target.ends_with(b"?") {
            target.pop();
        }
        Some(target)
    }
}

/// A location that leads to another host only if the operator's own text says which: browsers take
/// what follows two slashes, or backslashes, for a host, and what precedes a colon for a scheme.
/// `is_of_request`: it begins with what the client sent.
fn at_this_host(location: Vec<u8>, is_of_request: bool) -> Vec<u8> {
    let is_slash = |byte: &u8| matches!(byte, b'/' | b'\\');
    let slashes = location.iter().take_while(|byte| is_slash(byte)).count();
    let keeps = slashes == 1 && location[0] == b'/' || slashes == 0 && !is_of_request;
    if keeps {
        return location;
    }
    let rest = location[slashes..].trim_ascii_start();
    let more = rest.iter().take_while(|byte| is_slash(byte)).count();
    [b"/", &rest[more..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_http::fields::Fields;

    fn rewriting() -> Rewriting {
        let redirect = |pattern: &str, to: &str| Redirect {
            pattern: pattern.into(),
            to: to.into(),
            status: 301,
        };
        let rewrite = |pattern: &str, to: &str| Rewrite {
            pattern: pattern.into(),
            to: to.into(),
        };
        Rewriting::new(
            &[
                redirect("^/old/(.*)$", "https://new.example/{1}?{query}"),
                redirect("^/r(.*)$", "{1}"),
            ],
            &[
                rewrite("^/user/(?<id>[0-9]+)$", "/u?id={id}"),
                rewrite("^/x/(.*)$", "/y/{1}"),
                rewrite("^/bare/(.*)$", "/b/{1}?"),
            ],
        )
    }

    fn on<T>(target: &str, path: &str, ask: impl Fn(&Rewriting, &[u8], &Subject<'_>) -> T) -> T {
        let fields = Fields::default();
        let subject = Subject {
            host: b"a.example",
            target: target.as_bytes(),
            method: b"GET",
            client: "::1",
            secure: false,
            fields: &fields,
        };
        ask(&rewriting(), path.as_bytes(), &subject)
    }

    #[test]
    fn the_first_that_matches_decides() {
        let rewritten = |target: &str, path: &str| {
            let found = on(target, path, Rewriting::rewrite);
            found.map(|target| String::from_utf8_lossy(&target).into_owned())
        };
        for (target, path, expected) in [
            ("/user/7", "/user/7", Some("/u?id=7")),
            ("/user/7?a=1", "/user/7", Some("/u?id=7")),
            ("/x/a?b=1", "/x/a", Some("/y/a?b=1")),
            ("/x/a%20b", "/x/a b", Some("/y/a%20b")),
            ("/bare/a?b=1", "/bare/a", Some("/b/a")),
            ("/other", "/other", None),
        ] {
            assert_eq!(rewritten(target, path).as_deref(), expected, "{target}");
        }
    }

    #[test]
    fn a_redirection_leads_where_it_says_and_to_no_other_host() {
        let sent = |target: &str, path: &str| {
            let found = on(target, path, Rewriting::redirect);
            found.map(|sent| String::from_utf8_lossy(&sent.location).into_owned())
        };
        assert_eq!(
            sent("/old/a?b", "/old/a").as_deref(),
            Some("https://new.example/a?b")
        );
        assert_eq!(sent("/r", "/r//evil").as_deref(), Some("/evil"));
        assert_eq!(sent("/n", "/n"), None);
    }
}
