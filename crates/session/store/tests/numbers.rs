//! Items' numbers over a start.
#![allow(clippy::unwrap_used)]

mod support;

use forebay_session_store::{Durability, Full};
use support::{Client, on_disk, open};

#[test]
fn a_number_whose_write_was_lost_is_not_given_to_another_value() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("log"), folder.path().join("copy"));
    let options = on_disk(&path, 4 << 20, Full::Spill, Durability::Always);
    let (store, _) = open(options);
    let mut client = Client::of(&store);
    assert!(client.say("ms basket 3 c\r\nold\r\n").starts_with("HD c"));
    // What a crash leaves: as it was before the writes that follow.
    store.snapshot(&copy).unwrap();
    let lost = client.say("ms basket 4 c\r\nlost\r\n");
    let lost = lost.trim().strip_prefix("HD c").unwrap().to_owned();
    store.stop().unwrap();
    let (store, _) = open(on_disk(&copy, 4 << 20, Full::Spill, Durability::Always));
    let mut client = Client::of(&store);
    for number in 0..64 {
        client.set("basket", format!("new {number}").as_bytes(), 0);
        let stale = client.say(&format!("ms basket 5 C{lost}\r\nstale\r\n"));
        assert_eq!(stale, "EX\r\n", "behind {number} other writes");
    }
    store.stop().unwrap();
}
