//! Requests and responses of the binary protocol.

use crate::run::Stop;

/// The first byte of a request.
pub(crate) const MAGIC: u8 = 0x80;

/// The first byte of a response.
const RESPONSE: u8 = 0x81;

/// How long the header is.
const HEADER_BYTES: usize = 24;

/// A response's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Missing = 0x01,
    Exists = 0x02,
    TooLarge = 0x03,
    Invalid = 0x04,
    NotStored = 0x05,
    NotNumber = 0x06,
    AuthError = 0x20,
    UnknownCommand = 0x81,
    NoMemory = 0x82,
    Failed = 0x84,
}

impl Status {
    fn text(self) -> &'static [u8] {
        match self {
            Self::Missing => b"Not found",
            Self::Exists => b"Data exists for key.",
            Self::TooLarge => b"Too large.",
            Self::Invalid => b"Invalid arguments",
            Self::NotStored => b"Not stored.",
            Self::NotNumber => b"Non-numeric server-side value for incr or decr",
            Self::AuthError => b"Auth failure.",
            Self::UnknownCommand => b"Unknown command",
            Self::NoMemory => b"Out of memory",
            Self::Failed => b"Internal error",
        }
    }
}

/// A request whose header, extras and key are there; the value may still be on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) opcode: u8,
    pub(super) extras: &'a [u8],
    pub(super) key: &'a [u8],
    /// How long the value is.
    pub(super) value_bytes: usize,
    /// Whether the body is as long as its parts.
    pub(super) fits: bool,
    opaque: [u8; 4],
    pub(super) cas: u64,
}

impl<'a> Frame<'a> {
    /// The request at the head of `input`.
    ///
    /// # Errors
    /// More bytes are needed, or it is none.
    pub(super) fn read(input: &'a [u8]) -> Result<Self, Stop> {
        if input.first().is_some_and(|magic| *magic != MAGIC) {
            return Err(Stop::Close);
        }
        let Some((header, body)) = input.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Stop::Need(HEADER_BYTES));
        };
        let [_, opcode, key1, key0, extras, _, _, _, rest @ ..] = *header;
        let [w3, w2, w1, w0, o0, o1, o2, o3, cas @ ..] = rest;
        let extras = usize::from(extras);
        let key = usize::from(u16::from_be_bytes([key1, key0]));
        let whole = u32::from_be_bytes([w3, w2, w1, w0]) as usize;
        let Some((extra, rest)) = body.split_at_checked(extras) else {
            return Err(Stop::Need(HEADER_BYTES + extras + key));
        };
        let Some(name) = rest.get(..key) else {
            return Err(Stop::Need(HEADER_BYTES + extras + key));
        };
        Ok(Self {
            opcode,
            extras: extra,
            key: name,
            value_bytes: whole.saturating_sub(extras + key),
            fits: whole >= extras + key,
            opaque: [o0, o1, o2, o3],
            cas: u64::from_be_bytes(cas),
        })
    }

    /// How many bytes stand before the value.
    pub(super) fn head_bytes(&self) -> usize {
        HEADER_BYTES + self.extras.len() + self.key.len()
    }

    /// How many bytes it takes as a whole.
    pub(super) fn bytes(&self) -> usize {
        self.head_bytes() + self.value_bytes
    }

    /// The number that must match, if the client asks for one.
    pub(super) fn asked_cas(&self) -> Option<u64> {
        (self.cas != 0).then_some(self.cas)
    }

    /// Four bytes of the extras, as a number.
    pub(super) fn extra_32(&self, at: usize) -> u32 {
        let bytes = self.extras.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }

    /// Eight bytes of the extras, as a number.
    pub(super) fn extra_64(&self, at: usize) -> u64 {
        let bytes = self.extras.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes))
    }

    /// Appends the header of a response with a body of these lengths.
    pub(super) fn header(
        &self,
        out: &mut Vec<u8>,
        status: u16,
        (extras, key, value): (u8, usize, usize),
        cas: u64,
    ) {
        let whole = usize::from(extras) + key + value;
        out.reserve(HEADER_BYTES + whole);
        out.extend_from_slice(&[RESPONSE, self.opcode]);
        // A key that is answered came with the request: it has at most 250 bytes.
        out.extend_from_slice(&(key as u16).to_be_bytes());
        out.extend_from_slice(&[extras, 0]);
        out.extend_from_slice(&status.to_be_bytes());
        out.extend_from_slice(&(whole as u32).to_be_bytes());
        out.extend_from_slice(&self.opaque);
        out.extend_from_slice(&cas.to_be_bytes());
    }

    /// Appends a response that says that it is done.
    pub(super) fn done(&self, out: &mut Vec<u8>, value: &[u8], cas: u64) {
        self.header(out, 0, (0, 0, value.len()), cas);
        out.extend_from_slice(value);
    }

    /// Appends a response that says why it was not done.
    pub(super) fn refuse(&self, out: &mut Vec<u8>, status: Status) {
        self.header(out, status as u16, (0, 0, status.text().len()), 0);
        out.extend_from_slice(status.text());
    }
}
