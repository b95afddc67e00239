//! One item at a time, on memcached itself and on the protocols over a plain engine.

#![allow(clippy::unwrap_used)]

mod support;

use forebay_session::Access;
use forebay_session_client::{
    Client, Condition, Error, Login, Outcome, Pattern, Target, Tyrant, now_s,
};
use support::{Memcached, forebay, item, liar, script, store};

/// Every test of an item runs on both.
fn on_both(test: impl Fn(&Target)) {
    test(&forebay(Access::Open));
    if let Some(memcached) = Memcached::start() {
        test(&memcached.target);
    }
}

#[test]
fn an_item_comes_back_as_it_was_stored() {
    on_both(|target| {
        let mut client = Client::connect(target).unwrap();
        let large = vec![b'x'; 3 << 20];
        let lifetime = now_s() + 1000;
        for (key, value, flags, expires_s) in [
            (&b"plain"[..], &b"hello"[..], 7, 0),
            (b"with blank\0", b"", u32::MAX, lifetime),
            (b"large", &large, 0, lifetime),
        ] {
            store(&mut client, key, item(value, flags, expires_s));
            let mut found = Vec::new();
            let seen = client.get(key, &mut found).unwrap().unwrap();
            assert!(found == value, "{key:?}");
            assert_eq!((seen.flags, seen.size_bytes), (flags, value.len() as u64));
            let left = expires_s.saturating_sub(now_s());
            let told = seen.ttl_s.unwrap_or(0);
            assert!(told.abs_diff(left) <= 2, "{told} {left}");
        }
        assert_eq!(client.get(b"none", &mut Vec::new()).unwrap(), None);
        assert_eq!(client.look(b"plain").unwrap().unwrap().size_bytes, 5);
    });
}

#[test]
fn conditions_hold_and_deleting_tells_what_was_there() {
    on_both(|target| {
        let mut client = Client::connect(target).unwrap();
        let mut offer = |key: &str, condition| {
            client
                .store(key.as_bytes(), condition, item(b"1", 0, 0))
                .unwrap()
        };
        assert_eq!(offer("a", Condition::Present), Outcome::NotStored);
        assert_eq!(offer("a", Condition::Cas(1)), Outcome::Missing);
        assert_eq!(offer("a", Condition::Absent), Outcome::Stored);
        assert_eq!(offer("a", Condition::Absent), Outcome::NotStored);
        let cas = client.look(b"a").unwrap().unwrap().cas;
        let mut offer = |condition| client.store(b"a", condition, item(b"2", 0, 0)).unwrap();
        assert_eq!(offer(Condition::Cas(cas + 99)), Outcome::Exists);
        assert_eq!(offer(Condition::Cas(cas)), Outcome::Stored);
        assert!(client.delete(b"a").unwrap());
        assert!(!client.delete(b"a").unwrap());
    });
}

#[test]
fn what_cannot_be_stored_is_refused_and_the_connection_goes_on() {
    on_both(|target| {
        let mut client = Client::connect(target).unwrap();
        let too_large = vec![0; 5 << 20];
        let outcome = client.store(b"a", Condition::Always, item(&too_large, 0, 0));
        assert!(matches!(outcome, Ok(Outcome::Refused(words)) if words.contains("too large")));
        let outcome = client.store(b"a", Condition::Always, item(b"1", 0, now_s() - 1));
        assert_eq!(outcome.unwrap(), Outcome::Expired);
        for key in [&b""[..], &[b'k'; 251], &[b' '; 200]] {
            assert!(matches!(client.look(key), Err(Error::Unaskable(_))));
        }
        store(&mut client, &[b'k'; 250], item(b"1", 0, 0));
    });
}

#[test]
fn statistics_are_read_by_group() {
    on_both(|target| {
        let mut client = Client::connect(target).unwrap();
        let rows = client.stats("").unwrap();
        assert!(
            rows.iter().any(|(name, _)| name == "curr_items"),
            "{rows:?}"
        );
        let rows = client.stats("settings").unwrap();
        assert!(rows.iter().any(|(name, _)| name == "item_size_max"));
        assert!(matches!(
            client.stats("x\r\nflush_all"),
            Err(Error::Unaskable(_))
        ));
        assert!(matches!(
            client.stats("nothing"),
            Err(Error::Refused { .. })
        ));
    });
}

#[test]
fn a_store_with_a_token_wants_the_right_one() {
    let mut target = forebay(Access::Token {
        user: None,
        token: "secret".into(),
    });
    let login = |token: &str| Login {
        user: "forebay".into(),
        token: token.into(),
    };
    let mut client = Client::connect(&target).unwrap();
    let error = client.look(b"a").unwrap_err();
    assert!(error.to_string().contains("unauthenticated"), "{error}");
    target.login = Some(login("wrong"));
    let error = Client::connect(&target).err().unwrap();
    assert!(
        error.to_string().contains("authentication failure"),
        "{error}"
    );
    target.login = Some(login("secret"));
    let mut client = Client::connect(&target).unwrap();
    assert_eq!(client.look(b"a").unwrap(), None);
    target.login = Some(login("two words"));
    assert!(Client::connect(&target).is_err());
}

#[test]
fn a_server_that_answers_anything_is_named_and_never_believed() {
    for answer in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"VA 3 f0\r\nabcdef\r\n",
        b"VA 99999999999999 f0\r\n",
        b"VA 1073741824 f0\r\nabc",
        b"HD fx\r\n",
        b"\x81\0\0\0",
        b"",
    ] {
        let target = liar(answer);
        let mut client = Client::connect(&target).unwrap();
        let mut value = Vec::new();
        let error = client.get(b"a", &mut value).unwrap_err().to_string();
        assert!(error.contains(&target.address.to_string()), "{error}");
        assert!(value.capacity() < 8 << 20, "{}", value.capacity());
    }
    let nobody = Target::new("127.0.0.1:1".parse().unwrap());
    let error = Client::connect(&nobody).err().unwrap().to_string();
    assert!(error.contains("nobody listens on 127.0.0.1:1"), "{error}");
}

#[test]
fn an_older_memcached_is_listed_as_far_as_it_can() {
    let target = script(&[
        b"CLIENT_ERROR Invalid class id\r\n",
        b"key=a exp=-1 la=1 cas=2 fetch=no cls=1 size=63\nEND\r\n",
    ]);
    let mut client = Client::connect(&target).unwrap();
    let mut list = client.list(&Pattern::All).unwrap();
    assert!(list.may_miss());
    assert_eq!(list.next_item().unwrap().unwrap().key, b"a");
    assert_eq!(list.next_item().unwrap(), None);
    let busy = script(&[b"BUSY currently processing crawler request\r\n"]);
    let error = Client::connect(&busy).unwrap().list(&Pattern::All);
    assert!(error.err().unwrap().to_string().contains("BUSY currently"));
}

#[test]
fn a_list_or_a_tyrant_that_is_none_is_an_error() {
    for answer in [
        &b"key=a exp=1"[..],
        b"key=a exp=x\n",
        b"\x00\x00\xff\xff\xff\xff",
        b"\x00\x00\x00\x00\x00\x01a",
        b"\x01",
        &[b'a'; 100_000],
        b"",
    ] {
        let target = liar(answer);
        let mut client = Client::connect(&target).unwrap();
        assert!(client.list(&Pattern::All).is_err());
        let mut tyrant = Tyrant::connect(&target).unwrap();
        let taken = tyrant.each_item(&Pattern::All, None, &mut |_, _| Ok(()));
        assert!(taken.is_err(), "{taken:?}");
    }
}
