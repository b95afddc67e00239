//! Records towards the application (FastCGI 1.0 sections 3.3 and 5).

use super::{HEADER_BYTES, REQUEST_ID, VERSION, kind};

/// The most of a body that one STDIN record carries: a multiple of eight, so that nothing is padded.
pub const MOST_STDIN_BYTES: usize = 0xfff8;

/// The role of a program that answers requests (section 6.2).
const RESPONDER: u16 = 1;

/// The application keeps the connection open behind its response.
const KEEP_CONN: u8 = 1;

/// Begins a request, and its first PARAMS record, whose length [`end_params`] fills in.
pub(crate) fn write_begin(out: &mut Vec<u8>, keep: bool) {
    let [role_high, role_low] = RESPONDER.to_be_bytes();
    out.extend_from_slice(&header(kind::BEGIN_REQUEST, 8));
    let flags = if keep { KEEP_CONN } else { 0 };
    out.extend_from_slice(&[role_high, role_low, flags, 0, 0, 0, 0, 0]);
    out.extend_from_slice(&header(kind::PARAMS, 0));
}

/// Ends the stream of parameters that begins at `list`, right behind the header of a record.
pub(crate) fn end_params(out: &mut Vec<u8>, list: usize) {
    match u16::try_from(out.len() - list) {
        Ok(bytes) => {
            if let Some(length) = out.get_mut(list - 4..list - 2) {
                length.copy_from_slice(&bytes.to_be_bytes());
            }
        }
        Err(_) => {
            let whole = out.split_off(list);
            out.truncate(list - HEADER_BYTES);
            for part in whole.chunks(MOST_STDIN_BYTES) {
                out.extend_from_slice(&header(kind::PARAMS, part.len() as u16));
                out.extend_from_slice(part);
            }
        }
    }
    out.extend_from_slice(&header(kind::PARAMS, 0));
}

/// Appends the header of a STDIN record with so many bytes of the body, at most
/// [`MOST_STDIN_BYTES`]; with none it ends the body.
pub fn write_stdin_head(out: &mut Vec<u8>, bytes: usize) {
    debug_assert!(bytes <= MOST_STDIN_BYTES);
    out.extend_from_slice(&header(kind::STDIN, bytes as u16));
}

fn header(kind: u8, bytes: u16) -> [u8; HEADER_BYTES] {
    let [id_high, id_low] = REQUEST_ID.to_be_bytes();
    let [high, low] = bytes.to_be_bytes();
    [VERSION, kind, id_high, id_low, high, low, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_do_not_fit_in_one_record_are_split() {
        for bytes in [0, 1, 0xffff, 0x1_0000, 200_000] {
            let mut out = b"before".to_vec();
            write_begin(&mut out, true);
            let list = out.len();
            let content: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
            out.extend_from_slice(&content);
            end_params(&mut out, list);
            let (mut at, mut found, mut ended) = (6 + 16, Vec::new(), false);
            while at < out.len() {
                assert_eq!((out[at], out[at + 1]), (VERSION, kind::PARAMS));
                let length = usize::from(u16::from_be_bytes([out[at + 4], out[at + 5]]));
                found.extend_from_slice(&out[at + 8..at + 8 + length]);
                at += 8 + length;
                ended = length == 0;
            }
            assert!(ended && found == content, "{bytes}");
        }
    }

    #[test]
    fn a_request_begins_as_the_specification_has_it() {
        let mut out = Vec::new();
        write_begin(&mut out, true);
        assert_eq!(out[..16], [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
        out.clear();
        write_begin(&mut out, false);
        assert_eq!(out[10], 0);
        out.clear();
        write_stdin_head(&mut out, 0x1234);
        assert_eq!(out, [1, 5, 0, 1, 0x12, 0x34, 0, 0]);
    }
}
