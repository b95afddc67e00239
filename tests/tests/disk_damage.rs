//! Damage on disk costs objects, never a wrong byte.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use forebay_tests::{Config, Forebay, Origin, Response};

use crate::disk::{
    at, body_of, cached, config, directory, fetch, objects, segments, wait_on_disk, whole,
};

const TARGETS: [&str; 8] = [
    "/a/100",
    "/b/20000",
    "/c/60000",
    "/d/200000",
    "/e/400000",
    "/f/1100000",
    "/g/2500000",
    "/h/70000",
];

/// A stopped server with `TARGETS` on its disk.
fn filled(config: &Config, clean: bool) {
    let mut forebay = Forebay::start(config);
    fetch(&forebay, &TARGETS);
    forebay.stop();
    if !clean {
        // A segment that was not closed.
        let mut forebay = Forebay::start(config);
        wait_on_disk(&forebay, TARGETS.len());
        forebay.get("/i/1200000");
        wait_on_disk(&forebay, TARGETS.len() + 1);
        forebay.kill();
    }
}

/// Turns every bit of a byte at each of these offsets.
fn flip(path: &Path, offsets: impl Iterator<Item = u64>) {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    for offset in offsets {
        let mut byte = [0];
        if file.read_at(&mut byte, offset).unwrap() == 1 {
            file.write_at(&[!byte[0]], offset).unwrap();
        }
    }
}

/// Asks for everything: each byte that comes is right, or the response breaks off.
fn nothing_is_wrong(forebay: &Forebay) -> usize {
    let mut whole_ones = 0;
    for target in TARGETS {
        let text = body_of(target);
        let got = match forebay
            .client()
            .send_request("GET", target, &[], "")
            .try_read()
        {
            Ok(response) => {
                whole(&response, target);
                whole_ones += 1;
                response
            }
            // A part was sent when the damage was found; the client can tell.
            Err((Some(response), _)) => *response,
            Err((None, why)) => panic!("no answer for {target}: {why:?}"),
        };
        let is_right = text.as_bytes().starts_with(&got.body);
        assert!(is_right, "a wrong byte of {target}");
    }
    whole_ones
}

/// After damage that was found everything is fetched anew and is whole.
fn all_heals(forebay: &Forebay) {
    nothing_is_wrong(forebay);
    for target in TARGETS {
        whole(&forebay.get(target), target);
    }
}

#[test]
fn flipped_bytes_never_reach_a_client() {
    for (clean, every, from) in [
        (true, 50_021, 7),
        (true, 10_007, 64),
        (true, 997, 100),
        (false, 50_021, 7),
        (false, 7_919, 3000),
        (false, 499, 65),
    ] {
        let (origin, directory) = (objects(), directory());
        let config = config(&origin, &directory);
        filled(&config, clean);
        for path in segments(&at(&directory)) {
            let length = path.metadata().unwrap().len();
            flip(&path, (from..length).step_by(every));
        }
        let mut forebay = Forebay::start(&config);
        all_heals(&forebay);
        forebay.stop();
        all_heals(&Forebay::start(&config));
    }
}

#[test]
fn one_flipped_byte_costs_one_object_at_most() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory);
    filled(&config, true);
    let path = segments(&at(&directory)).pop().unwrap();
    let length = path.metadata().unwrap().len();
    for tenth in 1..10 {
        let offset = length / 10 * tenth;
        flip(&path, std::iter::once(offset));
        let mut forebay = Forebay::start(&config);
        wait_on_disk(&forebay, TARGETS.len() - 1);
        let hits = TARGETS
            .iter()
            .filter(|target| is_whole_hit(&forebay, target))
            .count();
        assert!(hits >= TARGETS.len() - 1, "{hits} at {offset} of {length}");
        // Back as it was, so that the next damage is the only one.
        forebay.kill();
        flip(&path, std::iter::once(offset));
    }
}

fn is_whole_hit(forebay: &Forebay, target: &str) -> bool {
    let mut client = forebay.client();
    client.send_request("GET", target, &["Cache-Control: only-if-cached"], "");
    match client.try_read() {
        Ok(response) if response.status == 200 => {
            whole(&response, target);
            true
        }
        _ => false,
    }
}

