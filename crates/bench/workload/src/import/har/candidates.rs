//! Values that a response brought and a later request sent: tokens of forms,
//! identifiers. A scenario has to take them from the response, or every user
//! sends the recorded ones.

use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;

use super::super::notes::{Fate, Note, Notes, shortened};
use super::request::decoded;

/// Shorter values occur in many places by chance.
const SHORTEST: usize = 8;
/// Longer ones are texts, not tokens.
const LONGEST: usize = 4096;
/// So much of a response is looked at.
const MAX_BODY_BYTES: usize = 4 << 20;
/// So many values are remembered.
const MAX_VALUES: usize = 200_000;

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Raw>,
}

#[derive(Deserialize)]
struct Raw {
    request: RawRequest,
    #[serde(default)]
    response: Option<RawResponse>,
}

#[derive(Deserialize)]
struct RawRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Option<Vec<Pair>>,
    #[serde(default, rename = "postData")]
    body: Option<PostData>,
}

#[derive(Deserialize)]
struct Pair {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    value: Option<String>,
}

#[derive(Deserialize)]
struct PostData {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    params: Option<Vec<Pair>>,
}

#[derive(Deserialize)]
struct RawResponse {
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default, rename = "mimeType")]
    mime: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

/// Where a value came from.
struct Origin {
    request: String,
    /// What it was called there.
    name: String,
    /// How a scenario takes it.
    extract: String,
}

/// Adds a note for each value that went from a response to a later request.
pub(super) fn point_out(text: &str, notes: &mut Notes) {
    // The recording was read before; what this stricter look does not like has no candidates.
    let Ok(file) = serde_json::from_str::<File>(text) else {
        return;
    };
    let mut known: HashMap<String, Origin> = HashMap::new();
    let mut told: HashSet<(String, String)> = HashSet::new();
    for entry in &file.log.entries {
        let title = title(&entry.request);
        for (place, value) in sent(&entry.request) {
            let Some(origin) = known.get(&value) else {
                continue;
            };
            if !told.insert((origin.name.clone(), title.clone())) {
                continue;
            }
            notes.add(Note {
                kind: "value".into(),
                name: shortened(&origin.name, 80),
                path: title.clone(),
                fate: Fate::Hint,
                words: format!(
                    "`{}` in its {place} came with {}; take it from there with {}",
                    shortened(&value, 24),
                    origin.request,
                    origin.extract
                ),
            });
        }
        if let Some(content) = entry
            .response
            .as_ref()
            .and_then(|response| response.content.as_ref())
        {
            remember(content, &title, &mut known);
        }
    }
}

fn title(request: &RawRequest) -> String {
    let path = request
        .url
        .split_once("://")
        .map_or(request.url.as_str(), |(_, rest)| {
            rest.find('/').map_or("/", |at| &rest[at..])
        });
    let path = path.split(['?', '#']).next().unwrap_or_default();
    shortened(&format!("{} {path}", request.method), 120)
}

/// The values in a request, and where in it they are. Cookies are not among them: the user's
/// jar sends them.
fn sent(request: &RawRequest) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let query = request.url.split_once('?').map_or("", |(_, query)| query);
    pairs(query, "query", &mut out);
    for pair in request.headers.iter().flatten() {
        let (Some(name), Some(value)) = (&pair.name, &pair.value) else {
            continue;
        };
        if !name.eq_ignore_ascii_case("cookie") && !name.eq_ignore_ascii_case("referer") {
            out.push(("fields", value.clone()));
            out.extend(value.split(' ').map(|word| ("fields", word.to_owned())));
        }
    }
    if let Some(body) = &request.body {
        for pair in body.params.iter().flatten() {
            let value = pair.value.clone().unwrap_or_default();
            out.extend(decoded(&value).map(|value| ("body", value)));
            out.push(("body", value));
        }
        if let Some(text) = &body.text {
            match serde_json::from_str::<Value>(text) {
                Ok(value) => leaves(&value, "", &mut |_, value| {
                    out.push(("body", value.to_owned()))
                }),
                Err(_) => pairs(text, "body", &mut out),
            }
        }
    }
    out
}

