//! Names of servers: which addresses they have, or which servers a service has, and for how
//! long that holds.
//!
//! DNS is asked, for it tells how long an answer holds. What DNS does not know may be known to
//! the system in another way (its hosts file is read here too): it is asked then.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;

/// No answer is kept shorter, whatever it says: a TTL of 0 is no reason to ask without a pause.
const SHORTEST: Duration = Duration::from_secs(1);
/// Nor longer.
const LONGEST: Duration = Duration::from_secs(3600);
/// How long an answer holds that does not say it.
const UNSTATED: Duration = Duration::from_secs(30);

/// Who is asked.
#[derive(Debug)]
pub struct Names {
    dns: TokioResolver,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// In no order that matters; none where the name has none.
    pub items: Vec<T>,
    /// From now on.
    pub valid_for: Duration,
}

/// One server of a service (RFC 2782).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name, without the dot at the end.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Those with a greater number are for when the others fail.
    pub priority: u16,
    /// Its share among those of its priority; 0 is as little as possible.
    pub weight: u16,
}

impl Names {
    /// Asks these DNS servers, or without any those that `/etc/resolv.conf` names. Within the
    /// event loop that the questions are asked from.
    ///
    /// # Errors
    /// The system's settings cannot be read.
    pub fn new(servers: &[SocketAddr]) -> Result<Self, String> {
        let provider = TokioRuntimeProvider::default();
        let mut builder = match servers {
            [] => TokioResolver::builder(provider).map_err(|error| error.to_string())?,
            servers => {
                let servers = servers.iter().map(|server| name_server(*server)).collect();
                let config = ResolverConfig::from_parts(None, Vec::new(), servers);
                TokioResolver::builder_with_config(config, provider)
            }
        };
        let options = builder.options_mut();
        // Whoever asks keeps the answers.
        options.cache_size = 0;
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        let dns = builder.build().map_err(|error| error.to_string())?;
        Ok(Self { dns })
    }

    /// The addresses of a host.
    ///
    /// # Errors
    /// Neither DNS nor the system knows it, or neither answers.
    pub async fn addresses(&self, host: &str) -> Result<Found<IpAddr>, String> {
        match self.dns.lookup_ip(host).await {
            Ok(answer) => Ok(Found {
                items: answer.iter().collect(),
                valid_for: holds(answer.valid_until()),
            }),
            Err(error) => of_the_system(host)
                .await
                .map_err(|_| format!("the name {host} is not known: {error}")),
        }
    }

    /// The servers of a service, `_http._tcp.app.internal`.
    ///
    /// # Errors
    /// DNS does not know it, or does not answer.
    pub async fn services(&self, name: &str) -> Result<Found<Service>, String> {
        let answer = self.dns.srv_lookup(name).await;
        let answer = answer.map_err(|error| format!("the service {name} is not known: {error}"))?;
        let records = answer.answers().iter().filter_map(|record| {
            let RData::SRV(service) = &record.data else {
                return None;
            };
            let host = service.target.to_ascii();
            Some(Service {
                host: host.strip_suffix('.').unwrap_or(&host).to_owned(),
                port: service.port,
                priority: service.priority,
                weight: service.weight,
            })
        });
        Ok(Found {
            // A lone dot says that the service is not offered.
            items: records.filter(|service| !service.host.is_empty()).collect(),
            valid_for: holds(answer.valid_until()),
        })
    }
}

fn name_server(address: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = address.port();
        connection
    });
    NameServerConfig::new(address.ip(), true, connections.into())
}

fn holds(until: Instant) -> Duration {
    until
        .saturating_duration_since(Instant::now())
        .clamp(SHORTEST, LONGEST)
}

async fn of_the_system(host: &str) -> io::Result<Found<IpAddr>> {
    let host = host.to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let found = (host.as_str(), 0).to_socket_addrs()?;
        Ok::<Vec<IpAddr>, io::Error>(found.map(|address| address.ip()).collect())
    });
    let items = asked.await.map_err(io::Error::other)??;
    Ok(Found {
        items,
        valid_for: UNSTATED,
    })
}
