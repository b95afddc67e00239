//! Paths as clients send them: a script that is found is a plain name below the root, and the
//! parameters of a request are written or refused.
#![no_main]

use forebay_cgi::script::{Naming, Script, names_script};
use forebay_cgi::{Form, Params};
use libfuzzer_sys::fuzz_target;

const NAMING: Naming<'_> = Naming {
    extension: b".php",
    index: b"index.php",
};

fuzz_target!(|input: &[u8]| {
    let mut decoded = Vec::new();
    if let Some(script) = Script::find(input, &NAMING, &mut decoded, |name| name.len() % 3 > 0) {
        assert!(script.name.starts_with(b"/") && script.name.ends_with(b".php"));
        assert!(!script.name.contains(&0) && !script.info.contains(&0));
        let mut segments = script.name.split(|&byte| byte == b'/').skip(1);
        assert!(segments.all(|segment| !matches!(segment, b"" | b"." | b"..")));
        assert!(script.info.is_empty() || script.info.starts_with(b"/"));
        assert!(names_script(input, b".php") || input.ends_with(b"/"));
    }
    for form in [Form::FastCgi { keep: true }, Form::Scgi, Form::Uwsgi] {
        let mut out = Vec::new();
        let mut params = Params::begin(&mut out, form, Some(input.len() as u64));
        params.pair(b"REQUEST_URI", input);
        params.field(b"X-A", input.split(|&byte| byte == b','), b", ");
        let has_nul = input.contains(&0);
        assert_eq!(params.finish(true).is_err(), form == Form::Scgi && has_nul);
    }
});
