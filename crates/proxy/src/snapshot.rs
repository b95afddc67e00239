//! One configuration, ready for use: what a request is routed by.
//!
//! A snapshot never changes. A reload makes a new one; exchanges under way end
//! with the one they began with.

use std::collections::HashMap;
use std::sync::Arc;

use forebay_cache::Limits as CacheLimits;
use forebay_config::Settings;
use forebay_config::settings::{ListenAddress, Policy};
use forebay_http::head::HeadLimits;
use forebay_upstream::{Pools, Prepared};

use crate::entrance::{Certificates, Entrance};
use crate::location::{Locations, SURROGATE_CONTROL};

/// Settings and what follows from them.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) settings: Settings,
    pub(crate) pools: Pools,
    certificates: Certificates,
    pub(crate) request_limits: HeadLimits,
    pub(crate) response_limits: HeadLimits,
    pub(crate) cache_limits: CacheLimits,
    /// This server's entry in `Via`.
    pub(crate) via: Vec<u8>,
    /// The whole line of it.
    pub(crate) via_line: Vec<u8>,
    /// The same for a message that came by HTTP/1.0.
    via_line_http10: Vec<u8>,
    /// That line and the start of `Cache-Status`, for answers that say what the cache did.
    pub(crate) via_and_status: Vec<u8>,
    /// How this cache tells origins that it heeds Surrogate-Control; empty where it does not.
    pub(crate) capability_line: Vec<u8>,
    pub(crate) locations: Locations,
    /// Some origin is told of clients by the PROXY protocol.
    pub(crate) introduces: bool,
    exact: HashMap<Box<[u8]>, usize>,
    /// `.shop.example` of `*.shop.example`; the longest first.
    suffixes: Vec<(Box<[u8]>, usize)>,
    fallback: Option<usize>,
}

/// What the files of a configuration hold.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pools: Prepared,
    certificates: Certificates,
}

impl Files {
    /// Reads all of them: whatever may fail does so here. Blocks.
    ///
    /// # Errors
    /// One cannot be read or does not hold what it should; in words for the operator.
    pub(crate) fn read(settings: &Settings) -> Result<Self, String> {
        Ok(Self {
            pools: Prepared::read(&settings.pools)?,
            certificates: Certificates::read(settings)?,
        })
    }
}

/// A worker's hold on the snapshot in force: its exchanges share it without touching a count
/// that other workers touch too.
#[derive(Debug)]
pub(crate) struct Held(pub(crate) Arc<Snapshot>);

impl std::ops::Deref for Held {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.0
    }
}

impl Snapshot {
    /// `files` were read as the same settings name them.
    pub(crate) fn new(settings: Settings, files: Files, previous: Option<&Self>) -> Self {
        let pools = Pools::new(files.pools, previous.map(|snapshot| &snapshot.pools));
        let limits = &settings.limits;
        let mut snapshot = Self {
            request_limits: HeadLimits {
                line_bytes: limits.request_line_bytes,
                head_bytes: limits.request_head_bytes,
                fields: limits.request_fields,
            },
            response_limits: HeadLimits {
                line_bytes: limits.response_head_bytes,
                head_bytes: limits.response_head_bytes,
                fields: limits.response_fields,
            },
            cache_limits: CacheLimits {
                waiters: limits.waiters,
                variants: limits.variants,
                object_bytes: settings.cache.max_object_bytes,
            },
            via: format!("1.1 {}", settings.server.name).into_bytes(),
            via_line: format!("Via: 1.1 {}\r\n", settings.server.name).into_bytes(),
            via_line_http10: format!("Via: 1.0 {}\r\n", settings.server.name).into_bytes(),
            via_and_status: format!("Via: 1.1 {0}\r\nCache-Status: {0}", settings.server.name)
                .into_bytes(),
            capability_line: capability_line(&settings),
            introduces: settings
                .pools
                .values()
                .any(|pool| pool.proxy_protocol.is_some()),
            locations: Locations::new(&settings, &pools, previous.map(|own| &own.locations)),
            exact: HashMap::new(),
            suffixes: Vec::new(),
            fallback: None,
            pools,
            certificates: files.certificates,
            settings,
        };
        snapshot.index_sites();
        snapshot
    }

