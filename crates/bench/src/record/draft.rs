//! One recorded exchange as a step: what of a request belongs into a
//! scenario, and how it is written there.
//!
//! Pure.

use std::collections::BTreeMap;

use forebay_workload::scenario::escape;

use super::tape::Taken;

/// Fields that a browser sends by itself, or that belong to one connection, to its cache or to its
/// cookies. Everything else is the site's and is kept.
const BROWSERS_OWN: &[&str] = &[
    "Host",
    "Connection",
    "Proxy-Connection",
    "Proxy-Authorization",
    "Keep-Alive",
    "Cookie",
    "Content-Length",
    "Transfer-Encoding",
    "TE",
    "Trailer",
    "Upgrade",
    "Expect",
    "Upgrade-Insecure-Requests",
    "User-Agent",
    "Accept-Encoding",
    "Cache-Control",
    "Pragma",
    "DNT",
    "Referer",
    "Priority",
    "Purpose",
    "Save-Data",
    "X-Client-Data",
    "X-Forwarded-For",
    "Via",
];

/// A step, with the parts in which a token may be found still apart. Texts are escaped: a `${` in
/// them is a variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) method: String,
    pub(super) origin: String,
    /// The path, without the query.
    pub(super) path: String,
    /// The query as sent, parameter by parameter; those that became variables are in `variables`.
    pub(super) parameters: Vec<String>,
    /// Query parameters with a variable.
    pub(super) query: BTreeMap<String, String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Body,
}

/// A request's body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Body {
    #[default]
    None,
    /// A form: names and values, decoded.
    Form(BTreeMap<String, String>),
    /// Text as it is.
    Text(String),
    /// Bytes, for a file beside the scenario.
    Bytes(Vec<u8>),
}

impl Draft {
    /// The draft of an exchange.
    pub(super) fn of(taken: &Taken, name: String) -> Self {
        let (path, query) = taken
            .url
            .path
            .split_once('?')
            .unwrap_or((&taken.url.path, ""));
        let body = body(taken);
        let mut headers = headers(taken);
        if matches!(body, Body::Form(_)) {
            headers.retain(|name, _| !name.eq_ignore_ascii_case("Content-Type"));
        }
        Self {
            name,
            method: taken.method.clone(),
            origin: taken.origin(),
            path: escape(path),
            parameters: query
                .split('&')
                .filter(|p| !p.is_empty())
                .map(escape)
                .collect(),
            query: BTreeMap::new(),
            headers,
            body,
        }
    }

    /// The URL, relative to `base`.
    pub(super) fn url(&self, base: &str) -> String {
        // A path that begins with two slashes would be taken for a host (RFC 3986 section 4.2).
        let origin = if self.origin == base && !self.path.starts_with("//") {
            ""
        } else {
            &self.origin
        };
        let query = self.parameters.join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{origin}{}{mark}{query}", self.path)
    }

    /// Everything that was sent and may be a token: name and value, decoded.
    pub(super) fn sent(&self) -> Vec<(String, String)> {
        let mut sent = Vec::new();
        for parameter in &self.parameters {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            sent.push((decoded(name), decoded(value)));
        }
        for segment in self.path.split('/').filter(|segment| !segment.is_empty()) {
            sent.push(("id".into(), decoded(segment)));
        }
        for (name, value) in &self.headers {
            sent.push((name.clone(), last_word(value).to_owned()));
        }
        match &self.body {
            Body::Form(form) => sent.extend(form.iter().map(|(n, v)| (n.clone(), v.clone()))),
            Body::Text(text) => {
                if let Ok(document) = serde_json::from_str(text) {
                    strings(&document, "", &mut sent);
                }
            }
            Body::None | Body::Bytes(_) => {}
        }
        sent
    }

