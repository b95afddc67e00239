//! `forebay check`: every mistake of a file in one run, or what it comes to.

use forebay_config::Settings;
use forebay_config::settings::{LogTarget, Pool, Site};

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
            .map(|address| format!("listens on {address}")),
    );
    lines.extend(
        settings
            .admin
            .addresses
            .iter()
            .map(|address| format!("administration on {address}")),
    );
    lines.extend(
        settings
            .sites
            .iter()
            .map(|site| describe_site(site, settings.pools.get(&site.pool))),
    );
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

fn describe_site(site: &Site, pool: Option<&Pool>) -> String {
    let hosts = if site.hosts.is_empty() {
        "every host".into()
    } else {
        site.hosts.join(", ")
    };
    let servers: Vec<String> = pool
        .iter()
        .flat_map(|pool| &pool.servers)
        .map(ToString::to_string)
        .collect();
    let passed = if site.policy.pass {
        ", never cached"
    } else {
        ""
    };
    format!(
        "site {}: {hosts} from {}{passed}",
        site.name,
        servers.join(", ")
    )
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
}
