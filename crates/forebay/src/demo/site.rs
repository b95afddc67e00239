//! The demonstration's site: which path is answered with what, and how long
//! each answer may be kept.
//!
//! Every page shows one thing that a cache does; the visitor's page
//! (`visitor.html`) fetches them all and says what happened to each.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use forebay_http::{conditional, date};

use super::picture;
use super::request::Request;

/// The page that shows every other.
const VISITOR: &str = include_str!("visitor.html");

/// The sizes of `/object/…`, in kilobytes of 1000 bytes.
const OBJECTS_KB: [usize; 5] = [1, 6, 20, 75, 500];

/// How long `/slow` takes.
const SLOW: Duration = Duration::from_millis(1500);

/// What the origin sends, before framing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Status code.
    pub(super) status: u16,
    /// Fields without framing and `Date`.
    pub(super) fields: Vec<(&'static str, String)>,
    /// The whole body.
    pub(super) body: Vec<u8>,
    /// To wait before it is sent.
    pub(super) delay: Duration,
}

/// The site; lives as long as the demonstration.
#[derive(Debug)]
pub(super) struct Site {
    /// Unix seconds; everything that does not change was modified then.
    started: u64,
    /// The PNG, made once.
    evening: Vec<u8>,
    /// How many times `/slow` was made.
    slow: AtomicU64,
    /// The administration address, once it is known.
    admin: OnceLock<SocketAddr>,
}

impl Site {
    /// A site whose pages were last modified at `started` (Unix seconds).
    pub(super) fn new(started: u64) -> Self {
        Self {
            started,
            evening: picture::evening(),
            slow: AtomicU64::new(0),
            admin: OnceLock::new(),
        }
    }

    /// Where `/stats` leads.
    pub(super) fn set_admin(&self, address: SocketAddr) {
        // The address does not change while the demonstration runs.
        let _ = self.admin.set(address);
    }

    /// The answer to `request` at `now` (Unix seconds).
    pub(super) fn answer(&self, request: &Request, now: u64) -> Answer {
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return text(405, "This site only answers GET and HEAD.\n").with("Allow", "GET, HEAD");
        }
        let answer = self.route(request, now);
        if answer.status == 200 && self.is_unchanged(request, &answer) {
            return Answer {
                status: 304,
                body: Vec::new(),
                ..answer
            };
        }
        answer
    }

    fn route(&self, request: &Request, now: u64) -> Answer {
        match request.path.as_str() {
            // The browser is to ask each time, so that it shows what Forebay does.
            "/" => self.dated(
                html(VISITOR),
                "max-age=0, s-maxage=10, stale-while-revalidate=60",
            ),
            "/page/1kb" => self.dated(html(&one_kilobyte()), "max-age=60"),
            "/picture.svg" => {
                self.dated(typed("image/svg+xml", picture::DRAWING.into()), "max-age=5")
            }
            "/picture.png" => self.dated(typed("image/png", self.evening.clone()), "max-age=3600"),
            "/slow" => self.slow(now),
            "/never" => {
                let page = format!(
                    "Made for you alone at {}. Ask again: the time moves.\n",
                    clock(now)
                );
                text(200, &page).with("Cache-Control", "no-store")
            }
            "/private" => text(200, "This is your basket. No shared cache may keep it.\n")
                .with("Cache-Control", "private, max-age=60"),
            "/vary" => vary(request),
            "/old" => text(301, "This page has moved to /\n")
                .with("Location", "/")
                .with("Cache-Control", "max-age=60"),
            "/stats" => self.stats(),
            path => match object_bytes(path) {
                Some(bytes) => self.dated(
                    typed("text/plain; charset=utf-8", filler(bytes)),
                    "max-age=3600",
                ),
                None => text(404, "There is nothing here.\n").with("Cache-Control", "max-age=5"),
            },
        }
    }

    /// Adds freshness and both validators.
    fn dated(&self, answer: Answer, cache_control: &str) -> Answer {
        let etag = format!("\"{:x}-{:x}\"", self.started, answer.body.len());
        answer
            .with("Cache-Control", cache_control)
            .with("ETag", &etag)
            .with("Last-Modified", &http_date(self.started))
    }

    /// RFC 9110 section 13.2.2, steps 3 and 4.
    fn is_unchanged(&self, request: &Request, answer: &Answer) -> bool {
        let Some(etag) = answer.field("ETag") else {
            return false;
        };
        if !request.if_none_match.is_empty() {
            let tags = request.if_none_match.iter().map(String::as_bytes);
            return conditional::list_matches(tags, Some(etag.as_bytes()), true);
        }
        let since = request
            .if_modified_since
            .as_deref()
            .and_then(|value| date::parse(value.as_bytes()));
        since.is_some_and(|since| self.started <= since)
    }

    fn slow(&self, now: u64) -> Answer {
        let number = self.slow.fetch_add(1, Ordering::Relaxed) + 1;
        let page = format!(
            "<!doctype html><title>A slow page</title><p>This page takes 1.5 seconds to make. \
             It is number <b>{number}</b>, made at {}.\n",
            clock(now)
        );
        let answer = html(&page).with("Cache-Control", "max-age=10, stale-while-revalidate=60");
        Answer {
            delay: SLOW,
            ..answer
        }
    }

    fn stats(&self) -> Answer {
        match self.admin.get() {
            Some(address) => text(302, "The figures are at the administration address.\n")
                .with("Location", &format!("http://{address}/status"))
                .with("Cache-Control", "no-store"),
            None => {
                text(404, "There is no administration address.\n").with("Cache-Control", "no-store")
            }
        }
    }
}

