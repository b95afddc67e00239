#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use super::*;

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

fn point(at: f64) -> Point {
    Point {
        at,
        seconds: 1.0,
        succeeded: 12_345,
        bytes_received: 20 << 20,
        p50_ns: 1_200_000,
        p90_ns: 3_000_000,
        p99_ns: 5_400_000,
        max_ns: 9_000_000,
        ..Point::default()
    }
}

fn update(view: &mut View, seconds: f64) {
    let failed = BTreeMap::from([(Cause::Reset, 2), (Cause::Timeout, 1010)]);
    view.update(&Now {
        elapsed: Duration::from_secs_f64(seconds),
        completed: 55_123,
        failed: &failed,
        open: 500,
        client_busiest: 0.453,
        last: Some(&point(seconds.floor())),
        server_cores: Some(1.234),
    });
}

fn block(paper: &Paper, has_colour: bool, width: fn() -> usize) -> View {
    let kind = Kind::Block {
        has_colour,
        drawn: Vec::new(),
    };
    View::with(kind, "GET http://x/", Box::new(paper.clone()), width)
}

#[test]
fn lines_come_each_second_and_then_each_ten() {
    let paper = Paper::default();
    let mut view = View::with(
        Kind::Lines { due: 1 },
        "a\u{1b}b",
        Box::new(paper.clone()),
        || 80,
    );
    view.begin(
        "500 connections",
        (2, 4),
        Some(Duration::from_secs(40)),
        None,
    );
    assert_eq!(paper.take(), "a\\u{1b}b\n500 connections (2 of 4)\n");
    let mut seen = Vec::new();
    for half in 1..=80 {
        update(&mut view, f64::from(half) / 2.0);
        if !paper.take().is_empty() {
            seen.push(half / 2);
        }
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40]);
    view.begin("1,000 connections", (3, 4), None, None);
    paper.take();
    update(&mut view, 1.0);
    assert_eq!(
        paper.take(),
        "   1 s  12,345/s  p50 1.20 ms  p99 5.40 ms  20.0 MiB/s  55,123 done  500 open  \
         server 1.23 cores  1,012 failed (1,010 timeout, 2 reset)\n"
    );
}

#[test]
fn a_block_is_drawn_again_in_its_place_and_taken_away() {
    let paper = Paper::default();
    let mut view = block(&paper, false, || 80);
    view.begin(
        "500 connections",
        (1, 1),
        Some(Duration::from_secs(10)),
        None,
    );
    assert_eq!(paper.take(), "GET http://x/\n");
    update(&mut view, 4.5);
    let first = paper.take();
    assert_eq!(
        first,
        format!(
            "  500 connections   4 s of 10 s\n  {}{}  45 %\n  rate      12,345/s   20.0 MiB/s   █\n  \
             latency   p50 1.20 ms   p90 3.00 ms   p99 5.40 ms   max 9.00 ms\n  \
             requests  55,123 done   500 open   1,012 failed (1,010 timeout, 2 reset)\n  \
             busy      load tester 45.3 % of a core   server 1.23 cores\n",
            "━".repeat(27),
            "─".repeat(33)
        )
    );
    update(&mut view, 5.0);
    assert!(
        paper
            .take()
            .starts_with("\r\x1b[6A\x1b[J  500 connections   5 s")
    );
    view.note("something");
    assert_eq!(paper.take(), "\r\x1b[6A\x1b[Jsomething\n");
    update(&mut view, 6.0);
    assert!(paper.take().starts_with("  500 connections"));
    drop(view);
    assert_eq!(paper.take(), "\r\x1b[6A\x1b[J");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [|| 30, || 42, || 55, || 80, || 200] {
        let paper = Paper::default();
        let mut view = block(&paper, false, width);
        view.begin(
            "10,000 connections, 20,000 requests/s",
            (12, 14),
            None,
            Some(60_000),
        );
        paper.take();
        update(&mut view, 3.0);
        let text = paper.take();
        assert_eq!(text.lines().count(), 6);
        for line in text.lines() {
            assert!(line.chars().count() < width(), "{line}");
        }
    }
}

#[test]
fn a_terminal_that_became_narrower_broke_the_lines() {
    assert_eq!(erase(&[79, 10, 0], 80), "\r\x1b[3A\x1b[J");
    assert_eq!(erase(&[79, 10, 0], 40), "\r\x1b[4A\x1b[J");
    assert_eq!(erase(&[], 40), "");
}

#[test]
fn colours_are_left_out_when_not_wanted() {
    for (has_colour, expected) in [(true, true), (false, false)] {
        let paper = Paper::default();
        let mut view = block(&paper, has_colour, || 80);
        update(&mut view, 1.0);
        assert_eq!(paper.take().contains("\x1b[1m"), expected);
    }
}

#[test]
fn before_the_first_stretch_the_rate_is_since_the_beginning() {
    let failed = BTreeMap::from([(Cause::Reset, 2)]);
    let now = |elapsed_ms| Now {
        elapsed: Duration::from_millis(elapsed_ms),
        completed: 102,
        failed: &failed,
        open: 1,
        client_busiest: 0.0,
        last: None,
        server_cores: None,
    };
    assert_eq!(now(0).rate(), None);
    assert_eq!(now(500).rate(), Some(200.0));
}

#[test]
fn off_is_silent() {
    let paper = Paper::default();
    let mut view = View::with(Kind::Off, "title", Box::new(paper.clone()), || 80);
    view.begin("x", (1, 1), None, None);
    update(&mut view, 1.0);
    view.note("note");
    view.end();
    assert_eq!(paper.take(), "");
}
