//! Records taken apart: by table, at every split, and from anything.

use proptest::prelude::*;

use super::*;

fn record(kind: u8, id: u16, content: &[u8], padding: u8) -> Vec<u8> {
    let [id_high, id_low] = id.to_be_bytes();
    let [high, low] = (content.len() as u16).to_be_bytes();
    let mut record = vec![1, kind, id_high, id_low, high, low, padding, 0];
    record.extend_from_slice(content);
    record.extend(std::iter::repeat_n(0xee, padding.into()));
    record
}

fn end(app_status: u32, protocol_status: u8) -> Vec<u8> {
    let [a, b, c, d] = app_status.to_be_bytes();
    record(3, 1, &[a, b, c, d, protocol_status, 0, 0, 0], 0)
}

/// What a response is when it comes in pieces that end at `splits`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    end: Option<End>,
    error: Option<RecordError>,
    left: usize,
}

fn see(input: &[u8], splits: &[usize]) -> Seen {
    let mut seen = Seen::default();
    let (mut decoder, mut held, mut from) = (Decoder::default(), Vec::new(), 0);
    for &to in splits.iter().chain([&input.len()]) {
        held.extend_from_slice(&input[from..to]);
        from = to;
        loop {
            let (taken, again) = match decoder.next(&held) {
                Ok(Event::Stdout { start, end }) => {
                    seen.stdout.extend_from_slice(&held[start..end]);
                    (end, true)
                }
                Ok(Event::Stderr { start, end }) => {
                    seen.stderr.extend_from_slice(&held[start..end]);
                    (end, true)
                }
                Ok(Event::NeedMore { consumed }) => (consumed, false),
                Ok(Event::End { consumed, end }) => {
                    seen.end = Some(end);
                    seen.left = held.len() - consumed + input.len() - from;
                    return seen;
                }
                Err(error) => {
                    seen.error = Some(error);
                    return seen;
                }
            };
            held.drain(..taken);
            if !again {
                break;
            }
        }
    }
    seen
}

fn response() -> Vec<u8> {
    [
        record(10, 0, b"\x0f\x01FCGI_MPXS_CONNS0", 7),
        record(7, 1, b"PHP message: oh\n", 0),
        record(6, 1, b"Content-Type: text/plain\r\n\r\nhel", 5),
        record(6, 1, b"", 0),
        record(6, 1, b"lo", 255),
        record(7, 1, b"", 3),
        end(7, 0),
        b"next".to_vec(),
    ]
    .concat()
}

#[test]
fn streams_are_taken_apart_whatever_the_split() {
    let input = response();
    let whole = see(&input, &[]);
    assert_eq!(whole.stdout, b"Content-Type: text/plain\r\n\r\nhello");
    assert_eq!(whole.stderr, b"PHP message: oh\n");
    assert_eq!(whole.end, Some(End::Complete { app_status: 7 }));
    assert_eq!(whole.left, 4);
    for at in 0..input.len() {
        assert_eq!(see(&input, &[at]), whole, "split at {at}");
    }
    let all: Vec<usize> = (0..input.len()).collect();
    assert_eq!(see(&input, &all), whole);
}

#[test]
fn what_applications_do_not_send_is_refused() {
    let mut other_version = record(6, 1, b"x", 0);
    other_version[0] = 2;
    let cases = [
        (b"HTTP/1.1 200 OK\r\n".to_vec(), RecordError::Version),
        (other_version, RecordError::Version),
        (record(6, 2, b"x", 0), RecordError::RequestId),
        (record(6, 0, b"x", 0), RecordError::RequestId),
        (record(10, 1, b"x", 0), RecordError::RequestId),
        (record(5, 1, b"x", 0), RecordError::Type),
        (record(0, 1, b"x", 0), RecordError::Type),
        (record(3, 1, b"x", 0), RecordError::End),
        (end(0, 9), RecordError::End),
    ];
    for (input, error) in cases {
        assert_eq!(see(&input, &[]).error, Some(error), "{input:?}");
    }
}

#[test]
fn rejections_have_their_names() {
    for (status, expected) in [
        (1, End::CannotMultiplex),
        (2, End::Overloaded),
        (3, End::UnknownRole),
    ] {
        assert_eq!(see(&end(0, status), &[]).end, Some(expected));
    }
}

#[test]
fn bytes_given_back_come_again() {
    let input = record(6, 1, b"headbody", 8);
    let mut decoder = Decoder::default();
    assert_eq!(
        decoder.next(&input),
        Ok(Event::Stdout { start: 8, end: 16 })
    );
    decoder.give_back(4);
    assert_eq!(
        decoder.next(&input[12..]),
        Ok(Event::Stdout { start: 0, end: 4 })
    );
    assert_eq!(
        decoder.next(&input[16..]),
        Ok(Event::NeedMore { consumed: 8 })
    );
}

#[test]
fn a_body_that_is_here_whole_has_a_known_length() {
    let whole = [record(6, 1, b"body", 4), record(6, 1, b"", 0), end(0, 0)].concat();
    let decoder = Decoder::default();
    assert_eq!(decoder.whole_body(&whole), Some(4));
    assert_eq!(decoder.whole_body(&whole[..whole.len() - 1]), None);
    assert_eq!(decoder.whole_body(&end(0, 0)), Some(0));
    let two = [record(6, 1, b"a", 0), record(6, 1, b"b", 0), end(0, 0)].concat();
    assert_eq!(decoder.whole_body(&two), None);
    let noted = [record(6, 1, b"a", 0), record(7, 1, b"b", 0), end(0, 0)].concat();
    assert_eq!(decoder.whole_body(&noted), None);
}

proptest! {
    #[test]
    fn nothing_panics_and_splits_make_no_difference(
        input in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| record(6, 1, &bytes, 3)),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| record(7, 1, &bytes, 0)),
            (any::<u32>(), 0..5_u8).prop_map(|(app, status)| end(app, status)),
            prop::collection::vec(any::<u8>(), 0..12),
        ], 0..8).prop_map(|records| records.concat()),
        mut splits in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut at: Vec<usize> = splits.drain(..).map(|index| index.index(input.len() + 1)).collect();
        at.sort_unstable();
        prop_assert_eq!(see(&input, &at), see(&input, &[]));
    }
}
