//! Stories of virtual users.
#![allow(clippy::unwrap_used)]

mod flows;
mod requests;
mod responses;

use std::io;

use forebay_http::ResponseHead;

use super::super::act::Sent;
use super::super::compiled::Setup;
use super::super::model::Scenario;
use super::*;

fn files(name: &str) -> io::Result<Vec<u8>> {
    match name {
        "users.csv" => Ok(b"login,password\nann,a b\nbob,b&c\n".to_vec()),
        "picture" => Ok(vec![0xff, 0, 1]),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

fn compiled_with(text: &str, setup: &Setup) -> Arc<Compiled> {
    match Compiled::load(text, "x.toml", &files, setup) {
        Ok(compiled) => Arc::new(compiled),
        Err(errors) => panic!("{errors}"),
    }
}

fn compiled(text: &str) -> Arc<Compiled> {
    compiled_with(
        &format!("base = \"http://h:81/dir/page?q\"\n{text}"),
        &Setup::default(),
    )
}

/// A user and what it sent last.
struct Story {
    user: User,
    now: u64,
    sent: Option<Sent>,
}

impl Story {
    fn of(text: &str) -> Self {
        Self::with(&compiled(text), 0, 1)
    }

    fn with(compiled: &Arc<Compiled>, number: u32, seed: u64) -> Self {
        Self {
            user: User::new(compiled, number, seed),
            now: 1000,
            sent: None,
        }
    }

    fn act(&mut self) -> (Act, String) {
        let mut out = Vec::new();
        let act = self.user.next(self.now, &mut out);
        if let Act::Send(sent) = act {
            self.sent = Some(sent);
        }
        (act, String::from_utf8(out).unwrap())
    }

    /// The next request, which must be one.
    fn request(&mut self) -> String {
        let (act, text) = self.act();
        assert!(matches!(act, Act::Send(_)), "{act:?}");
        text
    }

    /// The first line of the next request.
    fn line(&mut self) -> String {
        let text = self.request();
        text.lines()
            .next()
            .unwrap()
            .strip_suffix(" HTTP/1.1")
            .unwrap()
            .to_owned()
    }

    fn answer(&mut self, status: u16, fields: &[(&str, &str)], body: &str) -> Result<(), String> {
        let mut head = ResponseHead {
            status,
            ..ResponseHead::default()
        };
        for (name, value) in fields {
            head.fields.push_named(name.as_bytes(), value.as_bytes());
        }
        let body = if self.sent.unwrap().keep_body {
            body.as_bytes()
        } else {
            b""
        };
        let whole = Duration::from_millis(300);
        let answer = Answer {
            status,
            head: &head,
            body,
            whole,
            now: self.now,
        };
        self.user.answered(&answer).map_err(|fault| fault.words)
    }

    fn ok(&mut self) {
        self.answer(200, &[], "").unwrap();
    }
}

fn step(rest: &str) -> String {
    format!("[[flow]]\n[[flow.step]]\n{rest}\n")
}
