//! A step's request, prepared: what is known beforehand is bytes already, the
//! rest is written for each request.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::check::{Statuses, Test};
use super::coding::Coding;
use super::cookies::Jar;
use super::extract::Extraction;
use super::memory::Memory;
use super::table::Table;
use super::template::Template;
use crate::Target;

/// A step that sends.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Index of the label.
    pub(crate) label: usize,
    /// What faults call the step.
    pub(crate) step: String,
    /// `GET`
    pub(crate) method: String,
    /// Where it goes.
    pub(crate) to: Destination,
    /// The field lines that the scenario gives, without `Content-Length`.
    pub(crate) lines: Vec<Line>,
    /// What it carries.
    pub(crate) body: Body,
    /// The response ends the connection.
    pub(crate) close: bool,
    /// Redirections that are followed.
    pub(crate) follow: u32,
    /// The status it must have.
    pub(crate) statuses: Statuses,
    /// The other checks.
    pub(crate) tests: Vec<Test>,
    /// Variables taken from the response.
    pub(crate) extractions: Vec<Extraction>,
    /// Whether checks or extractions look at the body.
    pub(crate) keep_body: bool,
    /// The whole request, if nothing in it changes; and where in it cookies are put.
    pub(crate) ready: Option<(Box<[u8]>, usize)>,
}

/// A field line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its name.
    pub(crate) name: String,
    /// Its value; for `basic` name and password with a colon between.
    pub(crate) value: Template,
    /// The value is written as HTTP's basic authentication asks (RFC 7617).
    pub(crate) basic: bool,
}

/// What a request carries.
#[derive(Debug)]
pub(crate) enum Body {
    /// These bytes, perhaps none.
    Fixed(Box<[u8]>),
    /// Written each time.
    Made(Template),
}

/// Where a request goes.
#[derive(Debug)]
pub(crate) enum Destination {
    /// Always the same.
    Fixed {
        /// Index of the place.
        place: usize,
        /// With path.
        target: Target,
    },
    /// Always the same place.
    Path {
        /// Index of the place.
        place: usize,
        /// Its path does not matter.
        target: Target,
        /// The path with query.
        path: Template,
    },
    /// Known only when it is sent.
    Anywhere {
        /// Absolute, or relative to `base`.
        url: Template,
        /// What is appended to the URL's query, if anything.
        query: Template,
        /// What it is relative to.
        base: Option<Target>,
    },
}

impl Destination {
    /// The place, if it is known.
    pub(crate) fn place(&self) -> Option<usize> {
        match self {
            Self::Fixed { place, .. } | Self::Path { place, .. } => Some(*place),
            Self::Anywhere { .. } => None,
        }
    }
}

/// One request as it goes out: the plan's, or a redirection of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing<'a> {
    /// Where to.
    pub(crate) target: &'a Target,
    /// Path and query.
    pub(crate) path: &'a [u8],
    /// A redirection made it a `GET` without body (RFC 9110 section 15.4).
    pub(crate) as_get: bool,
    /// A redirection led it to another place, which must not see what was for the first.
    pub(crate) foreign: bool,
    /// The body; `None`: the plan's.
    pub(crate) body: Option<&'a [u8]>,
}

impl Plan {
    /// What its method is, after a redirection perhaps.
    pub(crate) fn method(&self, as_get: bool) -> &str {
        if as_get && self.method != "HEAD" {
            "GET"
        } else {
            &self.method
        }
    }

    /// Appends the request; returns how many of its bytes, the last ones, are the body.
    pub(crate) fn write(
        &self,
        outgoing: Outgoing<'_>,
        cookies: Option<(&mut Jar, u64)>,
        tables: &[Table],
        memory: &mut Memory,
        out: &mut Vec<u8>,
    ) -> usize {
        let start = out.len();
        // The body first, for its length; what comes before it is moved there afterwards.
        match (&self.body, outgoing.body) {
            _ if outgoing.as_get => {}
            (_, Some(bytes)) => out.extend_from_slice(bytes),
            (Body::Fixed(bytes), None) => out.extend_from_slice(bytes),
            (Body::Made(template), None) => template.write(tables, memory, out),
        }
        let body_bytes = out.len() - start;
        self.head(outgoing, body_bytes, tables, memory, out);
        if let Some((jar, now)) = cookies
            && (!self.has("Cookie") || outgoing.foreign)
        {
            jar.write_to(outgoing.target, outgoing.path, now, out);
        }
        out.extend_from_slice(b"\r\n");
        if body_bytes > 0 {
            out[start..].rotate_left(body_bytes);
        }
        body_bytes
    }

