//! The floor: the least work with which an HTTP/1.1 server on Linux can answer a request.
//!
//! One thread waits on epoll, reads, finds the end of each request head and sends the same preformatted bytes. It
//! understands nothing else of HTTP, so its processor time for a request is what the kernel takes plus next to nothing:
//! the yardstick for a cache hit. With `--origin` its head lacks what a cache adds, and it serves as the fast origin
//! of the comparisons.

mod connection;
mod event_loop;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::SystemTime;

use connection::Answer;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const USAGE: &str = "\
forebay-floor [OPTIONS]
  --listen ADDR          address and port; port 0 takes a free one   [127.0.0.1:0]
  --body-size N          bytes of every body                         [6144]
  --cache-control VALUE  value of Cache-Control                      [public, max-age=86400]
  --origin               leave out Age, Via and Cache-Status, as an origin would";

/// What the command line asks for.
#[derive(Debug)]
struct Options {
    listen: SocketAddr,
    body_size: usize,
    cache_control: String,
    origin: bool,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            body_size: 6144,
            cache_control: "public, max-age=86400".into(),
            origin: false,
        };
        while let Some(name) = args.next() {
            if name == "--origin" {
                options.origin = true;
                continue;
            }
            let value = args
                .next()
                .ok_or_else(|| format!("{name}: unknown, or lacks its value"))?;
            let wrong = |e: &dyn std::fmt::Display| format!("{name} {value}: {e}");
            match name.as_str() {
                "--listen" => options.listen = value.parse().map_err(|e| wrong(&e))?,
                "--body-size" => options.body_size = value.parse().map_err(|e| wrong(&e))?,
                "--cache-control" => options.cache_control = value,
                _ => return Err(format!("{name}: unknown option")),
            }
        }
        Ok(options)
    }

    /// The bytes of every response: a head as caches send it (about 300 bytes), and a body of printable filler.
    fn answer(&self) -> Answer {
        let added = if self.origin {
            ""
        } else {
            "Age: 17\r\nVia: 1.1 forebay\r\nCache-Status: forebay; hit; ttl=86383\r\n"
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nDate: {}\r\n\
             Cache-Control: {}\r\nETag: \"5e6f-11d0-{:x}\"\r\n{added}\r\n",
            self.body_size,
            httpdate::fmt_http_date(SystemTime::now()),
            self.cache_control,
            self.body_size,
        );
        let body = (0..self.body_size)
            .map(|i| b"0123456789abcdef\n"[i % 17])
            .collect();
        Answer {
            head: head.into_bytes(),
            body,
        }
    }
}

/// Allows as many descriptors as the system permits: one connection is one descriptor.
fn raise_descriptor_limit() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // Nothing is lost when this fails: accept reports it as soon as it matters.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    );
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("forebay-floor: {problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    raise_descriptor_limit();
    match event_loop::serve(options.listen, &options.answer()) {
        Ok(never) => match never {},
        Err(e) => {
            eprintln!("forebay-floor: {}: {e}", options.listen);
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(args.iter().map(ToString::to_string))
    }

    #[test]
    fn the_head_is_as_long_as_a_cache_s_and_states_the_body_s_length() {
        let answer = parse(&["--body-size", "20480"]).unwrap().answer();
        let head = String::from_utf8(answer.head).unwrap();
        assert!((220..=320).contains(&head.len()), "{}", head.len());
        assert!(head.contains("Content-Length: 20480\r\n") && head.ends_with("\r\n\r\n"));
        assert_eq!(answer.body.len(), 20_480);
    }

    #[test]
    fn an_origin_does_not_pose_as_a_cache() {
        let answer = parse(&["--origin", "--cache-control", "no-store"])
            .unwrap()
            .answer();
        let head = String::from_utf8(answer.head).unwrap();
        assert!(head.contains("Cache-Control: no-store\r\n"));
        assert!(!head.contains("Age:") && !head.contains("Via:"));
    }

    #[test]
    fn mistakes_on_the_command_line_are_refused() {
        for args in [
            &["--listen", "nowhere"][..],
            &["--body-size"],
            &["--colour", "red"],
        ] {
            assert!(parse(args).is_err(), "{args:?}");
        }
    }
}
