//! URL files of http_load and siege: a request for each line, or complaints.
#![no_main]

mod shared;

use forebay_workload::{Target, urls};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let server = Target::parse("unix:/run/app.sock").expect("a URL");
    let mut read = |name: &str| Ok(name.as_bytes().to_vec());
    match urls::parse(text, Some(&server), &mut read) {
        Ok(requests) => {
            assert!(!requests.is_empty() && requests.len() <= text.lines().count());
            for request in &requests {
                let mut bytes = Vec::new();
                request.write_to(true, &mut bytes);
                shared::is_one_request(&bytes);
            }
        }
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
});
