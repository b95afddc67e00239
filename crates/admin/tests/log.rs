//! Following exchanges over real sockets: lines, losses, ends.
#![allow(clippy::unwrap_used)]

mod harness;

use forebay_admin::control::{TailEvent, TailFilter};
use harness::{Running, request, running};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// A client that follows, and the end that feeds it.
fn follow(server: &Running, query: &str) -> (BufReader<TcpStream>, TailFilter, Sender<TailEvent>) {
    let mut stream = server.connect();
    let target = format!("/api/v1/log{query}");
    stream
        .write_all(request("GET", &target, "", "").as_bytes())
        .unwrap();
    let (filter, feed) = server.tails.recv().unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line).unwrap();
    }
    (reader, filter, feed)
}

fn exchange(text: &str) -> TailEvent {
    TailEvent::Exchange(text.as_bytes().to_vec())
}

/// The data of the next chunk; empty at the end.
fn chunk(reader: &mut BufReader<TcpStream>) -> String {
    let mut size = String::new();
    reader.read_line(&mut size).unwrap();
    let size = usize::from_str_radix(size.trim(), 16).unwrap();
    let mut data = vec![0; size + 2];
    reader.read_exact(&mut data).unwrap();
    String::from_utf8(data[..size].to_vec()).unwrap()
}

#[test]
fn each_exchange_is_a_line_at_once_and_losses_are_told() {
    let server = running();
    let (mut reader, filter, feed) = follow(&server, "?status=5xx&slower_than=200ms");
    assert_eq!(filter.status, [(500, 599)]);
    assert_eq!(filter.slower_than, Some(Duration::from_millis(200)));
    feed.send(exchange(r#"{"status":503}"#)).unwrap();
    assert_eq!(chunk(&mut reader), "{\"status\":503}\n");
    feed.send(TailEvent::Dropped(12)).unwrap();
    assert_eq!(chunk(&mut reader), "{\"dropped\":12}\n");
    // The server has no more to say.
    drop(feed);
    assert_eq!(chunk(&mut reader), "");
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
}

#[test]
fn it_ends_after_as_many_as_were_asked_for() {
    let server = running();
    let (mut reader, _, feed) = follow(&server, "?limit=2");
    for number in 0..5 {
        // The end is gone once two were taken.
        let _ = feed.send(exchange(&number.to_string()));
    }
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert!(
        rest.contains("0\n") && rest.contains("1\n") && !rest.contains("2\n1"),
        "{rest:?}"
    );
    assert!(
        !rest.contains("3\n") && rest.ends_with("0\r\n\r\n"),
        "{rest:?}"
    );
}

#[test]
fn when_the_client_goes_the_following_ends() {
    let server = running();
    let (reader, _, feed) = follow(&server, "");
    drop(reader);
    // The receiving end is dropped when the server notices.
    while feed.send(exchange("x")).is_ok() {
        std::thread::yield_now();
    }
}

#[test]
fn a_stop_of_the_administration_ends_the_stream_properly() {
    let server = running();
    let (mut reader, _, _feed) = follow(&server, "");
    drop(server);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "0\r\n\r\n");
}

#[test]
fn there_are_at_most_so_many_followers() {
    let server = running();
    let mut following: Vec<_> = (0..16).map(|_| follow(&server, "")).collect();
    let refused = server.get("/api/v1/log");
    assert_eq!(refused.status, 503);
    assert!(
        refused.json()["error"]
            .as_str()
            .unwrap()
            .contains("too many")
    );
    assert_eq!(server.get("/status").status, 200);
    // The end of one makes room for another.
    let (mut reader, _, feed) = following.pop().unwrap();
    drop(feed);
    reader.read_to_string(&mut String::new()).unwrap();
    drop(follow(&server, ""));
}

#[test]
fn a_client_of_http_1_0_gets_lines_without_chunks() {
    let server = running();
    let mut stream = server.connect();
    stream
        .write_all(b"GET /api/v1/log?limit=1 HTTP/1.0\r\n\r\n")
        .unwrap();
    let (_, feed) = server.tails.recv().unwrap();
    feed.send(exchange("{}")).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(!answer.contains("chunked"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n{}\n"), "{answer}");
}
