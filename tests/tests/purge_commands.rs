//! `forebay purge`, `inspect`, `bans` and `stats` against a running server.

use forebay_tests::{Forebay, Origin, Said};
use serde_json::Value;

use crate::common::eventually;
use crate::purge::{fill, kept, with_fields};

const TARGETS: [&str; 4] = ["/news/1", "/news/2", "/shop", "/shop?a=b"];

fn site() -> Origin {
    with_fields(&[("/news/1", &["xkey: red"]), ("/shop", &["xkey: red blue"])])
}

/// Itself, when it ended well.
#[track_caller]
fn ok(said: Said) -> Said {
    assert_eq!(said.status, 0, "{said:?}");
    assert!(said.stderr.is_empty(), "{said:?}");
    said
}

#[test]
fn each_way_to_say_what_is_purged() {
    let origin = site();
    for (arguments, left) in [
        (&["http://test.example/news/1"][..], &TARGETS[1..]),
        (
            &["test.example/news/1", "test.example/news/2"],
            &TARGETS[2..],
        ),
        (&["--prefix", "test.example/news"], &TARGETS[2..]),
        (&["--prefix", "/shop"], &TARGETS[..2]),
        (&["--regex", "^/shop"], &TARGETS[..2]),
        (
            &["--regex", "^/shop", "--host", "test.example"],
            &TARGETS[..2],
        ),
        (&["--regex", "^/shop", "--host", "x.example"], &TARGETS[..]),
        (
            &["--ban", "obj.status == 200 && req.url ~ \"^/news\""],
            &TARGETS[2..],
        ),
        (
            &["--tag", "blue", "--tag", "none"],
            &["/news/1", "/news/2", "/shop?a=b"],
        ),
        (&["--all"], &[]),
    ] {
        let forebay = Forebay::before(&origin);
        fill(&forebay, &TARGETS);
        let said = ok(forebay.command(&[&["purge"], arguments].concat()));
        assert!(said.stdout.contains("purged"), "{said:?}");
        assert_eq!(kept(&forebay, &TARGETS), left, "{arguments:?}");
    }
}

#[test]
fn how_many_objects_were_hit_is_printed() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    fill(&forebay, &TARGETS);
    let url = ok(forebay.command(&["purge", "http://test.example/shop"]));
    assert!(url.stdout.trim_end().ends_with(": 1 object"), "{url:?}");
    let tag = ok(forebay.command(&["purge", "--tag", "red"]));
    assert!(tag.stdout.contains("up to"), "{tag:?}");
    let json = ok(forebay.command(&["purge", "--json", "http://test.example/none"]));
    let value: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(value["objects"], 0, "{value}");
}

#[test]
fn soft_purge_is_served_once_more() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    fill(&forebay, &["/shop"]);
    let said = ok(forebay.command(&["purge", "--soft", "--tag", "blue"]));
    assert!(said.stdout.contains("stale"), "{said:?}");
    assert!(forebay.get("/shop").is_hit());
    origin.wait_for(2);
    eventually(|| forebay.get("/shop").text() == "n1");
}

#[test]
fn batch_from_standard_input() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    fill(&forebay, &TARGETS);
    let orders = "# what changed tonight\n\nhttp://test.example/news/1\n  tag blue\nsoft prefix /news\nban url == \"/shop?a=b\"\n";
    let said = ok(forebay.command_with(&["purge", "-"], orders));
    assert_eq!(said.stdout.lines().count(), 4, "{said:?}");
    let left: Vec<&str> = TARGETS
        .into_iter()
        .filter(|target| forebay.get(target).is_hit())
        .collect();
    assert_eq!(left, ["/news/2"]);
}

#[test]
fn thousands_of_orders_from_standard_input() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    fill(&forebay, &TARGETS);
    let orders: String = (0..12_000)
        .map(|n| format!("http://test.example/{n}\n"))
        .collect();
    let said = ok(forebay.command_with(&["purge", "-"], &(orders + "tag red\n")));
    assert_eq!(said.stdout.lines().count(), 12_001);
    assert_eq!(kept(&forebay, &TARGETS), ["/news/2", "/shop?a=b"]);
}

