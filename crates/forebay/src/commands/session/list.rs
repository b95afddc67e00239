//! `forebay session list`: a line for each item, as the store tells them.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use forebay_session_client::{Client, Dumped, Pattern, Target, now_s};
use serde_json::json;

use super::args::ListArgs;
use super::{shown, stdout};
use crate::commands::show;
use crate::exit::Outcome;

pub(super) fn list(target: &Target, args: &ListArgs) -> Outcome {
    let pattern = args.pattern.as_deref().unwrap_or_default();
    let pattern = Pattern::new(pattern.as_bytes());
    let mut client = Client::connect(target)?;
    let mut list = client.list(&pattern)?;
    super::warn_of_list(list.may_miss());
    let mut stdout = stdout::buffered();
    let now_s = now_s();
    if !args.json {
        let head = writeln!(
            stdout,
            "{:>12}  {:>14}  {:>14}  key",
            "size", "lives for", "unused for"
        );
        stdout::outcome(head)?;
    }
    while let Some(item) = list.next_item()? {
        match write(&mut stdout, &item, args.json, now_s) {
            Ok(()) => {}
            Err(error) if stdout::is_unread(&error) => return Ok(()),
            Err(error) => return Err(stdout::failed(&error)),
        }
    }
    stdout::outcome(stdout.flush())
}

fn write(to: &mut impl Write, item: &Dumped, as_json: bool, now_s: u32) -> io::Result<()> {
    let key = shown(&item.key);
    if as_json {
        let expires_s = Some(item.expires_s).filter(|at_s| *at_s != 0);
        let document = json!({
            "key": key,
            "size_bytes": item.size_bytes,
            "expires_s": expires_s,
            "used_s": item.used_s,
            "fetched": item.is_fetched,
            "cas": item.cas,
        });
        return writeln!(to, "{document}");
    }
    let lives = match item.expires_s {
        0 => "for ever".into(),
        at_s => show::seconds(at_s.saturating_sub(now_s).into()),
    };
    let idle = show::seconds(now_s.saturating_sub(item.used_s).into());
    let size = show::size(item.size_bytes as f64);
    writeln!(to, "{size:>12}  {lives:>14}  {idle:>14}  {key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(item: &Dumped, as_json: bool) -> String {
        let mut text = Vec::new();
        let written = write(&mut text, item, as_json, 1_800_000_000);
        assert!(written.is_ok());
        String::from_utf8_lossy(&text).into_owned()
    }

    #[test]
    fn an_item_is_a_line_and_its_key_commands_no_terminal() {
        let mut item = Dumped {
            key: b"memc.sess.key.a".to_vec(),
            expires_s: 1_800_000_090,
            used_s: 1_799_999_990,
            cas: 7,
            is_fetched: true,
            size_bytes: 2048,
        };
        let text = line(&item, false);
        for part in ["2.0 KiB", "1 min 30 s", "10 s", "  memc.sess.key.a\n"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(line(&item, true).contains(r#""expires_s":1800000090"#));
        item.key = b"\x1b[2J\xff".to_vec();
        item.expires_s = 0;
        let text = line(&item, false);
        assert!(
            text.contains("for ever") && text.contains(r"\x1b[2J\xff"),
            "{text}"
        );
        assert!(line(&item, true).contains(r#""expires_s":null"#));
    }
}
