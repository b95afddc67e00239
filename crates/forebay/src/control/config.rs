//! The settings in force as a list: the rows of the reference, with what the
//! file says. Pure: settings and a file's text in, rows out.

use forebay_admin::control::SettingInForce;
use forebay_config::Settings;
use forebay_config::reference::{self, Row, SECTIONS, Section};
use serde_json::Value;
use toml::Table;

/// Sections of which there may be several.
const REPEATED: [&str; 5] = ["listen", "pool", "app", "session", "site"];

/// Settings whose values are nobody's business; shown as `null`.
fn is_secret(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let below_environment = name.starts_with("app.") && name.contains(".environment");
    last.ends_with("token") || last.ends_with("tokens") || below_environment
}

/// Every setting: of single sections all, of repeated ones what the file has.
/// Without a file those that the command line gave.
pub(super) fn in_force(settings: &Settings, text: Option<&str>) -> Vec<SettingInForce> {
    let Some(text) = text else {
        return of_options(settings);
    };
    // It was checked when it was taken over; one that changed since is not shown as in force.
    let file: Table = text.parse().unwrap_or_default();
    let mut rows = Vec::new();
    for section in SECTIONS {
        match section.name {
            name if REPEATED.contains(&name.split('.').next().unwrap_or(name)) => {}
            _ => single(section, &file, &mut rows),
        }
    }
    for repeated in REPEATED {
        if let Some(value) = file.get(repeated) {
            given(repeated, value, &mut rows);
        }
    }
    rows
}

/// A section that is there once, with its defaults.
fn single(section: &Section, file: &Table, rows: &mut Vec<SettingInForce>) {
    let mut table = Some(file);
    for part in section.name.split('.') {
        table = table
            .and_then(|table| table.get(part))
            .and_then(toml::Value::as_table);
    }
    // Sections that are absent are off, but for those that every server has.
    if table.is_none() && matches!(section.name, "admin" | "cache.disk" | "purge") {
        return;
    }
    let policy = if section.takes_policy {
        reference::policy_rows()
    } else {
        Vec::new()
    };
    for row in section.rows().into_iter().chain(policy) {
        let name = format!("{}.{}", section.name, row.name);
        let value = table.and_then(|table| table.get(row.name));
        rows.push(SettingInForce {
            value: match value {
                _ if is_secret(&name) => Value::Null,
                Some(value) => to_json(value),
                None => default(row),
            },
            default: value.is_none(),
            name,
        });
    }
}

/// What the file says below `name`, each value under its full name.
fn given(name: &str, value: &toml::Value, rows: &mut Vec<SettingInForce>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                given(&format!("{name}.{key}"), value, rows);
            }
        }
        toml::Value::Array(list) if list.iter().any(toml::Value::is_table) => {
            for (place, value) in list.iter().enumerate() {
                given(&format!("{name}[{place}]"), value, rows);
            }
        }
        value => rows.push(SettingInForce {
            name: name.to_owned(),
            value: if is_secret(name) {
                Value::Null
            } else {
                to_json(value)
            },
            default: false,
        }),
    }
}

/// The default as it would stand in the file; in words where it is no value.
fn default(row: &Row) -> Value {
    let line = format!("value = {}", row.default);
    match line.parse::<Table>() {
        Ok(table) => table.get("value").map_or(Value::Null, to_json),
        Err(_) => row.default.into(),
    }
}

fn to_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::Datetime(time) => time.to_string().into(),
        other => serde_json::to_value(other).unwrap_or(Value::Null),
    }
}

/// What `forebay serve --origin` was told.
fn of_options(settings: &Settings) -> Vec<SettingInForce> {
    let row = |name: String, value: Value| SettingInForce {
        name,
        value,
        default: false,
    };
    let texts = |list: Vec<String>| Value::from(list);
    let mut rows = vec![
        row("server.workers".into(), settings.server.workers.into()),
        row("cache.memory".into(), settings.cache.memory.into()),
        row("log.level".into(), settings.log.level.clone().into()),
    ];
    let listen = settings.listen.iter().map(ToString::to_string).collect();
    rows.push(row("listen".into(), texts(listen)));
    for (name, pool) in &settings.pools {
        let servers = pool
            .servers
            .iter()
            .map(|server| server.address.to_string())
            .collect();
        rows.push(row(format!("pool.{name}.servers"), texts(servers)));
    }
    rows
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rows(text: &str) -> Vec<SettingInForce> {
        in_force(&Settings::default(), Some(text))
    }

    fn find<'a>(rows: &'a [SettingInForce], name: &str) -> &'a SettingInForce {
        let found = rows.iter().find(|row| row.name == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    }

    #[test]
    fn what_the_file_says_and_what_it_does_not() {
        let rows = rows(
            "[cache]\nmemory = \"2GiB\"\n[pool.app]\nservers = [\"a:1\", \"b:2\"]\n[[listen]]\naddress = \"127.0.0.1:1\"",
        );
        let memory = find(&rows, "cache.memory");
        assert_eq!((&memory.value, memory.default), (&"2GiB".into(), false));
        assert!(find(&rows, "cache.default_ttl").default);
        assert!(find(&rows, "timeouts.connect").default);
        assert_eq!(
            find(&rows, "pool.app.servers").value,
            serde_json::json!(["a:1", "b:2"])
        );
        assert_eq!(find(&rows, "listen[0].address").value, "127.0.0.1:1");
        assert!(!rows.iter().any(|row| row.name.starts_with("cache.disk.")));
    }

    #[test]
    fn secrets_are_not_shown() {
        let rows = rows(
            "[admin]\nread_tokens = [\"hidden\"]\n[purge]\ntokens = [\"hidden\"]\n[site.a]\ntoken = \"hidden\"\n[app.a]\nenvironment = { KEY = \"hidden\" }\n[pool.a]\njoin_tokens = [\"hidden\"]",
        );
        let text = serde_json::to_string(&rows).unwrap();
        assert!(!text.contains("hidden"), "{text}");
        assert!(!find(&rows, "admin.read_tokens").default);
    }
}
