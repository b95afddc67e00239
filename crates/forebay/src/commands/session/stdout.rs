//! Standard output for what is long or is no text: buffered, and an error of writing is told. A
//! reader that went away is none.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

use crate::exit::{Failure, Outcome};

/// Standard output, locked and buffered.
pub(super) fn buffered() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(64 << 10, io::stdout().lock())
}

/// Whether a write ended because nobody reads any more.
pub(super) fn is_unread(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}

/// What writing comes to.
pub(super) fn outcome(written: io::Result<()>) -> Outcome {
    match written {
        Err(error) if !is_unread(&error) => Err(failed(&error)),
        _ => Ok(()),
    }
}

pub(super) fn failed(error: &io::Error) -> Failure {
    Failure::message(format_args!("standard output: {error}"))
}

/// Writes bytes as they are.
pub(super) fn bytes(bytes: &[u8]) -> Outcome {
    let mut stdout = io::stdout().lock();
    outcome(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}