fn pairs(text: &str, place: &'static str, out: &mut Vec<(&'static str, String)>) {
    for pair in text.split('&') {
        let (_, value) = pair.split_once('=').unwrap_or(("", pair));
        out.extend(decoded(value).map(|value| (place, value)));
    }
}

fn remember(content: &Content, title: &str, known: &mut HashMap<String, Origin>) {
    let mime = content
        .mime
        .as_deref()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let Some(text) = text_of(content) else { return };
    if text.len() > MAX_BODY_BYTES {
        return;
    }
    let mut add = |name: String, value: &str, extract: String| {
        let long_enough = (SHORTEST..=LONGEST).contains(&value.len());
        if long_enough && known.len() < MAX_VALUES && !value.contains(char::is_whitespace) {
            known.entry(value.to_owned()).or_insert_with(|| Origin {
                request: title.to_owned(),
                name,
                extract,
            });
        }
    };
    if mime.contains("json") {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            leaves(&value, "$", &mut |path, value| {
                add(path.to_owned(), value, format!("json = \"{path}\""));
            });
        }
    } else if mime.contains("html") || mime.is_empty() {
        for (name, value, pattern) in tags(&text) {
            add(name, &value, format!("regex = '{pattern}'"));
        }
    }
}

fn text_of(content: &Content) -> Option<String> {
    let text = content.text.as_ref()?;
    if content.encoding.as_deref() == Some("base64") {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(text)
            .ok()?;
        return String::from_utf8(bytes).ok();
    }
    Some(text.clone())
}

/// Texts and numbers in a document, with their paths.
fn leaves(value: &Value, path: &str, act: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => act(path, text),
        Value::Number(number) => act(path, &number.to_string()),
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                leaves(element, &format!("{path}[{at}]"), act);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let plain = !name.is_empty()
                    && name
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let path = if plain {
                    format!("{path}.{name}")
                } else {
                    format!(
                        "{path}['{}']",
                        name.replace('\\', "\\\\").replace('\'', "\\'")
                    )
                };
                leaves(member, &path, act);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Names and values of a page's inputs and meta elements, with a pattern that finds the value.
pub(super) fn tags(text: &str) -> Vec<(String, String, String)> {
    let mut out = Vec::new();
    for tag in text.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap_or_default();
        let head = tag.split_whitespace().next().unwrap_or_default();
        let value = match head.to_ascii_lowercase().as_str() {
            "input" => "value",
            "meta" => "content",
            _ => continue,
        };
        let (Some((name_at, name)), Some((value_at, found))) =
            (attribute(tag, "name"), attribute(tag, value))
        else {
            continue;
        };
        if name.is_empty() || name.contains('\'') {
            continue;
        }
        let written = regex::escape(name);
        let pattern = if name_at < value_at {
            format!("name=[\"']?{written}[^>]*?{value}=\"([^\"]+)\"")
        } else {
            format!("<{head}[^>]*?{value}=\"([^\"]+)\"[^>]*?name=[\"']?{written}")
        };
        out.push((
            name.to_owned(),
            found.replace("&amp;", "&"),
            pattern.replace('\'', "\\x27"),
        ));
    }
    out
}

/// Where an attribute stands in a tag, and its value.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let mut from = 0;
    while let Some(found) = tag.get(from..)?.find(name) {
        let at = from + found;
        from = at + name.len();
        let begins = tag[..at]
            .ends_with(|char: char| char.is_ascii_whitespace() || char == '"' || char == '\'');
        let Some(rest) = tag[from..].trim_start().strip_prefix('=') else {
            continue;
        };
        if !begins {
            continue;
        }
        let rest = rest.trim_start();
        let value = match rest.chars().next() {
            Some(mark @ ('"' | '\'')) => rest[1..].split(mark).next(),
            _ => rest.split_whitespace().next(),
        };
        return value.map(|value| (at, value));
    }
    None
}
