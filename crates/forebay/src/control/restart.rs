//! What a reload cannot bring about: sections of the file that hold from the next start. Pure: two
//! settings in, words for the operator out.

use forebay_config::Settings;
use forebay_config::settings::Session;

/// What of `wanted` takes a restart of a server that was started with `started`, a line for each.
pub(super) fn waiting(started: &Settings, wanted: &Settings) -> Vec<String> {
    let (server, admin) = (&started.server, &started.admin);
    let single = [
        ("server.workers", server.workers != wanted.server.workers),
        (
            "server.state_file",
            server.state_file != wanted.server.state_file,
        ),
        (
            "the addresses of [admin]",
            admin.addresses != wanted.admin.addresses,
        ),
        ("[cache.disk]", started.cache.disk != wanted.cache.disk),
    ];
    let single = single.into_iter().filter(|(_, differs)| *differs);
    let mut names: Vec<String> = single.map(|(name, _)| name.to_owned()).collect();
    let stores = started.sessions.keys().chain(wanted.sessions.keys());
    let mut stores: Vec<&String> = stores.collect();
    stores.sort_unstable();
    stores.dedup();
    for name in stores {
        if differs(started.sessions.get(name), wanted.sessions.get(name)) {
            names.push(format!("[session.{name}]"));
        }
    }
    let line = |name| format!("{name} takes a restart to change: what it was started with holds");
    names.into_iter().map(line).collect()
}

/// Whether a store is another one, but for its certificate, which is read by each reload.
fn differs(started: Option<&Session>, wanted: Option<&Session>) -> bool {
    let (Some(started), Some(wanted)) = (started, wanted) else {
        return started.is_some() || wanted.is_some();
    };
    let mut wanted = wanted.clone();
    if started.tls.is_some() && wanted.tls.is_some() {
        wanted.tls.clone_from(&started.tls);
    }
    wanted != *started
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn settings(text: &str) -> Settings {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("forebay.toml");
        std::fs::write(&file, text).unwrap();
        forebay_config::load(&file).unwrap().settings
    }

    #[test]
    fn each_section_that_waits_is_named_and_no_other() {
        let started = "[server]\nworkers = 1\n[admin]\naddress = \"127.0.0.1:1\"\n\
                       [session.a]\naddress = \"127.0.0.1:2\"\ncertificate = \"/c\"\nkey = \"/k\"\n\
                       [session.b]\naddress = \"127.0.0.1:3\"\n";
        let own = settings(started);
        assert_eq!(waiting(&own, &own), Vec::<String>::new());
        let changes: [(&str, &str, &[&str]); 8] = [
            ("workers = 1", "workers = 2", &["server.workers"]),
            (
                "workers = 1",
                "state_file = \"/s\"\nworkers = 1",
                &["server.state_file"],
            ),
            (
                "\"127.0.0.1:1\"",
                "\"127.0.0.1:9\"",
                &["the addresses of [admin]"],
            ),
            (
                "\"127.0.0.1:1\"",
                "\"127.0.0.1:1\"\nadmin_tokens = [\"0123456789abcdef\"]",
                &[],
            ),
            ("\"/c\"", "\"/other\"", &[]),
            (
                "[session.b]",
                "[session.c]",
                &["[session.b]", "[session.c]"],
            ),
            ("127.0.0.1:3", "127.0.0.1:4", &["[session.b]"]),
            (
                "[session.a]",
                "[cache.disk]\npath = \"/d\"\nsize = \"1GiB\"\n[session.a]",
                &["[cache.disk]"],
            ),
        ];
        for (from, to, names) in changes {
            let lines = waiting(&own, &settings(&started.replace(from, to)));
            assert_eq!(lines.len(), names.len(), "{to}: {lines:?}");
            for (line, name) in lines.iter().zip(names) {
                assert!(line.starts_with(name), "{line}");
            }
        }
    }
}
