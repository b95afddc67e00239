//! Access logs: what a server wrote about the requests it got, to be sent
//! again.
//!
//! One line after the other; nothing of a line stays but which request it was
//! and when ([`crate::Replay`]), so that logs of many gigabytes can be read. A line
//! that cannot be used is counted, with its number and the reason.

mod combined;
mod error;
mod escape;
mod json;
mod json_value;
mod read;
mod squid;

pub use error::LogError;
pub use read::{Options, read};

use std::borrow::Cow;
use std::fmt;

/// How the lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// NCSA common and combined, as Apache, nginx and many others write them; more fields behind
    /// and a virtual host in front are allowed.
    Combined,
    /// Squid's native format.
    Squid,
    /// A JSON object for each line: nginx (usual names of its variables), Caddy, Traefik, Forebay.
    Json,
}

/// One request of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Unix milliseconds: when it began, if the line says how long it took, else when it ended.
    pub at_ms: Option<i64>,
    /// As logged, a token.
    pub method: Cow<'a, str>,
    /// An absolute URL or a path, as it was in the request line.
    pub url: Cow<'a, str>,
    /// The host asked for, when the line has it.
    pub host: Option<Cow<'a, str>>,
    /// The status sent; 0 when the line does not say.
    pub status: u16,
    /// Bytes sent; 0 when the line does not say.
    pub bytes: u64,
    /// The request's `Referer`.
    pub referer: Option<Cow<'a, str>>,
    /// The request's `User-Agent`.
    pub user_agent: Option<Cow<'a, str>>,
}

impl Entry<'_> {
    /// The same without borrowing from the line.
    fn into_owned(self) -> Entry<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Entry {
            at_ms: self.at_ms,
            method: owned(self.method),
            url: owned(self.url),
            host: self.host.map(owned),
            status: self.status,
            bytes: self.bytes,
            referer: self.referer.map(owned),
            user_agent: self.user_agent.map(owned),
        }
    }
}

/// Why a line has no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The line is sound and says that no request was read: the client had closed, or sent
    /// something that was not HTTP.
    NoRequest,
    /// The line is not of this format, in words for the user.
    Unreadable(Cow<'static, str>),
}

impl Format {
    /// The format that reads most lines of a log's beginning; none when none reads any.
    pub fn detect(sample: &[u8]) -> Option<Self> {
        const LINES: usize = 50;
        let lines = || {
            let all = sample.split(|&byte| byte == b'\n');
            all.map(<[u8]>::trim_ascii)
                .filter(|line| !line.is_empty())
                .take(LINES)
        };
        let readable = |format: &Self| {
            let read = |line: &&[u8]| !matches!(format.parse(line), Err(Fault::Unreadable(_)));
            lines().filter(read).count()
        };
        [Self::Combined, Self::Squid, Self::Json]
            .into_iter()
            .filter(|format| readable(format) > 0)
            .max_by_key(readable)
    }

    /// Reads one line, without its line break.
    ///
    /// # Errors
    /// When there is no request in it.
    pub fn parse(self, line: &[u8]) -> Result<Entry<'_>, Fault> {
        match self {
            Self::Combined => combined::parse(line),
            Self::Squid => squid::parse(line),
            Self::Json => json::parse(line),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Combined => "combined",
            Self::Squid => "squid",
            Self::Json => "json",
        })
    }
}

/// The parts of `GET /path HTTP/1.1`. Servers write what they got: a URL with spaces in it, or no
/// protocol (HTTP/0.9).
fn request_line(line: Cow<'_, str>) -> Result<(Cow<'_, str>, Cow<'_, str>), Fault> {
    let split = |line: &str| {
        let (method, rest) = line.split_once(' ')?;
        let url = match rest.rsplit_once(' ') {
            Some((url, protocol)) if protocol.starts_with("HTTP/") => url,
            _ => rest,
        };
        let start = method.len() + 1;
        let sound = crate::request::is_token(method) && !url.is_empty();
        sound.then_some((method.len(), start..start + url.len()))
    };
    let (method, url) = split(&line).ok_or(Fault::NoRequest)?;
    Ok(match line {
        Cow::Borrowed(line) => (line[..method].into(), line[url].into()),
        Cow::Owned(line) => (
            line[..method].to_owned().into(),
            line[url].to_owned().into(),
        ),
    })
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod format_tests;
#[cfg(test)]
#[path = "read_tests.rs"]
mod read_tests;
