//! Headers of the PROXY protocol.
//!
//! Promised: no panic; what a header says does not depend on how much of what follows is there
//! already; what was read and is written again says the same.

#![no_main]

use forebay_preface::{Header, MOST_BYTES, Version, read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let whole = read(data);
    if let Ok(Some(header)) = whole {
        assert!(header.bytes <= data.len() && header.bytes <= MOST_BYTES);
        assert_eq!(read(&data[..header.bytes]), whole);
        // Every shorter piece asks for more, and none is taken for something else.
        for end in 0..header.bytes {
            assert_eq!(read(&data[..end]), Ok(None), "{end} bytes");
        }
        for version in [Version::V1, Version::V2] {
            let mut again = Vec::new();
            write(version, header.ends.as_ref(), &mut again);
            let Ok(Some(Header { ends, bytes })) = read(&again) else {
                panic!("what is written cannot be read");
            };
            assert_eq!(bytes, again.len());
            assert_eq!(ends.is_some(), header.ends.is_some());
        }
    }
    if whole == Ok(None) {
        assert!(data.len() < MOST_BYTES, "more is asked for without end");
    }
});
