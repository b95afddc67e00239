//! Stories of the text protocol.

mod support;

use forebay_session::{Access, Limits};
use support::engine::Plain;
use support::{Client, NOW_S};

#[test]
fn what_is_stored_is_read_again() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    assert_eq!(client.say("set a 7 0 3\r\nabc\r\n"), "STORED\r\n");
    assert_eq!(client.say("get a b\r\n"), "VALUE a 7 3\r\nabc\r\nEND\r\n");
    assert_eq!(client.say("gets a\r\n"), "VALUE a 7 3 1\r\nabc\r\nEND\r\n");
    assert_eq!(
        client.say("append a 0 0 1\r\nd\r\nget a\r\n"),
        "STORED\r\nVALUE a 7 4\r\nabcd\r\nEND\r\n"
    );
    assert_eq!(client.say("delete a\r\nget a\r\n"), "DELETED\r\nEND\r\n");
}

#[test]
fn a_store_with_a_number_wins_only_once() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    client.say("set a 0 0 1\r\nx\r\n");
    assert_eq!(
        client.say("cas a 0 0 1 1\r\ny\r\ncas a 0 0 1 1\r\nz\r\n"),
        "STORED\r\nEXISTS\r\n"
    );
    assert_eq!(client.say("cas none 0 0 1 1\r\nz\r\n"), "NOT_FOUND\r\n");
    assert_eq!(client.say("get a\r\n"), "VALUE a 0 1\r\ny\r\nEND\r\n");
}

#[test]
fn an_item_is_gone_in_the_second_it_expires() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    client.say("set a 0 10 1\r\nx\r\n");
    client.now_s = NOW_S + 9;
    assert_eq!(client.say("touch a 5\r\n"), "TOUCHED\r\n");
    client.now_s = NOW_S + 13;
    assert_eq!(client.say("get a\r\n"), "VALUE a 0 1\r\nx\r\nEND\r\n");
    client.now_s = NOW_S + 14;
    assert_eq!(client.say("get a\r\ntouch a 5\r\n"), "END\r\nNOT_FOUND\r\n");
    assert_eq!(
        client.say("set b 0 -1 1\r\nx\r\nget b\r\n"),
        "STORED\r\nEND\r\n"
    );
}

#[test]
fn a_delayed_flush_takes_what_is_there_when_it_comes() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    assert_eq!(
        client.say("set a 0 0 1\r\nx\r\nflush_all 5\r\nget a\r\n"),
        "STORED\r\nOK\r\nVALUE a 0 1\r\nx\r\nEND\r\n"
    );
    client.now_s = NOW_S + 5;
    assert_eq!(client.say("get a\r\n"), "END\r\n");
}

#[test]
fn a_key_that_is_too_long_takes_back_what_its_line_has_brought() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    client.say("set a 0 0 1\r\nx\r\n");
    let line = format!("get a {} a\r\nget a\r\n", "k".repeat(251));
    assert_eq!(
        client.say(&line),
        "CLIENT_ERROR bad command line format\r\nVALUE a 0 1\r\nx\r\nEND\r\n"
    );
}

#[test]
fn a_line_of_keys_may_be_of_any_length_and_no_other_line_may() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    client.say("set a 0 0 1\r\nx\r\n");
    let keys = "a none ".repeat(20_000);
    let answer = client.say(&format!("get {keys}\r\nversion\r\n"));
    assert_eq!(answer.matches("VALUE a 0 1\r\nx\r\n").count(), 20_000);
    assert!(answer.ends_with("END\r\nVERSION 1.6.18\r\n"));
    client.say(&"x".repeat(3000));
    assert!(client.closed);
}

#[test]
fn a_value_that_is_too_large_is_passed_over_and_the_old_one_goes() {
    let engine = Plain::new(100);
    let limits = Limits {
        item_bytes: 100,
        ..Limits::default()
    };
    let mut client = Client::with(&engine, limits, Access::Open);
    client.say("set a 0 0 1\r\nx\r\n");
    let answer = client.say(&format!(
        "set a 0 0 200\r\n{}\r\nget a\r\n",
        "y".repeat(200)
    ));
    assert_eq!(answer, "SERVER_ERROR object too large for cache\r\nEND\r\n");
    assert_eq!(client.say("set b 0 0 100\r\n"), "");
    assert_eq!(
        client.wanted,
        "set b 0 0 100\r\n".len() + 102,
        "the caller is not told how much room it needs"
    );
}

#[test]
fn a_number_that_gets_shorter_keeps_its_length() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    client.say("set n 0 0 2\r\n10\r\n");
    assert_eq!(
        client.say("decr n 1\r\nget n\r\n"),
        "9\r\nVALUE n 0 2\r\n9 \r\nEND\r\n"
    );
    assert_eq!(client.say("incr n 18446744073709551615\r\n"), "8\r\n");
    assert_eq!(client.say("decr n 100\r\n"), "0\r\n");
    client.say("set n 0 0 1\r\nx\r\n");
    assert_eq!(
        client.say("incr n 1\r\n"),
        "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
    );
}

#[test]
fn nothing_is_done_before_the_token_is_shown() {
    let engine = Plain::new(1 << 20);
    let access = Access::Token {
        user: None,
        token: "secret".into(),
    };
    let mut client = Client::with(&engine, Limits::default(), access);
    assert_eq!(
        client.say("get a\r\nmn\r\n"),
        "CLIENT_ERROR unauthenticated\r\nCLIENT_ERROR unauthenticated\r\n"
    );
    assert_eq!(
        client.say("set x 0 0 8\r\nme wrong\r\n"),
        "CLIENT_ERROR authentication failure\r\n"
    );
    assert_eq!(
        client.say("set x 0 0 9\r\nme secret\r\nmn\r\n"),
        "STORED\r\nMN\r\n"
    );
    assert_eq!(client.counts().auth_errors, 1);
}