    /// How connections begin at an address, given as it was configured when it was bound, and as it
    /// is bound: a reload may name it either way.
    pub(crate) fn entrance(&self, addresses: &[ListenAddress]) -> Entrance {
        let mut named = addresses.iter();
        Entrance {
            is_introduced: named.any(|address| self.settings.introduced.contains(address)),
            tls: addresses
                .iter()
                .find_map(|address| self.certificates.of(address)),
        }
    }

    fn index_sites(&mut self) {
        for (at, site) in self.settings.sites.iter().enumerate() {
            if site.hosts.is_empty() {
                self.fallback.get_or_insert(at);
            }
            for host in &site.hosts {
                match host.strip_prefix('*') {
                    Some("") => self.fallback = Some(at),
                    Some(suffix) => self.suffixes.push((suffix.as_bytes().into(), at)),
                    None => {
                        self.exact.insert(host.as_bytes().into(), at);
                    }
                }
            }
        }
        self.suffixes
            .sort_by_key(|(suffix, _)| std::cmp::Reverse(suffix.len()));
    }

    /// The site of a host name in lower case, without its port.
    #[inline]
    pub(crate) fn site(&self, host: &[u8]) -> Option<usize> {
        if let Some(&site) = self.exact.get(host) {
            return Some(site);
        }
        let by_suffix = self
            .suffixes
            .iter()
            .find(|(suffix, _)| host.len() > suffix.len() && host.ends_with(suffix));
        by_suffix.map(|(_, site)| *site).or(self.fallback)
    }

    /// The line that says that a message went through here, by the version that it came by (RFC
    /// 9110 section 7.6.3).
    pub(crate) fn via(&self, http10: bool) -> &[u8] {
        match http10 {
            true => &self.via_line_http10,
            false => &self.via_line,
        }
    }

    /// The value of `Surrogate-Capability`, where origins are told.
    pub(crate) fn capability(&self) -> Option<&[u8]> {
        let value = self
            .capability_line
            .strip_prefix(b"Surrogate-Capability: ")?;
        value.strip_suffix(b"\r\n")
    }

    /// The policy for a path of a site.
    pub(crate) fn policy(&self, site: usize, path: &[u8]) -> &Policy {
        &self.locations.find(site, path).policy
    }
}

fn capability_line(settings: &Settings) -> Vec<u8> {
    let of_sites = settings.sites.iter().flat_map(|site| {
        let of_paths = site.paths.iter().map(|rule| &rule.policy);
        of_paths.chain([&site.policy])
    });
    let mut policies = of_sites.chain([&settings.cache.policy]);
    if !policies.any(|policy| policy.heeds(SURROGATE_CONTROL)) {
        return Vec::new();
    }
    format!(
        "Surrogate-Capability: {}=\"Surrogate/1.0\"\r\n",
        settings.server.name
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_config::settings::{PathRule, Pool as PoolSettings, Service, Site, When};

    fn site(name: &str, hosts: &[&str], paths: Vec<PathRule>) -> Site {
        Site {
            name: name.into(),
            hosts: hosts.iter().map(|host| (*host).into()).collect(),
            service: Service {
                pool: Some("app".into()),
                ..Service::default()
            },
            methods: Vec::new(),
            policy: Policy::default(),
            paths,
        }
    }

    #[test]
    fn the_most_exact_host_wins() {
        let mut settings = Settings::default();
        settings.pools.insert("app".into(), PoolSettings::default());
        let rule = PathRule {
            when: When {
                pattern: Some("/img/*".into()),
                ..When::default()
            },
            service: Service::default(),
            policy: Policy {
                pass: true,
                ..Policy::default()
            },
        };
        settings.sites = vec![
            site("all", &["*"], Vec::new()),
            site("sub", &["*.shop.example"], Vec::new()),
            site("deep", &["*.img.shop.example"], Vec::new()),
            site("exact", &["www.shop.example"], vec![rule]),
        ];
        let files = Files::read(&settings).expect("no files to read");
        let snapshot = Snapshot::new(settings, files, None);
        let name = |host: &str| {
            snapshot
                .site(host.as_bytes())
                .map(|at| snapshot.settings.sites[at].name.as_str())
        };
        assert_eq!(name("www.shop.example"), Some("exact"));
        assert_eq!(name("a.shop.example"), Some("sub"));
        assert_eq!(name("a.img.shop.example"), Some("deep"));
        assert_eq!(name("shop.example"), Some("all"));
        assert!(snapshot.policy(3, b"/img/a.png").pass && !snapshot.policy(3, b"/").pass);
    }
}
