//! Files of URLs, as http_load and siege read them.
//!
//! A line is a URL, or a URL with a method and a body (`URL POST name=value`,
//! `URL POST <file`), or a variable (`HOST=www.example`) that later lines use
//! as `$(HOST)` or `${HOST}`. Empty lines and lines that begin with `#` say
//! nothing; neither does what follows a URL behind ` #`.

use std::collections::HashMap;
use std::io;

use crate::lines::excerpt;
use crate::{LineErrors, Request, Target};

/// The most requests of a file: about a gigabyte of memory.
const MOST_REQUESTS: usize = 3_000_000;
/// The most variables of a file.
const MOST_VARIABLES: usize = 1_000;
/// The longest line after variables have been replaced.
const MOST_LINE_BYTES: usize = 16 << 20;

/// The requests of a file, in its order. A path without a host belongs to `base`; `read_file`
/// gives the bytes of a body's file.
///
/// # Errors
/// When a line is no request, or there is none: the first complaints with their lines and words
/// for the user.
pub fn parse(
    text: &str,
    base: Option<&Target>,
    read_file: &mut dyn FnMut(&str) -> io::Result<Vec<u8>>,
) -> Result<Vec<Request>, LineErrors> {
    let mut file = File {
        base,
        read_file,
        variables: HashMap::new(),
        requests: Vec::new(),
    };
    let mut errors = LineErrors::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in (1..).zip(text.lines()) {
        if let Err(message) = file.line(line.trim()) {
            errors.add(number, || message);
        }
    }
    if file.requests.is_empty() && errors.is_empty() {
        errors.add(1, || "there is no URL in the file".into());
    }
    if errors.is_empty() {
        Ok(file.requests)
    } else {
        Err(errors)
    }
}

struct File<'a> {
    base: Option<&'a Target>,
    read_file: &'a mut dyn FnMut(&str) -> io::Result<Vec<u8>>,
    variables: HashMap<String, String>,
    requests: Vec<Request>,
}

impl File<'_> {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some((name, value)) = assignment(line) {
            return self.assign(name, value.trim());
        }
        if self.requests.len() >= MOST_REQUESTS {
            return Err(format!("more than {MOST_REQUESTS} URLs"));
        }
        let (url, rest) = match line.split_once(char::is_whitespace) {
            Some((url, rest)) => (url, rest.trim_start()),
            None => (line, ""),
        };
        let target = self.target(&self.replaced(url, true)?)?;
        let mut request = Request::get(target);
        if !rest.is_empty() && !rest.starts_with('#') {
            self.method(rest, &mut request)?;
        }
        self.requests.push(request);
        Ok(())
    }

    fn assign(&mut self, name: &str, value: &str) -> Result<(), String> {
        let value = self.replaced(value, true)?;
        if self.variables.len() >= MOST_VARIABLES && !self.variables.contains_key(name) {
            return Err(format!("more than {MOST_VARIABLES} variables"));
        }
        self.variables.insert(name.into(), value);
        Ok(())
    }

    fn target(&self, url: &str) -> Result<Target, String> {
        match self.base {
            Some(base) if url.starts_with(['/', '?']) => base.join(url),
            None if url.starts_with('/') => {
                return Err(format!(
                    "`{}` has no host; name it with --base",
                    excerpt(url.as_bytes())
                ));
            }
            _ => Target::parse(url),
        }
        .map_err(|error| error.to_string())
    }

    /// What follows a URL: `POST body`, `POST <file`, or only a method.
    fn method(&mut self, rest: &str, request: &mut Request) -> Result<(), String> {
        let (method, body) = match rest.split_once(char::is_whitespace) {
            Some((method, body)) => (method, body.trim_start()),
            None => (rest, ""),
        };
        const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
        if !METHODS.contains(&method) {
            let shown = excerpt(method.as_bytes());
            return Err(format!(
                "`{shown}` behind the URL is no method (a space in a URL is written %20)"
            ));
        }
        request.method = method.into();
        let (body, mime) = match body.strip_prefix('<') {
            Some(path) => {
                let path = self.replaced(path.trim(), true)?;
                let bytes = (self.read_file)(&path).map_err(|error| format!("{path}: {error}"))?;
                (bytes, mime(&path))
            }
            None => (self.replaced(body, false)?.into_bytes(), FORM),
        };
        if !body.is_empty() {
            request.headers.push(("Content-Type".into(), mime.into()));
            request.body = body;
        }
        Ok(())
    }

    /// The text with `$(NAME)` and `${NAME}` replaced. A name that is not known is an error when
    /// `strict`; in a body it stays, as it can mean something to the server.
    fn replaced(&self, text: &str, strict: bool) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let close = match rest.as_bytes().get(1) {
                Some(b'(') => rest.find(')'),
                Some(b'{') => rest.find('}'),
                _ => None,
            };
            let name = close
                .and_then(|close| rest.get(2..close))
                .filter(|name| is_name(name));
            match name.map(|name| (name, self.variables.get(name))) {
                Some((name, Some(value))) => {
                    out.push_str(value);
                    rest = &rest[name.len() + 3..];
                }
                Some((name, None)) if strict => {
                    return Err(format!(
                        "the variable `{}` is not set above",
                        excerpt(name.as_bytes())
                    ));
                }
                _ => {
                    out.push('$');
                    rest = &rest[1..];
                }
            }
            // A line of uses of a variable of uses of a variable…
            if out.len() > MOST_LINE_BYTES {
                return Err(format!(
                    "longer than {} MiB with its variables",
                    MOST_LINE_BYTES >> 20
                ));
            }
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// `NAME=value`. No URL begins like that: a host has no `=`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    is_name(name).then_some((name, value))
}

fn is_name(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().all(part) && !text.is_empty() && !text.as_bytes()[0].is_ascii_digit()
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Media type of a body's file by its name; a form when it says nothing.
fn mime(path: &str) -> &'static str {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "json" => "application/json",
        "xml" => "application/xml",
        "html" | "htm" => "text/html",
        "txt" | "csv" => "text/plain",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "bin" | "zip" | "gz" => "application/octet-stream",
        _ => FORM,
    }
}

#[cfg(test)]
#[path = "urls_tests.rs"]
mod tests;
