//! Answers that are no file: the redirection to a directory, and its list.

use std::os::fd::OwnedFd;

use forebay_files::{Relative, describe, listing};
use forebay_http::Method;
use forebay_http::fields::write_line;
use forebay_http::uri;

use super::place::FilePlace;
use crate::answer;
use crate::client::{Client, Framing};
use crate::exchange::{Exchange, Step};
use crate::failure::{Failure, Refused, reason_phrase};
use crate::fetch::send;

impl<C: Client> Exchange<'_, C> {
    /// 301 to the same path with a slash.
    pub(super) async fn add_slash(&mut self, asked: &Relative) -> Result<Step, Failure> {
        let (_, query) = uri::split_path(&self.request.target);
        let location = describe::with_slash(asked, query);
        let mut extra = Vec::new();
        write_line(&mut extra, b"Location", &location);
        let is_head = self.request.head.method == Method::Head;
        self.outcome.status = 301;
        self.note_first_byte();
        let body = answer::stage(
            self.client,
            self.snapshot,
            self.now_ms(),
            301,
            "a directory's path ends in a slash",
            &extra,
            is_head,
        );
        self.send_answer(&body, is_head).await
    }

    /// The list of a directory, as JSON for those who ask for it.
    pub(super) async fn list(
        &mut self,
        place: &FilePlace,
        directory: &OwnedFd,
        listed: (&OwnedFd, &Relative),
    ) -> Result<Step, Failure> {
        let (_, path) = listed;
        let read = listing::read(&place.root, &directory, listed, &place.settings);
        let read = read.map_err(|error| {
            let root = place.root.path().display();
            tracing::warn!("{root}: a directory cannot be listed: {error}");
            Refused::new(500, "the directory cannot be listed; see the error log")
        })?;
        let wants_json = self.wants_json();
        let (kind, body) = if wants_json {
            ("application/json", listing::json(&read))
        } else {
            ("text/html; charset=utf-8", listing::html(path, &read))
        };
        let is_head = self.request.head.method == Method::Head;
        self.outcome.status = 200;
        self.note_first_byte();
        let now_ms = self.now_ms();
        let out = self.client.head();
        forebay_cache::object::write_status_line(200, reason_phrase(200).as_bytes(), out);
        out.extend_from_slice(b"Date: ");
        forebay_http::date::write(now_ms / 1000, out);
        out.extend_from_slice(b"\r\n");
        write_line(out, b"Content-Type", kind.as_bytes());
        write_line(out, b"Cache-Control", b"no-cache");
        write_line(out, b"Vary", b"Accept");
        out.extend_from_slice(&self.extra);
        self.client
            .end_head(Framing::Length(body.len() as u64), !is_head);
        self.send_answer(body.as_bytes(), is_head).await
    }

    async fn send_answer(&mut self, body: &[u8], is_head: bool) -> Result<Step, Failure> {
        let body = if is_head { &[] } else { body };
        send(self.client, self.snapshot, &[body]).await?;
        self.outcome.body_bytes = body.len() as u64;
        Ok(Step::Finish)
    }

    /// Programs ask for JSON; browsers never name it before HTML.
    fn wants_json(&self) -> bool {
        let accepted = self.request.head.fields.named(b"accept");
        let text = |value: &[u8]| String::from_utf8_lossy(value).to_ascii_lowercase();
        let accepted: Vec<String> = accepted.map(text).collect();
        let has = |kind| accepted.iter().any(|value| value.contains(kind));
        has("application/json") && !has("text/html")
    }
}
