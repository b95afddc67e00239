//! Responses in records of every cut, as the exchange sees them.

use std::rc::Rc;

use super::*;
use crate::buffer::Buffers;

const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 1000,
    head_bytes: 1000,
    fields: 10,
};

fn record(kind: u8, content: &[u8], padding: u8) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let mut record = vec![1, kind, 0, 1, high, low, padding, 0];
    record.extend_from_slice(content);
    record.extend(std::iter::repeat_n(0, padding.into()));
    record
}

fn end() -> Vec<u8> {
    record(3, &[0; 8], 0)
}

fn fill(input: &mut Buffer, bytes: &[u8]) {
    let mut bytes = bytes;
    while !bytes.is_empty() {
        let space = input.space();
        let len = space.len().min(bytes.len());
        space[..len].copy_from_slice(&bytes[..len]);
        input.added(len);
        bytes = &bytes[len..];
    }
}

/// What becomes of a response that comes in pieces of so many bytes.
struct Read {
    status: u16,
    length: Option<u64>,
    body: Vec<u8>,
    writes: usize,
    has_ended: bool,
    unread: usize,
}

fn read(response: &[u8], piece: usize, stated: Option<u64>) -> Result<Read, OriginFailure> {
    let mut input = Buffer::new(&Rc::new(Buffers::default()));
    let (mut records, mut head) = (Records::default(), ResponseHead::default());
    let server = "app".into();
    let mut pieces = response.chunks(piece);
    let mut more = |input: &mut Buffer| match pieces.next() {
        Some(piece) => {
            fill(input, piece);
            Ok(())
        }
        None => Err(OriginFailure::Broken),
    };
    loop {
        let (taken, is_complete) = records.head(&mut head, input.filled(), &LIMITS, &server)?;
        input.consume(taken);
        if is_complete {
            break;
        }
        more(&mut input)?;
    }
    let length = records.begin_body(stated, true, input.filled());
    let (mut body, mut writes) = (Vec::new(), 0);
    while !records.is_complete() {
        match records.body(&mut input, &server)? {
            Piece::Data(range) => {
                body.extend_from_slice(&input.filled()[range.clone()]);
                input.consume(range.end);
                writes += 1;
            }
            Piece::End(taken) => input.consume(taken),
            Piece::Starved(taken) => {
                input.consume(taken);
                more(&mut input)?;
            }
        }
    }
    let mut has_ended = records.finish(&mut input, &server)?;
    while !has_ended && more(&mut input).is_ok() {
        has_ended = records.finish(&mut input, &server)?;
    }
    Ok(Read {
        status: head.status,
        length,
        body,
        writes,
        has_ended,
        unread: input.filled().len(),
    })
}

#[test]
fn a_response_is_the_same_in_pieces_of_every_size() {
    let response = [
        record(6, b"Status: 404 Gone\r\nA: b\r", 1),
        record(7, b"a complaint\n", 4),
        record(6, b"\n\r\nfirst ", 0),
        record(6, b"second ", 7),
        record(7, b"another", 0),
        record(6, b"third", 3),
        record(6, b"", 0),
        end(),
    ]
    .concat();
    for piece in 1..=response.len() {
        let read = read(&response, piece, None).unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!(
            (read.status, &read.body[..]),
            (404, &b"first second third"[..])
        );
        assert!(read.has_ended && read.unread == 0, "{piece}");
    }
}

#[test]
fn records_at_hand_leave_in_one_write_and_a_whole_page_has_its_length() {
    let page = [record(6, b"A: b\r\n\r\nbody", 4), end()].concat();
    let one = read(&page, page.len(), None).unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!((one.length, one.writes), (Some(4), 1));
    let several = [
        record(6, b"A: b\r\n\r\na", 4),
        record(6, b"bc", 0),
        record(6, b"d", 9),
        end(),
    ]
    .concat();
    let one = read(&several, several.len(), None).unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!(
        (one.length, one.writes, &one.body[..]),
        (None, 1, &b"abcd"[..])
    );
}

#[test]
fn a_stated_length_holds() {
    let long = [record(6, b"A: b\r\n\r\nbody and more", 0), end()].concat();
    let read_all = |response: &[u8], stated| read(response, response.len(), Some(stated));
    let read = read_all(&long, 4).unwrap_or_else(|failure| panic!("{failure:?}"));
    assert!(read.body == b"body" && read.has_ended && read.unread == 0);
    assert_eq!(read_all(&long, 400).err(), Some(OriginFailure::Broken));
}

#[test]
fn an_application_that_does_not_answer_has_failed() {
    let rejected = |status: u8| record(3, &[0, 0, 0, 0, status, 0, 0, 0], 0);
    let failure = |response: &[u8]| read(response, response.len(), None).err();
    assert_eq!(failure(&rejected(2)), Some(OriginFailure::Overloaded));
    assert!(matches!(failure(&end()), Some(OriginFailure::Invalid(_))));
    let cut = [record(6, b"Status: 200\r\n", 0), end()].concat();
    assert!(matches!(failure(&cut), Some(OriginFailure::Invalid(_))));
    assert!(matches!(
        failure(b"HTTP/1.1 200 OK\r\n\r\n"),
        Some(OriginFailure::Invalid(_))
    ));
}
