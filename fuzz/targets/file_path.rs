//! The path of a request as a path below a root.
//!
//! Promised: no panic; what is read leads nowhere but below the root, has no zero byte and no
//! hidden name where those are not served; written as a URL again it means the same file.

#![no_main]

use forebay_files::Relative;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for hidden in [false, true] {
        let Ok(path) = Relative::of_request(data, hidden) else {
            continue;
        };
        let below = path.below();
        assert!(!below.starts_with(b"/") && !below.ends_with(b"/") && !below.contains(&0));
        let mut segments = below.split(|&byte| byte == b'/');
        assert!(segments.all(|segment| segment != b"." && segment != b".."));
        let is_hidden = |segment: &[u8]| segment.starts_with(b".") && segment != b".well-known";
        let mut segments = below.split(|&byte| byte == b'/');
        assert!(hidden || !segments.any(is_hidden));
        assert_eq!(
            Relative::of_request(&path.encoded(), hidden).as_ref(),
            Ok(&path)
        );
        assert_eq!(path.is_directory(), path.as_path().ends_with(b"/"));
    }
});
