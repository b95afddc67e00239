//! Every row of the reference is documented, and its key, example and default do what they say.

use std::fmt::Debug;

use toml_edit::Document;

use super::*;

/// Sets `key = value` on a default `T` and shows the result.
fn after<T: Default + Debug>(setting: &Setting<T>, value: &str) -> String {
    let text = format!("{} = {value}", setting.row.name);
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let item = &document.as_table()[setting.row.name];
    let given = Given {
        path: setting.row.name.into(),
        item,
        span: 0..0,
    };
    let mut target = T::default();
    if let Err(wrong) = setting.apply(&mut target, &given) {
        panic!("{} = {value}: {wrong:?}", setting.row.name);
    }
    format!("{target:?}")
}

fn check<T: Default + Debug>(settings: &'static [Setting<T>]) {
    let untouched = format!("{:?}", T::default());
    for setting in settings {
        let row = &setting.row;
        let name = format!("{}.{}", row.section, row.name);
        assert!(section(row.section).is_some(), "{name} is of no section");
        assert!(
            row.doc.ends_with('.'),
            "{name}: the documentation is a sentence"
        );
        assert!(!row.default.is_empty(), "{name} has no default");
        assert_ne!(
            after(setting, row.example),
            untouched,
            "{name}: the example changes nothing"
        );
        if is_toml(row.default) {
            let set = after(setting, row.default);
            assert_eq!(
                set, untouched,
                "{name}: the documented default is another one"
            );
        }
        let twice = settings.iter().filter(|other| other.row.name == row.name);
        assert_eq!(twice.count(), 1, "{name} stands twice");
        if let Kind::Choice(words) = row.kind {
            let mut results: Vec<String> = words
                .iter()
                .map(|word| after(setting, &format!("\"{word}\"")))
                .collect();
            results.sort();
            results.dedup();
            assert_eq!(results.len(), words.len(), "{name}: two words do the same");
        }
    }
}

#[test]
fn every_row_is_documented_and_settable() {
    // Its default of one worker is replaced by the number of cores.
    check(SERVER);
    check(LISTEN);
    check(ADMIN);
    check(LIMITS);
    check(TIMEOUTS);
    check(CACHE);
    check(POLICY);
    check(POOL);
    check(pool_parts::POOL_SERVER);
    check(pool_parts::HEALTH);
    check(pool_parts::EJECT);
    check(pool_parts::STICKY);
    check(pool_parts::TLS);
    check(APP);
    for (_, settings) in SERVICE {
        check(settings);
    }
    check(rules_parts::REWRITE);
    check(rules_parts::REDIRECT);
    check(rules_parts::RESPOND);
    check(rules_parts::AUTH);
    check(rules_parts::CORS);
    check(rules_parts::MAINTENANCE);
    check(SITE);
    check(PATH);
    check(LOG);
}

#[test]
fn no_key_means_two_things_in_one_section() {
    for section in SECTIONS {
        let mut keys: Vec<&str> = section.keys().collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count, "{}", section.header);
        assert!(section.doc.ends_with('.'), "{}", section.header);
    }
}

#[test]
fn the_range_is_part_of_what_is_expected() {
    let expected = |row: &Row| row.expected();
    assert_eq!(expected(&SERVER[0].row), "a whole number, from 1 to 1024");
    assert!(expected(&CACHE[0].row).ends_with("from 1MiB to 64TiB"));
    assert!(expected(&TIMEOUTS[0].row).ends_with("from 1ms to 30d"));
    assert!(expected(&POOL[0].row).ends_with(", not empty"));
}
