//! `forebay session export`: everything a store holds, into a file.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use forebay_session::Item;
use forebay_session_client::{Error, Passed, Pattern, Save, Target, Writer, each_item};

use super::args::ExportArgs;
use super::{items, stdout, tell_unread};
use crate::commands::show;
use crate::exit::{Failure, Outcome};
use crate::out;

pub(super) fn export(target: &Target, args: &ExportArgs) -> Outcome {
    let pattern = args.pattern.as_deref().unwrap_or_default();
    let pattern = Pattern::new(pattern.as_bytes());
    let failed = |error: io::Error| Error::File {
        path: args.file.clone(),
        error,
    };
    let passed = if args.file == Path::new("-") {
        if out::is_terminal() {
            return Err(Failure::Usage(
                "forebay: an export is no text for a terminal; send it to a file or another program".into(),
            ));
        }
        write(target, &pattern, stdout::buffered(), failed)?.1
    } else {
        let file = Save::create(&args.file).map_err(failed)?;
        let (file, passed) = write(target, &pattern, file, failed)?;
        file.keep().map_err(failed)?;
        passed
    };
    super::warn_of_list(passed.may_miss);
    out::error_line(&summary(&passed));
    match passed.unreadable + passed.failed {
        0 => Ok(()),
        _ => Err(Failure::Said),
    }
}

/// Writes a whole export, and gives back what it was written to.
fn write<W: Write>(
    target: &Target,
    pattern: &Pattern,
    to: W,
    failed: impl Fn(io::Error) -> Error + Copy,
) -> Result<(W, Passed), Error> {
    let mut writer = Writer::new(to).map_err(failed)?;
    let mut told = 0;
    let mut put = |key: &[u8], item: Item<'_>| writer.put(key, item).map_err(failed);
    let mut unread = |key: &[u8], words: &str| tell_unread(&mut told, key, words);
    let passed = each_item(target, pattern, &mut put, &mut unread)?;
    let to = writer.finish().map_err(failed)?;
    Ok((to, passed))
}

fn summary(passed: &Passed) -> String {
    let mut text = format!(
        "{} exported, {}",
        items(passed.items),
        show::size(passed.bytes as f64)
    );
    if passed.gone > 0 {
        text.push_str(&format!("; {} ended meanwhile", show::count(passed.gone)));
    }
    if passed.unreadable > 0 {
        text.push_str(&format!(
            "; {} left out, whose keys are longer than memcached's protocol allows",
            show::count(passed.unreadable)
        ));
    }
    if passed.failed > 0 {
        text.push_str(&format!(
            "; {} could not be read",
            show::count(passed.failed)
        ));
    }
    text
}
