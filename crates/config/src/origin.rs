//! Settings without a file: `forebay serve --origin URL --listen ADDRESS`.

use crate::address::{self, Refused};
use crate::check::{default_max_object, default_max_on_disk};
use crate::settings::{Disk, OriginTls, Pool, PoolServer, Service, Settings, Site};
use crate::units::{parse_duration, parse_size, show_size};

/// The least memory of a cache, in bytes.
const MEMORY_MIN: u64 = 1 << 20;

/// The least size of a disk tier, in bytes.
const DISK_MIN: u64 = 64 << 20;

/// The options of `forebay serve --origin`, as they were written.
#[derive(Clone, Copy, Debug, Default)]
pub struct OriginOptions<'a> {
    /// `http://host[:port]`, `host:port` or `unix:/path`.
    pub origin: &'a str,
    /// What the origin gets as `Host`, as in `pool.host`.
    pub host: Option<&'a str>,
    /// Where clients connect.
    pub listen: &'a str,
    /// A size.
    pub memory: Option<&'a str>,
    /// `DIRECTORY:SIZE`
    pub disk: Option<&'a str>,
    /// The freshness of responses that state none.
    pub ttl: Option<&'a str>,
}

/// One site for every host in front of one origin.
///
/// # Errors
/// One message for every option that is wrong, beginning with its name.
pub fn for_origin(options: &OriginOptions<'_>) -> Result<Settings, Vec<String>> {
    let OriginOptions {
        origin,
        host,
        listen,
        memory,
        disk,
        ttl,
    } = *options;
    let mut wrong = Vec::new();
    let mut settings = Settings::default();
    settings.server.workers = crate::Environment::of_this_machine().cores;
    let mut refuse = |option: &str, refused: Refused| wrong.push(describe(option, refused));
    let mut pool = Pool::default();
    match address::server(origin) {
        Ok((server, https)) => {
            pool.servers.push(PoolServer::at(server));
            pool.tls = https.then(OriginTls::default);
        }
        Err(refused) => refuse("--origin", refused),
    }
    match host.map(address::whose_host).transpose() {
        Ok(host) => pool.host = host.unwrap_or_default(),
        Err(refused) => refuse("--host", refused),
    }
    match address::listen(listen) {
        Ok(address) => settings.listen.push(address),
        Err(refused) => refuse("--listen", refused),
    }
    match memory.map(memory_size).transpose() {
        Ok(memory) => settings.cache.memory = memory.unwrap_or(settings.cache.memory),
        Err(message) => refuse("--memory", Refused::new(message)),
    }
    match disk.map(disk_tier).transpose() {
        Ok(disk) => settings.cache.disk = disk,
        Err(message) => refuse("--disk", Refused::new(message)),
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
        service: Service {
            pool: Some("origin".into()),
            ..Service::default()
        },
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

/// `DIRECTORY:SIZE`
fn disk_tier(text: &str) -> Result<Disk, String> {
    let (directory, size) = text
        .rsplit_once(':')
        .filter(|(directory, _)| !directory.is_empty())
        .ok_or_else(|| format!("`{text}` is not a directory and a size; write DIRECTORY:20GiB"))?;
    let size_bytes = parse_size(size)?;
    if size_bytes < DISK_MIN {
        return Err(format!(
            "{} is less than {}",
            show_size(size_bytes),
            show_size(DISK_MIN)
        ));
    }
    let directory = std::path::absolute(directory).map_err(|error| error.to_string())?;
    Ok(Disk {
        directories: vec![directory],
        size_bytes,
        max_object_bytes: default_max_on_disk(size_bytes),
        ..Disk::default()
    })
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
    use crate::settings::HostSent;

    #[test]
    fn one_site_for_every_host() {
        let settings = for_origin(&OriginOptions {
            origin: "http://127.0.0.1:9000",
            host: Some("server"),
            listen: "127.0.0.1:0",
            memory: Some("64MiB"),
            disk: Some("/var/cache/forebay:20GiB"),
            ttl: Some("2m"),
        })
        .unwrap();
        assert_eq!(settings.listen[0].to_string(), "127.0.0.1:0");
        assert_eq!(
            settings.pools["origin"].servers[0].address.to_string(),
            "127.0.0.1:9000"
        );
        assert_eq!(settings.pools["origin"].host, HostSent::Server);
        assert_eq!(settings.cache.memory, 64 << 20);
        assert_eq!(settings.cache.max_object_bytes, 8 << 20);
        let disk = settings.cache.disk.unwrap();
        assert_eq!(
            disk.directories,
            [std::path::PathBuf::from("/var/cache/forebay")]
        );
        assert_eq!(
            (disk.size_bytes, disk.max_object_bytes),
            (20 << 30, 1 << 30)
        );
        let site = &settings.sites[0];
        assert_eq!(site.service.pool.as_deref(), Some("origin"));
        assert_eq!(
            site.policy.default_ttl,
            Some(std::time::Duration::from_secs(120))
        );
        assert!(site.hosts.is_empty());
        assert!(settings.server.workers >= 1);
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let settings = for_origin(&OriginOptions {
            origin: "unix:/run/app.sock",
            listen: "[::]:80",
            ..OriginOptions::default()
        })
        .unwrap();
        assert_eq!(settings.pools["origin"].host, HostSent::Client);
        assert_eq!(settings.cache.memory, 256 << 20);
        assert_eq!(settings.cache.max_object_bytes, 32 << 20);
        assert_eq!(settings.cache.policy.default_ttl, None);
    }

    #[test]
    fn every_wrong_option_is_named() {
        let wrong = for_origin(&OriginOptions {
            origin: "ftp://a",
            host: Some("a/b"),
            listen: ":80",
            memory: Some("1KiB"),
            disk: Some("cache"),
            ttl: Some("soon"),
        })
        .unwrap_err();
        let expected = [
            "--origin: `ftp://` is not a way to reach a server",
            "--host: `a/b` is not a host name or address",
            "--listen: `:80` is not an IP address with a port; write \"0.0.0.0:80\"",
            "--memory: at least 1MiB",
            "--disk: `cache` is not a directory and a size; write DIRECTORY:20GiB",
            "--ttl: it does not begin with a number",
        ];
        assert_eq!(wrong, expected);
    }
}
