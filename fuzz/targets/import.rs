//! JMeter plans and HAR files as scenarios: what is imported is a scenario
//! that is read, unless it has nothing to send, and every note has words.
#![no_main]

use forebay_workload::import::{Options, import};
use forebay_workload::scenario::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [choice, text @ ..] = input else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let options = Options {
        without_resources: choice & 1 != 0,
        keep_cookies: choice & 2 != 0,
    };
    let imported = match import(text, "plan.jmx", options) {
        Ok(imported) => imported,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    for note in &imported.notes {
        assert!(!note.to_string().is_empty());
    }
    let written = imported.scenario.to_toml();
    match Scenario::parse(&written, "x.toml") {
        Ok(again) => assert_eq!(again, imported.scenario, "{written}"),
        // A plan without a request makes no scenario.
        Err(errors) => assert!(imported.scenario.flow.is_empty(), "{errors}\n{written}"),
    }
});
