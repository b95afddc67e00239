//! This server's member of the `Cache-Status` field (RFC 9211), read simply.

/// `forebay; hit; ttl=57` or `forebay; fwd=uri-miss; fwd-status=200; stored`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// The response was served without going forward.
    pub hit: bool,
    /// Why it went forward.
    pub fwd: Option<String>,
    /// The status that the next hop answered with.
    pub fwd_status: Option<u16>,
    /// Freshness left, in seconds; negative when stale.
    pub ttl: Option<i64>,
    /// The response was stored.
    pub stored: bool,
    /// The request waited for another's fetch.
    pub collapsed: bool,
    /// Anything more.
    pub detail: Option<String>,
}

impl CacheStatus {
    /// The last member named `forebay` of a combined field value.
    pub fn parse(value: &str) -> Option<Self> {
        let member = value.rsplit(',').find(|m| {
            m.trim()
                .split(';')
                .next()
                .is_some_and(|n| n.trim() == "forebay")
        })?;
        let mut status = Self::default();
        for parameter in member.split(';').skip(1) {
            let (name, value) = parameter
                .trim()
                .split_once('=')
                .unwrap_or((parameter.trim(), "?1"));
            match name {
                "hit" => status.hit = value == "?1",
                "fwd" => status.fwd = Some(value.to_owned()),
                "fwd-status" => status.fwd_status = value.parse().ok(),
                "ttl" => status.ttl = value.parse().ok(),
                "stored" => status.stored = value == "?1",
                "collapsed" => status.collapsed = value == "?1",
                "detail" => status.detail = Some(value.trim_matches('"').to_owned()),
                _ => {}
            }
        }
        Some(status)
    }

    /// The reason for going forward, `""` for a hit.
    pub fn forwarded(&self) -> &str {
        self.fwd.as_deref().unwrap_or("")
    }
}
