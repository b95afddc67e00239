//! FastCGI 1.0: records, of which a request and its response are made.
//!
//! One request at a time is under way on a connection, and its number is always 1: applications
//! that take several at once are next to none, and a connection that is kept costs less than
//! telling apart what is interleaved on it.

mod request;
mod response;

pub use request::{MOST_STDIN_BYTES, write_stdin_head};
pub(crate) use request::{end_params, write_begin};
pub use response::{Decoder, End, Event, RecordError};

/// Bytes of a record's header.
const HEADER_BYTES: usize = 8;

/// The number of the one request on a connection.
const REQUEST_ID: u16 = 1;

/// The one version there is.
const VERSION: u8 = 1;

/// Types of records (section 8).
mod kind {
    pub(super) const BEGIN_REQUEST: u8 = 1;
    pub(super) const END_REQUEST: u8 = 3;
    pub(super) const PARAMS: u8 = 4;
    pub(super) const STDIN: u8 = 5;
    pub(super) const STDOUT: u8 = 6;
    pub(super) const STDERR: u8 = 7;
    pub(super) const GET_VALUES_RESULT: u8 = 10;
    pub(super) const UNKNOWN_TYPE: u8 = 11;
}
