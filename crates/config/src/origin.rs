//! Settings without a file: `forebay serve --origin URL --listen ADDRESS`.

use crate::address::{self, Refused};
use crate::check::default_max_object;
use crate::settings::{Pool, Settings, Site};
use crate::units::{parse_duration, parse_size, show_size};

/// The least memory of a cache, in bytes.
const MEMORY_MIN: u64 = 1 << 20;

/// One site for every host in front of one origin.
///
/// `origin` is `http://host[:port]`, `host:port` or `unix:/path`; `memory` a size, `ttl` the
/// freshness of responses that state none.
///
/// # Errors
/// One message for every option that is wrong, beginning with its name.
pub fn for_origin(
    origin: &str,
    listen: &str,
    memory: Option<&str>,
    ttl: Option<&str>,
) -> Result<Settings, Vec<String>> {
    let mut wrong = Vec::new();
    let mut settings = Settings::default();
    settings.server.workers = crate::Environment::of_this_machine().cores;
    let mut refuse = |option: &str, refused: Refused| wrong.push(describe(option, refused));
    let mut pool = Pool::default();
    match address::server(origin) {
        Ok(server) => pool.servers.push(server),
        Err(refused) => refuse("--origin", refused),
    }
    match address::listen(listen) {
        Ok(address) => settings.listen.push(address),
        Err(refused) => refuse("--listen", refused),
    }
    match memory.map(memory_size).transpose() {
        Ok(memory) => settings.cache.memory = memory.unwrap_or(settings.cache.memory),
        Err(message) => refuse("--memory", Refused::new(message)),
    }
    match ttl.map(parse_duration).transpose() {
        Ok(ttl) => settings.cache.policy.default_ttl = ttl,
        Err(message) => refuse("--ttl", Refused::new(message)),
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    settings.cache.max_object_bytes = default_max_object(settings.cache.memory);
    settings.pools.insert("origin".into(), pool);
    settings.sites.push(Site {
        name: "default".into(),
        hosts: Vec::new(),
        pool: "origin".into(),
        methods: Vec::new(),
        policy: settings.cache.policy.clone(),
        paths: Vec::new(),
    });
    Ok(settings)
}

fn memory_size(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        bytes if bytes < MEMORY_MIN => Err(format!("at least {}", show_size(MEMORY_MIN))),
        bytes => Ok(bytes),
    }
}

fn describe(option: &str, refused: Refused) -> String {
    match refused.suggestion {
        Some(suggestion) => format!("{option}: {}; {suggestion}", refused.message),
        None => format!("{option}: {}", refused.message),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_site_for_every_host() {
        let settings = for_origin(
            "http://127.0.0.1:9000",
            "127.0.0.1:0",
            Some("64MiB"),
            Some("2m"),
        )
        .unwrap();
        assert_eq!(settings.listen[0].to_string(), "127.0.0.1:0");
        assert_eq!(
            settings.pools["origin"].servers[0].to_string(),
            "127.0.0.1:9000"
        );
        assert_eq!(settings.cache.memory, 64 << 20);
        assert_eq!(settings.cache.max_object_bytes, 8 << 20);
        let site = &settings.sites[0];
        assert_eq!(site.pool, "origin");
        assert_eq!(
            site.policy.default_ttl,
            Some(std::time::Duration::from_secs(120))
        );
        assert!(site.hosts.is_empty());
        assert!(settings.server.workers >= 1);
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let settings = for_origin("unix:/run/app.sock", "[::]:80", None, None).unwrap();
        assert_eq!(settings.cache.memory, 256 << 20);
        assert_eq!(settings.cache.max_object_bytes, 32 << 20);
        assert_eq!(settings.cache.policy.default_ttl, None);
    }

    #[test]
    fn every_wrong_option_is_named() {
        let wrong = for_origin("https://a", ":80", Some("1KiB"), Some("soon")).unwrap_err();
        let expected = [
            "--origin: https:// to a server is not available in this version",
            "--listen: `:80` is not an IP address with a port; write \"0.0.0.0:80\"",
            "--memory: at least 1MiB",
            "--ttl: it does not begin with a number",
        ];
        assert_eq!(wrong, expected);
    }
}
