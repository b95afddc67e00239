//! What a back end and an edge say to each other: the upgrade, and the lines of the control
//! connection. Pure. `docs/dial-in.md` is the same in prose, for those who speak it themselves.

/// What the connection is upgraded to.
pub const PROTOCOL: &str = "forebay-join/1";
/// The target of the upgrade's request.
pub const TARGET: &str = "/.well-known/forebay-join";
/// The field that names the pool.
pub const POOL: &str = "forebay-pool";
/// The field that names the back end: the same on all its connections, and after a reconnection.
pub const SERVER: &str = "forebay-server";
/// The field that says what the connection is for: a [`Role`].
pub const ROLE: &str = "forebay-role";
/// The field, on the control connection, with the most connections that the back end wants.
pub const CONNECTIONS: &str = "forebay-connections";
/// Longest name of a back end.
pub const NAME_BYTES: usize = 64;
/// Longest line of a control connection, with its end.
pub const LINE_BYTES: usize = 64;
/// The edge sends a `ping` when it has said nothing for so long; either side gives a connection
/// up on which it has heard nothing for three times as long.
pub const PING_SECONDS: u64 = 10;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One for each back end: while it is there, the back end is in the pool.
    Control,
    /// Carries requests, one after the other.
    Requests,
}

impl Role {
    /// By its word in [`ROLE`].
    pub fn read(word: &[u8]) -> Option<Self> {
        match word {
            b"control" => Some(Self::Control),
            b"requests" => Some(Self::Requests),
            _ => None,
        }
    }

    /// Its word in [`ROLE`].
    pub fn word(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Requests => "requests",
        }
    }
}

/// A line of the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromEdge {
    /// Have so many connections for requests open, those in use included. Fewer than there are:
    /// those that end are not replaced.
    Connections(usize),
    /// Are you there?
    Ping,
}

/// A line of the back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromServer {
    /// I am.
    Pong,
    /// No more requests, please.
    Leaving,
}

impl FromEdge {
    /// Reads a line without its end; what is not known is `None`, and is to be passed over.
    pub fn read(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            None if line == "ping" => Some(Self::Ping),
            Some(("connections", number)) => number.parse().ok().map(Self::Connections),
            _ => None,
        }
    }

    /// The line, with its end.
    pub fn line(self) -> String {
        match self {
            Self::Connections(number) => format!("connections {number}\n"),
            Self::Ping => "ping\n".into(),
        }
    }
}

impl FromServer {
    /// Reads a line without its end; what is not known is `None`, and is to be passed over.
    pub fn read(line: &str) -> Option<Self> {
        match line {
            "pong" => Some(Self::Pong),
            "leaving" => Some(Self::Leaving),
            _ => None,
        }
    }

    /// The line, with its end.
    pub fn line(self) -> &'static str {
        match self {
            Self::Pong => "pong\n",
            Self::Leaving => "leaving\n",
        }
    }
}

/// Cuts what is read of a control connection into lines.
#[derive(Debug, Default)]
pub struct Lines {
    open: Vec<u8>,
}

impl Lines {
    /// Takes what was read, and gives each line that is whole, without its end. False: a line is
    /// longer than [`LINE_BYTES`], and the connection of no use.
    pub fn take(&mut self, read: &[u8], mut each: impl FnMut(&str)) -> bool {
        for &byte in read {
            if byte == b'\n' {
                each(String::from_utf8_lossy(&self.open).trim_end_matches('\r'));
                self.open.clear();
            } else if self.open.len() + 1 >= LINE_BYTES {
                return false;
            } else {
                self.open.push(byte);
            }
        }
        true
    }
}

/// Whether a back end may be called so: `NAME_BYTES` letters, digits, `-`, `.` and `_` at most.
pub fn is_name(name: &[u8]) -> bool {
    let good = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    !name.is_empty() && name.len() <= NAME_BYTES && name.iter().all(good)
}

/// The head of the upgrade's request.
pub fn request(edge: &str, join: Upgrade<'_>, role: Role) -> String {
    let mut head = format!(
        "GET {TARGET} HTTP/1.1\r\nHost: {edge}\r\nConnection: Upgrade\r\nUpgrade: {PROTOCOL}\r\n\
         Authorization: Bearer {}\r\n{POOL}: {}\r\n{SERVER}: {}\r\n{ROLE}: {}\r\n",
        join.token,
        join.pool,
        join.name,
        role.word()
    );
    if role == Role::Control {
        head.push_str(&format!("{CONNECTIONS}: {}\r\n", join.most));
    }
    head + "\r\n"
}

/// What the upgrade's request says.
#[derive(Clone, Copy, Debug)]
pub struct Upgrade<'a> {
    /// The secret.
    pub token: &'a str,
    /// The pool.
    pub pool: &'a str,
    /// The back end.
    pub name: &'a str,
    /// The most connections for requests.
    pub most: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        for line in [FromEdge::Connections(17), FromEdge::Ping] {
            assert_eq!(FromEdge::read(line.line().trim_end()), Some(line));
        }
        for line in [FromServer::Pong, FromServer::Leaving] {
            assert_eq!(FromServer::read(line.line().trim_end()), Some(line));
        }
        for unknown in [
            "",
            "connections",
            "connections x",
            "connections -1",
            "later 5",
        ] {
            assert_eq!(FromEdge::read(unknown), None);
            assert_eq!(FromServer::read(unknown), None);
        }
    }

    #[test]
    fn lines_are_whole_however_they_are_read() {
        let text = b"connections 8\nping\r\n";
        for cut in 0..text.len() {
            let (mut lines, mut all) = (Lines::default(), Vec::new());
            assert!(lines.take(&text[..cut], |line| all.push(line.to_owned())));
            assert!(lines.take(&text[cut..], |line| all.push(line.to_owned())));
            assert_eq!(all, ["connections 8", "ping"], "cut at {cut}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::default();
        assert!(!lines.take(&[b'x'; LINE_BYTES], |_| {}));
    }

    #[test]
    fn names_are_plain() {
        assert!(is_name(b"web-1.shop_a"));
        for name in [
            &b""[..],
            b"a b",
            b"a/b",
            b"\xc3\xa4",
            &[b'x'; NAME_BYTES + 1],
        ] {
            assert!(!is_name(name));
        }
    }
}