#[test]
fn wrong_orders_are_refused_with_the_line_and_a_status() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    fill(&forebay, &TARGETS);
    let line = forebay.command_with(&["purge", "-"], "tag\n");
    assert_eq!(line.status, 1, "{line:?}");
    assert!(line.stderr.contains("line 1"), "{line:?}");
    let ban = forebay.command(&["purge", "--ban", "url ~ ("]);
    assert_eq!(ban.status, 1, "{ban:?}");
    assert!(!ban.stderr.is_empty());
    for usage in [
        &["purge"][..],
        &["purge", "--host", "x", "--all"],
        &["purge", "--nonsense"],
    ] {
        assert_eq!(forebay.command(usage).status, 2, "{usage:?}");
    }
    assert_eq!(kept(&forebay, &TARGETS), TARGETS);
}

#[test]
fn server_that_is_not_there_is_said() {
    let origin = site();
    let mut forebay = Forebay::before(&origin);
    forebay.kill();
    let address = forebay.admin.as_ref().unwrap().to_string();
    for arguments in [
        &["purge", "--all"][..],
        &["inspect", "http://test.example/"],
        &["bans"],
        &["stats"],
    ] {
        let said = forebay.command(arguments);
        assert_eq!(said.status, 1, "{arguments:?}: {said:?}");
        assert!(said.stderr.contains(&address), "{arguments:?}: {said:?}");
    }
}

#[test]
fn inspect_tells_what_is_stored_and_why_it_is_served() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    let inspect = |url: &str| ok(forebay.command(&["inspect", url])).stdout;
    let nothing = inspect("http://test.example/shop");
    assert!(nothing.contains("nothing is stored"), "{nothing}");
    fill(&forebay, &["/shop"]);
    forebay.get("/shop");
    let found = inspect("test.example/shop");
    for words in ["variant 1 of 1", "red, blue", "memory", "hit: fresh"] {
        assert!(found.contains(words), "no {words} in {found}");
    }
    ok(forebay.command(&["purge", "--soft", "test.example/shop"]));
    let soft = inspect("http://test.example/shop");
    assert!(soft.contains("softly purged"), "{soft}");
    ok(forebay.command(&["purge", "test.example/shop"]));
    let gone = inspect("http://test.example/shop");
    assert!(!gone.contains("hit: fresh"), "{gone}");
    let no_url = forebay.command(&["inspect", "ftp://x"]);
    assert_eq!(no_url.status, 1, "{no_url:?}");
}

#[test]
fn bans_are_listed_until_they_are_retired() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    assert!(ok(forebay.command(&["bans"])).stdout.contains("no bans"));
    fill(&forebay, &TARGETS);
    ok(forebay.command(&["purge", "--ban", "req.url ~ \"^/news\""]));
    // Nobody has asked for anything since: it may be tested behind, and is then retired.
    let said = ok(forebay.command(&["bans"])).stdout;
    assert!(said.contains("/news") || said.contains("no bans"), "{said}");
    assert_eq!(kept(&forebay, &TARGETS), TARGETS[2..]);
    eventually(|| forebay.command(&["bans"]).stdout.contains("no bans"));
}

#[test]
fn stats_say_what_was_purged_and_what_is_on_disk() {
    let (origin, directory) = (crate::disk::objects(), crate::disk::directory());
    let forebay = Forebay::start(&crate::disk::config(&origin, &directory));
    crate::disk::fetch(&forebay, &["/a/2000000"]);
    crate::disk::wait_on_disk(&forebay, 1);
    ok(forebay.command(&["purge", "--tag", "x"]));
    let said = ok(forebay.command(&["stats"])).stdout;
    for words in ["purges_tag", "disk", "1 objects", "disk_written"] {
        assert!(said.contains(words), "no {words} in {said}");
    }
    let json = ok(forebay.command(&["stats", "--json"]));
    let value: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(value["figures"]["counters"]["purges_tag"], 1, "{value}");
    assert_eq!(value["status"]["disk"]["objects"], 1, "{value}");
}