impl Answer {
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, value.to_owned()));
        self
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(own, _)| *own == name)
            .map(|(_, value)| value.as_str())
    }
}

fn typed(kind: &str, body: Vec<u8>) -> Answer {
    Answer {
        status: 200,
        body,
        ..Answer::default()
    }
    .with("Content-Type", kind)
}

fn html(page: &str) -> Answer {
    typed("text/html; charset=utf-8", page.into())
}

fn text(status: u16, text: &str) -> Answer {
    Answer {
        status,
        ..typed("text/plain; charset=utf-8", text.into())
    }
}

/// One greeting for each of three languages.
fn vary(request: &Request) -> Answer {
    let first = request
        .accept_language
        .split([',', ';'])
        .next()
        .unwrap_or_default()
        .trim();
    let (language, greeting) = match first.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("de") => ("de", "Guten Tag!"),
        Some("fr") => ("fr", "Bonjour !"),
        _ => ("en", "Good day!"),
    };
    let page = format!(
        "{greeting}\n(You accept these codings: {})\n",
        request.accept_encoding
    );
    text(200, &page)
        .with("Content-Language", language)
        .with("Vary", "Accept-Language, Accept-Encoding")
        .with("Cache-Control", "max-age=60")
}

/// `/object/6k` to 6000, and `/bytes/6000/17`, one of the objects of a generated catalogue.
fn object_bytes(path: &str) -> Option<usize> {
    if let Some((bytes, index)) = path
        .strip_prefix("/bytes/")
        .and_then(|rest| rest.split_once('/'))
    {
        let bytes = bytes.parse().ok().filter(|&bytes| bytes <= MOST_BYTES);
        return bytes.filter(|_| !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()));
    }
    let kilobytes = path
        .strip_prefix("/object/")?
        .strip_suffix('k')?
        .parse()
        .ok()?;
    OBJECTS_KB.contains(&kilobytes).then_some(kilobytes * 1000)
}

/// The largest object of a catalogue.
const MOST_BYTES: usize = 1 << 20;

/// Numbered lines, so that a part of it can be told from another.
fn filler(bytes: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(bytes + 64);
    for line in 1.. {
        if body.len() >= bytes {
            break;
        }
        body.extend(format!("line {line:>6}: water kept for the dry days\n").into_bytes());
    }
    body.truncate(bytes);
    body
}

/// An HTML page of 1000 bytes.
fn one_kilobyte() -> String {
    let page = "<!doctype html>\n<html lang=\"en\">\n<title>A small page</title>\n\
                <h1>A small page</h1>\n<p>It is exactly 1000 bytes long, so that sizes can be checked.\n<!-- ";
    let end = " -->\n";
    let padding = "~".repeat(1000 - page.len() - end.len());
    format!("{page}{padding}{end}")
}

