//! Tags are short and many: two that hash alike would be purged together.

use std::collections::HashSet;

use forebay_cache::purge::Purges;

#[test]
fn short_tags_stay_apart_whatever_the_seed() {
    for seed in (0..200).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
        let purges = Purges::new(seed);
        for prefix in ["", "t", "p-", "product-"] {
            let mut seen = HashSet::new();
            for number in 0..3000 {
                let tag = purges.tag(None, format!("{prefix}{number}").as_bytes());
                assert!(seen.insert(tag), "{prefix}{number} under {seed}");
            }
        }
    }
}

#[test]
fn a_tag_and_a_group_of_the_same_name_are_two() {
    let purges = Purges::new(7);
    let tag = purges.tag(None, b"news");
    let group = purges.tag(Some(b"a.example"), b"news");
    assert_ne!(tag, group);
    assert_ne!(group, purges.tag(Some(b"b.example"), b"news"));
    assert_eq!(group, purges.tag(Some(b"A.EXAMPLE"), b"news"));
}
