//! `forebay log`: the exchanges of a running server as they end.

use serde_json::Value;

use crate::cli::LogArgs;
use crate::exit::{Failure, Outcome};
use crate::out;

use super::client::{Client, query};
use super::show;

/// Runs the command until the server, the limit or the user ends it.
///
/// # Errors
/// When the server is not there, refuses, or breaks off.
pub(crate) fn log(args: &LogArgs) -> Outcome {
    let client = Client::of(&args.server)?;
    let limit = args.limit.map(|limit| limit.to_string());
    let join = |words: &[String]| (!words.is_empty()).then(|| words.join(","));
    let (status, cache) = (join(&args.status), join(&args.cache));
    let target = format!(
        "/api/v1/log{}",
        query([
            ("status", status.as_deref()),
            ("host", args.host.as_deref()),
            ("url", args.url.as_deref()),
            ("cache", cache.as_deref()),
            ("slower_than", args.slower_than.as_deref()),
            ("limit", limit.as_deref()),
        ])
    );
    for line in client.lines(&target)? {
        let line = line.map_err(|error| {
            Failure::message(format_args!("{} broke off: {error}", client.address()))
        })?;
        if args.json {
            out::line(&line);
        } else {
            out::line(&human(&line));
        }
    }
    Ok(())
}

/// `20:00:00.123 200 hit          1.2 ms   20.0 KiB GET shop.example/a`
fn human(line: &str) -> String {
    let Ok(exchange) = serde_json::from_str::<Value>(line) else {
        return show::plain(line);
    };
    if let Some(count) = exchange["dropped"].as_u64() {
        return format!(
            "-- {} exchanges were lost here: this reader was too slow",
            show::count(count)
        );
    }
    let text = |name: &str| show::plain(exchange[name].as_str().unwrap_or("-"));
    let seconds = exchange["duration"].as_f64().unwrap_or(0.0);
    let time = text("time");
    let clock = time.split(['T', 'Z']).nth(1).unwrap_or(&time);
    let reason = match text("cache_reason") {
        reason if reason == "-" || reason == text("cache") => String::new(),
        reason => format!(" ({reason})"),
    };
    format!(
        "{clock} {:>3} {:<14} {:>9} {:>10} {} {}{}{reason}",
        exchange["status"].as_u64().unwrap_or(0),
        text("cache"),
        show::micros((seconds * 1e6).round() as u64),
        show::size(exchange["bytes"].as_u64().unwrap_or(0) as f64),
        text("method"),
        text("host"),
        text("target")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_a_line() {
        let line = human(
            r#"{"time":"2026-11-21T20:00:00.123Z","client":"::1","method":"GET","host":"shop.example","target":"/a?b","status":200,"bytes":20480,"duration":0.001234,"cache":"miss","cache_reason":"uri-miss"}"#,
        );
        for part in [
            "20:00:00.123 200 miss",
            "1.2 ms",
            "20.0 KiB",
            "GET shop.example/a?b (uri-miss)",
        ] {
            assert!(line.contains(part), "no {part:?} in {line}");
        }
    }

    #[test]
    fn losses_are_said_and_nothing_commands_the_terminal() {
        assert!(human(r#"{"dropped":1200}"#).contains("1 200 exchanges were lost"));
        assert!(!human("{\"target\":\"/\\u001b[2J\"}").contains('\u{1b}'));
        assert!(!human("no json \u{1b}").contains('\u{1b}'));
    }
}
