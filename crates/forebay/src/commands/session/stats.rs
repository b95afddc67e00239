//! `forebay session stats`: what the store counts, by its own names.

use forebay_session_client::{Client, Target};
use serde_json::{Map, Value};

use super::args::StatsArgs;
use crate::commands::show;
use crate::exit::Outcome;
use crate::out;

pub(super) fn stats(target: &Target, args: &StatsArgs) -> Outcome {
    let group = args.group.as_deref().unwrap_or_default();
    let rows = Client::connect(target)?.stats(group)?;
    if args.json {
        out::line(&format!("{:#}", document(&rows)));
        return Ok(());
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in &rows {
        out::line(&format!(
            "{:<width$}  {}",
            show::plain(name),
            show::plain(value)
        ));
    }
    Ok(())
}

/// Numbers as numbers, everything else as text.
fn document(rows: &[(String, String)]) -> Value {
    let value = |text: &str| {
        text.parse::<u64>()
            .map_or_else(|_| Value::from(text), Value::from)
    };
    let rows = rows.iter().map(|(name, text)| (name.clone(), value(text)));
    Value::Object(rows.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_numbers_and_texts_are_texts() {
        let rows = [
            ("pid", "42"),
            ("version", "1.6.18"),
            ("rusage_user", "0.01"),
        ];
        let rows = rows.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let expected = json!({ "pid": 42, "version": "1.6.18", "rusage_user": "0.01" });
        assert_eq!(document(&rows), expected);
    }
}