#[test]
fn damage_is_counted_and_is_a_miss() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &["/a/100000"]);
    forebay.stop();
    for path in segments(&at(&directory)) {
        flip(&path, 50_000..50_001);
    }
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    let response: Response = forebay.get("/a/100000");
    assert!(!response.is_hit());
    whole(&response, "/a/100000");
    assert_eq!(origin.count(), 2);
    forebay.wait_for_metric("forebay_disk_read_errors_total", 1.0);
    whole(&cached(&forebay, "/a/100000").unwrap(), "/a/100000");
}

#[test]
fn damaged_large_object_is_fetched_anew_after_the_first_who_found_it() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory);
    let target = "/a/5000000";
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &[target]);
    forebay.stop();
    let files = segments(&at(&directory));
    let path = files
        .iter()
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap();
    let middle = path.metadata().unwrap().len() / 2;
    flip(path, middle..middle + 1);
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    let (partial, _) = forebay
        .client()
        .send_request("GET", target, &[], "")
        .try_read()
        .expect_err("damage was not found");
    let got = partial.unwrap().body;
    assert!(body_of(target).as_bytes().starts_with(&got));
    whole(&forebay.get(target), target);
    assert_eq!(origin.count(), 2);
    forebay.wait_for_metric("forebay_disk_read_errors_total", 1.0);
}

#[test]
fn damage_at_the_beginning_of_a_large_object_is_a_miss() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory);
    let target = "/a/3000000";
    let mut forebay = Forebay::start(&config);
    fetch(&forebay, &[target]);
    forebay.stop();
    for path in segments(&at(&directory)) {
        // Within the first block of the first piece.
        flip(&path, 1000..1001);
    }
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    let response = forebay.get(target);
    whole(&response, target);
    assert!(!response.is_hit());
    assert_eq!(origin.count(), 2);
}

#[test]
fn truncated_segments_cost_what_was_cut_off() {
    for keep in [0, 1, 63, 64, 100, 4096, 70_000, 1_000_000, 3_000_000] {
        let (origin, directory) = (objects(), directory());
        let config = config(&origin, &directory);
        filled(&config, keep % 2 == 0);
        let path = segments(&at(&directory)).pop().unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(keep.min(file.metadata().unwrap().len()))
            .unwrap();
        drop(file);
        let mut forebay = Forebay::start(&config);
        all_heals(&forebay);
        forebay.stop();
        all_heals(&Forebay::start(&config));
    }
}

#[test]
fn strange_files_in_the_directory_are_no_objects() {
    let (origin, directory) = (objects(), directory());
    let config = config(&origin, &directory);
    filled(&config, true);
    let path = at(&directory);
    std::fs::write(path.join("0000009999.seg"), vec![0xa5; 100_000]).unwrap();
    std::fs::write(path.join("0000009998.seg"), "").unwrap();
    std::fs::write(path.join("notes.txt"), "mine").unwrap();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, TARGETS.len());
    all_heals(&forebay);
    assert_eq!(
        std::fs::read_to_string(path.join("notes.txt")).unwrap(),
        "mine"
    );
    assert_eq!(origin.count(), TARGETS.len());
}

#[test]
fn damaged_journal_does_not_keep_the_server_from_starting() {
    for every in [1, 3, 16] {
        let (origin, directory) = (objects(), directory());
        let config = config(&origin, &directory);
        filled(&config, true);
        let mut forebay = Forebay::start(&config);
        for tag in 0..20 {
            let purge = forebay.command(&["purge", "--tag", &format!("tag{tag}")]);
            assert_eq!(purge.status, 0, "{purge:?}");
        }
        forebay.kill();
        let path = at(&directory).join("purges");
        let length = path.metadata().unwrap().len();
        flip(&path, (0..length).step_by(every));
        all_heals(&Forebay::start(&config));
    }
}

#[test]
fn segments_written_in_a_later_version_are_not_touched() {
    let (origin, directory): (Origin, _) = (objects(), directory());
    let config = config(&origin, &directory);
    filled(&config, true);
    let path = segments(&at(&directory)).pop().unwrap();
    // Magic, version 2, and the checksum of both.
    let mut head = b"FBSEGMNT".to_vec();
    head.extend(2_u32.to_le_bytes());
    head.extend(crc32c(&head).to_le_bytes());
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&head, 0).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut forebay = Forebay::spawn_text(&config.text());
    assert_eq!(forebay.wait_exit().code(), Some(1));
    crate::common::eventually(|| forebay.output().contains("version 2"));
    assert!(std::fs::read(&path).unwrap() == before);
}

/// CRC-32C as RFC 3720 defines it, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    })
}
