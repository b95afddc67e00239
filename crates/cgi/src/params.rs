//! The parameters of a request (RFC 3875 section 4.1), written in the form of its protocol.
//!
//! All three forms are lists of names and values; they differ in how lengths are told and in what
//! stands around the list. Everything is written into one buffer, which the caller reuses, so that
//! a request without a body leaves in one write.

use crate::fastcgi;

/// How parameters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// FastCGI 1.0: BEGIN_REQUEST, PARAMS records, an empty one, and STDIN records for the body.
    FastCgi {
        /// Whether the application leaves the connection open behind its response.
        keep: bool,
    },
    /// SCGI: a netstring of names and values, each ended by NUL.
    Scgi,
    /// uwsgi: a packet of `modifier1` 0 (a WSGI request), lengths in 16 bits.
    Uwsgi,
}

/// The parameters are more than the protocol can carry, or hold what ends a value in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Parameters being written behind what is in a buffer already.
#[derive(Debug)]
pub struct Params<'a> {
    out: &'a mut Vec<u8>,
    form: Form,
    /// Where the list begins.
    list: usize,
    failed: bool,
}

/// Bytes before the list of a uwsgi packet: modifier1, its length in 16 bits, modifier2.
const UWSGI_HEADER_BYTES: usize = 4;

impl<'a> Params<'a> {
    /// Begins a request with a body of `content_length` bytes (0: it has none). The parameter
    /// `CONTENT_LENGTH` is written here: SCGI wants it first, and all want it to be a number; where
    /// `content_length` is `None` it is empty, as RFC 3875 has it for requests without a body.
    pub fn begin(out: &'a mut Vec<u8>, form: Form, content_length: Option<u64>) -> Self {
        match form {
            Form::FastCgi { keep } => fastcgi::write_begin(out, keep),
            Form::Scgi => {}
            Form::Uwsgi => out.extend_from_slice(&[0; UWSGI_HEADER_BYTES]),
        }
        let mut params = Self {
            list: out.len(),
            out,
            form,
            failed: false,
        };
        let mut digits = itoa::Buffer::new();
        let length = match (content_length, form) {
            (None, Form::Scgi) => b"0",
            (None, _) => &b""[..],
            (Some(bytes), _) => digits.format(bytes).as_bytes(),
        };
        params.pair(b"CONTENT_LENGTH", length);
        if form == Form::Scgi {
            params.pair(b"SCGI", b"1");
        }
        params
    }

    /// Adds a parameter.
    #[inline]
    pub fn pair(&mut self, name: &[u8], value: &[u8]) {
        self.open(name.len(), value.len());
        self.out.extend_from_slice(name);
        self.between(value.len());
        self.value(value);
        self.close();
    }

    /// Adds a parameter whose value is put together from parts.
    pub fn joined(&mut self, name: &[u8], parts: &[&[u8]]) {
        let bytes = parts.iter().map(|part| part.len()).sum();
        self.open(name.len(), bytes);
        self.out.extend_from_slice(name);
        self.between(bytes);
        for part in parts {
            self.value(part);
        }
        self.close();
    }

    /// Adds a request field as `HTTP_NAME` (RFC 3875 section 4.1.18). Its `values` are those of all
    /// lines of that name; they become one, with `separator` between them.
    pub fn field<'v>(
        &mut self,
        name: &[u8],
        values: impl Iterator<Item = &'v [u8]> + Clone,
        separator: &[u8],
    ) {
        const PREFIX: &[u8] = b"HTTP_";
        let (count, bytes) = values.clone().fold((0, 0), |(count, bytes), value| {
            (count + 1, bytes + value.len())
        });
        let bytes = bytes + separator.len() * usize::saturating_sub(count, 1);
        self.open(PREFIX.len() + name.len(), bytes);
        self.out.extend_from_slice(PREFIX);
        self.out.extend(name.iter().map(|&byte| match byte {
            b'-' => b'_',
            byte => byte.to_ascii_uppercase(),
        }));
        self.between(bytes);
        for (at, value) in values.enumerate() {
            if at > 0 {
                self.value(separator);
            }
            self.value(value);
        }
        self.close();
    }

    /// Ends the list, and the request too if it `has_body` not.
    ///
    /// # Errors
    /// When the list is longer than the protocol can tell; what was written is of no use then.
    pub fn finish(self, has_body: bool) -> Result<(), TooLarge> {
        let Self {
            out,
            form,
            list,
            failed,
        } = self;
        if failed {
            return Err(TooLarge);
        }
        match form {
            Form::FastCgi { .. } => {
                fastcgi::end_params(out, list);
                if !has_body {
                    fastcgi::write_stdin_head(out, 0);
                }
            }
            Form::Scgi => {
                let mut digits = itoa::Buffer::new();
                let length = digits.format(out.len() - list).bytes();
                out.splice(list..list, length.chain(*b":"));
                out.push(b',');
            }
            Form::Uwsgi => {
                let bytes = u16::try_from(out.len() - list).map_err(|_| TooLarge)?;
                if let Some(size) = out.get_mut(list - 3..list - 1) {
                    size.copy_from_slice(&bytes.to_le_bytes());
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn open(&mut self, name: usize, value: usize) {
        match self.form {
            Form::FastCgi { .. } => {
                self.fastcgi_length(name);
                self.fastcgi_length(value);
            }
            Form::Scgi => {}
            Form::Uwsgi => self.uwsgi_length(name),
        }
    }

    #[inline]
    fn between(&mut self, value: usize) {
        match self.form {
            Form::FastCgi { .. } => {}
            Form::Scgi => self.out.push(0),
            Form::Uwsgi => self.uwsgi_length(value),
        }
    }

    #[inline]
    fn value(&mut self, value: &[u8]) {
        // What follows a NUL would be read as another parameter.
        if self.form == Form::Scgi && memchr::memchr(0, value).is_some() {
            self.failed = true;
        }
        self.out.extend_from_slice(value);
    }

    #[inline]
    fn close(&mut self) {
        if self.form == Form::Scgi {
            self.out.push(0);
        }
    }

    /// One byte below 128, else four with the highest bit set (FastCGI 1.0 section 3.4).
    #[inline]
    fn fastcgi_length(&mut self, bytes: usize) {
        match u32::try_from(bytes) {
            Ok(bytes @ 0..0x80) => self.out.push(bytes as u8),
            Ok(bytes @ 0x80..0x8000_0000) => self
                .out
                .extend_from_slice(&(bytes | 0x8000_0000).to_be_bytes()),
            _ => self.failed = true,
        }
    }

    #[inline]
    fn uwsgi_length(&mut self, bytes: usize) {
        match u16::try_from(bytes) {
            Ok(bytes) => self.out.extend_from_slice(&bytes.to_le_bytes()),
            Err(_) => self.failed = true,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "params_tests.rs"]
mod tests;