    /// Puts `${variable}` wherever `value` was sent; `false` when it is nowhere to be seen as it is.
    pub(super) fn replace(&mut self, value: &str, variable: &str) -> bool {
        let before = self.clone();
        let variable = format!("${{{variable}}}");
        let mut kept = Vec::new();
        for parameter in std::mem::take(&mut self.parameters) {
            match parameter.split_once('=') {
                // Only in `query` is a variable coded as a part of a query must be.
                Some((name, coded)) if decoded(coded) == value => {
                    self.query.insert(decoded(name), variable.clone());
                }
                _ => kept.push(parameter),
            }
        }
        self.parameters = kept;
        let segment = |segment: &str| {
            if decoded(segment) == value {
                variable.clone()
            } else {
                segment.to_owned()
            }
        };
        self.path = self
            .path
            .split('/')
            .map(segment)
            .collect::<Vec<_>>()
            .join("/");
        if self.path != before.path {
            // One label for all, whatever the user's value.
            self.name = self.name.replace(value, variable.trim_start_matches('$'));
        }
        for known in self.headers.values_mut() {
            if last_word(known) == value {
                let before = known.len() - value.len();
                known.replace_range(before.., &variable);
            }
        }
        match &mut self.body {
            Body::Form(form) => {
                for known in form.values_mut().filter(|known| *known == value) {
                    known.clone_from(&variable);
                }
            }
            Body::Text(text) => {
                let quoted = serde_json::Value::from(value).to_string();
                *text = text.replace(&quoted, &format!("\"{variable}\""));
            }
            Body::None | Body::Bytes(_) => {}
        }
        *self != before
    }
}

/// The token of `Bearer token`.
fn last_word(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, rest))
            if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) && !rest.contains(' ') =>
        {
            rest
        }
        _ => value,
    }
}

fn strings(value: &serde_json::Value, key: &str, out: &mut Vec<(String, String)>) {
    match value {
        serde_json::Value::String(text) => out.push((key.to_owned(), text.clone())),
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, key, out)),
        serde_json::Value::Object(members) => members
            .iter()
            .for_each(|(key, value)| strings(value, key, out)),
        _ => {}
    }
}

fn headers(taken: &Taken) -> BTreeMap<String, String> {
    let is_kept = |name: &str| {
        let is = |known: &&str| known.eq_ignore_ascii_case(name);
        let starts = |prefix: &str| {
            name.len() >= prefix.len() && name[..prefix.len()].eq_ignore_ascii_case(prefix)
        };
        // A browser says where a form came from; some sites refuse one without.
        let is_origin_of_get =
            name.eq_ignore_ascii_case("Origin") && matches!(taken.method.as_str(), "GET" | "HEAD");
        !(BROWSERS_OWN.iter().any(is) || starts("Sec-") || starts("If-") || is_origin_of_get)
    };
    let mut headers = BTreeMap::new();
    for (name, value) in &taken.headers {
        if name.is_ascii() && is_kept(name) {
            headers.insert(name.clone(), escape(value));
        }
    }
    headers
}

fn body(taken: &Taken) -> Body {
    if taken.body.is_empty() {
        return Body::None;
    }
    let Ok(text) = std::str::from_utf8(&taken.body) else {
        return Body::Bytes(taken.body.clone());
    };
    let kind = taken
        .header("Content-Type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    if kind.starts_with("application/x-www-form-urlencoded")
        && let Some(form) = form(text)
    {
        return Body::Form(form);
    }
    // TOML cannot hold other control characters than these.
    if text
        .chars()
        .any(|c| c.is_control() && !"\t\r\n".contains(c))
        || kind.starts_with("multipart/")
    {
        return Body::Bytes(taken.body.clone());
    }
    Body::Text(escape(text))
}

/// A form's names and values; none when a name comes twice, which a table cannot hold.
fn form(text: &str) -> Option<BTreeMap<String, String>> {
    let mut form = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (decode(name)?, decode(value)?);
        if form.insert(escape(&name), escape(&value)).is_some() {
            return None;
        }
    }
    (!form.is_empty()).then_some(form)
}

