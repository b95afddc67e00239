//! Whether a server drops keys to make room, by its own count: a key that it
//! evicted is not lost.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use forebay_workload::Target;

use super::protocol::Resp;
use super::url::Protocol;

/// The longest that the server may take to answer; a thread of load waits for it.
const PATIENCE: Duration = Duration::from_secs(1);
/// An answer holds for so long, so that a server that lost everything is not asked for each key.
const HOLDS: Duration = Duration::from_millis(20);
/// More than any server says of itself.
const MOST_ANSWER: u64 = 256 << 10;

/// The count when the load began, and what came of asking since.
#[derive(Debug)]
pub(super) struct Evictions {
    place: Target,
    question: Vec<u8>,
    name: &'static str,
    before: Option<u64>,
    last: Mutex<Option<(Instant, Option<bool>)>>,
}

impl Evictions {
    /// Asks for the first time.
    pub(super) fn new(place: &Target, protocol: Protocol, greeting: &[u8]) -> Self {
        let (question, name) = match protocol {
            Protocol::Text | Protocol::Meta | Protocol::Binary => {
                (b"stats\r\n".to_vec(), "STAT evictions ")
            }
            Protocol::Resp => ([greeting, &Resp::info()].concat(), "evicted_keys:"),
        };
        let mut evictions = Self {
            place: place.clone(),
            question,
            name,
            before: None,
            last: Mutex::default(),
        };
        evictions.before = evictions.ask();
        evictions
    }

    /// Whether there were any since the load began; `None` when the server does not say.
    pub(super) fn any(&self) -> Option<bool> {
        let before = self.before?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, answer)) = *last
            && at.elapsed() < HOLDS
        {
            return answer;
        }
        let answer = self.ask().map(|now| now > before);
        *last = Some((Instant::now(), answer));
        answer
    }

    fn ask(&self) -> Option<u64> {
        // TLS would need the run's trust; those who use it are told that it may be an eviction.
        if self.place.tls {
            return None;
        }
        match &self.place.unix {
            Some(path) => {
                let stream = UnixStream::connect(path).ok()?;
                stream.set_read_timeout(Some(PATIENCE)).ok()?;
                stream.set_write_timeout(Some(PATIENCE)).ok()?;
                self.count(stream).ok().flatten()
            }
            None => {
                let mut addresses = (self.place.host.as_str(), self.place.port)
                    .to_socket_addrs()
                    .ok()?;
                let stream =
                    addresses.find_map(|a| TcpStream::connect_timeout(&a, PATIENCE).ok())?;
                stream.set_read_timeout(Some(PATIENCE)).ok()?;
                stream.set_write_timeout(Some(PATIENCE)).ok()?;
                self.count(stream).ok().flatten()
            }
        }
    }

    fn count<S: Read + Write>(&self, mut stream: S) -> io::Result<Option<u64>> {
        stream.write_all(&self.question)?;
        let (mut answer, mut buffer) = (Vec::new(), [0; 8192]);
        while (answer.len() as u64) < MOST_ANSWER {
            let read = stream.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            answer.extend_from_slice(&buffer[..read]);
            match find(&answer, self.name) {
                Found::Count(count) => return Ok(Some(count)),
                Found::Nowhere => return Ok(None),
                Found::NotYet => {}
            }
        }
        Ok(None)
    }
}

#[derive(Debug, PartialEq)]
enum Found {
    Count(u64),
    NotYet,
    /// The server does not know the question, or its answer ended without the name.
    Nowhere,
}

fn find(answer: &[u8], name: &str) -> Found {
    let Some(end) = answer.iter().rposition(|&byte| byte == b'\n') else {
        return Found::NotYet;
    };
    let text = String::from_utf8_lossy(&answer[..=end]);
    for line in text.lines() {
        if let Some(count) = line.strip_prefix(name) {
            return count.trim().parse().map_or(Found::Nowhere, Found::Count);
        }
        if line == "END" || line.starts_with("ERROR") || line.starts_with('-') {
            return Found::Nowhere;
        }
    }
    Found::NotYet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_in_what_servers_say() {
        let memcached = "STAT pid 1\r\nSTAT evictions 12\r\nEND\r\n";
        let redis = "+OK\r\n$60\r\n# Stats\r\nexpired_keys:3\r\nevicted_keys:7\r\nx:1\r\n";
        for (answer, name, expected) in [
            (memcached, "STAT evictions ", Found::Count(12)),
            (redis, "evicted_keys:", Found::Count(7)),
            (&memcached[..28], "STAT evictions ", Found::NotYet),
            ("STAT pid 1\r\nEND\r\n", "STAT evictions ", Found::Nowhere),
            ("ERROR\r\n", "STAT evictions ", Found::Nowhere),
            ("-NOAUTH x\r\n", "evicted_keys:", Found::Nowhere),
            ("STAT evictions x\r\n", "STAT evictions ", Found::Nowhere),
        ] {
            assert_eq!(find(answer.as_bytes(), name), expected, "{answer}");
        }
    }
}