    fn head(
        &self,
        outgoing: Outgoing<'_>,
        body_bytes: usize,
        tables: &[Table],
        memory: &mut Memory,
        out: &mut Vec<u8>,
    ) {
        let method = self.method(outgoing.as_get);
        put(
            out,
            &[method.as_bytes(), b" ", outgoing.path, b" HTTP/1.1\r\n"],
        );
        if !self.has("Host") || outgoing.foreign {
            put(
                out,
                &[b"Host: ", outgoing.target.authority.as_bytes(), b"\r\n"],
            );
        }
        for line in &self.lines {
            if line.stays(outgoing) {
                line.write(tables, memory, out);
            }
        }
        let takes_body = matches!(method, "POST" | "PUT" | "PATCH");
        if body_bytes > 0 || takes_body {
            out.extend_from_slice(format!("Content-Length: {body_bytes}\r\n").as_bytes());
        }
    }

    fn has(&self, name: &str) -> bool {
        let is = |line: &Line| line.name.eq_ignore_ascii_case(name);
        self.lines.iter().any(is)
    }

    /// Renders the request now if nothing in it changes.
    pub(crate) fn make_ready(&mut self) {
        let Destination::Fixed { target, .. } = &self.to else {
            return;
        };
        let fixed = self.lines.iter().all(|line| line.value.fixed().is_some());
        if !fixed || matches!(self.body, Body::Made(_)) || self.has("Cookie") {
            return;
        }
        let outgoing = Outgoing {
            target,
            path: target.path.as_bytes(),
            as_get: false,
            foreign: false,
            body: None,
        };
        let mut out = Vec::new();
        let mut memory = Memory::new(0, 0, 0, 0);
        let body_bytes = self.write(outgoing, None, &[], &mut memory, &mut out);
        let cookies_at = out.len() - body_bytes - 2;
        self.ready = Some((out.into_boxed_slice(), cookies_at));
    }
}

impl Line {
    fn write(&self, tables: &[Table], memory: &mut Memory, out: &mut Vec<u8>) {
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(b": ");
        if self.basic {
            let text = BASE64_STANDARD.encode(self.value.text(tables, memory));
            out.extend_from_slice(b"Basic ");
            out.extend_from_slice(text.as_bytes());
        } else {
            self.value.write(tables, memory, out);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Whether a redirection still sends it.
    fn stays(&self, outgoing: Outgoing<'_>) -> bool {
        let is = |name: &&str| self.name.eq_ignore_ascii_case(name);
        let of_body = ["Content-Type", "Content-Encoding", "Content-Language"];
        let of_place = ["Host", "Authorization", "Cookie", "Origin"];
        !(outgoing.as_get && of_body.iter().any(is) || outgoing.foreign && of_place.iter().any(is))
    }
}

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// The URL that a step means: `text` at `base`, with `query` appended to its query.
///
/// # Errors
/// When it is none, in words.
pub(crate) fn resolve(base: Option<&Target>, text: &str, query: &str) -> Result<Target, String> {
    let text = text.split('#').next().unwrap_or_default();
    let mut target = match base {
        _ if is_absolute(text) => Target::parse(text).map_err(|error| error.to_string())?,
        None => {
            return Err(format!(
                "`{}` is relative, and there is no base",
                super::pattern::shortened(text.as_bytes())
            ));
        }
        Some(base) if text.starts_with("//") => {
            let scheme = if base.tls { "https:" } else { "http:" };
            Target::parse(&format!("{scheme}{text}")).map_err(|error| error.to_string())?
        }
        Some(base) => {
            let (path, own_query) = match text.split_once('?') {
                Some((path, query)) => (path, Some(query)),
                None => (text, None),
            };
            let mut target = base.clone();
            if path.starts_with('/') {
                target.path = Coding::Url.encoded(path);
            } else if !path.is_empty() {
                target = base.join(path).map_err(|error| error.to_string())?;
            }
            if let Some(query) = own_query {
                let kept = target.path.find('?').unwrap_or(target.path.len());
                target.path.truncate(kept);
                target.path.push('?');
                target.path.push_str(&Coding::Url.encoded(query));
            }
            target
        }
    };
    if !query.is_empty() {
        target
            .path
            .push(if target.path.contains('?') { '&' } else { '?' });
        target.path.push_str(query);
    }
    Ok(target)
}

/// Whether a URL says by itself where it goes.
pub(crate) fn is_absolute(text: &str) -> bool {
    text.starts_with("unix:")
        || text.split_once("://").is_some_and(|(scheme, _)| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            !scheme.is_empty() && scheme.chars().all(plain)
        })
}
