//! The head of a request: its line and its fields.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The longest head, in bytes.
const HEAD_MOST: usize = 8192;

/// The longest credentials that are decoded, in bytes.
const CREDENTIALS_MOST: usize = 1024;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Put,
    Post,
    Delete,
}

/// What becomes of the connection behind the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Close,
    Keep,
    /// It goes on, and a client of HTTP/1.0 has to be told so.
    KeepAndSay,
}

/// Why it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not there as a whole.
    Short,
    /// It is answered by this status, and the connection ends.
    Bad(&'static str),
}

const BAD_REQUEST: Fault = Fault::Bad("400 Bad Request");

/// A request's head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    pub(super) method: Method,
    /// The path behind its first slash, as it was written.
    path: &'a [u8],
    /// How long the head is.
    pub(super) bytes: usize,
    /// How long the body is.
    pub(super) body_bytes: usize,
    /// How much of the body is not there yet.
    pub(super) missing: usize,
    /// What becomes of the connection.
    pub(super) after: After,
    /// The client waits for a word before it sends the body.
    pub(super) expects: bool,
    /// Tyrant's mode of a put: 1 keeps what is there, 2 adds to it.
    pub(super) mode: u8,
    /// A script or a command is called by name.
    pub(super) calls: bool,
    authorization: &'a [u8],
}

impl<'a> Head<'a> {
    /// The head at the beginning of `input`.
    ///
    /// # Errors
    /// It is not there as a whole, or is none that is understood.
    pub(super) fn read(input: &'a [u8]) -> Result<Self, Fault> {
        let seen = input.get(..HEAD_MOST).unwrap_or(input);
        let Some(end) = memchr::memmem::find(seen, b"\r\n\r\n") else {
            return Err(match seen.len() {
                HEAD_MOST => Fault::Bad("431 Request Header Fields Too Large"),
                _ => Fault::Short,
            });
        };
        let text = seen.get(..end).unwrap_or_default();
        let mut lines = text
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii_end);
        let mut head = Self::of(lines.next().unwrap_or_default())?;
        let mut length = None;
        let mut wishes = Wishes::default();
        for line in lines {
            head.field(line, &mut length, &mut wishes)?;
        }
        head.after = wishes.after(head.after);
        head.bytes = end + 4;
        head.body_bytes = length.unwrap_or(0);
        head.missing = head.body_bytes.saturating_sub(input.len() - head.bytes);
        Ok(head)
    }

    /// What the request's line says.
    fn of(line: &'a [u8]) -> Result<Self, Fault> {
        let mut parts = line.split(|byte| *byte == b' ');
        let (method, target, version) = (parts.next(), parts.next(), parts.next());
        let method = match method {
            Some(b"GET") => Method::Get,
            Some(b"HEAD") => Method::Head,
            Some(b"PUT") => Method::Put,
            Some(b"POST") => Method::Post,
            Some(b"DELETE") => Method::Delete,
            _ => return Err(Fault::Bad("501 Not Implemented")),
        };
        let after = match version {
            Some(b"HTTP/1.1") => After::Keep,
            Some(b"HTTP/1.0") => After::Close,
            _ => return Err(BAD_REQUEST),
        };
        let path = target.and_then(|target| target.strip_prefix(b"/"));
        match (path, parts.next()) {
            (Some(path), None) => Ok(Self {
                method,
                path,
                bytes: 0,
                body_bytes: 0,
                missing: 0,
                after,
                expects: false,
                mode: 0,
                calls: false,
                authorization: &[],
            }),
            _ => Err(BAD_REQUEST),
        }
    }

    /// Takes notice of one field.
    fn field(
        &mut self,
        line: &'a [u8],
        length: &mut Option<usize>,
        wishes: &mut Wishes,
    ) -> Result<(), Fault> {
        let colon = memchr::memchr(b':', line).ok_or(BAD_REQUEST)?;
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        if name.is_empty() || name.iter().any(u8::is_ascii_whitespace) {
            return Err(BAD_REQUEST);
        } else if is(b"content-length") {
            let given = digits(value).ok_or(BAD_REQUEST)?;
            // Two lengths that differ would part two requests in two ways.
            if length.replace(given).is_some_and(|before| before != given) {
                return Err(BAD_REQUEST);
            }
        } else if is(b"transfer-encoding") {
            return Err(Fault::Bad("501 Not Implemented"));
        } else if is(b"connection") {
            wishes.read(value);
        } else if is(b"expect") {
            self.expects = value.eq_ignore_ascii_case(b"100-continue");
        } else if is(b"authorization") {
            self.authorization = value;
        } else if is(b"x-tt-pdmode") {
            self.mode = digits(value)
                .and_then(|mode| mode.try_into().ok())
                .unwrap_or(0);
        } else if is(b"x-tt-xname") || is(b"x-tt-mname") {
            self.calls = true;
        }
        Ok(())
    }

    /// The key: the path, with its escapes undone; a plus sign is a blank, as it is to Tyrant.
    pub(super) fn key(&self, key: &mut Vec<u8>) {
        key.clear();
        let mut rest = self.path;
        while let Some((byte, behind)) = rest.split_first() {
            let escaped = match (byte, behind) {
                (b'%', [high, low, left @ ..]) => {
                    hex(*high).zip(hex(*low)).map(|pair| (pair, left))
                }
                _ => None,
            };
            let plain = if *byte == b'+' { b' ' } else { *byte };
            key.push(escaped.map_or(plain, |((high, low), _)| high << 4 | low));
            rest = escaped.map_or(behind, |(_, left)| left);
        }
    }

    /// The name and the token of `Authorization: Basic` (RFC 7617).
    pub(super) fn credentials(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (scheme, encoded) = self.authorization.split_at_checked(6)?;
        if !scheme.eq_ignore_ascii_case(b"basic ") || encoded.len() > CREDENTIALS_MOST {
            return None;
        }
        let plain = STANDARD.decode(encoded.trim_ascii()).ok()?;
        let colon = memchr::memchr(b':', &plain)?;
        let token = plain.get(colon + 1..)?.to_vec();
        Some((plain.get(..colon)?.to_vec(), token))
    }
}

/// What `Connection` asks for (RFC 9112 section 9.3).
#[derive(Default)]
struct Wishes {
    close: bool,
    keep: bool,
}

impl Wishes {
    /// A list of options, of which others may be there too.
    fn read(&mut self, value: &[u8]) {
        for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// What becomes of a connection that without a wish ends or goes on so.
    fn after(&self, usual: After) -> After {
        match usual {
            _ if self.close => After::Close,
            After::Close if self.keep => After::KeepAndSay,
            usual => usual,
        }
    }
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// A number that consists of digits only.
fn digits(text: &[u8]) -> Option<usize> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text)
        .ok()
        .filter(|_| is_number)?
        .parse()
        .ok()
}
