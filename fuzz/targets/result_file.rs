//! Results that were written before: refused, or shown in every form, compared
//! with themselves, and written again with the same content.
#![no_main]

use forebay_results::{Report, csv, diff, html, markdown, table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(report) = serde_json::from_str::<Report>(text) else {
        return;
    };
    let page = html(&report);
    assert!(!page.contains("\u{0}"));
    for shown in [table(&report), markdown(&report), csv(&report), page] {
        assert!(!shown.is_empty());
    }
    let diff = diff(&report, &report);
    let _ = (diff.table(), diff.markdown());
    let Ok(written) = serde_json::to_string(&report) else {
        return;
    };
    let again: Report = serde_json::from_str(&written).expect("its own text is read");
    assert_eq!(
        serde_json::to_string(&again).expect("it was written before"),
        written
    );
});
