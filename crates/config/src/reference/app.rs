//! The rows of `[app.NAME]`.

use std::path::PathBuf;

use crate::address::Refused;
use crate::draft::AppDraft;
use crate::words;

use super::disk::absolute;
use super::nested;
use super::pool::{PROTOCOLS, protocol};
use super::setting::{Row, Setting};
use super::value::Given;
use super::{DAY, saturate};

/// The most processes of an application.
const INSTANCES: u32 = 1_000;

/// A row of `[app.NAME]` that is one field of `App`.
macro_rules! app {
    ($kind:ident $name:literal => |$app:ident, $value:ident| $set:expr, $min:expr, $max:expr, $default:literal, $example:literal, $doc:literal) => {
        Setting::$kind($name, |draft: &mut AppDraft, $value| {
            let $app = &mut draft.app;
            $set;
        })
        .between($min, $max)
        .row("app", $default, $example, $doc)
    };
}

#[rustfmt::skip]
pub(crate) static APP: &[Setting<AppDraft>] = &[
    Setting::shape("command", "a command such as \"puma -b unix://{socket}\", or a list of its words", |draft: &mut AppDraft, row, given, out| {
        match words_of(row, given, out) {
            Ok(words) => draft.app.command = words,
            Err(refused) => nested::refuse(row, given, refused, out),
        }
    })
    .row("app", "none: it must be given", "\"puma -b unix://{socket}\"",
        "The program and its arguments. A text is split as a shell does, with quotes; there is no shell, unless you name one (`sh -c '…'`). `{socket}`, `{port}` and `{instance}` are replaced; without any of them the program finds its socket or port in the variables SOCKET and PORT."),
    Setting::shape("instances", "a number, or least and most as in \"1..10\"", |draft: &mut AppDraft, row, given, out| {
        match instances(given) {
            Ok(range) => draft.app.instances = range,
            Err(refused) => nested::refuse(row, given, refused, out),
        }
    })
    .row("app", "1", "\"1..10\"", "How many processes there are, or how many at least and at most; then they follow the load."),
    Setting::text("directory", "the absolute path of a directory", |draft: &mut AppDraft, text| {
        draft.app.directory = Some(PathBuf::from(absolute(&text.value)?));
        Ok(())
    })
    .row("app", "where Forebay was started", "\"/srv/shop\"", "Where it is started."),
    Setting::shape("environment", "a table of texts such as { RAILS_ENV = \"production\" }", |draft: &mut AppDraft, row, given, out| {
        draft.app.environment = nested::texts((row, given), out, |name, value| {
            words::variable(name).map(|name| (name, value.to_owned()))
        })
        .into_iter()
        .collect();
    })
    .row("app", "{}", "{ RAILS_ENV = \"production\" }", "Variables over those that Forebay has; with the same replacements as in `command`."),
    Setting::text("user", "the name of a user", |draft: &mut AppDraft, text| {
        draft.app.user = Some(words::plain_name(&text.value)?);
        Ok(())
    })
    .row("app", "as Forebay", "\"www-data\"", "The user, with the user's groups, that it runs as. Takes that Forebay is started as root."),
    Setting::choice("protocol", PROTOCOLS, |draft: &mut AppDraft, word| {
        draft.protocol = (word != "http").then(|| protocol(word));
    })
    .row("app", "\"http\"", "\"fastcgi\"", "What it speaks."),
    app!(count_or_unlimited "max_connections" => |app, n| app.max_connections = n.map(saturate), 1, 1_000_000,
        "`pool.max_connections`", "5", "Requests at once in each process; others wait in the pool's queue."),
    Setting::text("ready", "a path such as \"/up\"", |draft: &mut AppDraft, text| {
        draft.app.ready = Some(words::request_path(&text.value)?);
        Ok(())
    })
    .row("app", "none: that it accepts a connection is enough", "\"/up\"",
        "What must be answered with a status from 200 to 399 before a process is used."),
    app!(time "start_timeout" => |app, time| app.start_timeout = time, 100, DAY,
        "\"1m\"", "\"20s\"", "How long a process may take until it is ready; beyond: it is ended and started again."),
    app!(time "stop_timeout" => |app, time| app.stop_timeout = time, 0, DAY,
        "\"30s\"", "\"10s\"", "How long a process may take to end after SIGTERM; then it gets SIGKILL."),
    app!(time "idle_timeout" => |app, time| app.idle_timeout = time, 100, 30 * DAY,
        "\"5m\"", "\"30s\"", "A process that has had nothing to do for so long is ended, down to the least number."),
    app!(time "queue_time" => |app, time| app.queue_time = time, 1, DAY,
        "\"100ms\"", "\"1s\"", "Another process is started when a request has waited so long for one."),
    app!(size_or_unlimited "memory" => |app, bytes| app.memory = bytes, 1 << 20, 1 << 50,
        "\"unlimited\"", "\"512MiB\"", "What a process may take, its children's memory included; beyond: it is replaced."),
    app!(count_or_unlimited "max_requests" => |app, n| app.max_requests = n, 1, u64::MAX,
        "\"unlimited\"", "10000", "Requests after which a process is replaced."),
    app!(time "backoff" => |app, time| app.backoff = time, 10, DAY,
        "\"1s\"", "\"200ms\"", "How long after a failure a process is started again; doubled each time, up to `backoff_max`."),
    Setting::time("backoff_max", |draft: &mut AppDraft, time| draft.backoff_max = Some(time))
        .between(10, DAY)
        .row("app", "60 s", "\"5m\"", "The longest such pause."),
];

/// The words of a command.
fn words_of(
    row: &Row,
    given: &Given<'_>,
    out: &mut Vec<crate::diagnostic::Diagnostic>,
) -> Result<Vec<String>, Refused> {
    let words = match given.item.as_str() {
        Some(text) => shlex::split(text)
            .ok_or_else(|| Refused::new("a quote is not closed, or a `\\` stands at the end"))?,
        None => {
            let list = nested::text_or_list((row, given), out);
            list.into_iter().map(|word| word.value).collect()
        }
    };
    if words.iter().any(|word| word.contains('\0')) {
        return Err(Refused::new("a NUL cannot be part of a command"));
    }
    match words.first() {
        Some(program) if program.is_empty() => Err(Refused::new("the program has no name")),
        None if given.item.as_str().is_some() => Err(Refused::new("the command is empty")),
        _ => Ok(words),
    }
}

/// `4` or `"1..10"`
fn instances(given: &Given<'_>) -> Result<(u32, u32), Refused> {
    let bad = || Refused::new("it is neither a number nor a range");
    let range = match (given.item.as_integer(), given.item.as_str()) {
        (Some(number), _) => {
            let number = u32::try_from(number).map_err(|_| bad())?;
            (number, number)
        }
        (None, Some(text)) => {
            let (least, most) = text.split_once("..").unwrap_or((text, text));
            let most = most.strip_prefix('=').unwrap_or(most);
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| bad());
            (number(least)?, number(most)?)
        }
        (None, None) => return Err(bad()),
    };
    match range {
        (_, 0) => Err(Refused::new("at most 0 processes answer nothing")),
        (least, most) if least > most => Err(Refused::write(
            "the least comes first",
            format_args!("{most}..{least}"),
        )),
        (_, most) if most > INSTANCES => {
            Err(Refused::new(format!("at most {INSTANCES} processes")))
        }
        range => Ok(range),
    }
}
