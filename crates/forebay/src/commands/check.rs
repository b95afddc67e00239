//! `forebay check`: every mistake of a file in one run, or what it comes to.

use std::collections::BTreeMap;

use forebay_config::Settings;
use forebay_config::settings::{App, ListenAddress, LogTarget, Pool, Service, Session, Site};

use crate::cli::CheckArgs;
use crate::configuration;
use crate::exit::Outcome;
use crate::out;

/// Runs the command.
///
/// # Errors
/// What is wrong with the file.
pub(crate) fn check(args: &CheckArgs) -> Outcome {
    let checked = configuration::read_aloud(&args.config)?;
    let warnings = match checked.warnings.len() {
        0 => String::new(),
        1 => " (1 warning)".into(),
        n => format!(" ({n} warnings)"),
    };
    let summary = summary(&checked.settings);
    out::print(&format!("{}: ok{warnings}\n{summary}", checked.source.name));
    Ok(())
}

/// What the settings come to, a line for each thing that is served.
fn summary(settings: &Settings) -> String {
    let mut lines = Vec::new();
    lines.extend(
        settings
            .listen
            .iter()
            .map(|address| describe_listener(address, settings)),
    );
    lines.extend(
        settings
            .admin
            .addresses
            .iter()
            .map(|address| format!("administration on {address}")),
    );
    let sites = settings.sites.iter();
    lines.extend(sites.map(|site| describe_site(site, settings)));
    let apps = settings.apps.iter();
    lines.extend(apps.map(|(name, app)| describe_app(name, app)));
    let sessions = settings.sessions.iter();
    lines.extend(sessions.map(|(name, session)| describe_session(name, session)));
    lines.push(format!(
        "cache: {} in memory, objects up to {}",
        bytes(settings.cache.memory),
        bytes(settings.cache.max_object_bytes)
    ));
    if let Some(disk) = &settings.cache.disk {
        let directories: Vec<String> = disk
            .directories
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        lines.push(format!(
            "disk: {} in {}, objects up to {}",
            bytes(disk.size_bytes),
            directories.join(", "),
            bytes(disk.max_object_bytes)
        ));
    }
    lines.extend(describe_log("accesses", &settings.log.access));
    lines.extend(describe_log("errors", &settings.log.error));
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

fn describe_listener(address: &ListenAddress, settings: &Settings) -> String {
    let tls = settings.secured.iter().any(|(own, _)| own == address);
    format!("listens on {address}{}", if tls { ", TLS" } else { "" })
}

fn describe_site(site: &Site, settings: &Settings) -> String {
    let hosts = match site.hosts.as_slice() {
        [] => "every host".into(),
        hosts => hosts.join(", "),
    };
    let rules = match site.paths.len() {
        0 => String::new(),
        1 => ", 1 path rule".into(),
        count => format!(", {count} path rules"),
    };
    let passed = match site.policy.pass {
        true => ", never cached",
        false => "",
    };
    let from = sources(&site.service, settings).join(", then ");
    format!("site {}: {hosts} {from}{rules}{passed}", site.name)
}

/// Who answers, in the order in which they are asked.
fn sources(service: &Service, settings: &Settings) -> Vec<String> {
    let mut sources = Vec::new();
    if let Some(respond) = &service.respond {
        sources.push(format!("answered here with {}", respond.status));
    }
    if let Some(files) = &service.files {
        sources.push(format!("from files in {}", files.root.display()));
    }
    let named = [("PHP on", &service.cgi.php), ("from", &service.pool)];
    for (how, name) in named {
        if let Some(pool) = name.as_ref().and_then(|name| settings.pools.get(name)) {
            let name = name.as_deref().unwrap_or_default();
            sources.push(format!("{how} {}", servers(name, pool, &settings.apps)));
        }
    }
    if sources.is_empty() {
        sources.push(match service.redirect.is_empty() {
            true => "answered by its path rules".into(),
            false => "redirected".into(),
        });
    }
    sources
}

fn servers(name: &str, pool: &Pool, apps: &BTreeMap<String, App>) -> String {
    let mut all: Vec<String> = pool
        .servers
        .iter()
        .map(|server| server.address.to_string())
        .collect();
    if apps.contains_key(name) {
        all.push(format!("the processes of app {name}"));
    }
    if !pool.join_tokens.is_empty() {
        all.push(format!("back ends that join pool {name}"));
    }
    all.join(", ")
}

fn describe_session(name: &str, session: &Session) -> String {
    let addresses: Vec<String> = session.addresses.iter().map(ToString::to_string).collect();
    let kept = match &session.path {
        Some(path) => format!("kept in {}", path.display()),
        None => "in memory only".into(),
    };
    format!(
        "session {name}: on {}, {} of memory, {kept}",
        addresses.join(", "),
        bytes(session.memory_bytes)
    )
}

fn describe_app(name: &str, app: &App) -> String {
    let count = match app.instances {
        (1, 1) => "1 process".into(),
        (least, most) if least == most => format!("{most} processes"),
        (least, most) => format!("{least} to {most} processes"),
    };
    format!(
        "app {name}: {count} of {}",
        one_line(&app.command.join(" "))
    )
}

/// A command as a line that can be read: a program may stand in its arguments.
fn one_line(text: &str) -> String {
    const MOST: usize = 80;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn describe_log(what: &str, target: &LogTarget) -> Option<String> {
    match target {
        LogTarget::Off => None,
        LogTarget::Stdout => Some(format!("{what} logged to stdout")),
        LogTarget::Stderr => Some(format!("{what} logged to stderr")),
        LogTarget::File(path) => Some(format!("{what} logged to {}", path.display())),
    }
}

/// In the largest unit that needs no fraction.
fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS
        .iter()
        .find(|(_, size)| bytes > 0 && bytes.is_multiple_of(*size))
    {
        Some((name, size)) => format!("{} {name}", bytes / size),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_without_fractions() {
        assert_eq!(bytes(1 << 30), "1 GiB");
        assert_eq!(bytes(1536 << 20), "1536 MiB");
        assert_eq!(bytes(1_000_000), "1000000 bytes");
        assert_eq!(bytes(0), "0 bytes");
    }

    fn lines(text: &str) -> String {
        let source = forebay_config::Source {
            name: "forebay.toml".into(),
            text: format!("[[listen]]\naddress = \"127.0.0.1:8080\"\n{text}"),
        };
        match forebay_config::parse(&source) {
            Ok(checked) => summary(&checked.settings),
            Err(wrong) => panic!("{}", forebay_config::render(&source, &wrong, false)),
        }
    }

    #[test]
    fn a_program_in_the_arguments_is_shortened_to_a_line() {
        let line = one_line(&format!("python3 -c\nimport os\n{}", "x".repeat(200)));
        assert!(line.starts_with("python3 -c import os xxx") && line.ends_with('…'));
        assert_eq!(line.chars().count(), 81);
        assert_eq!(one_line("puma -p {port}"), "puma -p {port}");
    }

    #[test]
    fn sites_without_servers_are_described_too() {
        for (text, line) in [
            (
                "[pool.a]\nservers = [\"b:1\"]\n",
                "site default: every host from b:1\n",
            ),
            (
                "[pool.a]\njoin_tokens = [\"secret\"]\n",
                "site default: every host from back ends that join pool a\n",
            ),
            (
                "[app.a]\ncommand = \"puma -p {port}\"\ninstances = \"1..4\"\n",
                "app a: 1 to 4 processes of puma -p {port}\n",
            ),
            (
                "[site.s]\nroot = \"/srv\"\nphp = \"127.0.0.1:9000\"\n",
                "site s: every host from files in /srv, then PHP on 127.0.0.1:9000\n",
            ),
            (
                "[site.s]\nrespond = { status = 410 }\n",
                "site s: every host answered here with 410\n",
            ),
        ] {
            let shown = lines(text);
            assert!(shown.contains(line), "{line} is not in\n{shown}");
        }
    }
}
