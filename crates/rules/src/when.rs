//! Which requests a path rule is for.

use std::net::IpAddr;

use forebay_config::settings::{Network, When};
use forebay_config::template::{self, Groups};
use forebay_http::fields::Fields;
use forebay_http::{glob, uri};
use regex::bytes::Regex;

use crate::subject::parameters;

/// A compiled [`When`].
#[derive(Clone, Debug, Default)]
pub struct Condition {
    pattern: Option<Box<[u8]>>,
    regex: Option<Regex>,
    /// Beside the path, something of the request's head or client counts.
    rest: Option<Box<Rest>>,
}

#[derive(Clone, Debug)]
struct Rest {
    methods: Vec<String>,
    headers: Vec<(String, String)>,
    query: Vec<(String, String)>,
    clients: Vec<Network>,
}

/// What is looked at of a request, beside its path.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its method.
    pub method: &'a [u8],
    /// Path and query, as sent.
    pub target: &'a [u8],
    /// Its fields.
    pub fields: &'a Fields,
    /// Who the client is; `None` on a Unix socket.
    pub client: Option<IpAddr>,
}

impl Condition {
    /// Compiles it. The configuration's check has seen that its pattern is one.
    pub fn new(when: &When) -> Self {
        let path_alone = When {
            pattern: when.pattern.clone(),
            regex: when.regex.clone(),
            ..When::default()
        };
        let regex = when.regex.as_deref();
        Self {
            pattern: when.pattern.as_deref().map(|text| text.as_bytes().into()),
            regex: regex.and_then(|regex| template::compile(regex).ok()),
            rest: (*when != path_alone).then(|| {
                Box::new(Rest {
                    methods: when.methods.clone(),
                    headers: when.headers.clone(),
                    query: when.query.clone(),
                    clients: when.clients.clone(),
                })
            }),
        }
    }

    /// Whether more than the path counts.
    pub fn looks_beyond_path(&self) -> bool {
        self.rest.is_some()
    }

    /// The rule's regular expression.
    pub fn regex(&self) -> Option<&Regex> {
        self.regex.as_ref()
    }

    /// The groups that its templates may name.
    pub fn groups(&self) -> Groups {
        self.regex.as_ref().map(Groups::of).unwrap_or_default()
    }

    /// Whether it holds as far as the path goes, which is in its [normal form](crate::path::normal).
    #[inline]
    pub fn holds_for_path(&self, path: &[u8]) -> bool {
        let by_glob = |pattern: &[u8]| glob::path_matches(pattern, path);
        self.pattern.as_deref().is_none_or(by_glob)
            && self.regex.as_ref().is_none_or(|regex| regex.is_match(path))
    }

    /// Whether everything holds.
    #[inline]
    pub fn holds(&self, path: &[u8], asked: &Asked<'_>) -> bool {
        self.holds_for_path(path) && self.rest.as_ref().is_none_or(|rest| rest.holds(asked))
    }
}

impl Rest {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let method = |own: &String| own.as_bytes() == asked.method;
        let client = |net: &Network| asked.client.is_some_and(|ip| net.contains(ip));
        let header = |(name, glob): &(String, String)| {
            let mut values = asked.fields.named(name.as_bytes());
            values.any(|value| glob::matches(glob.as_bytes(), value))
        };
        let search = uri::split_path(asked.target).1.unwrap_or_default();
        let parameter = |(name, glob): &(String, String)| {
            let mut values = parameters(search, name.as_bytes());
            values.any(|value| glob::matches(glob.as_bytes(), &crate::path::decoded(value)))
        };
        (self.methods.is_empty() || self.methods.iter().any(method))
            && (self.clients.is_empty() || self.clients.iter().any(client))
            && self.headers.iter().all(header)
            && self.query.iter().all(parameter)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_said_must_hold() {
        let condition = Condition::new(&When {
            pattern: Some("/a/*".into()),
            regex: Some("[0-9]$".into()),
            methods: vec!["GET".into()],
            headers: vec![("user-agent".into(), "*bot*".into())],
            query: vec![("p".into(), "?".into())],
            clients: vec![Network {
                address: "10.0.0.0".parse().unwrap(),
                prefix: 8,
            }],
        });
        assert!(condition.looks_beyond_path());
        let mut fields = Fields::default();
        fields.push_named(b"User-Agent", b"a bot");
        let good = Asked {
            method: b"GET",
            target: b"/a/1?p=x",
            fields: &fields,
            client: Some("10.1.1.1".parse().unwrap()),
        };
        assert!(condition.holds(b"/a/1", &good));
        assert!(!condition.holds(b"/a/x", &good));
        assert!(!condition.holds(b"/b/1", &good));
        let none = Fields::default();
        for bad in [
            Asked {
                method: b"POST",
                ..good
            },
            Asked {
                target: b"/a/1?q=x",
                ..good
            },
            Asked {
                fields: &none,
                ..good
            },
            Asked {
                client: None,
                ..good
            },
        ] {
            assert!(!condition.holds(b"/a/1", &bad), "{bad:?}");
        }
    }
}
