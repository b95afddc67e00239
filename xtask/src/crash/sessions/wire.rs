//! A connection to a store, in memcached's meta protocol: requests are gathered and sent together, answers are read one
//! after another.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::super::visit::Trouble;

const TIMEOUT: Duration = Duration::from_secs(20);
/// The longest value that is taken.
const MOST: usize = 4 << 20;

/// A connection.
#[derive(Debug)]
pub(super) struct Wire {
    stream: BufReader<TcpStream>,
    /// Requests that were not sent yet.
    pub(super) out: Vec<u8>,
    line: String,
}

/// An answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// `HD`, `VA`, `EN`, …
    pub(super) code: String,
    /// The item's number (`c`).
    pub(super) cas: Option<u64>,
    /// How many seconds it has left (`t`).
    pub(super) left_s: Option<u32>,
    pub(super) value: Vec<u8>,
}

impl Wire {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub(super) fn connect(address: SocketAddr) -> Result<Self, Trouble> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(broken)?;
        Ok(Self {
            stream: BufReader::with_capacity(64 << 10, stream),
            out: Vec::new(),
            line: String::new(),
        })
    }

    /// Sends what was gathered.
    pub(super) fn flush(&mut self) -> Result<(), Trouble> {
        let sent = self.stream.get_mut().write_all(&self.out);
        self.out.clear();
        sent.map_err(broken)
    }

    /// Reads the next answer.
    ///
    /// # Errors
    /// The connection broke, or that is no answer.
    pub(super) fn answer(&mut self) -> Result<Answer, Trouble> {
        self.line.clear();
        let read = self.stream.read_line(&mut self.line).map_err(broken)?;
        if read == 0 || !self.line.ends_with('\n') {
            return Err(Trouble::Broken("closed within an answer".into()));
        }
        let (mut answer, bytes) = parse(self.line.trim_end())
            .ok_or_else(|| Trouble::Wrong(format!("{:?} is no answer", self.line)))?;
        if let Some(bytes) = bytes {
            answer.value.resize(bytes + 2, 0);
            self.stream.read_exact(&mut answer.value).map_err(broken)?;
            if answer.value.split_off(bytes) != b"\r\n" {
                return Err(Trouble::Wrong(
                    "a value is longer than its answer says".into(),
                ));
            }
        }
        Ok(answer)
    }
}

/// An answer's line, and how many bytes of value follow it.
fn parse(line: &str) -> Option<(Answer, Option<usize>)> {
    let mut words = line.split(' ');
    let mut answer = Answer {
        code: words.next()?.into(),
        ..Answer::default()
    };
    let bytes = match answer.code.as_str() {
        "VA" => Some(words.next()?.parse().ok().filter(|bytes| *bytes <= MOST)?),
        "HD" => None,
        // Refused or missing: the whole line says why.
        _ => {
            answer.code = line.into();
            return Some((answer, None));
        }
    };
    for word in words {
        match word.split_at_checked(1)? {
            ("c", number) => answer.cas = Some(number.parse().ok()?),
            ("t", number) => answer.left_s = number.parse().ok(),
            _ => {}
        }
    }
    Some((answer, bytes))
}

fn broken(error: std::io::Error) -> Trouble {
    Trouble::Broken(error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn answers_are_taken_apart() {
        let (answer, bytes) = parse("VA 12 t99 c7").unwrap();
        assert_eq!(
            (answer.cas, answer.left_s, bytes),
            (Some(7), Some(99), Some(12))
        );
        let (answer, bytes) = parse("SERVER_ERROR out of memory").unwrap();
        assert_eq!(
            (&answer.code[..], bytes),
            ("SERVER_ERROR out of memory", None)
        );
        assert!(parse("VA").is_none() && parse("VA -1").is_none());
    }
}
