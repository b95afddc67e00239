//! From a URL to a socket's address: names, `--resolve`, TLS.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

use forebay_engine::{Address, Endpoint, Endpoints, Tls};
use forebay_workload::Target;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use crate::args::Http;
use crate::files::Files;
use crate::trust;

/// Turns URLs into endpoints, each place once.
pub(crate) struct Places {
    resolve: Vec<(String, u16, std::net::IpAddr)>,
    sni: Option<String>,
    tls: Option<Arc<ClientConfig>>,
    insecure: bool,
    roots: Option<Vec<u8>>,
    known: Vec<(Target, u32)>,
    /// All that were found.
    pub(crate) endpoints: Endpoints,
}

impl Places {
    /// # Errors
    /// When the file of trusted certificates cannot be read.
    pub(crate) fn new(options: &Http, files: &Files) -> Result<Self, String> {
        let roots = options
            .cacert
            .as_ref()
            .map(|path| {
                files
                    .bytes(path)
                    .map_err(|error| crate::files::unreadable(path, &error))
            })
            .transpose()?;
        Ok(Self {
            resolve: options.resolve.clone(),
            sni: options.sni.clone(),
            tls: None,
            insecure: options.insecure,
            roots,
            known: Vec::new(),
            endpoints: Endpoints::default(),
        })
    }

    /// Places without names of their own: for key-value servers.
    pub(crate) fn plain() -> Self {
        Self {
            resolve: Vec::new(),
            sni: None,
            tls: None,
            insecure: false,
            roots: None,
            known: Vec::new(),
            endpoints: Endpoints::default(),
        }
    }

    /// The endpoint of a URL.
    ///
    /// # Errors
    /// When its name does not resolve, or TLS cannot be set up.
    pub(crate) fn endpoint(&mut self, target: &Target) -> Result<u32, String> {
        if let Some((_, index)) = self
            .known
            .iter()
            .find(|(known, _)| known.same_place(target))
        {
            return Ok(*index);
        }
        let addresses = self.addresses(target)?;
        let tls = if target.tls {
            Some(self.tls(target)?)
        } else {
            None
        };
        let index = self.endpoints.add(Endpoint {
            name: target.place(),
            addresses,
            tls,
        });
        self.known.push((target.clone(), index));
        Ok(index)
    }

    /// Where the first place is, to find the server's process by.
    pub(crate) fn first(&self) -> Option<Address> {
        self.endpoints.all().first()?.addresses.first().cloned()
    }

    fn addresses(&self, target: &Target) -> Result<Vec<Address>, String> {
        if let Some(socket) = &target.unix {
            return Ok(vec![Address::Unix(PathBuf::from(socket))]);
        }
        let given: Vec<Address> = self
            .resolve
            .iter()
            .filter(|(host, port, _)| *host == target.host && *port == target.port)
            .map(|(_, port, ip)| Address::Tcp(SocketAddr::new(*ip, *port)))
            .collect();
        if !given.is_empty() {
            return Ok(given);
        }
        let found = (target.host.as_str(), target.port)
            .to_socket_addrs()
            .map_err(|error| format!("the name {} does not resolve: {error}", target.host))?;
        let mut addresses: Vec<SocketAddr> = found.collect();
        // `localhost` is often both; a server there mostly listens on IPv4 alone.
        if addresses.iter().any(|address| address.is_ipv4()) {
            addresses.retain(SocketAddr::is_ipv4);
        }
        if addresses.is_empty() {
            return Err(format!("the name {} has no address", target.host));
        }
        Ok(addresses.into_iter().map(Address::Tcp).collect())
    }

    fn tls(&mut self, target: &Target) -> Result<Tls, String> {
        let config = match &self.tls {
            Some(config) => Arc::clone(config),
            None => {
                let config = trust::config(self.insecure, self.roots.as_deref())?;
                Arc::clone(self.tls.insert(config))
            }
        };
        let name = self.sni.as_deref().unwrap_or(&target.host);
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| format!("`{name}` cannot be the name of a TLS server"))?;
        Ok(Tls { config, name })
    }
}
