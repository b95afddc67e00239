//! What the two pages say: the data of a session, and what a page that should
//! show it does show.

/// What session data begins with, so that it is known in a page of whatever form.
const MARK: &str = "session-";
const ID_DIGITS: usize = 16;
/// The least that tells sessions apart, in bytes.
pub(super) const LEAST_DATA: usize = MARK.len() + ID_DIGITS;

/// What the second page showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// What the first page was given.
    Kept,
    /// Nothing.
    Nothing,
    /// Something else.
    Other,
}

/// The data of a session: letters and digits that follow from `id`, in `bytes` of at least
/// [`LEAST_DATA`].
pub(super) fn write_data(out: &mut Vec<u8>, id: u64, bytes: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789xz";
    let end = out.len() + bytes;
    out.extend_from_slice(MARK.as_bytes());
    out.extend((0..ID_DIGITS).map(|at| DIGITS[(id >> (60 - 4 * at)) as usize & 15]));
    let mut random = fastrand::Rng::with_seed(id);
    while out.len() < end {
        let mut bits = random.u64(..);
        for _ in 0..(end - out.len()).min(10) {
            out.push(LETTERS[bits as usize & 63]);
            bits >>= 6;
        }
    }
}

/// Whether a page shows the data, among whatever else is on it. A page that shows the data of no
/// session shows nothing if it is empty or HTML.
pub(super) fn shown(body: &[u8], data: &[u8]) -> Shown {
    let body = body.trim_ascii();
    if body == data || contains(body, data) {
        return Shown::Kept;
    }
    let is_without = body.is_empty() || body.starts_with(b"<");
    match is_without && !contains(body, MARK.as_bytes()) {
        true => Shown::Nothing,
        false => Shown::Other,
    }
}

/// Both are short, and of a page that is right the first comparison has told.
fn contains(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(id: u64, bytes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        write_data(&mut out, id, bytes);
        out
    }

    #[test]
    fn data_is_of_its_size_and_of_its_session_and_needs_no_escapes() {
        for bytes in [LEAST_DATA, 25, 1024, 4095] {
            let one = data(7, bytes);
            assert_eq!(one.len(), bytes);
            assert_eq!(one, data(7, bytes));
            assert_ne!(one, data(8, bytes));
            assert!(
                one.iter()
                    .all(|&byte| byte.is_ascii_alphanumeric() || byte == b'-')
            );
        }
        assert_ne!(data(7, 1024)[LEAST_DATA..], data(8, 1024)[LEAST_DATA..]);
    }

    #[test]
    fn pages_are_judged_by_what_they_show() {
        let own = data(7, 100);
        let other = data(8, 100);
        let page = |inside: &[u8]| [b"<html><p>", inside, b"</p></html>"].concat();
        for (body, expected) in [
            (own.clone(), Shown::Kept),
            ([&own[..], b"\r\n"].concat(), Shown::Kept),
            (page(&own), Shown::Kept),
            (Vec::new(), Shown::Nothing),
            (b"\n".to_vec(), Shown::Nothing),
            (page(b"Please log in."), Shown::Nothing),
            (other.clone(), Shown::Other),
            (page(&other), Shown::Other),
            (own[..99].to_vec(), Shown::Other),
            (b"Warning: something".to_vec(), Shown::Other),
        ] {
            assert_eq!(
                shown(&body, &own),
                expected,
                "{}",
                String::from_utf8_lossy(&body)
            );
        }
    }
}
