//! Stories of the meta commands.

mod support;

use support::Client;
use support::engine::Plain;

#[test]
fn flags_are_answered_in_the_order_in_which_they_were_asked() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    assert_eq!(
        client.say("ms a 2 c F5 T60 Oxyz k\r\nab\r\n"),
        "HD c1 Oxyz ka\r\n"
    );
    assert_eq!(
        client.say("mg a t v k s f Oq h l c\r\n"),
        "VA 2 t60 ka s2 f5 Oq h0 l0 c1\r\nab\r\n"
    );
    assert_eq!(
        client.say("mg a h\r\nmg none k O1\r\nmg none q\r\nmn\r\n"),
        "HD h1\r\nEN knone O1\r\nMN\r\n"
    );
}

#[test]
fn one_client_alone_is_to_recache() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    assert_eq!(
        client.say("mg a N30 v t\r\nmg a N30 v\r\n"),
        "VA 0 t30 W\r\n\r\nVA 0 Z\r\n\r\n"
    );
    client.say("ms a 1 T20\r\nx\r\n");
    assert_eq!(
        client.say("mg a R10\r\nmg a R30\r\nmg a R30\r\n"),
        "HD\r\nHD W\r\nHD Z\r\n"
    );
    client.say("ms a 1\r\nx\r\n");
    assert_eq!(
        client.say("md a I T30\r\nmg a v\r\nmg a t\r\n"),
        "HD\r\nVA 1 X W\r\nx\r\nHD t30 Z X\r\n"
    );
}

#[test]
fn an_older_number_stores_a_stale_value_where_that_is_wanted() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    client.say("ms a 1\r\n1\r\nms a 1\r\n2\r\n");
    assert_eq!(
        client.say("ms a 1 C1\r\n3\r\nms a 1 C1 I\r\n4\r\nmg a v\r\n"),
        "EX\r\nHD\r\nVA 1 X W\r\n4\r\n"
    );
    assert_eq!(
        client.say("ms none 1 C1\r\n3\r\nms a 1 ME\r\n3\r\nms none 1 MR\r\n3\r\n"),
        "NF\r\nNS\r\nNS\r\n"
    );
}

#[test]
fn a_key_in_base64_is_shown_as_it_was_written() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    assert_eq!(client.say("ms AAH/ 1 b k\r\nx\r\n"), "HD kAAH/ b\r\n");
    assert_eq!(client.say("mg AAH/ b k v\r\n"), "VA 1 kAAH/ b\r\nx\r\n");
    assert_eq!(
        client.say("mg *** b\r\n"),
        "CLIENT_ERROR error decoding key\r\n"
    );
    assert!(client.say("me AAH/ b\r\n").starts_with("ME AAH/ exp=-1 "));
}

#[test]
fn counters_are_made_and_told() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    assert_eq!(
        client.say("ma n\r\nma n N0 J13 v t c k\r\n"),
        "NF\r\nVA 2 t-1 c1 kn\r\n13\r\n"
    );
    assert_eq!(
        client.say("ma n MD D3 v\r\nma n q\r\nma n C1\r\nma n v T9 t\r\n"),
        "VA 2\r\n10\r\nEX\r\nVA 2 t9\r\n12\r\n"
    );
    assert_eq!(
        client.say("ma n MX\r\n"),
        "CLIENT_ERROR invalid mode for ma M token\r\n"
    );
}

#[test]
fn a_write_gets_the_number_that_its_client_gives() {
    let engine = Plain::new(1000);
    let mut client = Client::new(&engine);
    assert_eq!(client.say("ms a 1 E77 c\r\nx\r\n"), "HD c77\r\n");
    assert_eq!(client.say("ms a 1 C77 E99 c\r\ny\r\n"), "HD c99\r\n");
    assert_eq!(client.say("ms a 1 C77 E100\r\nz\r\n"), "EX\r\n");
    assert_eq!(
        client.say("md a I E5 T30\r\nmg a c t\r\n"),
        "HD\r\nHD c5 t30 X W\r\n"
    );
    assert_eq!(client.say("ma n N0 J7 E42 c v\r\n"), "VA 1 c42\r\n7\r\n");
    assert_eq!(
        client.say("ms a 1 Ex\r\n"),
        "CLIENT_ERROR bad token in command line format\r\n"
    );
}
