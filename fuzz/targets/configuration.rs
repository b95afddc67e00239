//! Configuration files: every text is accepted, or refused with errors that can
//! be shown.
#![no_main]

use forebay_config::{Environment, Source, parse_in, render};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let source = Source {
        name: "forebay.toml".into(),
        text: text.into(),
    };
    let found = match parse_in(&source, Environment { cores: 2 }) {
        Ok(checked) => checked.warnings,
        Err(found) => {
            assert!(!found.is_empty());
            found
        }
    };
    let _ = render(&source, &found, false);
});
