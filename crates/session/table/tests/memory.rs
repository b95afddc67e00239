//! What items cost, and what happens when the budget is spent.

#![allow(clippy::unwrap_used)]

mod common;

use common::{get, options, put, remove};
use forebay_table::{Full, Refused, Table};

#[test]
fn an_item_costs_at_most_56_bytes_beyond_its_key_and_value() {
    // As full as it gets: every byte that is charged counts, spare segments and free slots too.
    let table = Table::new(options(11 << 20, Full::Evict));
    let mut n = 0u64;
    while table.figures().evicted == 0 {
        for _ in 0..100 {
            put(&table, &n.to_be_bytes(), &[0; 50], 1, 0).unwrap();
            n += 1;
        }
    }
    let figures = table.figures();
    assert!(figures.items >= 100_000, "{figures:?}");
    let overhead = (figures.used_bytes - figures.payload_bytes) as f64 / figures.items as f64;
    assert!(overhead <= 56.0, "{overhead} bytes an item: {figures:?}");
}

#[test]
fn what_is_read_stays_when_others_make_room() {
    let table = Table::new(options(4 << 20, Full::Evict));
    for n in 0..1000u32 {
        put(&table, &n.to_be_bytes(), &[1; 500], 1, 0).unwrap();
    }
    for n in 1000..50_000u32 {
        put(&table, &n.to_be_bytes(), &[2; 500], 1, 0).unwrap();
        get(&table, &(n % 1000).to_be_bytes(), 1);
    }
    let kept = (0..1000u32).filter(|n| get(&table, &n.to_be_bytes(), 1).is_some());
    assert!(kept.count() > 990);
    let figures = table.figures();
    assert!(figures.evicted > 30_000 && figures.evicted_unread >= figures.evicted - 10);
}

#[test]
fn nothing_is_evicted_while_overwriting_leaves_room() {
    // A fifth of the memory is free; every byte of it is used again and again.
    let table = Table::new(options(16 << 20, Full::Evict));
    let keys = 16 * (1 << 20) * 7 / 10 / 800u32;
    let mut rng = fastrand::Rng::with_seed(5);
    for n in 0..keys * 20 {
        let key = if n < keys { n } else { rng.u32(..keys) };
        put(
            &table,
            &key.to_be_bytes(),
            &vec![1; rng.usize(600..900)],
            1,
            0,
        )
        .unwrap();
    }
    assert_eq!(table.figures().evicted, 0);
    assert_eq!(table.figures().items, u64::from(keys));
}

#[test]
fn a_full_table_that_may_not_evict_refuses_and_keeps_what_it_has() {
    let table = Table::new(options(4 << 20, Full::Refuse));
    let mut held = 0u32;
    while put(&table, &held.to_be_bytes(), &[1; 1000], 1, 0).is_ok() {
        held += 1;
    }
    assert!(
        f64::from(held) * 1050.0 > 0.9 * f64::from(4 << 20),
        "{held}"
    );
    assert_eq!(put(&table, b"0", &[2; 2000], 1, 0), Err(Refused::Full));
    assert_eq!(
        put(&table, &0u32.to_be_bytes(), &[2; 3000], 1, 0),
        Err(Refused::Full)
    );
    assert!((0..held).all(|n| get(&table, &n.to_be_bytes(), 1).unwrap() == [1; 1000]));
    assert_eq!(table.figures().refused, 3);
    (0..held)
        .step_by(3)
        .for_each(|n| remove(&table, &n.to_be_bytes(), 1));
    for n in 0..held / 4 {
        put(&table, &(held + 1 + n).to_be_bytes(), &[3; 1000], 1, 0).unwrap();
    }
}

#[test]
fn a_full_table_that_may_not_evict_takes_the_room_of_what_has_ended() {
    let table = Table::new(options(4 << 20, Full::Refuse));
    let mut held = 0u32;
    while put(&table, &held.to_be_bytes(), &[1; 1000], 1, 100).is_ok() {
        held += 1;
    }
    for n in 0..held {
        put(&table, &(held + n).to_be_bytes(), &[1; 1000], 100, 0).unwrap();
    }
}

#[test]
fn values_that_leave_a_gap_at_the_end_of_segments_are_not_moved_for_nothing() {
    for full in [Full::Evict, Full::Refuse] {
        let table = Table::new(options(16 << 20, full));
        // Four fit a segment, and a fifth of it is left.
        let value = vec![1; table.options().segment_bytes / 5 + 100];
        let done = (0..3000u32).filter(|n| put(&table, &n.to_be_bytes(), &value, 1, 0).is_ok());
        let done = done.count();
        assert!(done == 3000 || full == Full::Refuse, "{done}");
        assert!(
            done > 200 && table.figures().moved_bytes == 0,
            "{:?}",
            table.figures()
        );
    }
}

#[test]
fn a_large_value_finds_room_among_many_small_ones() {
    let table = Table::new(options(64 << 20, Full::Evict));
    for n in 0..600_000u32 {
        put(&table, &n.to_be_bytes(), &[1; 100], 1, 0).unwrap();
    }
    for n in 0..100u32 {
        let key = [n.to_be_bytes(), *b"wide"].concat();
        put(&table, &key, &vec![7; 1 << 20], 1, 0).unwrap();
        assert!(get(&table, &key, 1).is_some());
        assert!(table.used_bytes() <= 64 << 20);
    }
    for n in 0..100_000u32 {
        put(&table, &n.to_be_bytes(), &[2; 100], 1, 0).unwrap();
    }
    let newest = (99_000..100_000u32).filter(|n| get(&table, &n.to_be_bytes(), 1).is_some());
    assert!(
        newest.count() > 900,
        "small ones get memory back from large ones"
    );
}

#[test]
fn many_threads_keep_the_budget_and_see_whole_values() {
    let table = Table::new(options(8 << 20, Full::Evict));
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let table = &table;
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                for n in 0..40_000u32 {
                    let key = rng.u32(..20_000).to_be_bytes();
                    let len = if n % 500 == 0 {
                        300_000
                    } else {
                        rng.usize(1..2000)
                    };
                    put(table, &key, &vec![n as u8; len], n / 1000, n / 1000 + 9).unwrap();
                    let key = rng.u32(..20_000).to_be_bytes();
                    table.prefetch(&[&key, &rng.u32(..20_000).to_be_bytes()]);
                    let whole = table.read(&key, n / 1000, |item| match item.value {
                        forebay_table::Value::Here(bytes) => bytes.iter().all(|b| *b == bytes[0]),
                        forebay_table::Value::Elsewhere(_) => false,
                    });
                    assert_ne!(whole, Some(false));
                    if n % 1000 == 0 {
                        table.maintain(n / 1000, 1 << 20);
                    }
                    assert!(table.used_bytes() <= 8 << 20);
                }
            });
        }
    });
}