/// `Sat, 21 Nov 2026 20:13:52 GMT`
pub(super) fn http_date(unix_seconds: u64) -> String {
    let mut text = Vec::with_capacity(29);
    date::write(unix_seconds, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// `20:13:52 GMT`
fn clock(unix_seconds: u64) -> String {
    http_date(unix_seconds)
        .get(17..)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const STARTED: u64 = 1_795_291_200;

    fn get(path: &str) -> Request {
        Request {
            method: "GET".into(),
            path: path.into(),
            ..Request::default()
        }
    }

    fn answer(request: &Request) -> Answer {
        Site::new(STARTED).answer(request, STARTED + 5)
    }

    #[test]
    fn objects_have_the_size_in_their_path() {
        for (path, bytes) in [
            ("/object/6k", Some(6000)),
            ("/object/7k", None),
            ("/bytes/20480/9", Some(20_480)),
            ("/bytes/0/0", Some(0)),
            ("/bytes/20480/", None),
            ("/bytes/20480/x", None),
            ("/bytes/2000000/1", None),
            ("/bytes/1", None),
        ] {
            assert_eq!(object_bytes(path), bytes, "{path}");
        }
    }

    #[test]
    fn sizes_are_exact() {
        assert_eq!(answer(&get("/page/1kb")).body.len(), 1000);
        for kilobytes in OBJECTS_KB {
            assert_eq!(
                answer(&get(&format!("/object/{kilobytes}k"))).body.len(),
                kilobytes * 1000
            );
        }
        assert_eq!(answer(&get("/object/7k")).status, 404);
    }

    #[test]
    fn each_page_says_how_long_it_may_be_kept() {
        for (path, status, cache_control) in [
            (
                "/",
                200,
                "max-age=0, s-maxage=10, stale-while-revalidate=60",
            ),
            ("/slow", 200, "max-age=10, stale-while-revalidate=60"),
            ("/never", 200, "no-store"),
            ("/private", 200, "private, max-age=60"),
            ("/missing", 404, "max-age=5"),
            ("/old", 301, "max-age=60"),
        ] {
            let answer = answer(&get(path));
            assert_eq!(
                (answer.status, answer.field("Cache-Control")),
                (status, Some(cache_control)),
                "{path}"
            );
        }
    }

    #[test]
    fn a_validator_that_still_holds_is_answered_with_304_and_no_body() {
        let full = answer(&get("/picture.svg"));
        let etag = full.field("ETag").unwrap().to_owned();
        let by_tag = Request {
            if_none_match: vec![format!("\"other\", W/{etag}")],
            ..get("/picture.svg")
        };
        let by_date = Request {
            if_modified_since: Some(http_date(STARTED)),
            ..get("/picture.svg")
        };
        for request in [by_tag, by_date] {
            let answer = answer(&request);
            assert_eq!((answer.status, answer.body.len()), (304, 0));
            assert_eq!(answer.field("ETag"), Some(etag.as_str()));
        }
    }

    #[test]
    fn another_validator_gets_the_whole_answer() {
        let by_tag = Request {
            if_none_match: vec!["\"other\"".into()],
            ..get("/picture.svg")
        };
        let by_date = Request {
            if_modified_since: Some(http_date(STARTED - 1)),
            ..get("/picture.svg")
        };
        assert_eq!(answer(&by_tag).status, 200);
        assert_eq!(answer(&by_date).status, 200);
    }

    #[test]
    fn the_greeting_follows_the_language() {
        for (accepted, language) in [
            ("de-AT, en;q=0.5", "de"),
            ("fr", "fr"),
            ("é", "en"),
            ("", "en"),
        ] {
            let request = Request {
                accept_language: accepted.into(),
                ..get("/vary")
            };
            assert_eq!(
                answer(&request).field("Content-Language"),
                Some(language),
                "{accepted}"
            );
        }
    }

    #[test]
    fn other_methods_are_told_what_is_allowed() {
        let answer = answer(&Request {
            method: "DELETE".into(),
            ..get("/")
        });
        assert_eq!(
            (answer.status, answer.field("Allow")),
            (405, Some("GET, HEAD"))
        );
    }

    #[test]
    fn slow_pages_are_numbered() {
        let site = Site::new(STARTED);
        let first = site.answer(&get("/slow"), STARTED);
        let second = site.answer(&get("/slow"), STARTED);
        assert_eq!(first.delay, SLOW);
        assert!(String::from_utf8(first.body).unwrap().contains("<b>1</b>"));
        assert!(String::from_utf8(second.body).unwrap().contains("<b>2</b>"));
    }
}