/// Percent-decoded, or as it is when that gives no text.
fn decoded(text: &str) -> String {
    decode(text).unwrap_or_else(|| text.to_owned())
}

/// `application/x-www-form-urlencoded`, decoded; none when that gives no UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut rest = bytes.clone();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (byte, digit(rest.next()), digit(rest.next())) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                bytes = rest;
            }
            (b'+', ..) => out.push(b' '),
            _ => out.push(byte),
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use forebay_workload::Target;

    use super::*;

    fn taken(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Taken {
        Taken {
            at: Duration::ZERO,
            end: Duration::ZERO,
            method: method.into(),
            url: Target::parse(url).unwrap(),
            headers: headers
                .iter()
                .map(|(n, v)| ((*n).into(), (*v).into()))
                .collect(),
            body: body.to_vec(),
            status: 200,
            response: Vec::new(),
            content: Vec::new(),
        }
    }

    const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

    #[test]
    fn a_form_is_a_table_unless_a_name_comes_twice() {
        let draft =
            |body: &[u8]| Draft::of(&taken("POST", "http://x/", &[FORM], body), String::new());
        let form = draft(b"a=1+2&b=%C3%BC&c=$%7B");
        let expected = [("a", "1 2"), ("b", "ü"), ("c", "$${")].map(|(n, v)| (n.into(), v.into()));
        assert_eq!(form.body, Body::Form(expected.into()));
        assert!(form.headers.is_empty());
        let twice = draft(b"a=1&a=2");
        assert_eq!(twice.body, Body::Text("a=1&a=2".into()));
        assert_eq!(twice.headers.get("Content-Type").unwrap(), FORM.1);
        assert_eq!(draft(b"a=%ff").body, Body::Text("a=%ff".into()));
        assert_eq!(draft(b"\xff").body, Body::Bytes(vec![0xff]));
    }

    #[test]
    fn what_a_browser_says_by_itself_is_left_out() {
        let headers = [
            ("Host", "x"),
            ("User-Agent", "b"),
            ("Sec-Fetch-Dest", "empty"),
            ("If-None-Match", "1"),
            ("Cookie", "a=b"),
            ("Accept", "text/html"),
            ("X-Requested-With", "XMLHttpRequest"),
            ("Api-Key", "k"),
            ("Origin", "http://x"),
        ];
        let names = |method| {
            let draft = Draft::of(&taken(method, "http://x/", &headers, b""), String::new());
            draft.headers.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(names("GET"), ["Accept", "Api-Key", "X-Requested-With"]);
        assert_eq!(
            names("POST"),
            ["Accept", "Api-Key", "Origin", "X-Requested-With"]
        );
    }

    #[test]
    fn a_variable_stands_wherever_the_value_was_sent() {
        let headers = [
            ("Authorization", "Bearer tok/1"),
            ("Content-Type", "application/json"),
        ];
        let url = "http://x/a/tok%2F1/b?c=tok%2F1&d=2";
        let mut draft = Draft::of(
            &taken("POST", url, &headers, br#"{"t":"tok/1","u":"tok/12"}"#),
            "POST /a/tok/1/b".into(),
        );
        assert_eq!(
            draft
                .sent()
                .iter()
                .filter(|(_, value)| value == "tok/1")
                .count(),
            4
        );
        assert!(draft.replace("tok/1", "v"));
        assert!(!draft.replace("tok/3", "v"));
        assert_eq!(draft.url("http://x"), "/a/${v}/b?d=2");
        assert_eq!(draft.name, "POST /a/{v}/b");
        assert_eq!(draft.url("http://y"), "http://x/a/${v}/b?d=2");
        assert_eq!(draft.query.get("c").unwrap(), "${v}");
        assert_eq!(draft.headers.get("Authorization").unwrap(), "Bearer ${v}");
        assert_eq!(
            draft.body,
            Body::Text(r#"{"t":"${v}","u":"tok/12"}"#.into())
        );
    }
}