#[test]
fn a_dump_shows_every_item() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    for at in 0..500 {
        client.say(&format!("set key/{at} 0 0 1\r\nx\r\n"));
    }
    let dump = client.say("lru_crawler metadump all\r\nmn\r\n");
    assert_eq!(dump.matches("key=key%2F").count(), 500);
    assert!(dump.ends_with("END\r\nMN\r\n"));
}

#[test]
fn the_counts_tell_what_happened() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    client.say("set a 0 0 1\r\n1\r\nget a b\r\nincr a 1\r\ndelete b\r\ntouch a 0\r\ncas a 0 0 1 999\r\n1\r\n");
    let counts = client.counts();
    assert_eq!(
        (counts.cmd_get, counts.get_hits, counts.get_misses),
        (2, 1, 1)
    );
    assert_eq!(
        (counts.cmd_set, counts.incr_hits, counts.delete_misses),
        (2, 1, 1)
    );
    assert_eq!((counts.touch_hits, counts.cas_badval), (1, 1));
    client.say("get a\r\n");
    let stats = client.say("stats\r\n");
    assert!(
        stats.contains("STAT get_hits 1\r\n") && stats.ends_with("END\r\n"),
        "{stats}"
    );
}

#[test]
fn all_items_are_shown_as_one_class() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    assert_eq!(
        client.say("stats slabs\r\n"),
        "STAT active_slabs 0\r\nSTAT total_malloced 0\r\nEND\r\n"
    );
    client.say("set a 0 0 99\r\n");
    client.say(&format!("{}\r\n", "x".repeat(99)));
    client.say("set b 0 0 299\r\n");
    client.say(&format!("{}\r\n", "x".repeat(299)));
    let slabs = client.say("stats slabs\r\n");
    // 200 bytes on average, in 64 MiB.
    for row in ["chunk_size 200", "total_pages 64", "used_chunks 2"] {
        assert!(slabs.contains(&format!("STAT 1:{row}\r\n")), "{slabs}");
    }
    let row = "STAT 1:free_chunks 335542\r\n";
    assert!(slabs.contains(row), "{slabs}");
    let settings = client.say("stats settings\r\n");
    assert!(settings.contains("STAT evictions off\r\n"), "{settings}");
}

#[test]
fn the_engine_is_told_of_all_keys_of_a_line_before_the_first_is_read() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    client.say("get alone\r\nset a 0 0 1\r\nx\r\nget  a b\r\n");
    assert_eq!(engine.hints(), [[b"a".to_vec(), b"b".to_vec()]]);
    let keys: Vec<String> = (0..40).map(|n| format!("key{n}")).collect();
    client.say(&format!("gets {}\r\n", keys.join(" ")));
    let told = engine.hints().split_off(1);
    let lengths: Vec<usize> = told.iter().map(Vec::len).collect();
    assert_eq!(lengths, [16, 16, 8]);
    assert!(told.concat().iter().eq(keys.iter().map(String::as_bytes)));
}

/// What is answered where little may be said at a time, and where much may: it is the same. There
/// is an item `a`; at `broken` the disk fails.
fn said_in_parts_and_at_once(request: &str) -> String {
    let answers = [(1, 0), (1 << 20, 0), (1 << 20, 3)].map(|(output_bytes, pending_every)| {
        let engine = Plain::slow(1 << 20, pending_every).broken_at("broken");
        let limits = Limits {
            output_bytes,
            ..Limits::default()
        };
        let mut client = Client::with(&engine, limits, Access::Open);
        client.say("set a 0 0 2\r\nzz\r\n");
        client.say(request)
    });
    let [in_parts, at_once, late] = answers;
    assert_eq!(in_parts, at_once);
    assert_eq!(late, at_once);
    at_once
}

#[test]
fn an_item_that_cannot_be_read_is_not_told_to_be_missing() {
    let failed = "SERVER_ERROR the value cannot be read\r\n";
    let found = "VALUE a 0 2\r\nzz\r\n";
    for verb in ["get", "gat 100"] {
        let request = format!("{verb} broken\r\n{verb} a broken a\r\n{verb} a\r\n");
        let expected = [failed, found, failed, found, "END\r\n"].concat();
        assert_eq!(said_in_parts_and_at_once(&request), expected);
        let many = "a ".repeat(2_000);
        let request = format!("{verb} {many}broken {many}\r\nmn\r\n");
        let expected = [&found.repeat(2_000), failed, "MN\r\n"].concat();
        assert_eq!(said_in_parts_and_at_once(&request), expected);
    }
}

#[test]
fn a_carriage_return_between_keys_is_a_key_also_where_the_line_is_answered_in_parts() {
    let answer = said_in_parts_and_at_once("get a \r  a \r\nget a\r\n");
    let found = "VALUE a 0 2\r\nzz\r\n";
    assert_eq!(answer, [found, found, "END\r\n", found, "END\r\n"].concat());
}

#[test]
fn no_key_of_a_line_with_one_too_long_is_answered_however_little_may_be_said_at_a_time() {
    let long = "k".repeat(251);
    let answer = said_in_parts_and_at_once(&format!("get a a {long} a\r\nget a\r\n"));
    let refused = "CLIENT_ERROR bad command line format\r\n";
    assert_eq!(answer, [refused, "VALUE a 0 2\r\nzz\r\nEND\r\n"].concat());
}
