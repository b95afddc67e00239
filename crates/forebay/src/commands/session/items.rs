//! `forebay session get`, `set` and `delete`.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use forebay_session::Item;
use forebay_session_client::{Client, Condition, Seen, Target, VALUE_MOST, now_s};
use serde_json::json;

use super::args::{DeleteArgs, GetArgs, SetArgs};
use super::{shown, stdout};
use crate::commands::show;
use crate::exit::{Failure, Outcome};
use crate::out;

pub(super) fn get(target: &Target, args: &GetArgs) -> Outcome {
    let mut client = Client::connect(target)?;
    let key = args.key.as_bytes();
    let mut value = Vec::new();
    let found = match args.meta {
        true => client.look(key)?,
        false => client.get(key, &mut value)?,
    };
    let Some(seen) = found else {
        return Err(missing(key));
    };
    match (args.meta, args.json) {
        (false, _) => return stdout::bytes(&value),
        (true, false) => out::print(&describe(&seen)),
        (true, true) => out::line(&format!("{:#}", document(key, &seen))),
    }
    Ok(())
}

fn missing(key: &[u8]) -> Failure {
    Failure::message(format_args!("there is no item `{}`", shown(key)))
}

/// What is known of an item, a line each.
fn describe(seen: &Seen) -> String {
    let time = |seconds: u32| show::seconds(seconds.into());
    let lives = seen
        .ttl_s
        .map_or_else(|| "for ever".into(), |left| format!("for {}", time(left)));
    let mut text = format!(
        "size         {} bytes\nflags        {}\nlives        {lives}\nlast access  {} ago{}\ncas          {}\n",
        show::count(seen.size_bytes),
        seen.flags,
        time(seen.idle_s),
        if seen.is_fetched { "" } else { ", never read" },
        seen.cas
    );
    if seen.is_stale {
        text.push_str("stale        yes\n");
    }
    text
}

fn document(key: &[u8], seen: &Seen) -> serde_json::Value {
    json!({
        "key": shown(key),
        "size_bytes": seen.size_bytes,
        "flags": seen.flags,
        "ttl_s": seen.ttl_s,
        "idle_s": seen.idle_s,
        "fetched": seen.is_fetched,
        "stale": seen.is_stale,
        "cas": seen.cas,
    })
}

pub(super) fn set(target: &Target, args: &SetArgs) -> Outcome {
    let key = args.key.as_bytes();
    let value = match &args.value {
        Some(value) => value.as_bytes().to_vec(),
        None => from_input()?,
    };
    let condition = match (args.add, args.replace, args.cas) {
        (true, _, _) => Condition::Absent,
        (_, true, _) => Condition::Present,
        (_, _, Some(cas)) => Condition::Cas(cas),
        _ => Condition::Always,
    };
    let item = Item {
        value: &value,
        flags: args.flags,
        expires_s: args
            .ttl
            .map_or(0, |ttl| now_s().saturating_add(seconds(ttl))),
        ..Item::default()
    };
    use forebay_session_client::Outcome as Stored;
    let shown = shown(key);
    Err(Failure::Message(
        match Client::connect(target)?.store(key, condition, item)? {
            Stored::Stored => return Ok(()),
            Stored::NotStored if args.add => format!("there is an item `{shown}` already"),
            Stored::NotStored | Stored::Missing => format!("there is no item `{shown}`"),
            Stored::Exists => format!("the item `{shown}` has another number by now"),
            Stored::Expired => "a lifetime of 0 is over before it begins".into(),
            Stored::Refused(words) => format!("{} refused: {words}", target.address),
        },
    ))
}

/// A lifetime in whole seconds; a part of one counts as one.
pub(super) fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)
}

fn from_input() -> Result<Vec<u8>, Failure> {
    let mut value = Vec::new();
    let most = VALUE_MOST as u64;
    let read = std::io::stdin()
        .lock()
        .take(most + 1)
        .read_to_end(&mut value);
    match read {
        Err(error) => Err(Failure::message(format_args!(
            "standard input cannot be read: {error}"
        ))),
        Ok(bytes) if bytes as u64 > most => Err(Failure::message(
            "standard input is longer than the 1 GiB that a value may have",
        )),
        Ok(_) => Ok(value),
    }
}

/// All keys are tried, whatever becomes of some.
pub(super) fn delete(target: &Target, args: &DeleteArgs) -> Outcome {
    let mut client = Client::connect(target)?;
    let mut is_complete = true;
    for key in &args.keys {
        if !client.delete(key.as_bytes())? {
            missing(key.as_bytes()).report();
            is_complete = false;
        }
    }
    match is_complete {
        true => Ok(()),
        false => Err(Failure::Said),
    }
}
